// Tests rule explanations over HTTP: which principals and records they cover, whether real requests get the same
// decision, and whether they reveal anything that the caller may not read.
import { describe, expect, it } from 'vitest';
import { someOf } from '../../../../test/support/cases.ts';
import { createRandom, randomRule } from '../../../../test/support/rule-cases.ts';
import { startWorld } from '../../../../test/support/world.ts';
import { newId } from '../../../kit/ids.ts';

const world = await startWorld();
const owner = await world.person('owner@example.com');
const workspace = await world.workspace(owner);
await world.db.updateTable('workspaces').set({ rate_multiplier: 1000 }).where('id', '=', workspace).execute();
const token = await world.token(owner, workspace);
const app = await world.appOf(owner, workspace);
const ann = await world.appUser(app, 'ann@example.com', { full_name: 'Ann', data: JSON.stringify({ team: 'red' }) });
const annToken = await world.appUserToken(app, ann);
const editor = await world.member(workspace, 'editor', 'editor@example.com');
const editorToken = await world.token(editor, workspace);

const schemaPath = (name: string, of = app.id) => `/api/apps/${of}/entity-schemas/${name}`;
async function define(name: string, document: object): Promise<void> {
  const got = await world.call('PUT', schemaPath(name), { as: token, body: { name, ...document } });
  expect(got).toMatchObject({ status: 200 });
}
const records = (method: string, path: string, body?: unknown, as = token) =>
  world.call(method, `/api/apps/${app.id}/entities/${path}`, { as, ...(body !== undefined && { body }) });
const create = async (name: string, body: object, as = token): Promise<string> =>
  (await records('POST', name, body, as)).body.id;
const explain = (name: string, body: object, as = token) =>
  world.call('POST', `${schemaPath(name)}/rules/explain`, { as, body });
const asAnn = { as: { app_user_id: ann.id } };
const isAdmin = { user_condition: { role: 'admin' } };
const text = { type: 'string' };

/** Applies a patch whose operations add members to objects or items to lists. */
async function applyToSchema(name: string, patch: { path: string; value: unknown }[]): Promise<void> {
  const { schema } = (await world.call('GET', schemaPath(name), { as: token })).body;
  for (const { path, value } of patch) {
    const names = path.slice(1).split('/');
    const last = names.pop() as string;
    const inside = names.reduce((each, key) => each[key], schema);
    if (Array.isArray(inside)) inside.push(value);
    else inside[last] = value;
  }
  expect(await world.call('PUT', schemaPath(name), { as: token, body: schema })).toMatchObject({ status: 200 });
}

describe('explainRules', () => {
  it('names the clauses of the rule, which of them decide, and a change that really allows', async () => {
    await define('Task', {
      properties: { title: text },
      rls: { read: true, update: { $or: [{ created_by_id: '{{user.id}}' }, isAdmin] } },
    });
    const id = await create('Task', { title: 'a' });
    const got = await explain('Task', { operation: 'update', record_id: id, patch: { title: 'b' }, ...asAnn });
    expect(got).toMatchObject({ status: 200 });
    expect(got.body).toEqual({
      decision: 'deny',
      rule: 'present',
      principal: {
        kind: 'app_user',
        id: ann.id,
        email: 'ann@example.com',
        full_name: 'Ann',
        role: 'user',
        manages_app: false,
        reaches_app: true,
      },
      clauses: [
        {
          path: 'rls.update.$or[0].created_by_id',
          value: owner.id,
          compared_with: ann.id,
          result: 'false',
          deciding: true,
        },
        {
          path: 'rls.update.$or[1].user_condition.role',
          value: 'user',
          compared_with: 'admin',
          result: 'false',
          deciding: false,
        },
      ],
      fields: [],
      suggestion: {
        text: expect.stringContaining('ann@example.com'),
        target: 'rule',
        patch: [{ op: 'add', path: '/rls/update/$or/-', value: { user_condition: { id: ann.id } } }],
      },
    });
    expect(await records('PUT', `Task/${id}`, { title: 'b' }, annToken)).toMatchObject({ status: 403 });
    await applyToSchema('Task', got.body.suggestion.patch);
    expect(await records('PUT', `Task/${id}`, { title: 'b' }, annToken)).toMatchObject({ status: 200 });
    const allowed = await explain('Task', { operation: 'update', record_id: id, patch: { title: 'b' }, ...asAnn });
    expect(allowed.body).toMatchObject({ decision: 'allow', suggestion: null });
  });

  it('is about the caller, a person with access to the app, or nobody who is known', async () => {
    await define('Who', { properties: {}, rls: { read: { created_by_id: '{{user.id}}' } } });
    const ask = async (as: object | undefined, by = token) =>
      (await explain('Who', { operation: 'read', record: { created_by_id: editor.id }, ...(as && { as }) }, by)).body;
    expect(await ask(undefined)).toMatchObject({ decision: 'deny', principal: { kind: 'person', id: owner.id } });
    expect(await ask(undefined, editorToken)).toMatchObject({ decision: 'allow', principal: { role: 'admin' } });
    const byEmail = await ask({ email: 'Editor@example.com' });
    expect(byEmail).toMatchObject({
      decision: 'allow',
      principal: { kind: 'person', id: editor.id, manages_app: true },
    });
    expect(await ask({ anonymous: true })).toMatchObject({
      decision: 'deny',
      principal: { kind: 'anonymous', id: null, email: null, role: null, manages_app: false, reaches_app: false },
      clauses: [{ path: 'rls.read', value: null, result: 'false', deciding: true }],
      suggestion: null,
    });
  });

  it('is told to open the app if only its login is in the way', async () => {
    await define('Page', { properties: {}, rls: { read: true } });
    const { body } = await explain('Page', { operation: 'read', record: {}, as: { anonymous: true } });
    expect(body).toMatchObject({
      decision: 'deny',
      principal: { reaches_app: false },
      suggestion: {
        target: 'app',
        patch: [{ op: 'add', path: '/public_settings', value: 'public_without_login' }],
      },
    });
  });

  it('sees a person as their own requests do: with the data of the app user of the same proven address', async () => {
    await define('Team', { properties: { team: text }, rls: { read: { 'data.team': '{{user.data.team}}' } } });
    const both = await world.member(workspace, 'viewer', 'both@example.com');
    await world.appUser(app, both.email, { data: JSON.stringify({ team: 'blue' }) });
    const own = await world.token(both, workspace);
    for (const team of ['blue', 'red']) {
      const id = (await records('POST', 'Team', { team })).body.id;
      const { body } = await explain('Team', { operation: 'read', record: { team }, as: { email: both.email } });
      const real = await records('GET', `Team/${id}`, undefined, own);
      expect(body).toMatchObject({ decision: real.status === 200 ? 'allow' : 'deny', principal: { role: 'user' } });
      expect(real.status).toBe(team === 'blue' ? 200 : 404);
    }
  });

  it('refuses an anonymous caller of an app with login, whatever the rule', async () => {
    const publicApp = await world.appOf(owner, workspace, { public_settings: 'public_without_login' });
    const body = { name: 'Open', properties: {}, rls: { read: true, create: false } };
    for (const [of, decision] of [
      [app, 'deny'],
      [publicApp, 'allow'],
    ] as const) {
      await world.call('PUT', schemaPath('Open', of.id), { as: token, body });
      const ask = (question: object) =>
        world.call('POST', `${schemaPath('Open', of.id)}/rules/explain`, {
          as: token,
          body: { ...question, as: { anonymous: true } },
        });
      expect((await ask({ operation: 'read', record: {} })).body).toMatchObject({ decision, rule: 'true' });
      const real = await world.call('GET', `/api/apps/${of.id}/entities/Open`, {});
      expect(real.status === 200).toBe(decision === 'allow');
      const closed = (await ask({ operation: 'create', record: {} })).body;
      expect(closed).toMatchObject({ decision: 'deny', rule: 'false' });
      expect(closed.suggestion?.patch).toEqual(
        of === publicApp ? [{ op: 'add', path: '/rls/create', value: true }] : undefined,
      );
    }
  });

  it('explains a missing rule, for managers and for users of the app', async () => {
    await define('Bare', { properties: {} });
    const ask = async (more: object) => (await explain('Bare', { operation: 'read', record: {}, ...more })).body;
    expect(await ask({})).toMatchObject({ decision: 'allow', rule: 'missing', principal: { manages_app: true } });
    const refused = await ask(asAnn);
    expect(refused).toMatchObject({
      decision: 'deny',
      rule: 'missing',
      clauses: [{ path: 'rls.read', value: null, compared_with: null, result: 'false', deciding: true }],
      suggestion: { target: 'rule', patch: [{ op: 'add', path: '/rls' }] },
    });
    await applyToSchema('Bare', refused.suggestion.patch);
    expect(await ask(asAnn)).toMatchObject({ decision: 'allow', rule: 'present' });
    // The new rule allows everyone who had access without a rule, except viewers, because a rule can't tell viewers
    // from app users.
    const viewer = await world.member(workspace, 'viewer', 'viewer@example.com');
    for (const [email, decision] of [
      [owner.email, 'allow'],
      [editor.email, 'allow'],
      [viewer.email, 'deny'],
    ])
      expect(await ask({ as: { email } })).toMatchObject({ decision, principal: { manages_app: true } });
    expect(refused.suggestion.text).toContain("the role `admin` instead. Viewers don't have it and lose access");
    expect((await explain('User', { operation: 'read', record: {}, ...asAnn })).body).toMatchObject({
      decision: 'allow',
      rule: 'missing',
    });
  });

  it('says unknown if the caller lacks an attribute, and which', async () => {
    await define('Office', { properties: { town: text }, rls: { read: { 'data.town': '{{user.data.town}}' } } });
    const { body } = await explain('Office', { operation: 'read', record: { town: 'Ulm' }, ...asAnn });
    expect(body).toMatchObject({
      decision: 'unknown',
      clauses: [{ value: 'Ulm', compared_with: '{{user.data.town}}', result: 'unknown', deciding: true }],
    });
    expect(body.suggestion.text).toContain('give the caller the missing attribute `{{user.data.town}}`');
  });

  it('explains fields with rules: those that are shown, and those that may be sent', async () => {
    await define('Order', {
      properties: {
        cost: { type: 'number', rls: { read: isAdmin, write: isAdmin } },
        place: { type: 'object', properties: { street: { type: 'string', rls: { read: false } } } },
        title: text,
      },
      rls: { read: true, write: true },
    });
    const id = await create('Order', { title: 'a' });
    const ask = async (body: object) => (await explain('Order', { record_id: id, ...body, ...asAnn })).body;
    expect(await ask({ operation: 'read' })).toMatchObject({
      decision: 'allow',
      clauses: [{ path: 'rls.read' }, { path: 'properties.cost.rls.read.user_condition.role', deciding: false }, {}],
      fields: [
        { name: 'cost', decision: 'deny', clause: 'properties.cost.rls.read.user_condition.role' },
        { name: 'place.street', decision: 'deny', clause: 'properties.place.properties.street.rls.read' },
      ],
    });
    expect(await ask({ operation: 'update' })).toMatchObject({ decision: 'allow', fields: [{ name: 'cost' }] });
    const refused = await ask({ operation: 'update', patch: { cost: 1, title: 'b' } });
    expect(refused).toMatchObject({
      decision: 'deny',
      fields: [{ name: 'cost', decision: 'deny', clause: 'properties.cost.rls.write.user_condition.role' }],
      suggestion: {
        text: 'Leave `cost` out of the patch.',
        target: 'patch',
        patch: [{ op: 'remove', path: '/cost' }],
      },
    });
    expect(await records('PUT', `Order/${id}`, { cost: 1, title: 'b' }, annToken)).toMatchObject({ status: 403 });
    expect(await records('PUT', `Order/${id}`, { title: 'b' }, annToken)).toMatchObject({ status: 200 });
    const created = await explain('Order', { operation: 'create', record: { cost: 2 }, ...asAnn });
    expect(created.body.suggestion).toMatchObject({ target: 'record', patch: [{ op: 'remove', path: '/cost' }] });
  });

  it('explains what an update would make of the record, and suggests other values', async () => {
    await define('Post', {
      properties: { state: { type: 'string', enum: ['draft', 'review', 'published'] }, readers: { type: 'array' } },
      rls: {
        read: { $or: [{ 'data.state': 'published' }, { 'data.readers': '{{user.email}}' }] },
        update: { 'data.state': { $ne: 'published' } },
        update_check: { 'data.state': { $in: ['draft', 'review'] } },
      },
    });
    const ask = async (body: object) => (await explain('Post', { ...body, ...asAnn })).body;
    // Publishing the post would let everyone read it, so changing the rule grants less access.
    expect(await ask({ operation: 'read', record: { state: 'draft' } })).toMatchObject({
      decision: 'deny',
      suggestion: { target: 'rule' },
    });
    const check = await ask({ operation: 'update', record: { state: 'draft' }, patch: { state: 'published' } });
    expect(check).toMatchObject({
      decision: 'deny',
      clauses: [
        { path: 'rls.update.data.state.$ne', value: 'draft', result: 'true', deciding: false },
        { path: 'rls.update_check.data.state.$in', value: 'published', result: 'false', deciding: true },
      ],
      suggestion: { target: 'patch', patch: [{ op: 'add', path: '/state', value: 'draft' }] },
    });
    expect(check.suggestion.text).toBe('Set `state` in the patch to "draft".');
  });

  it('suggests to add to a list, which keeps what it has', async () => {
    await define('Shared', {
      properties: { readers: { type: 'array' } },
      rls: { read: { 'data.readers': '{{user.email}}' } },
    });
    const { body } = await explain('Shared', { operation: 'read', record: { readers: ['bob@example.com'] }, ...asAnn });
    expect(body.suggestion).toEqual({
      text: 'Add "ann@example.com" to `readers` in the record. This also allows everyone else who then matches the rule.',
      target: 'record',
      patch: [{ op: 'add', path: '/readers/-', value: 'ann@example.com' }],
    });
  });

  it('names what it ignores, and refuses what it does not understand', async () => {
    await define('Strict', { properties: { title: text }, rls: { read: true, write: true } });
    const ok = await explain('Strict', { operation: 'create', record: { title: 'a', colour: 'red', id: newId() } });
    expect(ok).toMatchObject({ status: 200, headers: { 'x-ignored-fields': 'record.colour,record.id' } });
    const faults = async (body: object) =>
      (await explain('Strict', body)).body.detail.map(({ loc, type }: { loc: string[]; type: string }) => [
        loc.join('.'),
        type,
      ]);
    expect(await faults({ operation: 'create' })).toEqual([['body.record', 'missing']]);
    expect(await faults({ operation: 'create', record: {}, record_id: newId() })).toEqual([
      ['body.record_id', 'value_error'],
    ]);
    expect(await faults({ operation: 'read' })).toEqual([['body.record_id', 'missing']]);
    expect(await faults({ operation: 'read', record: {}, record_id: newId() })).toEqual([
      ['body.record', 'value_error'],
    ]);
    expect(await faults({ operation: 'read', record: {}, patch: {} })).toEqual([['body.patch', 'value_error']]);
    expect(await faults({ operation: 'read', record: { title: 1, created_date: 'x' } })).toEqual([
      ['body.record.created_date', 'datetime_parsing'],
    ]);
    expect(await faults({ operation: 'update', record: {}, patch: { title: 1 } })).toEqual([
      ['body.patch.title', 'string_type'],
    ]);
    expect(await faults({ operation: 'read', record: {}, as: {} })).toEqual([['body.as', 'value_error']]);
    expect(await faults({ operation: 'read', record: {}, as: { email: ann.email, anonymous: true } })).toEqual([
      ['body.as', 'value_error'],
    ]);
    expect(await faults({ operation: 'read', record: {}, as: { emial: ann.email } })).toEqual([
      ['body.as.emial', 'extra_forbidden'],
    ]);
  });

  it('does not know people without access to the app, users of other apps, and blocked members', async () => {
    await define('Known', { properties: {} });
    const ask = (as: object) => explain('Known', { operation: 'read', record: {}, as });
    const other = await world.appOf(owner, workspace);
    const stranger = await world.appUser(other, 'ann@example.com');
    const missing = { status: 404, body: { code: 'app_user_not_found' } };
    for (const id of [stranger.id, newId(), 'x']) expect(await ask({ app_user_id: id })).toMatchObject(missing);
    const guest = await world.member(workspace, 'guest', 'guest@example.com');
    const blocked = await world.member(workspace, 'viewer', 'blocked@example.com');
    await world.db
      .updateTable('memberships')
      .set({ access_state: 'blocked' })
      .where('user_id', '=', blocked.id)
      .execute();
    await world.person('elsewhere@example.com');
    for (const email of [guest.email, blocked.email, 'elsewhere@example.com', ann.email])
      expect(await ask({ email })).toMatchObject({ status: 404, body: { code: 'member_not_found' } });
    await world.share(app, guest, 'viewer');
    expect(await ask({ email: guest.email })).toMatchObject({ status: 200, body: { principal: { role: 'user' } } });
  });

  it('does not tell read-only credentials about people by e-mail, as listMembers does not', async () => {
    await define('Quiet', { properties: {} });
    const readOnly = await world.token(owner, workspace, { permission: 'read_only' });
    const ask = (as: object) => explain('Quiet', { operation: 'read', record: {}, as }, readOnly);
    for (const email of [editor.email, 'nobody@example.com'])
      expect(await ask({ email })).toMatchObject({
        status: 403,
        body: { code: 'read_only_credential_route_not_allowed' },
      });
    expect(await ask({ anonymous: true })).toMatchObject({ status: 200 });
    expect(await ask(asAnn.as)).toMatchObject({ status: 200 });
  });

  it('answers 409 if evaluating the rules takes too many steps', async () => {
    const listOf = <T>(length: number, item: T): T[] => Array.from({ length }, () => item);
    const group = { a: { $ne: 0, $nin: [0], $exists: false, $eq: 0 } };
    const costly = { 'data.lines': { $elemMatch: { $or: listOf(19, group) } } };
    await define('Costly', {
      properties: { lines: { type: 'array' } },
      rls: { read: { $nor: [costly, { $or: [costly] }] } },
    });
    const got = await explain('Costly', { operation: 'read', record: { lines: listOf(9_000, {}) } });
    expect(got).toMatchObject({ status: 409, body: { code: 'rule_too_expensive', operation: 'read' } });
  });

  it('cuts what is long, and keeps the clauses that decide', async () => {
    const group = (at: number) => Array.from({ length: 18 }, (_, n) => ({ 'data.title': `${at * 18 + n}` }));
    const ninety = { $and: [0, 1, 2, 3, 4].map((at) => ({ $and: group(at) })) };
    const field = { type: 'string', rls: { read: ninety } };
    const names = ['a', 'b', 'c', 'd', 'e'];
    await define('Long', {
      properties: { title: text, ...Object.fromEntries(names.map((name) => [name, field])) },
      rls: { read: ninety },
    });
    const ask = (record: object) => explain('Long', { operation: 'read', record });
    const { body, headers } = await ask({ title: 'y'.repeat(2000) });
    expect(headers['x-truncated']).toBe('true');
    expect(body.clauses).toHaveLength(500);
    expect(body.clauses[0]).toMatchObject({ value: '…', compared_with: '0', deciding: true });
    expect(body.clauses.filter(({ deciding }: { deciding: boolean }) => deciding)).toHaveLength(90);
    expect(body.fields).toHaveLength(5);
  });
});

describe('what the asker may not read', () => {
  it('is not found, if it is the record', async () => {
    await define('Private', {
      properties: { title: text },
      rls: { read: { created_by_id: '{{user.id}}' }, write: true },
    });
    const hidden = await create('Private', { title: 'a' }, annToken);
    const { request_id: _, ...got } = (await explain('Private', { operation: 'read', record_id: hidden })).body;
    const { request_id: __, ...none } = (await explain('Private', { operation: 'read', record_id: newId() })).body;
    expect(got).toMatchObject({ status: 404, code: 'record_not_found' });
    expect(got).toEqual(none);
    expect((await explain('Private', { operation: 'update', record_id: hidden, ...asAnn })).status).toBe(404);
    expect((await explain('Private', { operation: 'read', record_id: 'x' })).status).toBe(404);
    const unknown = await explain('Unknown', { operation: 'read', record_id: hidden });
    expect(unknown).toMatchObject({ status: 404, body: { code: 'entity_not_found' } });
  });

  it('is hidden, if it is a field: its value, what clauses on it result in, and what depends on them', async () => {
    const hidden = { rls: { read: { user_condition: { role: 'boss' } } } };
    await define('Pay', {
      properties: {
        salary: { type: 'number', ...hidden },
        open: { type: 'boolean' },
        level: { type: 'number', ...hidden },
        secret: { ...text, ...hidden },
        note: text,
      },
      rls: {
        read: true,
        create: true,
        update: { 'data.salary': { $gt: 100 } },
        delete: { 'data.salary': { $gt: 100 }, 'data.open': true },
        update_check: true,
      },
    });
    const ask = async (id: string, body: object) => (await explain('Pay', { record_id: id, ...body, ...asAnn })).body;
    const [rich, poor] = [await create('Pay', { salary: 900 }), await create('Pay', { salary: 9 })];
    const update = await ask(rich, { operation: 'update' });
    expect(update).toMatchObject({
      decision: 'hidden',
      clauses: [
        { path: 'rls.update.data.salary.$gt', value: '•', compared_with: 100, result: 'hidden', deciding: false },
        { path: 'rls.update_check' },
      ],
      suggestion: null,
    });
    expect(await ask(poor, { operation: 'update' })).toEqual(update);
    const remove = await ask(rich, { operation: 'delete' });
    expect(remove).toMatchObject({
      decision: 'deny',
      clauses: [{ result: 'hidden' }, { value: null, result: 'false' }],
    });
    expect(await ask(poor, { operation: 'delete' })).toEqual(remove);
    // The space left in the record must not reveal a hidden value's size.
    const patch = { note: 'x'.repeat(200_000) };
    const [long, short] = [await create('Pay', { secret: 'y'.repeat(100_000) }), await create('Pay', { secret: 'y' })];
    const sized = await ask(short, { operation: 'update', patch });
    expect(sized).toMatchObject({ decision: 'hidden' });
    expect(await ask(long, { operation: 'update', patch })).toEqual(sized);
    // The caller knows the values they propose, so none of them are hidden.
    const proposed = await explain('Pay', { operation: 'update', record: { salary: 101 }, ...asAnn });
    expect(proposed.body).toMatchObject({ decision: 'allow', clauses: [{ value: 101, result: 'true' }, {}] });
  });

  it('is hidden, if the app hides authorship and a clause is about the author', async () => {
    const shy = await world.appOf(owner, workspace, {});
    await world.db.updateTable('apps').set({ hide_authorship: true }).where('id', '=', shy.id).execute();
    const body = { name: 'Note', properties: {}, rls: { read: { created_by: '{{user.email}}' } } };
    await world.call('PUT', schemaPath('Note', shy.id), { as: token, body });
    const { id } = (await world.call('POST', `/api/apps/${shy.id}/entities/Note`, { as: token, body: {} })).body;
    const got = await world.call('POST', `${schemaPath('Note', shy.id)}/rules/explain`, {
      as: token,
      body: { operation: 'read', record_id: id, as: { email: editor.email } },
    });
    expect(got.body).toMatchObject({ decision: 'hidden', clauses: [{ value: '•', result: 'hidden' }] });
  });
});

describe('real requests', () => {
  it(`are decided as explained, in ${someOf(80)} random rules`, async () => {
    const names = ['a', 'b', 'c', 'constructor'];
    const open = { type: ['object', 'array', 'string', 'number', 'boolean', 'null'] };
    const counts = { allow: 0, refused: 0 };
    for (let n = 0, compared = 0; compared < someOf(80); n += 1) {
      const random = createRandom(4_000 + n);
      const rls = {
        read: true,
        create: true,
        update: randomRule(random),
        delete: randomRule(random),
        update_check: true,
      };
      const properties = Object.fromEntries(
        names.map((name) => [name, { ...open, ...(random.chance(0.2) && { rls: { update: randomRule(random) } }) }]),
      );
      const body = { name: 'Random', properties, rls };
      if ((await world.call('PUT', schemaPath('Random'), { as: token, body })).status !== 200) continue;
      compared += 1;
      const value = () => random.one([...random.pool, ann.email, 'red']);
      const id = await create('Random', { a: value(), b: value(), c: value() }, random.one([token, annToken]));
      const patch = Object.fromEntries(names.filter(() => random.chance(0.4)).map((name) => [name, value()]));
      const explained = (await explain('Random', { operation: 'update', record_id: id, patch, ...asAnn })).body
        .decision;
      const updated = (await records('PUT', `Random/${id}`, patch, annToken)).status;
      expect([explained === 'allow', n]).toEqual([updated === 200, n]);
      const toDelete = (await explain('Random', { operation: 'delete', record_id: id, ...asAnn })).body.decision;
      const deleted = (await records('DELETE', `Random/${id}`, undefined, annToken)).status;
      expect([toDelete === 'allow', n]).toEqual([deleted === 200, n]);
      for (const decision of [explained, toDelete]) counts[decision === 'allow' ? 'allow' : 'refused'] += 1;
    }
    expect(Math.min(counts.allow, counts.refused), JSON.stringify(counts)).toBeGreaterThan(someOf(20));
  });
});
