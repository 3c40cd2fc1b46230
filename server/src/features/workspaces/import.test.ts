// Tests importing hostile archives: copies of a valid archive with a deliberate fault, or with random faults. Whatever
// an archive contains, an import creates either one new workspace or nothing.
import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { type RawBuilder, sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import {
  type Archive,
  appendToChain,
  createArchiveTables,
  type EntryContent,
  exportTo,
  importWorkspace,
  listFiles,
  packTar,
  readArchive,
  type SealedEntry,
  type TarFile,
  writeArchive,
} from '../../../test/support/archives.ts';
import { someOf } from '../../../test/support/cases.ts';
import { createFullWorkspace } from '../../../test/support/full-workspace.ts';
import { startWorld } from '../../../test/support/world.ts';
import { ArchiveError } from '../../kit/archive/archive-error.ts';
import { checkArchive, defaultLimits, type Row } from '../../kit/archive/read-archive.ts';
import { buildTarHeader, tarEnd } from '../../kit/archive/tar.ts';
import { newId } from '../../kit/ids.ts';

const folder = mkdtempSync(join(tmpdir(), 'plinth-import-'));
const file = join(folder, 'archive.tar.gz');
const world = await startWorld({ environment: { STORAGE_FOLDER: folder } });
const { owner, workspace, app } = await createFullWorkspace(world);
const seal = world.app.background.jobs.find((job) => job.name === 'seal audit entries');
await seal?.run(world.app.database.db, new Date());
await exportTo(world.db, workspace, file);
const exported = await readArchive(file);
const bytes = readFileSync(file);

// The data that a hostile archive might try to access.
const stranger = await world.person('stranger@example.com', { is_operator: true });
const victim = await world.workspace(stranger, 'pro', 'Victim');
const foreignApp = await world.appOf(stranger, victim);

const asExported = { defaultPlan: 'enterprise', keepPlan: true } as const;
const importFile = (options = {}) => importWorkspace(world.db, file, { ...asExported, ...options }, new Date());

/** A copy of the valid archive, to which faults are added. */
const copy = (): Archive => ({
  manifest: structuredClone(exported.manifest),
  tables: structuredClone(exported.tables),
});

const rowsOf = ({ tables }: Archive, table: string): Row[] => tables.get(table) as Row[];
const firstOf = (archive: Archive, table: string): Row => rowsOf(archive, table)[0] as Row;

/** The number of rows in every table. */
async function countAllRows() {
  const { rows: tables } = await sql<{ name: string }>`select table_name as name from information_schema.tables
    where table_schema = 'public' and table_type = 'BASE TABLE' order by 1`.execute(world.db);
  const counts = tables.map(({ name }) => sql`select ${name} as name, count(*)::int as count from ${sql.table(name)}`);
  const { rows } = await sql<{ name: string; count: number }>`${sql.join(counts, sql` union all `)}`.execute(world.db);
  return rows;
}

type Plant = (archive: Archive) => void;

async function expectRefused(message: RegExp | string, options = {}): Promise<void> {
  const before = await countAllRows();
  const error = await importFile(options).then(
    () => undefined,
    (error) => error,
  );
  expect(error).toBeInstanceOf(ArchiveError);
  expect(error.message).toMatch(message);
  expect(await countAllRows()).toEqual(before);
}

const set =
  (table: string, change: Row): Plant =>
  (archive) =>
    void Object.assign(firstOf(archive, table), change);
const add =
  (table: string, change: Row): Plant =>
  (archive) =>
    void rowsOf(archive, table).push({ ...firstOf(archive, table), ...change });
const repeat =
  (table: string, times: number, change: (n: number) => Row): Plant =>
  (archive) => {
    const row = firstOf(archive, table);
    archive.tables.set(
      table,
      Array.from({ length: times }, (_, n) => ({ ...row, ...change(n) })),
    );
  };
const findRow = (archive: Archive, table: string, column: string, value: unknown): Row =>
  rowsOf(archive, table).find((row) => row[column] === value) as Row;
const setDocument =
  (change: object): Plant =>
  (archive) =>
    void Object.assign(firstOf(archive, 'entity_schemas').document as object, change);

describe('the good archive', () => {
  it('is imported, has rows in every table, and a standard tar program can list it', async () => {
    expect([...exported.tables].filter(([, rows]) => rows.length === 0)).toEqual([]);
    writeArchive(file, copy());
    const { people, counts } = await importFile();
    expect(people).toEqual({ found: rowsOf(exported, 'people').length, created: 0 });
    expect(counts).toMatchObject({ apps: 2, audit_entries: rowsOf(exported, 'audit_entries').length });
    const tar = gunzipSync(bytes);
    expect(tar.toString('latin1', 257, 263)).toBe('ustar\0');
    expect(tar.length % 512).toBe(0);
  });
});

describe('rows that reach outside of the archive', () => {
  it('are all stored in the new workspace, whatever workspace they name', async () => {
    const archive = copy();
    for (const rows of archive.tables.values())
      for (const row of rows) if ('workspace_id' in row) row.workspace_id = victim;
    writeArchive(file, archive);
    const before = await countOf(victim);
    const { workspace_id } = await importFile();
    expect(await countOf(victim)).toEqual(before);
    expect(await countOf(workspace_id)).toEqual(await countOf(workspace));
  });

  it('of unknown creators belong to nobody who exists', async () => {
    const archive = copy();
    for (const row of rowsOf(archive, 'entity_records')) row.created_by_id = stranger.id;
    writeArchive(file, archive);
    const { workspace_id } = await importFile();
    const { rows } = await sql<{ id: string }>`select distinct created_by_id as id from entity_records
      where app_id in (select id from apps where workspace_id = ${workspace_id})`.execute(world.db);
    expect(rows).toHaveLength(1);
    expect(rows[0]?.id).not.toBe(stranger.id);
  });

  it('neither change an existing account nor give anybody operator rights', async () => {
    const archive = copy();
    for (const row of rowsOf(archive, 'people')) row.full_name = 'Renamed';
    const added = { id: newId(), email: 'new@example.com', full_name: 'New' };
    rowsOf(archive, 'people').push(added);
    rowsOf(archive, 'memberships').push({ ...firstOf(archive, 'memberships'), user_id: added.id, role: 'viewer' });
    writeArchive(file, archive);
    const accounts = world.db.selectFrom('users').selectAll().orderBy('email');
    const before = await accounts.where('email', '<>', added.email).execute();
    expect(await importFile()).toMatchObject({ people: { created: 1 } });
    expect(await accounts.where('email', '<>', added.email).execute()).toEqual(before);
    expect(await accounts.where('email', '=', added.email).execute()).toMatchObject([{ is_operator: false }]);
  });

  const outside = 'refers to something that is not in the archive';
  /** Tables of archives of earlier releases were all read at the same time. */
  const inOneSnapshot = (archive: Archive): Archive => {
    delete archive.manifest.consistency;
    return archive;
  };

  it('are left out and counted, with what refers to them, because they may have been deleted during the export', async () => {
    const archive = copy();
    const gone = findRow(archive, 'apps', 'app_type', 'user_agent').id;
    archive.tables.set(
      'apps',
      rowsOf(archive, 'apps').filter(({ id }) => id !== gone),
    );
    add('people', { id: newId(), email: 'unused@example.com' })(archive);
    writeArchive(file, archive);
    const { workspace_id, skipped, counts, people } = await importFile();
    expect(people.created).toBe(0);
    expect(await world.db.selectFrom('users').where('email', '=', 'unused@example.com').execute()).toEqual([]);
    expect(skipped).toMatchObject({ agents: 1, agent_conversations: 1, agent_messages: 1, agent_memories: 1 });
    expect(counts).toMatchObject({ apps: 1, agents: 0, agent_conversations: 0, agent_messages: 0 });
    const entries = await world.db
      .selectFrom('audit_pending')
      .where('workspace_id', '=', workspace_id)
      .selectAll()
      .execute();
    expect(entries.map(({ entry }) => entry)).toMatchObject([{ type: 'workspace.imported', after: { skipped } }]);
  });

  it.each<[string, Plant, RegExp | string]>([
    [
      'a file of an app elsewhere',
      add('app_files', { app_id: foreignApp.id, path: 'x' }),
      `app_files.app_id ${outside}`,
    ],
    ['a record of an app elsewhere', set('entity_records', { app_id: foreignApp.id }), outside],
    ['a member who is not listed', add('memberships', { user_id: stranger.id, role: 'viewer' }), outside],
    ['an app of somebody who is not listed', set('apps', { owner_id: stranger.id }), outside],
    ['an id of another kind', (a) => set('app_shares', { app_id: firstOf(a, 'folders').id })(a), outside],
    ['a webhook of an app elsewhere', set('webhooks', { app_id: foreignApp.id }), outside],
    ['a repeated id', (a) => add('folders', {})(a), 'a duplicate id in folders'],
    ['a second workspace', add('workspaces', {}), 'more workspaces than'],
    ['another workspace', set('workspaces', { id: newId() }), 'not the one named in manifest.json'],
    ['no workspace', (a) => void a.tables.set('workspaces', []), /the database rejected|inconsistent/],
  ])('are refused: %s', async (_what, plant, message) => {
    const archive = inOneSnapshot(copy());
    plant(archive);
    writeArchive(file, archive);
    await expectRefused(message);
  });
});

const credit = { workspace_id: workspace, reserved: 0, used: 0, granted: 0, monthly_limit: 0 };

describe('a row that no operation could have written', () => {
  it.each<[string, Plant, RegExp | string]>([
    ['a column that no export contains', set('people', { is_operator: true }), 'unknown column: is_operator'],
    ['a secret', set('webhooks', { secret: 'v1.x' }), 'unknown column: secret'],
    ['a deletion date', set('workspaces', { deleted_date: '2020-01-01T00:00:00Z' }), 'unknown column: deleted_date'],
    ['a missing column', (a) => void delete firstOf(a, 'apps').slug, 'tables/apps.1.ndjson line 1: slug'],
    ['an unknown choice', set('apps', { visibility: 'public' }), 'visibility'],
    ['an unknown role', set('memberships', { role: 'operator' }), 'role'],
    ['an unknown plan', set('workspaces', { plan: 'platinum' }), 'plan'],
    ['a rate that no operator may set', set('workspaces', { rate_multiplier: 1e6 }), 'rate_multiplier'],
    ['no owner', set('memberships', { role: 'viewer' }), 'exactly one owner'],
    [
      'two owners',
      (a) => void Object.assign(rowsOf(a, 'memberships')[1] as Row, { role: 'owner' }),
      'memberships_one_owner',
    ],
    ['the same member twice', add('memberships', { role: 'viewer' }), 'memberships_pkey'],
    ['an e-mail address that is none', set('people', { email: 'nobody' }), 'must be an e-mail address'],
    ['a name that is too long', set('apps', { name: 'x'.repeat(101) }), 'must have at most 100 characters'],
    ['a slug that is none', set('apps', { slug: 'A B' }), 'slug'],
    ['an origin that is none', set('apps', { public_origins: ['javascript:alert(1)'] }), 'public_origins.0'],
    ['a logo without https', set('apps', { logo_url: 'http://example.com/x' }), 'must use https'],
    ['a time that is none', set('apps', { created_date: '-infinity' }), 'must be a time'],
    ['a time beyond year 9999', set('apps', { created_date: '10000-01-01T00:00:00+00:00' }), 'must be a time'],
    ['an id that is none', set('entity_records', { id: '../x' }), 'must be an id'],
    ['a counter that is about to overflow', set('entity_records', { version: 2 ** 31 - 1 }), 'version'],

    ['a schema with an unknown keyword', setDocument({ extra: 1 }), 'document.extra is not a supported keyword here'],
    ['a schema with an unknown operator', setDocument({ rls: { read: { $where: 'x' } } }), 'document.rls.read'],
    [
      'a rule that is too expensive to be saved',
      setDocument({
        rls: {
          read: {
            $or: Array.from({ length: 20 }, (_, n) => ({
              'data.zeta': { $in: [`${n}{{user.id}}`, `${n}-{{user.email}}`] },
            })),
          },
        },
      }),
      'document.rls.read',
    ],
    ['a schema with another name', setDocument({ name: 'Other' }), 'the document has a different name'],
    ['keys of its own', set('entity_schemas', { keys: ['data.x#1'] }), 'unknown column: keys'],
    [
      'too many schemas',
      repeat('entity_schemas', 101, (n) => ({ name: `T${n}`, document: { name: `T${n}` } })),
      'more entity_schemas than an app can have',
    ],
    [
      'a record that is too large',
      set('entity_records', { data: { zeta: 'x'.repeat(256 * 1024) } }),
      'at most 262144 bytes',
    ],
    [
      'a record that is nested too deep',
      set('entity_records', { data: JSON.parse(`${'{"a":'.repeat(12)}1${'}'.repeat(12)}`) }),
      'nested deeper',
    ],
    [
      'a record with too many items',
      set('entity_records', { data: { zeta: new Array(10_001).fill(0) } }),
      'at most 10000 items',
    ],
    ['a record that is no object', set('entity_records', { data: [] }), 'data'],
    ['an entity name that is none', set('entity_records', { entity_name: 'a b' }), 'entity_name'],

    ['a webhook without a URL', set('webhooks', { target_url: 'nonsense' }), 'target_url must be a URL'],
    [
      'a webhook with a long URL',
      set('webhooks', { target_url: `https://example.com/${'x'.repeat(3000)}` }),
      'target_url',
    ],
    [
      "a webhook of an agent with an app's events",
      set('webhooks', { events: ['entity.created'] }),
      'events must be one of message.created',
    ],
    ['too many webhooks', repeat('webhooks', 41, () => ({ id: newId() })), 'more webhooks than an app can have'],
    [
      'a webhook without a number',
      (a) => void rowsOf(a, 'webhook_sequences').pop(),
      'a webhook has no sequence number',
    ],
    ['a webhook whose numbers end', set('webhook_sequences', { last_sequence: 2 ** 53 - 1 }), 'last_sequence'],

    ['a file outside of its folder', set('app_files', { path: '../../etc/passwd' }), 'path'],
    ['a file in .git', set('app_files', { path: '.git/config' }), 'path'],
    ['a file with another hash', set('app_files', { sha256: '0'.repeat(64) }), 'content, size and sha256 do not match'],
    ['a file with another size', set('app_files', { size: 1 }), 'content, size and sha256 do not match'],
    [
      'a past content with another hash',
      set('app_past_contents', { sha256: '0'.repeat(64) }),
      'content, size and sha256',
    ],
    ['a past file outside of its folder', set('app_past_versions', { name: '../x' }), 'name is not a path'],
    ['a past version without its content', set('app_past_versions', { sha256: 'x' }), 'app_past_versions'],
    [
      'a revision in the future',
      set('app_revisions', { revision: 1_000 }),
      'the history of an app is newer than the app',
    ],
    ['a file that is not base64', set('app_files', { content: '!' }), 'content, size and sha256 do not match'],
    [
      'a file that claims to be text',
      (a) => void Object.assign(firstOf(a, 'app_files'), fileOf(Buffer.from([0xff]))),
      'content is not UTF-8',
    ],
    ['too many files', repeat('app_files', 5_001, (n) => ({ path: `f${n}` })), 'more app_files than an app can have'],

    [
      'folders in a circle',
      (a) => {
        const [one, two] = rowsOf(a, 'folders') as [Row, Row];
        Object.assign(one, { parent_folder_id: two.id });
        Object.assign(two, { parent_folder_id: one.id });
      },
      'form a cycle',
    ],
    [
      'folders that are too deep',
      (a) => {
        const row = firstOf(a, 'folders');
        const ids = Array.from({ length: 21 }, newId);
        rowsOf(a, 'folders').push(...ids.map((id, n) => ({ ...row, id, parent_folder_id: ids[n - 1] ?? null })));
      },
      'deeper than 20 levels',
    ],
    [
      "a folder in somebody's folder",
      (a) => set('folders', { parent_folder_id: findRow(a, 'folders', 'name', 'Second').id })(a),
      'of another scope, type or owner',
    ],
    [
      "an app in somebody's folder",
      (a) => set('folder_items', { folder_id: findRow(a, 'folders', 'name', 'First').id })(a),
      'an app is in a folder of another',
    ],
    [
      'an agent in a folder of apps',
      (a) => set('folder_items', { app_id: findRow(a, 'apps', 'app_type', 'user_agent').id })(a),
      'an app is in a folder of another',
    ],
    ['too many folders', repeat('folders', 501, () => ({ id: newId() })), 'more folders than a workspace can have'],

    ['instructions of an app', (a) => set('agents', { app_id: app.id })(a), 'not an agent'],
    ["an agent's webhook of an app", set('webhooks', { app_id: app.id }), 'not an agent'],
    ['a message with a private URL', set('agent_messages', { file_urls: ['https://127.0.0.1/'] }), 'file_urls'],
    [
      'data of an app user that is too large',
      set('app_users', { data: { x: 'x'.repeat(20_000) } }),
      'at most 16384 bytes',
    ],

    ['credits that nobody granted', set('credit_pools', { granted: 1e9 }), 'do not match its ledger'],
    [
      'credits of a month to come',
      add('credit_pools', { ...credit, period_start: '2100-01-01T00:00:00+00:00' }),
      'a future month',
    ],
    ['credits of no month', set('credit_pools', { period_start: 'x' }), 'must be a time'],
    [
      'credits of half a month',
      set('credit_pools', { period_start: '2020-01-15T00:00:00+00:00' }),
      'the start of a month',
    ],
    [
      'a ledger without a pool',
      set('credit_ledger', { period_start: '2020-01-01T00:00:00+00:00' }),
      'a month that has no pool',
    ],
    [
      'a negative use',
      (a) => void Object.assign(findRow(a, 'credit_ledger', 'kind', 'use'), { amount: -5 }),
      /credit_ledger/,
    ],
  ])('is refused: %s', async (_what, plant, message) => {
    const archive = copy();
    plant(archive);
    writeArchive(file, archive);
    await expectRefused(message);
  });

  it.each([
    ['a number that is too large', '1e400', 'must be a number that can be represented exactly'],
    ['a NUL character', '"\\u0000"', "contains text that can't be stored"],
    ['half of a surrogate pair', '"\\ud800"', "contains text that can't be stored"],
  ])('is refused: a record with %s', async (_what, value, message) => {
    const archive = copy();
    firstOf(archive, 'entity_records').data = { zeta: 'PLANTED' };
    writeText(listFiles(archive), (text) => text.replace('"PLANTED"', value));
    await expectRefused(message);
  });

  it('is refused: a column named __proto__', async () => {
    const archive = copy();
    firstOf(archive, 'apps').PLANTED = { is_operator: true };
    writeText(listFiles(archive), (text) => text.replace('"PLANTED"', '"__proto__"'));
    await expectRefused('unknown column: __proto__');
  });
});

describe('the audit log of an archive', () => {
  const entriesOf = (archive: Archive) => rowsOf(archive, 'audit_entries') as unknown as (Row & SealedEntry)[];

  /** Reseals the changed entries, as an attacker who forges a whole chain would. */
  function sealAgain(archive: Archive, change: (entry: Record<string, unknown>) => void): void {
    const rows = entriesOf(archive);
    const entries = rows.map(({ entry }) => structuredClone(entry) as Record<string, unknown>);
    change(entries[1] as Record<string, unknown>);
    const sealed = appendToChain({ sequence: 0, hash: '0'.repeat(64) }, entries as EntryContent[]);
    for (const [index, row] of rows.entries()) Object.assign(row, sealed[index]);
    firstOf(archive, 'audit_chains').last_hash = sealed.at(-1)?.hash;
  }

  const count = rowsOf(exported, 'audit_entries').length;
  it.each<[string, Plant, RegExp | string]>([
    [
      'changed',
      (a) => void Object.assign((entriesOf(a)[2] as Row).entry as object, { type: 'x' }),
      'broken at entry 3',
    ],
    ['removed', (a) => void entriesOf(a).splice(2, 1), 'broken at entry 3'],
    ['removed from the end', (a) => void entriesOf(a).pop(), `broken at entry ${count}`],
    ['moved', (a) => void entriesOf(a).reverse(), 'broken at entry 1'],
    [
      'added after the end',
      (a) => void Object.assign(firstOf(a, 'audit_chains'), { last_sequence: 2, last_hash: entriesOf(a)[1]?.hash }),
      'broken at entry 3',
    ],
    ['without a chain', (a) => void a.tables.set('audit_chains', []), `broken at entry 1`],
    ['with the end of another chain', set('audit_chains', { last_hash: '0'.repeat(64) }), `broken at entry ${count}`],
    ['with the start of another chain', set('audit_chains', { first_prev_hash: '1'.repeat(64) }), 'broken at entry 1'],
    ['in two chains', add('audit_chains', {}), 'more audit_chains than'],
    [
      'with another actor in its columns',
      (a) => void Object.assign(entriesOf(a)[1] as Row, { actor_email: 'x@y.zz' }),
      "its columns don't match its entry",
    ],
    [
      'with an unknown actor',
      (a) => sealAgain(a, (entry) => void Object.assign(entry, { actor: { kind: 'root', id: null, email: null } })),
      'entry.actor.kind',
    ],
    [
      'with a number that has no hash',
      (a) => sealAgain(a, (entry) => void Object.assign(entry, { after: { planted: 'PLANTED' } })),
      'broken at entry 2',
    ],
  ])('is refused if an entry is %s', async (_what, plant, message) => {
    const archive = copy();
    plant(archive);
    writeText(listFiles(archive), (text) => text.replaceAll('"PLANTED"', '1e400'));
    await expectRefused(message);
  });

  it('may begin where its oldest entries were removed after 400 days', async () => {
    const archive = copy();
    const [, , first] = entriesOf(archive);
    entriesOf(archive).splice(0, 2);
    Object.assign(firstOf(archive, 'audit_chains'), { first_sequence: 3, first_prev_hash: first?.prev_hash });
    writeArchive(file, archive);
    const { workspace_id } = await importFile();
    const token = await world.token(owner, workspace_id);
    const verified = (await world.call('GET', '/api/workspace/audit-log/verify', { as: token })).body;
    expect(verified).toMatchObject({ valid: true, first_sequence: 3, checked: count - 2 });
  });

  it('is imported unchanged, with one entry after it that says what was imported', async () => {
    writeArchive(file, copy());
    const { workspace_id } = await importFile();
    const token = await world.token(owner, workspace_id);
    await seal?.run(world.app.database.db, new Date());
    const [imported, last] = (await world.call('GET', '/api/workspace/audit-log', { as: token })).body.items;
    const from = firstOf(exported, 'workspaces').id;
    expect(imported).toMatchObject({ type: 'workspace.imported', sequence: count + 1, after: { from } });
    expect(last).toMatchObject({ sequence: count, hash: imported.prev_hash, id: entriesOf(exported).at(-1)?.entry.id });
  });

  it('can be left out, which the new audit log says', async () => {
    const archive = copy();
    entriesOf(archive).splice(2, 1);
    writeArchive(file, archive);
    const { workspace_id, counts } = await importFile({ skipAuditLog: true });
    expect(counts).not.toHaveProperty('audit_entries');
    const token = await world.token(owner, workspace_id);
    await seal?.run(world.app.database.db, new Date());
    const [imported, ...others] = (await world.call('GET', '/api/workspace/audit-log', { as: token })).body.items;
    expect(others).toEqual([]);
    expect(imported).toMatchObject({ type: 'workspace.imported', sequence: 1, after: { audit_log: 'left out' } });
  });
});

describe('an archive', () => {
  it("can't choose its own plan", async () => {
    writeArchive(file, copy());
    const { workspace_id } = await importFile({ defaultPlan: 'free', keepPlan: false });
    const stored = world.db.selectFrom('workspaces').where('id', '=', workspace_id).selectAll();
    expect(await stored.executeTakeFirstOrThrow()).toMatchObject({
      plan: 'free',
      monthly_limit: 25,
      rate_multiplier: null,
      billing_hold: false,
    });
    const token = await world.token(owner, workspace_id);
    const credits = (await world.call('GET', '/api/workspace/credits', { as: token })).body;
    expect(credits).toMatchObject({ monthly_limit: 25, granted: 0, used: 2.5, reserved: 1, remaining: 21.5 });
  });

  const files = listFiles(exported);
  const manifest = () =>
    JSON.parse(String(files.at(-1)?.[1])) as Record<string, unknown> & { tables: Record<string, Row[]> };
  const without = (name: string) => files.filter(([each]) => each !== name);
  const withManifest = (change: (about: ReturnType<typeof manifest>) => void): TarFile[] => {
    const changed = manifest();
    change(changed);
    return [...without('manifest.json'), ['manifest.json', JSON.stringify(changed)]];
  };
  const withFile = (name: string, content = '{}\n') => packTar([[name, content], ...files]);
  const withHeader = (change: (header: Buffer) => void) => {
    const tar = packTar(files);
    change(tar.subarray(0, 512));
    tar.write(`${sumOf(tar.subarray(0, 512)).toString(8).padStart(6, '0')}\0 `, 148, 'ascii');
    return tar;
  };
  /** The archive's files, with this line as the only row of `apps`. */
  const withLine = (line: string | Buffer) => {
    const archive = copy();
    archive.tables.set('apps', [{ PLANTED: true }]);
    return replaceFile(
      listFiles(archive),
      'tables/apps.1.ndjson',
      Buffer.concat([Buffer.from(line), Buffer.from('\n')]),
    );
  };

  it.each<[string, () => Buffer | readonly TarFile[], RegExp | string]>([
    ['that is empty', () => [], 'manifest.json is missing'],
    ['without a manifest', () => without('manifest.json'), 'manifest.json is missing'],
    ['with two manifests', () => [...files, files.at(-1) as TarFile], 'unknown, repeated or out of order'],
    [
      'whose manifest is not at its end',
      () => [files.at(-1) as TarFile, ...without('manifest.json')],
      'unknown, repeated or out of order',
    ],
    [
      'with a repeated file',
      () => [files[0] as TarFile, ...files],
      'unknown, repeated or out of order: tables/people.1.ndjson',
    ],
    ['with a missing file', () => without('tables/apps.1.ndjson'), 'the files of apps do not match manifest.json'],
    [
      'with files in another order',
      () => [files[1] as TarFile, files[0] as TarFile, ...files.slice(2)],
      'out of order: tables/people.1.ndjson',
    ],
    [
      'with a file of another table',
      () => withFile('tables/credentials.1.ndjson'),
      'out of order: tables/credentials.1.ndjson',
    ],
    ['with another file', () => withFile('readme.txt'), 'unknown, repeated'],
    ['with a path that leads outside', () => withFile('../../etc/passwd'), 'unknown, repeated'],
    ['with an absolute path', () => withFile('/etc/passwd'), 'unknown, repeated'],
    ['with a name that is not plain text', () => withFile('tables/\u0001'), 'not a regular file'],
    ['with a hard link', () => withHeader((header) => header.write('1', 156)), 'not a regular file'],
    ['with a symbolic link', () => withHeader((header) => header.write('2', 156)), 'not a regular file'],
    ['with a folder', () => withHeader((header) => header.write('5', 156)), 'not a regular file'],
    ['with an extended header', () => withHeader((header) => header.write('x', 156)), 'not a regular file'],
    ['with a long name', () => withHeader((header) => header.write('L', 156)), 'not a regular file'],
    ['with a prefix', () => withHeader((header) => header.write('a', 345)), 'not a regular file'],
    [
      'with a size that is no number',
      () => withHeader((header) => header.write('\xff', 124, 'latin1')),
      'not a tar file',
    ],
    [
      'with a file larger than the archive',
      () => withHeader((header) => header.write('77777777777', 124)),
      'truncated',
    ],
    ['with a wrong checksum', () => Buffer.concat([Buffer.from('x'), packTar(files).subarray(1)]), 'not a tar file'],
    ['that is cut off', () => packTar(files).subarray(0, 5_000), 'truncated'],
    ['without its end', () => packTar(files).subarray(0, -1024), 'truncated'],
    ['with data after its end', () => Buffer.concat([packTar(files), Buffer.from('more')]), 'data after its end'],
    [
      'that counts other rows',
      () => withManifest(({ tables }) => void Object.assign(tables.apps?.[0] as Row, { rows: 7 })),
      'the files of apps do not match',
    ],
    [
      'with another hash',
      () => withManifest(({ tables }) => void Object.assign(tables.apps?.[0] as Row, { sha256: 'x' })),
      'the files of apps do not match',
    ],
    [
      'with a file that the manifest lacks',
      () => withManifest(({ tables }) => void Object.assign(tables, { apps: [] })),
      'the files of apps do not match',
    ],
    [
      'with a table that does not exist',
      () => withManifest(({ tables }) => void Object.assign(tables, { credentials: [] })),
      'the files of credentials do not match',
    ],
    [
      'with a table that the manifest lacks',
      () => withManifest(({ tables }) => void delete tables.apps),
      'the files of apps do not match',
    ],
    [
      'with more in its manifest',
      () => withManifest((about) => void Object.assign(about, { plan: 'enterprise' })),
      'manifest.json is not in the export format',
    ],
    [
      'of another format',
      () => withManifest((about) => void Object.assign(about, { format: 'plinth-export/1' })),
      'Export it again',
    ],
    [
      'with a manifest that is no object',
      () => [...without('manifest.json'), ['manifest.json', '5']],
      'Export it again',
    ],
    [
      'with a manifest that is too large',
      () => [...without('manifest.json'), ['manifest.json', ' '.repeat(17 * 1024 * 1024)]],
      'manifest.json is larger',
    ],
    ['with a line that is no JSON', () => withLine('{'), 'tables/apps.1.ndjson line 1 is not valid JSON'],
    ['with a line that is no object', () => withLine('[]'), 'tables/apps.1.ndjson line 1 is not an object'],
    ['with an empty line', () => withLine('\n'), 'line 1 is not valid JSON'],
    [
      'with a line that is nested too deep',
      () => withLine(`{"id":${'['.repeat(64)}${']'.repeat(64)}}`),
      'line 1 is nested deeper than 64 levels',
    ],
    [
      'with a line of too many values',
      () => withLine(`{"id":[${'0,'.repeat(150_000)}0]}`),
      'line 1 must have at most 150000 values',
    ],
    ['with a line that is not UTF-8', () => withLine(Buffer.from([0x7b, 0xff, 0x7d])), 'line 1 is not valid UTF-8'],
    [
      'with a line that is too long',
      () => withLine(`{"id":"${'x'.repeat(16 * 1024 * 1024)}"}`),
      'a line longer than 16777216 bytes',
    ],
    [
      'with an incomplete line',
      () => replaceFile(files, 'tables/apps.1.ndjson', Buffer.from('{}')),
      'does not end with a complete line',
    ],
    [
      'with an empty file',
      () => replaceFile(files, 'tables/memberships.1.ndjson', Buffer.alloc(0)),
      'does not have exactly one owner',
    ],
  ])('%s is refused', async (_what, plant, message) => {
    const planted = plant();
    writeFileSync(file, gzipSync(Buffer.isBuffer(planted) ? planted : packTar(planted)));
    await expectRefused(message);
  });

  it.each<[string, Buffer]>([
    ['that is not gzipped', packTar(files)],
    ['that is cut off', bytes.subarray(0, bytes.length - 200)],
    ['with a changed byte', Buffer.from(bytes).fill(0x55, bytes.length - 4)],
  ])('%s is refused before it is unpacked', async (_what, content) => {
    writeFileSync(file, content);
    await expectRefused('not a gzip file, or it is damaged or truncated');
  });

  it('that is much larger unpacked is refused, unless the operator accepts any size', async () => {
    const zeros = gzipSync(Buffer.alloc(110 * 1024 * 1024));
    const header = gzipSync(buildTarHeader('tables/people.1.ndjson', 110 * 1024 * 1024));
    writeFileSync(file, Buffer.concat([header, zeros, gzipSync(tarEnd)])); // gzip allows multiple members
    await expectRefused('it unpacks to more than 100 times its size');
    await expectRefused('manifest.json is missing', { anySize: true });
  });

  it.each([
    ['bytes', { unpackedBytes: 10_000 }, 'it unpacks to more than 10000 bytes'],
    ['files', { files: 5 }, 'it contains more than 5 files'],
  ])('with more %s than the limit is refused', async (_what, limits, message) => {
    writeFileSync(file, bytes);
    const tables = Object.keys(createArchiveTables());
    await expect(checkArchive(file, tables, { ...defaultLimits, ...limits })).rejects.toThrow(message);
  });
});

const odd = [
  null,
  true,
  0,
  -1,
  1.5,
  2 ** 31,
  1e300,
  '',
  'x',
  '-infinity',
  "'; drop table users; --",
  '__proto__',
  '../x',
  'x'.repeat(100_000),
  [],
  ['x'],
  {},
  { a: { b: [null] } },
  stranger.id,
  victim,
  foreignApp.id,
  owner.id,
];

/** A random fault in either the archive's rows or its bytes. */
type Fault =
  | { readonly in: 'rows'; readonly plant: Plant }
  | { readonly in: 'bytes'; readonly at: number; readonly byte: number };

const faults: fc.Arbitrary<Fault> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc
      .record({
        table: fc.constantFrom(...exported.tables.keys()),
        kind: fc.constantFrom('set', 'set', 'set', 'remove row', 'repeat row', 'remove column', 'swap', 'borrow'),
        row: fc.nat(),
        column: fc.nat(),
        value: fc.oneof(fc.constantFrom(...odd), fc.jsonValue()),
      })
      .map((fault): Fault => ({ in: 'rows', plant: (archive) => plantRandom(archive, fault) })),
  },
  { weight: 1, arbitrary: fc.record({ in: fc.constant('bytes' as const), at: fc.nat(), byte: fc.nat(255) }) },
);

function plantRandom(
  archive: Archive,
  {
    table,
    kind,
    row: pick,
    column: pickColumn,
    value,
  }: { table: string; kind: string; row: number; column: number; value: unknown },
): void {
  const rows = rowsOf(archive, table);
  const row = rows[pick % Math.max(rows.length, 1)];
  if (row === undefined) return;
  const columns = Object.keys(row);
  const column = columns[pickColumn % columns.length] ?? '';
  const other = rows[(pick + 1) % rows.length] as Row;
  if (kind === 'set') row[column] = value;
  else if (kind === 'remove row') rows.splice(rows.indexOf(row), 1);
  else if (kind === 'repeat row') rows.push({ ...row });
  else if (kind === 'remove column') delete row[column];
  else if (kind === 'swap') [row[column], other[column]] = [other[column], row[column]];
  else row[column] = Object.values(firstOf(exported, 'apps'))[pick % 16];
}

it('an archive with random faults is imported as one new workspace or refused, and nothing else changes', async () => {
  const imported: string[] = [];
  const before = await digestOutside(imported);
  const outcomes = { imported: 0, refused: 0 };
  await fc.assert(
    fc.asyncProperty(fc.array(faults, { minLength: 1, maxLength: 3 }), async (planted) => {
      const archive = copy();
      for (const fault of planted) if (fault.in === 'rows') fault.plant(archive);
      const tar = packTar(listFiles(archive));
      for (const fault of planted) if (fault.in === 'bytes') tar[fault.at % tar.length] = fault.byte;
      writeFileSync(file, gzipSync(tar));
      try {
        imported.push((await importFile()).workspace_id);
        outcomes.imported += 1;
      } catch (error) {
        expect(error).toBeInstanceOf(ArchiveError);
        outcomes.refused += 1;
      }
    }),
    { numRuns: someOf(200), seed: 14 },
  );
  expect(await digestOutside(imported)).toEqual(before);
  // The imported data does not break the background jobs that all workspaces share.
  await publishToAll(imported);
  for (const job of world.app.background.jobs) await job.run(world.app.database.db, new Date(Date.now() + 120_000));
  expect(outcomes.imported).toBeGreaterThan(someOf(10));
  expect(outcomes.refused).toBeGreaterThan(someOf(50));
});

/** Publishes an event in every app of the workspaces, and dispatches the events to their webhooks. */
async function publishToAll(workspaces: readonly string[]): Promise<void> {
  const apps = await world.db.selectFrom('apps').where('workspace_id', 'in', workspaces).selectAll().execute();
  for (const { workspace_id, id } of apps) {
    const change = {
      entity_name: 'Task',
      entity_id: newId(),
      data: {},
      old_data: null,
      changed_fields: [],
      actor: null,
    };
    const event = { workspace_id, app_id: id, ...change, credential_id: null, depth: 0, payload_too_large: false };
    await world.app.publish(world.app.database.db, 'entity.created', event, new Date());
  }
  while ((await world.app.background.dispatch(world.app.database.db, new Date())) > 0);
  const { rows } = await sql`select from webhook_deliveries where workspace_id = any(${workspaces}::uuid[])`.execute(
    world.db,
  );
  expect(rows.length).toBeGreaterThan(0);
}

/** A digest of every table, without the rows of these workspaces and of new accounts. */
async function digestOutside(without: readonly string[]): Promise<Record<string, string>> {
  const { rows: tables } = await sql<{ name: string; columns: string[] }>`
    select table_name as name, array_agg(column_name::text) as columns from information_schema.columns
    join information_schema.tables using (table_schema, table_name)
    where table_schema = 'public' and table_type = 'BASE TABLE' group by 1 order by 1`.execute(world.db);
  const digests: Record<string, string> = {};
  for (const { name, columns } of tables) {
    const { rows } = await sql<{ digest: string }>`
      select md5(coalesce(string_agg(t::text, '|' order by t::text), '')) as digest from ${sql.table(name)} t
      where ${isOutside(name, columns, sql`(${without}::uuid[])`)}`.execute(world.db);
    digests[name] = rows[0]?.digest ?? '';
  }
  return digests;
}

function isOutside(table: string, columns: readonly string[], without: RawBuilder<unknown>): RawBuilder<unknown> {
  if (table === 'workspaces') return sql`t.id <> all ${without}`;
  if (table === 'users') return sql`t.email in ('owner@example.com', 'guest@example.com', 'stranger@example.com')`;
  if (columns.includes('workspace_id')) return sql`t.workspace_id is null or t.workspace_id <> all ${without}`;
  if (columns.includes('app_id')) return sql`t.app_id in (select id from apps where workspace_id <> all ${without})`;
  return sql`true`;
}

/** The number of a workspace's rows in each table. */
async function countOf(workspaceId: string) {
  const tables = ['memberships', 'apps', 'app_shares', 'folders', 'folder_items', 'webhooks', 'audit_entries'] as const;
  const counts = tables.map(
    (table) => sql`select count(*)::int as count from ${sql.table(table)} where workspace_id = ${workspaceId}`,
  );
  return (await sql<{ count: number }>`${sql.join(counts, sql` union all `)}`.execute(world.db)).rows;
}

const sumOf = (header: Buffer): number =>
  header.reduce((sum, byte, at) => sum + (at >= 148 && at < 156 ? 0x20 : byte), 0);

const fileOf = (content: Buffer) => ({
  content: content.toString('base64'),
  sha256: createHash('sha256').update(content).digest('hex'),
  size: content.length,
});

/** Replaces one file, and updates the manifest to match. */
function replaceFile(files: readonly TarFile[], name: string, content: Buffer): TarFile[] {
  const manifest = JSON.parse(String(files.at(-1)?.[1]));
  const [table = ''] = /\w+(?=\.\d)/.exec(name) ?? [];
  const rows = content.filter((byte) => byte === 0x0a).length;
  manifest.tables[table] = [{ file: name, rows, sha256: createHash('sha256').update(content).digest('hex') }];
  return files.map(([each, text]): TarFile => {
    if (each === 'manifest.json') return [each, JSON.stringify(manifest)];
    return [each, each === name ? content : text];
  });
}

/** Writes the archive with text that JSON.stringify would not produce. */
function writeText(files: readonly TarFile[], change: (text: string) => string): void {
  let changed = [...files];
  for (const [name, text] of files) {
    if (name === 'manifest.json' || change(String(text)) === String(text)) continue;
    changed = replaceFile(changed, name, Buffer.from(change(String(text))));
  }
  writeFileSync(file, gzipSync(packTar(changed)));
}
