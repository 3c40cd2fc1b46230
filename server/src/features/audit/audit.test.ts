// Tests that audit entries are written with the change, sealed afterwards, and verifiable (docs/api/audit-log.md).

import fc from 'fast-check';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { startWorld } from '../../../test/support/world.ts';
import { appendToChain, findFirstBroken, firstPrevHash } from './chain.ts';
import { createSealer, removeExpiredEntries } from './seal.ts';

const world = await startWorld({ tampersWithAuditLog: true });
const newSealer = () => {
  const { seal } = createSealer();
  return () => seal(world.app.database.db);
};
const seal = newSealer();
const removeExpired = () => removeExpiredEntries(world.app.database.db);

async function createWorkspace(name: string) {
  const owner = await world.person(`${name}@example.com`);
  const workspace = await world.workspace(owner);
  await world.db.updateTable('workspaces').set({ rate_multiplier: 1000 }).where('id', '=', workspace).execute();
  const as = await world.token(owner, workspace);
  return { owner, workspace, as };
}
const folder = (as: string, name = 'F', headers = {}) =>
  world.call('POST', '/api/app-folders', { as, body: { name }, headers });
/** Writes an entry dated `day` days from now. */
async function folderOfDay(as: string, day: number): Promise<void> {
  world.clock.aheadMs = day * 24 * 60 * 60 * 1000;
  await folder(as, `F${day}`);
  world.clock.aheadMs = 0;
}
const log = (as: string, query = '') => world.call('GET', `/api/workspace/audit-log${query}`, { as });
const verify = async (as: string, query = '') =>
  (await world.call('GET', `/api/workspace/audit-log/verify${query}`, { as })).body;

describe('an audit entry', () => {
  it('records the actor, credential, request, target, and the values before and after', async () => {
    const { owner, as } = await createWorkspace('entry');
    const createdFolder = (await folder(as, 'Before', { 'x-request-id': 'request-1' })).body;
    await world.call('PATCH', `/api/app-folders/${createdFolder.id}`, { as, body: { name: 'After' } });
    const [updated, created] = (await log(as)).body.items;
    expect(created).toMatchObject({
      type: 'folder.created',
      actor: { kind: 'user', id: owner.id, email: owner.email },
      request_id: 'request-1',
      ip: '127.0.0.1',
      target: { kind: 'folder', id: createdFolder.id },
      before: null,
      outcome: 'done',
      sequence: null,
      hash: null,
    });
    expect(created.credential_id).toMatch(/^[0-9a-f-]{36}$/);
    expect(updated).toMatchObject({ type: 'folder.updated', before: { name: 'Before' }, after: { name: 'After' } });
    await seal();
    expect((await log(as)).body.items.map((entry: { sequence: number }) => entry.sequence)).toEqual([2, 1]);
  });

  it('is not written if the change fails', async () => {
    const { as } = await createWorkspace('refused');
    await world.call('POST', '/api/app-folders', { as, body: { name: 'F', parent_folder_id: 'nonsense' } });
    expect((await log(as)).body.items).toEqual([]);
  });

  it('is written for a refusal by role, at most once a minute per credential and operation', async () => {
    const { workspace, as } = await createWorkspace('roles');
    const viewer = await world.member(workspace, 'viewer', 'audit-viewer@example.com');
    const theirs = await world.token(viewer, workspace);
    for (let i = 0; i < 3; i += 1) expect((await world.call('POST', '/api/apps', { as: theirs })).status).toBe(403);
    await expect.poll(async () => (await log(as, '?outcome=refused')).body.items.length).toBe(1);
    expect((await log(as, '?outcome=refused')).body.items[0]).toMatchObject({
      actor: { email: viewer.email },
      after: { code: 'role_required' },
    });
  });
});

describe('listAuditLog', () => {
  it('filters by type, prefix, actor, app, outcome and time, and pages through sealed and pending entries', async () => {
    const { owner, as } = await createWorkspace('filters');
    for (let i = 0; i < 5; i += 1) await folder(as, `F${i}`);
    const app = (await world.call('POST', '/api/apps', { as })).body;
    await seal();
    await folder(as, 'unsealed');
    const types = async (query: string) =>
      (await log(as, query)).body.items.map((entry: { type: string }) => entry.type);
    expect(await types('?type=app.created')).toEqual(['app.created']);
    expect(await types('?type=app.*,token.created')).toEqual(['app.created']);
    expect(await types('?type=deleteApp.refused')).toEqual([]);
    expect(await types(`?app_id=${app.id}`)).toEqual(['app.created']);
    expect((await types(`?actor_email=${owner.email}`)).length).toBe(7);
    expect(await types('?actor_email=x@y.zz')).toEqual([]);
    expect(await types('?from=2999-01-01T00:00:00Z')).toEqual([]);
    expect((await types('?to=2999-01-01T00:00:00%2B01:00')).length).toBe(7);
    expect((await types('?after_sequence=4')).length).toBe(2);
    const walked: string[] = [];
    let cursor = '';
    do {
      const page = (await log(as, `?limit=2${cursor && `&cursor=${cursor}`}`)).body;
      walked.push(...page.items.map((entry: { id: string }) => entry.id));
      cursor = page.next_cursor ?? '';
    } while (cursor);
    expect(new Set(walked).size).toBe(7);
    expect((await log(as, '?from=yesterday')).body.detail[0].type).toBe('datetime_parsing');
    expect((await log(as, '?cursor=x')).body.code).toBe('cursor_invalid');
  });

  it.each([
    ['?type=app.create', 'type', 'enum'],
    ['?type=app.created,nothing', 'type', 'enum'],
    ['?type=application.*', 'type', 'enum'],
    ['?type=deleteAp.refused', 'type', 'enum'],
    ['?type=auth.sign_in', 'type', 'enum'], // occurs only in the installation's chain
    ['?type=', 'type', 'enum'],
    ['?actor=ann@example.com', 'actor', 'extra_forbidden'],
    ['/export?from=1', 'from', 'extra_forbidden'],
    ['/verify?sequence=1', 'sequence', 'extra_forbidden'],
  ])('refuses what would filter nothing: %s', async (query, parameter, type) => {
    const { as } = await createWorkspace(`strict-${encodeURIComponent(query).replaceAll('%', '')}`.toLowerCase());
    expect(await log(as, query)).toMatchObject({
      status: 422,
      body: { detail: [{ loc: ['query', parameter], type }] },
    });
  });

  it('has no entries of an unknown person, and takes the parameter that chooses the workspace', async () => {
    const { workspace, as } = await createWorkspace('unknown-person');
    await folder(as);
    expect(await log(as, `?actor_email=nobody@example.com&workspaceId=${workspace}`)).toMatchObject({
      status: 200,
      body: { items: [] },
    });
    expect((await log(as, `?workspaceId=${workspace}`)).body.items).toHaveLength(1);
  });
});

describe('the chain', () => {
  it('has no gaps per workspace, even when several workers seal at once', async () => {
    const { as } = await createWorkspace('gapless');
    await Promise.all(Array.from({ length: 30 }, (_, i) => folder(as, `F${i}`)));
    await Promise.all([seal(), newSealer()(), newSealer()()]);
    await Promise.all(Array.from({ length: 10 }, (_, i) => folder(as, `G${i}`)));
    await seal();
    expect(await verify(as)).toMatchObject({
      valid: true,
      checked: 40,
      first_sequence: 1,
      last_sequence: 40,
      unsealed: 0,
      broken_at: null,
    });
    const text = (await world.call('GET', '/api/workspace/audit-log/export', { as })).text.trim().split('\n');
    expect(text.map((line) => JSON.parse(line).sequence)).toEqual(Array.from({ length: 40 }, (_, i) => i + 1));
    const part = (
      await world.call('GET', '/api/workspace/audit-log/export?from_sequence=10&to_sequence=12', { as })
    ).text
      .trim()
      .split('\n');
    expect(part).toHaveLength(3);
  });

  it('is exported to several callers at once', async () => {
    const { as } = await createWorkspace('exported');
    await folder(as);
    await seal();
    const exported = [1, 2, 3].map(() => world.call('GET', '/api/workspace/audit-log/export', { as }));
    for (const { text } of await Promise.all(exported)) expect(text.trim().split('\n')).toHaveLength(1);
  });

  it("can't be changed: the service has no right to, and a trigger refuses the owner of the table", async () => {
    const { workspace, as } = await createWorkspace('sealed');
    await folder(as);
    await seal();
    const update = sql`update audit_entries set type = 'x' where workspace_id = ${workspace}`;
    const remove = sql`delete from audit_entries where workspace_id = ${workspace}`;
    for (const change of [update, remove]) {
      await expect(change.execute(world.app.database.db)).rejects.toThrow('permission denied for table audit_entries');
      await expect(change.execute(world.db)).rejects.toThrow('cannot be changed');
    }
    await expect(sql`truncate audit_entries`.execute(world.db)).rejects.toThrow('cannot be changed');
  });

  it.each([
    [
      'changed',
      (w: string) =>
        sql`update audit_entries set entry = jsonb_set(entry, '{type}', '"x"') where workspace_id = ${w} and sequence = 3`,
      3,
    ],
    [
      'given a number that has no hash',
      (w: string) =>
        sql`update audit_entries set entry = jsonb_set(entry, '{after}', '1e400') where workspace_id = ${w} and sequence = 2`,
      2,
    ],
    ['deleted', (w: string) => sql`delete from audit_entries where workspace_id = ${w} and sequence = 3`, 3],
    ['cut off the end', (w: string) => sql`delete from audit_entries where workspace_id = ${w} and sequence = 5`, 5],
    [
      'swapped',
      (w: string) =>
        sql`update audit_entries set sequence = case sequence when 3 then 1004 when 4 then 3 end where workspace_id = ${w} and sequence in (3, 4)`,
      3,
    ],
  ])('reports the sequence of an entry that was %s in the database', async (how, tamper, at) => {
    const { workspace, as } = await createWorkspace(`tamper-${at}-${how.replaceAll(' ', '')}`);
    for (let i = 0; i < 5; i += 1) await folder(as, `F${i}`);
    await seal();
    expect(await verify(as)).toMatchObject({ valid: true, checked: 5 });
    await sql`alter table audit_entries disable trigger user`.execute(world.db);
    await tamper(workspace).execute(world.db);
    await sql`alter table audit_entries enable trigger user`.execute(world.db);
    expect(await verify(as)).toMatchObject({ valid: false, broken_at: at });
  });

  it('is reported as broken where an entry was added after its end', async () => {
    const { workspace, as } = await createWorkspace('added');
    for (let i = 0; i < 3; i += 1) await folder(as, `F${i}`);
    await seal();
    await sql`insert into audit_entries select workspace_id, 4, id, occurred_at, type, app_id, actor_email, outcome,
      request_id, entry, hash, hash from audit_entries where workspace_id = ${workspace} and sequence = 3`.execute(
      world.db,
    );
    expect(await verify(as)).toMatchObject({ valid: false, broken_at: 4, checked: 3 });
    await sql`alter table audit_entries disable trigger user`.execute(world.db);
    await sql`delete from audit_entries where workspace_id = ${workspace} and sequence = 4`.execute(world.db);
    await sql`alter table audit_entries enable trigger user`.execute(world.db);
    expect(await verify(as)).toMatchObject({ valid: true });
  });

  it('is sealed and shortened while that of another workspace fails, which is reported by its id', async () => {
    const [broken, intact] = [await createWorkspace('unsealable'), await createWorkspace('beside')];
    // Inserts more entries than one run seals. They come before the other workspace's entries.
    await sql`insert into audit_pending (id, workspace_id, entry)
      select gen_random_uuid(), ${broken.workspace}, '{}' from generate_series(1, 6000)`.execute(world.db);
    await folderOfDay(intact.as, -401);
    await expect(seal()).rejects.toThrow(`1 audit chains were not sealed; ${broken.workspace}: `);
    expect(await verify(intact.as)).toMatchObject({ valid: true, checked: 1, unsealed: 0 });
    expect(await verify(broken.as)).toMatchObject({ checked: 0, unsealed: 6000 });

    await sql`update audit_chains set last_sequence = 1 where workspace_id = ${broken.workspace}`.execute(world.db);
    await sql`insert into audit_entries select ${broken.workspace}, sequence, id, '2000-01-01', type, app_id, actor_email,
      outcome, request_id, entry, prev_hash, hash from audit_entries where workspace_id = ${intact.workspace}`.execute(
      world.db,
    );
    await sql`create function refuse_shortening() returns trigger language plpgsql as $$
      begin raise 'planted failure'; end $$`.execute(world.db);
    await sql`create trigger planted before update on audit_chains for each row
      when (old.workspace_id = ${sql.lit(broken.workspace)}) execute function refuse_shortening()`.execute(world.db);
    await expect(removeExpired()).rejects.toThrow(
      `1 audit chains were not shortened; ${broken.workspace}: planted failure`,
    );
    expect(await verify(intact.as)).toMatchObject({ valid: true, checked: 0 });
    await sql`drop trigger planted on audit_chains`.execute(world.db);
    await sql`delete from audit_pending where workspace_id = ${broken.workspace}`.execute(world.db);
  });

  it('stays valid when entries older than 400 days are removed', async () => {
    const { as } = await createWorkspace('old');
    await folderOfDay(as, -401);
    await folderOfDay(as, -399);
    await seal();
    await removeExpired();
    expect(await verify(as)).toMatchObject({ valid: true, checked: 1, first_sequence: 2, last_sequence: 2 });
  });

  it('verifies as valid while entries are being sealed', async () => {
    const { as } = await createWorkspace('busy');
    await world.db.updateTable('workspaces').set({ rate_multiplier: 1000 }).execute();
    const sealing = (async () => {
      for (let i = 0; i < 40; i += 1) {
        await folder(as, `F${i}`);
        await seal();
      }
    })();
    const answers = [];
    for (let i = 0; i < 60; i += 1) answers.push(await verify(as));
    await sealing;
    expect(answers.filter((answer) => !answer.valid)).toEqual([]);
    expect(await verify(as, '?from_sequence=1000')).toMatchObject({ valid: true, checked: 0 });
    expect(await verify(as, '?from_sequence=39')).toMatchObject({ valid: true, checked: 2 });
  });

  it('loses entries from the start only, even when they were sealed out of time order', async () => {
    const { as } = await createWorkspace('order');
    for (const day of [-500, -300, -501]) await folderOfDay(as, day);
    await seal();
    await removeExpired();
    expect(await verify(as)).toMatchObject({ valid: true, first_sequence: 2, last_sequence: 3 });
  });

  it('reveals any single changed or removed entry (property)', () => {
    const entry = fc.record({ type: fc.string(), after: fc.jsonValue() });
    fc.assert(
      fc.property(fc.array(entry, { minLength: 1, maxLength: 20 }), fc.nat(), (entries, pick) => {
        const head = { sequence: 0, hash: firstPrevHash };
        const sealed = appendToChain(head, JSON.parse(JSON.stringify(entries)));
        expect(findFirstBroken(sealed, head)).toBeNull();
        const at = pick % sealed.length;
        const changed = sealed.map((each, i) =>
          i === at ? { ...each, entry: { ...each.entry, type: `${each.entry.type}!` } } : each,
        );
        expect(findFirstBroken(changed, head)).toBe(at + 1);
        expect(
          findFirstBroken(
            sealed.filter((_, i) => i !== at),
            head,
          ),
        ).toBe(at === sealed.length - 1 ? null : at + 1);
      }),
    );
  });
});
