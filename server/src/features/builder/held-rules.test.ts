// Tests that a turn of the builder chat opens no data by itself, and that people decide about what it proposes
// (docs/api/builder-chat.md#held-rules).
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import {
  callTools,
  listCalls,
  listMessages,
  listResults,
  say,
  startChatWorld,
  writeFile,
} from '../../../test/support/chat.ts';
import { newId } from '../../kit/ids.ts';

const chat = await startChatWorld();
const { world, owner, workspace, token, scriptSteps, createApp, send, getChat, getApp, readFile } = chat;

type App = { readonly id: string };
type Schema = Record<string, unknown>;

const own = { created_by_id: '{{user.id}}' };
const signedIn = { user_condition: { id: '{{user.id}}' } };
const properties = { title: { type: 'string' } };

const at = (app: App, path: string) => `/api/apps/${app.id}/${path}`;
const putSchema = (app: App, schema: Schema, name = 'Task') =>
  world.call('PUT', at(app, `entity-schemas/${name}`), { as: token, body: { name, ...schema } });
const readSchema = async (app: App, name = 'Task') =>
  (await world.call('GET', at(app, `entity-schemas/${name}`), { as: token })).body.schema;
const addRecord = (app: App, data: Schema = { title: 'secret' }, name = 'Task') =>
  world.call('POST', at(app, `entities/${name}`), { as: token, body: data });
const answerRule = (app: App, id: string, apply: boolean) =>
  world.call('POST', at(app, `chat/held-rules/${id}`), { as: token, body: { apply } });
const countAnonymously = async (app: App) => {
  const { status, body } = await world.call('GET', at(app, 'entities/Task'));
  return status === 200 ? body.items.length : status;
};
const listHeld = async (app: App) => (await getChat(app)).held_rules;
const save = (schema: Schema, name = 'Task'): [string, object] => ['save_entity', { name, schema }];

/** An app that anybody may open, with an entity and one record. */
async function createAppWithTask(schema: Schema = { properties, rls: { read: own, write: own } }) {
  const app = await createApp({ public_settings: 'public_without_login' });
  await putSchema(app, schema);
  await addRecord(app);
  return app;
}

const runTurn = (app: App, ...calls: [string, object][]) => {
  const requests = scriptSteps(callTools(...calls), say('I corrected the typo.'));
  return send(app, 'Correct the typo').then((got) => ({ got, results: listResults(requests.at(-1)) }));
};

describe('a turn that would open stored records', () => {
  it('saves files and fields as one revision, keeps the rules, and proposes the new ones', async () => {
    const app = await createAppWithTask();
    const before = (await getApp(app)).revision;
    const opening = { properties: { ...properties, due: { type: 'string' } }, rls: { read: true, write: true } };
    const { got, results } = await runTurn(app, save(opening), writeFile('public/a.js', 'let a;'));
    expect(got.body.status.state).toBe('ready');
    expect(await countAnonymously(app)).toBe(0);
    expect(await readSchema(app)).toEqual({
      name: 'Task',
      properties: opening.properties,
      rls: { create: own, read: own, update: own, delete: own },
    });
    expect(await readFile(app, 'public/a.js')).toBe('let a;');
    expect((await getApp(app)).revision).toBe(before + 1);
    const held = await listHeld(app);
    expect(held.map((rule: Schema) => [rule.entity, rule.operation, rule.principal, rule.before, rule.after])).toEqual(
      expect.arrayContaining(
        ['create', 'read', 'update', 'delete'].map((operation) => ['Task', operation, 'anonymous', own, true]),
      ),
    );
    expect(held).toHaveLength(4);
    expect(held[0].example).toMatchObject({ record: expect.any(Object), attributes: null });
    // The model, the person and the audit log know.
    expect(results[0]).toContain('Held, because it would open data: create of Task, for callers who are not signed in');
    expect(listMessages(got).at(-1)).toContain(
      'system: Everything else was saved, but these rules stay as they were, because the new ones would open data:\n- create of Task',
    );
    const saved = listCalls(got).find(({ name }) => name === 'save_revision');
    expect(JSON.parse(saved?.arguments_string ?? '').held).toHaveLength(4);
    expect(saved?.results).toContain('--- a/entity Task\n+++ b/entity Task');
    expect(saved?.results).toContain('+    "due": {');
  });

  it('is put into effect rule by rule by a person, with an audit entry that says what opened', async () => {
    const app = await createAppWithTask();
    await runTurn(app, save({ properties, rls: { read: true, write: true } }));
    const [read, update] = await Promise.all(
      ['read', 'update'].map(async (operation) =>
        (await listHeld(app)).find((rule: Schema) => rule.operation === operation),
      ),
    );
    const revision = (await getApp(app)).revision + 1;
    const answered = { applied: true, revision };
    expect(await answerRule(app, read.id, true)).toMatchObject({ status: 200, body: answered });
    expect(await countAnonymously(app)).toBe(1);
    expect(await readSchema(app)).toMatchObject({ rls: { create: own, read: true, update: own, delete: own } });
    expect(await answerRule(app, read.id, true)).toMatchObject({ status: 404, body: { code: 'held_rule_not_found' } });
    // The other rules can still be answered.
    expect(await answerRule(app, update.id, false)).toMatchObject({ status: 200, body: { applied: false } });
    expect((await listHeld(app)).map((rule: Schema) => rule.operation).toSorted()).toEqual(['create', 'delete']);
    const { rows } = await sql<{ entry: { type: string; after: Schema; actor: object } }>`
      select entry from (select entry from audit_pending union all select entry from audit_entries) entries
      where entry->>'app_id' = ${app.id} and entry->>'type' like 'entity_schema.%' order by entry->>'id'`.execute(
      world.db,
    );
    const [, , applied, dropped] = rows.map(({ entry }) => entry);
    expect(applied).toMatchObject({ type: 'entity_schema.updated', actor: { id: owner.id } });
    expect(applied?.after.newly_open).toEqual([{ operation: 'read', principal: 'anonymous' }]);
    expect(dropped).toMatchObject({ type: 'entity_schema.rule_dropped', before: { operation: 'update', rule: true } });
  });

  it('is held for signed-in users too, and not if it only narrows', async () => {
    const app = await createAppWithTask();
    await runTurn(app, save({ properties, rls: { read: signedIn, write: false } }));
    expect((await listHeld(app)).map(({ operation, principal }: Schema) => `${operation} ${principal}`)).toEqual([
      'read any_user',
    ]);
    expect(await readSchema(app)).toMatchObject({ rls: { create: false, read: own, update: false, delete: false } });
  });

  it('is held although no record that is valid now could be read', async () => {
    const state = (values: string[]) => ({ state: { type: 'string', enum: values } });
    const app = await createAppWithTask({ properties: state(['a', 'b']), rls: { read: own, write: own } });
    await addRecord(app, { state: 'b' });
    const narrowed = { properties: state(['a']), rls: { read: { 'data.state': { $ne: 'a' } }, write: own } };
    await runTurn(app, save(narrowed));
    expect(await readSchema(app)).toMatchObject({ properties: state(['a']), rls: { read: own } });
    expect(await listHeld(app)).toMatchObject([{ operation: 'read' }]);
  });

  it('keeps a field that a rule which stays needs', async () => {
    const byTeam = { 'data.team': '{{user.data.team}}' };
    const fields = { ...properties, team: { type: 'string' } };
    const app = await createAppWithTask({ properties: fields, rls: { read: byTeam, write: false } });
    await runTurn(app, save({ properties, rls: { read: true, write: false } }));
    expect(await readSchema(app)).toMatchObject({ properties: fields, rls: { read: byTeam } });
  });

  it('counts records in the trash, which can be restored', async () => {
    const app = await createApp();
    await putSchema(app, { properties, rls: { read: own, write: own } });
    const { body } = await addRecord(app);
    await world.call('DELETE', at(app, `entities/Task/${body.id}`), { as: token });
    await runTurn(app, save({ properties, rls: { read: signedIn, write: own } }));
    expect(await readSchema(app)).toMatchObject({ rls: { read: own } });
  });

  it('is refused if the first record is created while it is saved', async () => {
    const app = await createApp();
    await putSchema(app, { properties, rls: { read: own, write: own } });
    scriptSteps(callTools(save({ properties, rls: { read: signedIn, write: own } })), say());
    // Creates the record between the decision and the transaction that saves.
    await sql`create function add_record() returns trigger language plpgsql as $$ begin
        insert into entity_records (id, app_id, entity_name, data, size_bytes, created_by, created_by_id, created_date, updated_date, is_sample)
        select gen_random_uuid(), new.id, 'Task', '{}', 2, 'x', 'x', now(), now(), false where new.revision > old.revision;
        return new; end $$`.execute(world.db);
    await sql`create trigger add_record before update on apps for each row execute function add_record()`.execute(
      world.db,
    );
    const got = await send(app).finally(() => sql`drop function add_record cascade`.execute(world.db));
    expect(got.body.status).toMatchObject({ state: 'error', error_source: 'builder' });
    expect(got.body.status.message).toContain('the records of Task');
    expect(await readSchema(app)).toMatchObject({ rls: { read: own } });
  });
});

describe('letting everybody create an account', () => {
  const everybody: [string, object] = ['set_sign_up', { who: 'everybody' }];
  const readSignUp = async (app: App) =>
    (await world.call('GET', at(app, 'auth/settings'), { as: token })).body.sign_up;
  const setSignUp = (app: App, sign_up: string) =>
    world.call('PATCH', at(app, 'auth/settings'), { as: token, body: { sign_up } });

  it('is held in an app that has records, whatever the message says', async () => {
    const app = await createAppWithTask({ properties, rls: { read: signedIn, write: own } });
    const { revision } = await getApp(app);
    const { got, results } = await runTurn(app, everybody, writeFile('public/a.js', 'let a;'));
    expect(got.body.status.state).toBe('ready');
    expect(await readSignUp(app)).toBe('closed');
    expect(await readFile(app, 'public/a.js')).toBe('let a;');
    expect(results[0]).toContain('Held, because the app has records');
    expect(listMessages(got).at(-1)).toContain('- creating an account, for everybody: the app has records');
    const [held, ...more] = await listHeld(app);
    expect(more).toEqual([]);
    const rule = { entity: null, operation: 'sign_up', principal: 'anonymous', before: 'closed', after: 'open' };
    expect(held).toMatchObject({ ...rule, example: null });
    expect(await runTurn(app, ['read_sign_up', {}])).toMatchObject({
      results: [expect.stringContaining('is proposed, and the person has not decided yet.')],
    });
    const answered = { applied: true, revision: revision + 1 };
    expect(await answerRule(app, held.id, true)).toMatchObject({ status: 200, body: answered });
    expect(await readSignUp(app)).toBe('open');
    expect(await listHeld(app)).toEqual([]);
  });

  it('is held in the turn that follows the question, and beside rules; both are answered by themselves', async () => {
    const app = await createAppWithTask();
    await runTurn(app, ['ask', { question: 'Who may create an account?' }]);
    await runTurn(app, everybody, save({ properties, rls: { read: signedIn, write: own } }));
    const byOperation = new Map((await listHeld(app)).map((rule: Schema) => [rule.operation, rule.id]));
    expect([...byOperation.keys()].sort()).toEqual(['read', 'sign_up']);
    expect(await answerRule(app, String(byOperation.get('read')), true)).toMatchObject({ status: 200 });
    const dropped = { status: 200, body: { applied: false } };
    expect(await answerRule(app, String(byOperation.get('sign_up')), false)).toMatchObject(dropped);
    expect(await readSignUp(app)).toBe('closed');
    const { rows } = await sql`select from (select entry from audit_pending union all select entry from audit_entries) e
      where entry->>'app_id' = ${app.id} and entry->>'type' = 'app.sign_up_dropped'`.execute(world.db);
    expect(rows).toHaveLength(1);
  });

  it('can only be dropped once somebody has changed the setting, and a later turn replaces it', async () => {
    const app = await createAppWithTask();
    await runTurn(app, everybody);
    const [held] = await listHeld(app);
    await setSignUp(app, 'invited');
    const outdated = { status: 409, body: { code: 'held_rules_outdated' } };
    expect(await answerRule(app, held.id, true)).toMatchObject(outdated);
    await runTurn(app, ['set_sign_up', { who: 'nobody' }]);
    expect(await listHeld(app)).toEqual([]);
    expect(await readSignUp(app)).toBe('closed');
  });

  it('is not held without records, nor if everybody can already, nor for people who were invited', async () => {
    const empty = await createApp({ public_settings: 'public_without_login' });
    await putSchema(empty, { properties, rls: { read: signedIn, write: own } });
    await runTurn(empty, everybody);
    expect(await readSignUp(empty)).toBe('open');
    const app = await createAppWithTask();
    await runTurn(app, ['set_sign_up', { who: 'invited' }]);
    expect(await readSignUp(app)).toBe('invited');
    await setSignUp(app, 'open');
    await runTurn(app, everybody);
    expect(await listHeld(app)).toEqual([]);
    expect(await readSignUp(app)).toBe('open');
  });
});

describe('rules of fields', () => {
  const withRule = (rls: object | undefined) => ({ ...properties, salary: { type: 'number', ...(rls && { rls }) } });
  const admins = { read: { user_condition: { role: 'admin' } } };
  const rls = { read: signedIn, write: own };

  it('that are removed stay, and are proposed together', async () => {
    const app = await createAppWithTask({ properties: withRule(admins), rls });
    await runTurn(app, save({ properties: { ...withRule(undefined), note: { type: 'string' } }, rls }));
    expect((await readSchema(app)).properties).toEqual({ ...withRule(admins), note: { type: 'string' } });
    const [held, ...more] = await listHeld(app);
    expect(more).toEqual([]);
    const rules = { before: { salary: admins }, after: { salary: null } };
    expect(held).toMatchObject({ operation: 'fields', principal: null, example: null, ...rules });
    await answerRule(app, held.id, true);
    expect((await readSchema(app)).properties).toEqual({ ...withRule(undefined), note: { type: 'string' } });
  });

  it('that are all a turn changes make no revision, and can be applied', async () => {
    const app = await createAppWithTask({ properties: withRule(admins), rls });
    const before = (await getApp(app)).revision;
    const { got } = await runTurn(app, save({ properties: withRule(undefined), rls }));
    expect((await getApp(app)).revision).toBe(before);
    expect(listCalls(got).filter(({ name }) => name === 'save_revision')).toEqual([]);
    const [held] = await listHeld(app);
    expect((await answerRule(app, held.id, true)).status).toBe(200);
    expect((await readSchema(app)).properties).toEqual(withRule(undefined));
  });

  it('are not lost by removing a field in one turn and declaring it again in the next', async () => {
    const app = await createAppWithTask({ properties: withRule(admins), rls });
    await addRecord(app, { title: 'x', salary: 91_234 });
    await runTurn(app, save({ properties, rls }));
    expect((await readSchema(app)).properties).toEqual(properties);
    await runTurn(app, save({ properties: withRule(undefined), rls }));
    expect((await readSchema(app)).properties.salary.rls).toEqual({ read: false, write: false });
    expect(await listHeld(app)).toMatchObject([{ operation: 'fields', after: { salary: null } }]);
  });
});

describe('answerHeldRules', () => {
  it('is refused for an agent, which nobody builds by chat', async () => {
    const agent = await world.appOf(owner, workspace, { app_type: 'user_agent' });
    expect((await answerRule(agent, newId(), true)).status).toBe(400);
  });
});

describe('a new entity', () => {
  it('whose rules admit signed-in users only is not held', async () => {
    const app = await createApp({ public_settings: 'public_without_login' });
    const rls = { read: signedIn, write: own };
    const { got } = await runTurn(app, save({ properties, rls }));
    expect(await readSchema(app)).toEqual({ name: 'Task', properties, rls });
    expect(await listHeld(app)).toEqual([]);
    expect(listMessages(got)).toHaveLength(2);
  });

  it('is closed where it would be open to callers who are not signed in, also in an app that is private', async () => {
    const app = await createApp();
    await runTurn(app, save({ properties, rls: { read: true, write: own } }));
    expect(await readSchema(app)).toEqual({ name: 'Task', properties, rls: { create: own, update: own, delete: own } });
    const [held] = await listHeld(app);
    expect(held).toMatchObject({ operation: 'read', principal: 'anonymous', before: null, after: true });
    await answerRule(app, held.id, true);
    expect(await readSchema(app)).toMatchObject({ rls: { read: true } });
  });
});

describe('answerHeldRules', () => {
  it.each([true, false])('is answered once: a repeat answers 404 and changes nothing', async (apply) => {
    const app = await createAppWithTask();
    await runTurn(app, save({ properties, rls: { read: true, write: own } }));
    const [held] = await listHeld(app);
    expect(await answerRule(app, held.id, apply)).toMatchObject({ status: 200, body: { applied: apply } });
    const readEffects = async () => {
      const { rows } = await sql<{ count: number }>`select count(*)::int as count
        from (select entry from audit_pending union all select entry from audit_entries) entries
        where entry->>'app_id' = ${app.id} and entry->>'outcome' is distinct from 'refused'`.execute(world.db);
      return [await readSchema(app), (await getApp(app)).revision, await listHeld(app), rows[0]?.count];
    };
    const before = await readEffects();
    for (const answer of [apply, !apply])
      expect(await answerRule(app, held.id, answer)).toMatchObject({
        status: 404,
        body: { code: 'held_rule_not_found' },
      });
    expect(await readEffects()).toEqual(before);
  });

  it('answers 409 if the schema has changed since; the proposal can be dropped', async () => {
    const app = await createAppWithTask();
    await runTurn(app, save({ properties, rls: { read: true, write: own } }));
    const [held] = await listHeld(app);
    await putSchema(app, { properties, rls: { read: false, write: own } });
    const refused = await answerRule(app, held.id, true);
    expect(refused).toMatchObject({ status: 409, body: { code: 'held_rules_outdated', retry_safe: false } });
    expect(await readSchema(app)).toMatchObject({ rls: { read: false } });
    expect(await answerRule(app, held.id, false)).toMatchObject({ status: 200, body: { applied: false } });
    expect(await listHeld(app)).toEqual([]);
  });

  it('answers 402 if the history has no room for the earlier rules; the proposal stays, and can be dropped', async () => {
    const app = await createAppWithTask();
    await runTurn(app, save({ properties, rls: { read: true, write: own } }));
    const [held] = await listHeld(app);
    const setQuota = (storage_quota_bytes: number | null) =>
      world.db.updateTable('workspaces').set({ storage_quota_bytes }).where('id', '=', workspace).execute();
    try {
      await setQuota(1);
      world.clock.aheadMs += 61_000; // expires the usage that this process has cached
      expect(await answerRule(app, held.id, true)).toMatchObject({
        status: 402,
        body: { code: 'storage_quota_exceeded' },
      });
      expect(await listHeld(app)).toMatchObject([{ id: held.id }]);
      expect(await answerRule(app, held.id, false)).toMatchObject({ status: 200, body: { applied: false } });
    } finally {
      await setQuota(null);
      world.clock.aheadMs -= 61_000;
    }
  });

  it('is for editors of the app, and a later turn replaces what an earlier one proposed', async () => {
    const app = await createAppWithTask();
    await runTurn(app, save({ properties, rls: { read: true, write: own } }));
    const [first] = await listHeld(app);
    const viewer = await world.member(workspace, 'viewer', 'viewer@example.com');
    const call = world.call('POST', at(app, `chat/held-rules/${first.id}`), {
      as: await world.token(viewer, workspace),
      body: { apply: true },
    });
    expect((await call).status).toBe(403);
    await runTurn(app, save({ properties, rls: { read: signedIn, write: own } }));
    expect(await answerRule(app, first.id, true)).toMatchObject({ status: 404 });
    expect(await listHeld(app)).toMatchObject([{ operation: 'read', principal: 'any_user' }]);
  });
});
