// Tests the scan group `rls`: its findings, their proofs, and the recommended rules, which must close the openings.
import { describe, expect, it } from 'vitest';
import { findOpenRules } from '../../../../test/support/open-rules.ts';
import { startWorld } from '../../../../test/support/world.ts';
import { findAccessAsService } from '../../../core/auth/proofs-without-guard.ts';
import { newId } from '../../../kit/ids.ts';

import { createRowRulesScan } from './row-rules.ts';

const world = await startWorld();
const owner = await world.person('owner@example.com');
const workspace = await world.workspace(owner);
await world.db.updateTable('workspaces').set({ rate_multiplier: 1000 }).where('id', '=', workspace).execute();
const token = await world.token(owner, workspace);
const app = await world.appOf(owner, workspace, { public_settings: 'public_without_login' });
const ann = await world.appUser(app, 'ann@example.com');
const bob = await world.appUser(app, 'bob@example.com');
const tokens = { ann: await world.appUserToken(app, ann), bob: await world.appUserToken(app, bob) };

const mine = { created_by_id: '{{user.id}}' };
const anyone = { user_condition: { id: '{{user.id}}' } };
const admin = { user_condition: { role: 'admin' } };
const owned = { create: anyone, read: mine, update: mine, delete: mine };
const properties = {
  title: { type: 'string' },
  state: { type: 'string', enum: ['draft', 'live', 'archived'], default: 'draft' },
  public: { type: 'boolean' },
  assignees: { type: 'array', items: { type: 'string' } },
  team: { type: 'string' },
  owner: { type: 'object', properties: { person_id: { type: 'string' } } },
  cost: { type: 'number', rls: { read: admin, write: admin } },
};

const scanRowRules = createRowRulesScan(findOpenRules);

async function scan(...schemas: { name: string; rls?: unknown }[]) {
  const access = await findAccessAsService(world.db, { workspace_id: workspace, app_id: app.id });
  if (access === undefined) throw new Error('the app is gone');
  const documents = schemas.map((schema) => ({ name: schema.name, document: { properties, ...schema } }));
  return scanRowRules(world.app.database.db, access, documents, world.clock.now());
}

/** An entity's rules, the operations that they open, and the callers who gain access. */
const open: readonly [what: string, rls: Record<string, unknown>, operations: string[], principal: string][] = [
  ['everyone reads', { ...owned, read: true }, ['read'], 'anonymous'],
  ['everyone writes', { read: admin, write: true }, ['create', 'update', 'delete'], 'anonymous'],
  ['everyone creates', { ...owned, create: true }, ['create'], 'anonymous'],
  ['everyone deletes', { ...owned, delete: true }, ['delete'], 'anonymous'],
  ['every user reads', { ...owned, read: anyone }, ['read'], 'any_user'],
  [
    'every user reads, by address',
    { ...owned, read: { user_condition: { email: '{{user.email}}' } } },
    ['read'],
    'any_user',
  ],
  [
    'users by their role',
    { ...owned, update: { $or: [admin, { user_condition: { role: 'user' } }] } },
    ['update'],
    'any_user',
  ],
  [
    'their role compared with itself',
    { ...owned, update: { user_condition: { role: '{{user.role}}' } } },
    ['update'],
    'any_user',
  ],
  ['all but archived', { ...owned, read: { 'data.state': { $ne: 'archived' } } }, ['read'], 'any_user'],
  [
    'drafts of others',
    { ...owned, update: { 'data.state': { $in: ['draft', 'live'] } }, update_check: { 'data.state': { $ne: 'live' } } },
    ['update'],
    'any_user',
  ],
  [
    'all that is not private',
    { ...owned, read: { $or: [mine, { $nor: [{ 'data.public': false }] }] } },
    ['read'],
    'any_user',
  ],
  [
    'an owner check turned round',
    { ...owned, delete: { created_by_id: { $ne: '{{user.id}}' } } },
    ['delete'],
    'any_user',
  ],
  [
    'an owner check that is always true',
    { ...owned, read: { created_by_id: { $exists: true } } },
    ['read'],
    'any_user',
  ],
  ['dates since long ago', { ...owned, read: { created_date: { $gte: '2000-01-01' } } }, ['read'], 'any_user'],
  ['records without a team', { ...owned, update: { $or: [mine, { 'data.team': null }] } }, ['update'], 'any_user'],
  [
    'the caller, or not the caller',
    { ...owned, read: { $or: [{ 'data.title': '{{user.email}}' }, { 'data.title': { $ne: '{{user.email}}' } }] } },
    ['read'],
    'any_user',
  ],
  [
    'an open branch deep inside',
    {
      ...owned,
      read: {
        $and: [
          { $or: [{ 'data.team': '{{user.data.team}}' }, { 'data.state': { $nin: ['live'] } }] },
          { created_by: { $exists: true } },
        ],
      },
    },
    ['read'],
    'any_user',
  ],
];

const closed: readonly [what: string, rls: unknown][] = [
  ['no rules', undefined],
  ['empty rules', { read: {}, create: null, update: '' }],
  ['owned', owned],
  ['a list of one', { ...owned, read: { created_by_id: { $in: ['{{user.id}}'] } } }],
  ['a double negation', { ...owned, read: { $nor: [{ created_by_id: { $ne: '{{user.id}}' } }] } }],
  ['marked as public', { ...owned, read: { $or: [mine, { 'data.public': true }] } }],
  ['marked in a list', { ...owned, read: { 'data.state': { $in: ['live'] } } }],
  [
    'assigned',
    {
      ...owned,
      read: { 'data.assignees': '{{user.email}}' },
      update: { 'data.assignees': { $all: ['{{user.email}}'] } },
    },
  ],
  [
    'owned by a field',
    {
      ...owned,
      read: { 'data.owner.person_id': '{{user.id}}' },
      update: { 'data.owner.person_id': { $eq: '{{user.id}}' } },
    },
  ],
  ['by text with a template', { ...owned, update: { 'data.title': 'user:{{user.id}}' } }],
  ['by team', { ...owned, read: { 'data.team': '{{user.data.team}}' }, update: { 'data.team': '{{user.data.team}}' } }],
  ['admins', { read: admin, write: admin }],
  ['a contradiction', { ...owned, read: { $and: [{ 'data.state': { $ne: 'live' } }, { 'data.state': 'live' }] } }],
  ['updates that nothing passes', { ...owned, update: true, update_check: false }],
];

describe('scanRowRules', () => {
  it.each(closed)('reports nothing for %s', async (_what, rls) => {
    expect(await scan({ name: 'Task', rls })).toEqual({ coverage: { value: 'ran' }, findings: [] });
  });

  it('reports nothing for User without rules', async () => {
    expect((await scan({ name: 'User' })).findings).toEqual([]);
  });

  it.each(open)(
    'reports %s, with a request that succeeds until the rules are fixed',
    async (_what, rls, operations, principal) => {
      const name = `Task${newId().replaceAll('-', '')}`.slice(0, 40);
      const at = `/api/apps/${app.id}`;
      const save = (rules: unknown) =>
        world.call('PUT', `${at}/entity-schemas/${name}`, { as: token, body: { name, properties, rls: rules } });
      await save({ create: anyone, read: mine });
      const records = `${at}/entities/${name}`;
      const create = async () =>
        (await world.call('POST', records, { as: tokens.ann, body: { title: 'x' } })).body.id as string;
      const ids = { read: await create(), update: await create(), delete: await create() };
      expect((await save(rls)).status).toBe(200);
      const { findings } = await scan({ name, rls });
      expect(findings).toHaveLength(1);
      const { item } = findings[0] ?? { item: undefined };
      expect(item).toMatchObject({ entity_name: name, open_operations: operations, proof: { principal } });
      expect(Object.keys(item?.recommended_rules ?? {}).toSorted()).toEqual(operations.toSorted());
      expect(item?.proof.reachable_records).toBe(item?.proof.operation === 'create' ? 0 : 3);
      expect(item?.proof.sample_fields).toContain('title');
      if (item?.proof.operation === 'read') expect(item.proof.sample_fields).not.toContain('cost');
      const as = principal === 'anonymous' ? {} : { as: tokens.bob };
      const request = (operation: string, sent: object) => {
        if (operation === 'create') return world.call('POST', records, { ...sent, body: { title: 'y' } });
        if (operation === 'read') return world.call('GET', `${records}/${ids.read}`, sent);
        if (operation === 'delete') return world.call('DELETE', `${records}/${ids.delete}`, sent);
        return world.call('PUT', `${records}/${ids.update}`, { ...sent, body: {} });
      };
      for (const operation of operations) expect((await request(operation, as)).status, operation).toBe(200);
      ids.delete = await world
        .call('POST', records, { as: tokens.ann, body: { title: 'z' } })
        .then(({ body }) => (body.id as string | undefined) ?? ids.update);
      expect((await save({ ...rls, ...item?.recommended_rules })).status).toBe(200);
      for (const operation of operations)
        expect([403, 404], operation).toContain((await request(operation, as)).status);
      expect((await scan({ name, rls: { ...rls, ...item?.recommended_rules } })).findings).toEqual([]);
      // The creator has access. In the case of the inverted owner check, they gained it through the fix.
      for (const operation of operations)
        expect((await request(operation, { as: tokens.ann })).status, operation).toBe(200);
    },
  );

  it('keeps the alternatives that are not open', async () => {
    const { findings } = await scan({ name: 'Task', rls: { update: { $or: [admin, { 'data.state': 'draft' }] } } });
    expect(findings[0]?.item.recommended_rules).toEqual({ update: { $or: [mine, admin] } });
    const narrowed = await scan({ name: 'Task', rls: { update: { 'data.state': 'draft' } } });
    expect(narrowed.findings[0]?.item.recommended_rules).toEqual({
      update: { $and: [mine, { 'data.state': 'draft' }] },
    });
  });

  it('orders by what is open', async () => {
    const severities = new Map<string, string | undefined>();
    for (const [what, rls] of open) severities.set(what, (await scan({ name: 'Task', rls })).findings[0]?.severity);
    expect(severities.get('everyone writes')).toBe('critical');
    expect(severities.get('everyone reads')).toBe('high');
    expect(severities.get('drafts of others')).toBe('medium');
    expect(severities.get('everyone creates')).toBe('medium');
    expect(severities.get('every user reads')).toBe('low');
  });

  it('has an identity of the entity and the rules that are open', async () => {
    const identityOf = async (rls: unknown) => (await scan({ name: 'Task', rls })).findings[0]?.identity;
    expect(await identityOf({ read: true })).toEqual(['Task', '{"read":true}']);
    expect(await identityOf({ read: true, update: mine })).toEqual(['Task', '{"read":true}']);
    expect(await identityOf({ read: true, write: true })).not.toEqual(['Task', '{"read":true}']);
  });
});
