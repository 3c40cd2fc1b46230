// Tests that saving a schema reports every opening, and nothing else, with an example request that really succeeds
// (docs/api/entities.md#what-becomes-open).
import { describe, expect, it } from 'vitest';
import {
  listHarmlessChanges,
  listOpeningChanges,
  type RuleChange,
  ruleFields,
} from '../../../../test/support/rule-changes.ts';
import { startWorld } from '../../../../test/support/world.ts';
import { newId } from '../../../kit/ids.ts';

const world = await startWorld();
const owner = await world.person('owner@example.com');
const workspace = await world.workspace(owner);
await world.db.updateTable('workspaces').set({ rate_multiplier: 1000 }).where('id', '=', workspace).execute();
const token = await world.token(owner, workspace);
const app = await world.appOf(owner, workspace, { public_settings: 'public_without_login' });

const anyone = { user_condition: { id: '{{user.id}}' } };
const operations = ['read', 'create', 'update', 'delete', 'update_check'] as const;
type Operation = (typeof operations)[number];

function put(name: string, operation: Operation, rule: unknown, query = '') {
  const rls = {
    ...(operation === 'update_check' && { update: anyone }),
    ...(rule !== undefined && { [operation]: rule }),
  };
  const body = { name, properties: ruleFields, rls };
  return world.call('PUT', `/api/apps/${app.id}/entity-schemas/${name}${query}`, { as: token, body });
}

interface User {
  readonly id: string;
  readonly email: string;
  readonly full_name: string;
  readonly token: string;
}

const users = new Map<string, User>();

/** An app user with these attributes. Examples with a stored record use separate users, whom no record names. */
async function userWith({ attributes, record_id }: Example): Promise<User> {
  const key = JSON.stringify([attributes, record_id === null]);
  const known = users.get(key);
  if (known !== undefined) return known;
  const {
    email = `user${users.size}@example.com`,
    full_name = `User ${users.size}`,
    role = 'user',
    data = {},
  } = attributes ?? {};
  const names = { full_name: String(full_name), role: role === 'admin' ? ('admin' as const) : ('user' as const) };
  const user = await world.appUser(app, String(email), { ...names, data: JSON.stringify(data) });
  const made = { ...user, full_name: names.full_name, token: await world.appUserToken(app, user) };
  users.set(key, made);
  return made;
}

interface Example {
  readonly record_id: string | null;
  readonly record: Record<string, unknown> | null;
  readonly change: Record<string, unknown> | null;
  readonly principal: string;
  readonly attributes: Record<string, unknown> | null;
}

/** Replaces the templates in the value with the user's own id, e-mail address and name. */
const withoutTemplates = (value: Record<string, unknown> | null, user: User | undefined): Record<string, unknown> =>
  JSON.parse(
    JSON.stringify(value ?? {}).replaceAll(/\{\{user\.(id|email|full_name)\}\}/g, (_all, name: string) =>
      String(user?.[name as 'id']),
    ),
  );

/** Stores the record that an example describes. */
async function store(name: string, shown: Record<string, unknown>): Promise<string> {
  const at = new Date(world.clock.now().getTime() - 1000);
  const { id = newId(), created_by = 'else@example.com', created_by_id = newId(), is_sample = false, ...rest } = shown;
  const { created_date = at, updated_date = at, ...data } = rest;
  const row = {
    id: String(id),
    app_id: app.id,
    entity_name: name,
    data: JSON.stringify(data),
    size_bytes: JSON.stringify(data).length,
    created_by: String(created_by),
    created_by_id: String(created_by_id),
    created_date: new Date(created_date as string),
    updated_date: new Date(updated_date as string),
    is_sample: is_sample === true,
  };
  await world.db.insertInto('entity_records').values(row).execute();
  return row.id;
}

/** Sends the request that an example describes, as the caller it names. */
async function send(name: string, operation: Operation, example: Example, user: User | undefined, id: string) {
  const at = `/api/apps/${app.id}/entities/${name}`;
  const as = user === undefined ? {} : { as: user.token };
  if (operation === 'create') return world.call('POST', at, { ...as, body: withoutTemplates(example.record, user) });
  if (operation === 'read') return world.call('GET', `${at}/${id}`, as);
  if (operation === 'delete') return world.call('DELETE', `${at}/${id}`, as);
  return world.call('PUT', `${at}/${id}`, { ...as, body: withoutTemplates(example.change, user) });
}

/**
 * Whether a change can't open `create`. A new record always belongs to its creator, is not a sample, and is created
 * now.
 */
const isAboutColumns = ({ before, after }: RuleChange) => /created_|is_sample/.test(JSON.stringify([before, after]));

const listCases = (changes: readonly RuleChange[]) =>
  changes.map((change, at) => {
    const operation = operations[at % operations.length] ?? 'read';
    return { ...change, operation: operation === 'create' && isAboutColumns(change) ? ('read' as const) : operation };
  });

describe('newly_open', () => {
  it('reports every opening, with an example that succeeds and was refused before', { timeout: 900_000 }, async () => {
    // A missing check allows everything, so nothing can open it further.
    const cases = listCases(listOpeningChanges()).filter(
      ({ operation, before }) => operation !== 'update_check' || before !== undefined,
    );
    const kinds = new Map<string, number>();
    const failed: unknown[] = [];
    for (const [at, { name: what, before, after, operation }] of cases.entries()) {
      const name = `E${at % 30}`;
      await put(name, operation, before);
      const preview = await put(name, operation, after, '?dry_run=true');
      const { newly_open } = preview.body.impact;
      const example: Example | undefined = newly_open[0]?.example;
      if (newly_open.length !== 1 || newly_open[0].operation !== operation || example === undefined) {
        failed.push({ what, operation, before, after, newly_open });
        continue;
      }
      const user = example.principal === 'anonymous' ? undefined : await userWith(example);
      const id = example.record_id ?? (await store(name, withoutTemplates(example.record, user)));
      const refused = await send(name, operation, example, user, id);
      await put(name, operation, after);
      const allowed = await send(name, operation, example, user, id);
      if (![403, 404].includes(refused.status) || allowed.status !== 200)
        failed.push({
          what,
          operation,
          before,
          after,
          example,
          statuses: [refused.status, allowed.status],
          allowed: allowed.body,
        });
      for (const kind of [example.principal, example.record_id === null ? 'reasoned' : 'sampled', operation])
        kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
    }
    expect(failed).toEqual([]);
    expect(cases.length).toBeGreaterThanOrEqual(200);
    for (const kind of ['anonymous', 'any_user', 'creator', 'some_user', 'reasoned', 'sampled', ...operations])
      expect(kinds.get(kind) ?? 0, kind).toBeGreaterThan(5);
  });

  it('reports nothing for rules that allow the same or less', { timeout: 900_000 }, async () => {
    // A sample of the harmless changes. openings.test.ts covers all of them.
    const some = listHarmlessChanges().filter((_change, at) => at % 3 === 0);
    const cases = listCases(some).filter(({ operation, after }) => operation !== 'update_check' || after !== undefined);
    const alarms: unknown[] = [];
    for (const { name: what, before, after, operation } of cases) {
      await put('Rewritten', operation, before);
      const { body, headers } = await put('Rewritten', operation, after, '?dry_run=true');
      if (body.impact.newly_open.length > 0 || headers['x-partial-result'] !== undefined)
        alarms.push({
          what,
          operation,
          before,
          after,
          got: body.impact.newly_open,
          headers: headers['x-partial-result'],
        });
    }
    expect(alarms).toEqual([]);
    expect(cases.length).toBeGreaterThanOrEqual(200);
  });

  const putTo = async (appId: string, properties: object, read: unknown, more: object = {}) => {
    const body = { name: 'Task', properties, rls: { read }, ...more };
    return world.call('PUT', `/api/apps/${appId}/entity-schemas/Task`, { as: token, body });
  };

  it('names what was not decided', async () => {
    const { id } = await world.appOf(owner, workspace);
    const properties = { code: { type: 'string', pattern: '^[A-Z]{3}-[0-9]{4}$' } };
    const required = { required: ['code'] };
    await putTo(id, properties, { 'data.code': 'ABC-1234' }, required);
    const { body, headers } = await putTo(id, properties, anyone, required);
    expect(body.impact.newly_open).toEqual([]);
    expect(headers['x-partial-result']).toBe('impact.newly_open');
  });

  it('names what is not compared: field rules that are gone or replaced', async () => {
    const { id } = await world.appOf(owner, workspace);
    const put = async (address: object, zip: object) => {
      const properties = { address: { type: 'object', properties: { zip: { type: 'string', ...zip } }, ...address } };
      return (await putTo(id, properties, anyone)).headers['x-partial-result'];
    };
    const rule = (read: unknown) => ({ rls: { read } });
    await put({}, {});
    expect(await put(rule(false), {})).toBeUndefined();
    expect(await put(rule(false), rule(anyone))).toBe('impact.newly_open');
    expect(await put(rule(false), rule(anyone))).toBeUndefined();
    expect(await put(rule(false), {})).toBe('impact.newly_open');
    expect(await put({}, {})).toBe('impact.newly_open');
    expect(await put({}, {})).toBeUndefined();
  });

  it('reports nothing for anonymous callers if the app does not let them in', async () => {
    const { id } = await world.appOf(owner, workspace, { public_settings: 'public_with_login' });
    const principals = async (read: unknown) => {
      const { body } = await putTo(id, ruleFields, read);
      return body.impact.newly_open.map(({ example }: { example: Example }) => example.principal);
    };
    await principals(false);
    expect(await principals(true)).toEqual(['any_user']);
    await principals(anyone);
    expect(await principals(true)).toEqual([]);
    await principals(false);
    await world.call('POST', `/api/apps/${id}/entities/Task`, { as: token, body: { title: 'stored' } });
    expect(await principals(true)).toEqual(['any_user']);
  });
});
