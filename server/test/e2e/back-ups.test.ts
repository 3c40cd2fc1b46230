// Tests `plinth backup`, `plinth restore` and `plinth keys unlock` as processes with the real pg_dump, on an installation with
// published files, records, secrets, an export and audit entries. What is damaged is damaged on disk.
import { execFile, type PromiseWithChild } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseEnv, promisify } from 'node:util';
import pg from 'pg';
import { afterAll, describe, expect, it, vi } from 'vitest';
import { startS3Sandbox } from '../../../sandbox/src/s3.ts';
import { formatManifest, type Manifest } from '../../src/commands/backup/manifest.ts';
import { newKeys } from '../../src/commands/keys.ts';
import { recognizeKeys } from '../../src/commands/known-keys.ts';
import { isBackupRunning } from '../../src/core/backups/lock.ts';
import { publishFiles } from '../support/published.ts';
import {
  asAdmin,
  createEmptyDatabase,
  createRole,
  serverUrl,
  type TestDatabase,
  withRole,
} from '../support/template.ts';
import { startWorld } from '../support/world.ts';
import { commandLine } from './command.ts';

const root = mkdtempSync(join(tmpdir(), 'plinth-back-ups-'));
const created: TestDatabase[] = [];
afterAll(async () => {
  for (const database of created) await database.drop();
  rmSync(root, { recursive: true });
});
const storage = join(root, 'storage');
const keys = newKeys();
const world = await startWorld({ environment: { ...keys, STORAGE_FOLDER: storage } });
await world.startWorker();
await recognizeKeys(world.db, world.config, new Date()); // as every process does when it starts
const ownerUrl = withRole(world.config.DATABASE_URL, new URL(serverUrl).username);
const live = { ...keys, DATABASE_URL: world.config.DATABASE_URL, MIGRATE_DATABASE_URL: ownerUrl };
const settings = { ...live, STORAGE_FOLDER: storage };
const installation = commandLine(settings);

// What an installation has: an app with data and published files, a secret, an export, audit entries.
const owner = await world.person('owner@example.com');
const workspace = await world.workspace(owner);
const as = await world.token(owner, workspace);
const app = await world.appOf(owner, workspace);
const send = async (method: string, path: string, body?: object) => {
  const got = await world.call(method, path, { as, ...(body && { body }) });
  expect(got.status, `${method} ${path}: ${got.text}`).toBe(200);
  return got.body;
};
const api = `/api/apps/${app.id}`;
const picture = Buffer.from(Array.from({ length: 70_000 }, (_, n) => (n * 7919) % 251));
await publishFiles(world, app, { 'dist/index.html': '<!doctype html><h1>Hello</h1>', 'dist/a.png': picture }, as);
await send('PUT', `${api}/entity-schemas/Task`, { name: 'Task', properties: { title: { type: 'string' } } });
for (let n = 0; n < 30; n += 1) await send('POST', `${api}/entities/Task`, { title: `Task ${n}` });
await send('PUT', `${api}/secrets/API_KEY`, { value: 'a secret value' });
const { export_id } = await send('POST', '/api/workspace/export');
const verify = () => send('GET', '/api/workspace/audit-log/verify');
const isReady = async () =>
  (await send('GET', `/api/workspace/export/${export_id}`)).state === 'ready' && (await verify()).unsealed === 0;
await vi.waitUntil(isReady, { timeout: 120_000, interval: 200 });

const listFiles = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => !name.startsWith('.unfinished') && statSync(join(folder, name)).isFile())
    .toSorted();
const digestFiles = (folder: string) =>
  listFiles(folder).map((name) => [
    name,
    createHash('sha256')
      .update(readFileSync(join(folder, name)))
      .digest('hex'),
  ]);
const readManifest = (backup: string): Manifest => JSON.parse(readFileSync(join(backup, 'manifest.json'), 'utf8'));

let count = 0;
const newFolder = (): string => {
  count += 1;
  return join(root, String(count));
};

/** Makes a back-up and returns its folder. */
async function backUp(cli = installation, ...options: string[]) {
  const directory = newFolder();
  const { stdout } = await cli.plinth('backup', directory, ...options);
  const [name, ...others] = readdirSync(directory);
  expect([name, others]).toEqual([expect.stringMatching(/^plinth-\d{8}T\d{6}Z$/), []]);
  return { directory, backup: join(directory, name as string), stdout };
}

/** A copy of a back-up that a test may damage. */
function copyOf(backup: string): string {
  const copy = newFolder();
  cpSync(backup, copy, { recursive: true });
  return copy;
}

/** Flips a bit in the middle of a file. */
function flipByte(path: string): void {
  const content = readFileSync(path);
  const middle = content.length >> 1;
  content[middle] = (content[middle] as number) ^ 1;
  writeFileSync(path, content);
}

/** A new installation: an empty database and storage. */
async function newInstallation(more: Record<string, string> = {}) {
  const database = await createEmptyDatabase();
  created.push(database);
  const folder = newFolder();
  const own = { DATABASE_URL: database.url, MIGRATE_DATABASE_URL: database.ownerUrl, STORAGE_FOLDER: folder };
  const countTables = async () =>
    (await queryOn(database.ownerUrl, "select from pg_class where relnamespace = 'public'::regnamespace")).length;
  return { ...commandLine({ ...keys, ...own, ...more }), ...database, folder, countTables };
}

async function queryOn<Row extends pg.QueryResultRow>(url: string, text: string): Promise<Row[]> {
  const client = new pg.Client(url);
  await client.connect();
  try {
    return (await client.query<Row>(text)).rows;
  } finally {
    await client.end();
  }
}

/** What a failed command prints. */
const failureOf = async (running: Promise<unknown>): Promise<string> => {
  const { code, stderr } = await running.then(
    () => expect.fail('the command succeeded'),
    (error: { code: number; stderr: string }) => error,
  );
  expect(code, stderr).toBe(1);
  expect(stderr).not.toMatch(/^\s+at /m); // a sentence, not a stack trace
  return stderr;
};

const readMetrics = () => world.app.metrics.render();
const digestTables = (url: string, tables: readonly string[]) =>
  queryOn(
    url,
    tables
      .map(
        (table) => `select '${table}' as name, count(*) as rows,
        md5(string_agg(md5(t::text), '' order by t::text)) as digest from ${table} t`,
      )
      .join(' union all '),
  );
const compared = [
  'users',
  'apps',
  'app_files',
  'app_blobs',
  'deployments',
  'entity_records',
  'app_secrets',
  'audit_entries',
];

describe('a back-up', () => {
  it('is restored after the loss of database and storage: equal records, files and audit chains', async () => {
    expect(await readMetrics()).not.toMatch(/^plinth_backup_(verify_)?age_seconds /m);
    const { backup, stdout } = await backUp();
    expect(stdout).toMatch(/^Wrote .*: database \([\d.]+ kB\), 3 objects \([\d.]+ kB\), \d audit chains\.$/m);
    expect(stdout).toMatch(/^The keys are not in it\. .* MASTER_KEYS \d{8}; TOKEN_PEPPERS \d{8}\.$/m);
    const modeOf = (path: string) => (statSync(join(backup, path)).mode & 0o777).toString(8);
    expect(['.', 'objects'].map(modeOf)).toEqual(['700', '700']);
    expect(listFiles(backup).map(modeOf)).toEqual(listFiles(backup).map(() => '600'));
    const everything = listFiles(backup)
      .map((name) => readFileSync(join(backup, name)).toString('latin1'))
      .join();
    for (const key of Object.values(keys)) expect(everything).not.toContain(key.split(':').at(-1));

    const manifest = readManifest(backup);
    const { last_sequence, head_hash } = await verify();
    expect(manifest.audit_chains).toContainEqual({ workspace_id: workspace, last_sequence, head_hash });
    expect(manifest.secrets).toEqual({ [keys.MASTER_KEYS?.split(':')[0] as string]: expect.any(Number) });
    expect(Object.entries(manifest.objects ?? {}).map(([key, { sha256 }]) => [key, sha256])).toEqual(
      digestFiles(storage),
    );
    expect(await readMetrics()).toMatch(/^plinth_backup_age_seconds [\d.]+$/m);

    const restored = await newInstallation();
    const { stdout: report } = await restored.plinth('restore', backup);
    expect(report).toContain(`Restored ${backup}, with the data of ${manifest.taken_at}.`);
    expect(report).toContain(
      `${manifest.audit_chains.length} audit chains were verified and end as in the manifest. 3 objects have the digests`,
    );
    expect(report).toMatch(/start an API process .* may be sent again/s);
    expect(digestFiles(restored.folder)).toEqual(digestFiles(storage));
    expect(await digestTables(restored.ownerUrl, compared)).toEqual(await digestTables(ownerUrl, compared));

    // It serves what it had, with the rights of the run role.
    const { url, child } = await restored.startApi();
    const ask = async (path: string) => fetch(url + path, { headers: { authorization: `Bearer ${as}` } });
    expect(await (await ask('/api/workspace/audit-log/verify')).json()).toMatchObject({ valid: true, head_hash });
    expect((await ask(`/api/workspace/export/${export_id}?download=true`)).status).toBe(200);
    await expect(queryOn(restored.url, 'delete from audit_entries')).rejects.toThrow('permission denied');
    child.kill('SIGKILL');
  });

  it('is of one moment, whatever is written meanwhile, and has the objects that are no longer needed since', async () => {
    const other = await world.appOf(owner, workspace);
    await publishFiles(world, other, { 'dist/index.html': 'first' }, as);
    await using locked = await lockOutDumps();
    const directory = newFolder();
    const running = installation.plinth('backup', directory);
    await expect.poll(() => isDumpWaiting()).toBe(true);
    expect(await isBackupRunning(world.db)).toBe(true);
    expect(await failureOf(installation.plinth('backup', newFolder()))).toContain(
      'Another back-up of this database is running',
    );

    // Meanwhile the app is purged, and the job that removes its objects runs.
    await queryOn(ownerUrl, `delete from apps where id = '${other.id}'`);
    await queryOn(ownerUrl, `update object_removals set added_at = now() - interval '2 hours'`);
    const removing = world.app.background.jobs.find(({ name }) => name === 'remove objects') ?? expect.fail();
    expect(await removing.run(world.app.database.db, new Date())).toBe(0);
    await locked.release();
    await running;
    await expect.poll(() => isBackupRunning(world.db)).toBe(false);

    const backup = join(directory, readdirSync(directory)[0] as string);
    expect(Object.keys(readManifest(backup).objects ?? {}).filter((key) => key.includes(other.id))).toHaveLength(1);
    const restored = await newInstallation();
    await restored.plinth('restore', backup);
    expect(await queryOn(restored.ownerUrl, `select from deployments where app_id = '${other.id}'`)).toHaveLength(1);
    await expect.poll(() => removing.run(world.app.database.db, new Date())).toBe(0);
    expect(existsSync(join(storage, 'apps', other.id))).toBe(false);
  });

  it('that is interrupted leaves nothing that looks complete', async () => {
    const interrupt = async (directory: string, signal: NodeJS.Signals) => {
      await using _locked = await lockOutDumps();
      const running = installation.plinth('backup', directory) as PromiseWithChild<unknown>;
      const ended = running.catch((error: { stderr: string }) => error.stderr);
      await expect.poll(() => isDumpWaiting()).toBe(true);
      expect(readdirSync(directory)).toEqual([expect.stringMatching(/^\.plinth-.*\.unfinished$/)]);
      running.child.kill(signal);
      return ended;
    };
    const directory = newFolder();
    expect(await interrupt(directory, 'SIGTERM')).toBe('Interrupted. Nothing of the back-up was kept.\n');
    expect(readdirSync(directory)).toEqual([]);

    await interrupt(directory, 'SIGKILL');
    const [left = ''] = readdirSync(directory);
    expect(await failureOf((await newInstallation()).plinth('restore', join(directory, left)))).toContain(
      'is no complete back-up: it has no manifest.json',
    );
    await expect.poll(() => isBackupRunning(world.db)).toBe(false);
    await installation.plinth('backup', directory, '--keep', '1');
    expect(readdirSync(directory).filter((name) => !name.startsWith('.'))).toHaveLength(1);
  });

  it('is not kept if its session, and with it the lock, is lost after the dump', async () => {
    const directory = newFolder();
    await using locked = await lockOutDumps();
    const running = installation.plinth('backup', directory);
    await expect.poll(() => isDumpWaiting()).toBe(true);
    const ended = failureOf(running);
    const name = new URL(ownerUrl).pathname.slice(1);
    const lost = await queryOn(
      ownerUrl,
      `select pg_terminate_backend(pid) from pg_stat_activity where datname = '${name}' and application_name = 'plinth backup'`,
    );
    expect(lost).toHaveLength(1);
    await locked.release(); // pg_dump has the snapshot, and completes
    expect(await ended).toMatch(/^The connection to PostgreSQL was lost while .* No back-up was made\./);
    expect(readdirSync(directory)).toEqual([]);
  });

  it('is refused while the storage lacks what the database names, such as with the wrong folder', async () => {
    const wrong = commandLine({ ...live, STORAGE_FOLDER: newFolder() });
    const directory = newFolder();
    expect(await failureOf(wrong.plinth('backup', directory))).toMatch(
      /lacks 3 objects that the database names, such as \S+\..* No back-up was made\./,
    );
    expect(readdirSync(directory)).toEqual([]);
    const { backup, stdout } = await backUp(wrong, '--allow-missing');
    expect(stdout).toContain('3 objects that the database names were not in the storage');
    expect(readManifest(backup).missing_objects).toEqual(listFiles(storage));
    const restored = await newInstallation();
    expect((await restored.plinth('restore', backup)).stdout).toContain('3 objects were missing when the back-up');

    // An object with different content than its row says.
    const damaged = copyOf(storage);
    flipByte(join(damaged, listFiles(damaged).find((name) => name.startsWith('apps/')) as string));
    expect(await failureOf(commandLine({ ...live, STORAGE_FOLDER: damaged }).plinth('backup', directory))).toMatch(
      /1 objects in STORAGE_FOLDER \(.*\) differ from what the database says of them, such as apps\//,
    );
  });

  it('can leave the objects out, and says so', async () => {
    const { backup, stdout } = await backUp(installation, '--skip-objects');
    expect(stdout).toContain('The stored objects are not in it');
    expect(listFiles(backup)).toEqual(['database.dump', 'manifest.json']);
    const restored = await newInstallation();
    expect((await restored.plinth('restore', backup)).stdout).toContain('Stored objects are not in this back-up');
  });

  it('moves between a folder and a bucket', async () => {
    const s3 = await startS3Sandbox();
    const bucket = {
      STORAGE_FOLDER: '',
      STORAGE_S3_BUCKET: s3.bucket,
      STORAGE_S3_ENDPOINT: s3.endpoint,
      STORAGE_S3_ACCESS_KEY_ID: 'AKIDEXAMPLE',
      STORAGE_S3_SECRET_ACCESS_KEY: 'secret',
      STORAGE_S3_PATH_STYLE: 'true',
    };
    const { backup } = await backUp();
    const moved = await newInstallation(bucket);
    await moved.plinth('restore', backup);
    const { backup: second } = await backUp(moved);
    expect(digestFiles(join(second, 'objects'))).toEqual(digestFiles(storage));
    await s3.close();
  });

  it('is not made with the keys of another database, without a connection, or without a pg_dump of this version', async () => {
    const directory = newFolder();
    const failing = (more: Record<string, string>) =>
      failureOf(commandLine({ ...settings, ...more }).plinth('backup', directory));
    expect(await failing(newKeys())).toMatch(/^MASTER_KEYS has another key with the id /);
    expect(await failing({ MIGRATE_DATABASE_URL: 'postgres://a@127.0.0.1:1/a' })).toBe(
      "PostgreSQL can't be reached at 127.0.0.1:1 (ECONNREFUSED). Start it, or correct MIGRATE_DATABASE_URL.\n",
    );
    const programs = newFolder();
    mkdirSync(programs);
    expect(await failing({ PATH: programs })).toMatch(/^pg_dump is not installed, or not in PATH\./);
    writeFileSync(join(programs, 'pg_dump'), '#!/bin/sh\necho "pg_dump (PostgreSQL) 9.6.1"\n', { mode: 0o755 });
    expect(await failing({ PATH: programs })).toMatch(
      /^pg_dump is of PostgreSQL 9, and the server is \d+\. Install postgresql-client-\d+ or newer/,
    );
    const file = newFolder();
    writeFileSync(file, '');
    expect(await failureOf(installation.plinth('backup', file))).toContain(`${file} can't be written to (`);
    expect(existsSync(directory) ? readdirSync(directory) : []).toEqual([]);
    await expect(installation.plinth('backup')).rejects.toMatchObject({ code: 2 });
    await expect(installation.plinth('backup', directory, '--keep', '0')).rejects.toMatchObject({ code: 2 });
  });

  it('beyond --keep is removed, but nothing that is not an older complete back-up of this database', async () => {
    const { directory, backup } = await backUp();
    const manifest = readManifest(backup);
    const add = (name: string, text?: string) => {
      mkdirSync(join(directory, name));
      writeFileSync(join(directory, name, 'manifest.json'), text ?? formatManifest(withoutDigest(manifest)));
    };
    add('plinth-20200101T000000Z');
    add('plinth-20200102T000000Z');
    add('plinth-20200103T000000Z', formatManifest({ ...withoutDigest(manifest), system_identifier: '1' }));
    add('plinth-20200104T000000Z', '{}');
    add('mine', undefined);
    const { stdout } = await installation.plinth('backup', directory, '--keep', '2');
    expect(stdout).toContain('Removed the oldest: plinth-20200101T000000Z, plinth-20200102T000000Z.\n');
    const left = readdirSync(directory);
    expect(left.slice(0, 3)).toEqual(['mine', 'plinth-20200103T000000Z', 'plinth-20200104T000000Z']);
    expect(left).toHaveLength(5);
  });
});

const withoutDigest = (manifest: Manifest): Manifest => {
  const { manifest_sha256: _, ...rest } = manifest as Manifest & { manifest_sha256: string };
  return rest;
};

/** Makes pg_dump wait until it is released, or the test ends. */
async function lockOutDumps() {
  const client = new pg.Client(ownerUrl);
  await client.connect();
  await client.query('begin');
  await client.query('lock table location_names in access exclusive mode');
  let released: Promise<void> | undefined;
  const release = () => {
    released ??= client.end();
    return released;
  };
  return { release, [Symbol.asyncDispose]: release };
}

async function isDumpWaiting(): Promise<boolean> {
  const name = new URL(ownerUrl).pathname.slice(1);
  const rows = await queryOn(
    ownerUrl,
    `select from pg_stat_activity
     where datname = '${name}' and application_name = 'pg_dump' and wait_event_type = 'Lock'`,
  );
  return rows.length > 0;
}

describe('a damaged back-up', () => {
  it.each([
    ['database.dump', /database\.dump was damaged or changed/],
    ['objects', /objects\/apps\/\S+ was damaged or changed: its SHA-256 is not that of the manifest/],
    ['manifest.json', /manifest\.json was damaged or changed after it was written/],
  ])('is refused by the name of the file: %s', async (damaged, message) => {
    const { backup } = await backUp();
    const copy = copyOf(backup);
    const first = listFiles(copy).find((name) => name.startsWith('objects/apps/')) as string;
    flipByte(join(copy, damaged === 'objects' ? first : damaged));
    expect(await failureOf(installation.plinth('backup', '--verify', copy))).toMatch(message);
    expect(await readMetrics()).toMatch(/^plinth_backup_verify_failed 1$/m);
    const target = await newInstallation();
    expect(await failureOf(target.plinth('restore', copy))).toMatch(message);
    expect(await target.countTables()).toBe(0);
    expect(existsSync(target.folder)).toBe(false);

    expect((await installation.plinth('backup', '--verify', backup)).stdout).toMatch(
      /is whole: \d audit chains and 3 objects are those of its manifest\.$/m,
    );
    expect(await readMetrics()).toMatch(/^plinth_backup_verify_failed 0$/m);
    expect(await readMetrics()).toMatch(/^plinth_backup_verify_age_seconds [\d.]+$/m);
  });

  it('is refused if an object is missing', async () => {
    const copy = copyOf((await backUp()).backup);
    const [first = ''] = listFiles(copy).filter((name) => name.startsWith('objects/'));
    rmSync(join(copy, first));
    expect(await failureOf(installation.plinth('backup', '--verify', copy))).toContain(`${first} is missing.`);
  });

  it('shows by its audit chain, even if its digests are right', async () => {
    const { backup } = await backUp();
    const changed = await newInstallation();
    await changed.plinth('restore', backup);
    await changed.runAsOwner(`set session_replication_role = replica;
      update audit_entries set entry = jsonb_set(entry, '{type}', '"app.deleted"')
      where workspace_id = '${workspace}' and sequence = 2`);
    const { backup: second } = await backUp(changed);
    const broken = `The audit chain of the workspace ${workspace} is broken at entry 2.`;
    expect(await failureOf(changed.plinth('backup', '--verify', second))).toContain(broken);
    const target = await newInstallation();
    expect(await failureOf(target.plinth('restore', second))).toContain(broken);

    // A dump of another moment, with a manifest of its own.
    const manifest = withoutDigest(readManifest(backup));
    const audit_chains = manifest.audit_chains.map((chain) => ({ ...chain, last_sequence: chain.last_sequence + 1 }));
    const copy = copyOf(backup);
    writeFileSync(join(copy, 'manifest.json'), formatManifest({ ...manifest, audit_chains }));
    expect(await failureOf(installation.plinth('backup', '--verify', copy))).toContain(
      'does not end as in the manifest',
    );
  });
});

describe('--verify', () => {
  it('takes the newest one of a folder, and leaves no database behind', async () => {
    const { directory, backup } = await backUp();
    const name = new URL(ownerUrl).pathname.slice(1);
    const mine = `${name}_verify_1_mine`;
    await asAdmin(async (client) => {
      await client.query(`create database ${name}_verify_1`); // by a crashed one
      await client.query(`create database ${mine}`);
    });
    // The newest one is of another server.
    const other = { ...withoutDigest(readManifest(backup)), system_identifier: '1' };
    mkdirSync(join(directory, 'plinth-99990101T000000Z'));
    writeFileSync(join(directory, 'plinth-99990101T000000Z', 'manifest.json'), formatManifest(other));
    expect((await installation.plinth('backup', '--verify', directory)).stdout).toContain(`${backup} is whole`);
    const left = await queryOn(ownerUrl, `select datname from pg_database where datname like '${name}\\_verify%'`);
    expect(left).toEqual([{ datname: mine }]);
    await asAdmin(async (client) => void (await client.query(`drop database ${mine}`)));
    rmSync(backup, { recursive: true });
    expect(await failureOf(installation.plinth('backup', '--verify', directory))).toContain(
      `${directory} has no back-up of the database "${name}".`,
    );
    const [state] = await queryOn<{ verified_name: string }>(ownerUrl, 'select * from backup_state');
    expect(backup).toContain(state?.verified_name);
  });

  it('needs a role that may create databases', async () => {
    const role = `plinth_backup_${process.pid}`;
    await asAdmin((client) => createRole(client, role));
    const { directory } = await backUp();
    const asRunRole = commandLine({ ...settings, MIGRATE_DATABASE_URL: '' });
    for (const args of [['--verify', directory], [directory]])
      expect(await failureOf(asRunRole.plinth('backup', ...args))).toMatch(
        /^The role "\w+" does not own the tables\. Set/,
      );
    await queryOn(ownerUrl, `grant select, insert, update on backup_state to ${role}`);
    const limited = commandLine({ ...settings, MIGRATE_DATABASE_URL: withRole(ownerUrl, role) });
    expect(await failureOf(limited.plinth('backup', '--verify', directory))).toContain(
      `the role "${role}" may not create one. As a superuser of PostgreSQL, run: alter role "${role}" createdb`,
    );
    expect(await readMetrics()).toMatch(/^plinth_backup_verify_failed 1$/m);
    await queryOn(ownerUrl, `revoke all on backup_state from ${role}`);
    await asAdmin(async (client) => void (await client.query(`drop role ${role}`)));
  });
});

describe('restore', () => {
  it('refuses missing and wrong keys by setting and id, before anything is loaded', async () => {
    const { backup } = await backUp();
    const [id = ''] = keys.MASTER_KEYS?.split(':') ?? [];
    const other = newKeys();
    const rename = (text = '') => text.replace(/^\d+/, 'new');
    const cases: [Record<string, string>, RegExp][] = [
      [{ MASTER_KEYS: other.MASTER_KEYS as string }, new RegExp(`^MASTER_KEYS has another key with the id "${id}"`)],
      [
        { MASTER_KEYS: rename(other.MASTER_KEYS) },
        new RegExp(`^MASTER_KEYS lacks the key "${id}", which \\d+ encrypted`),
      ],
      [
        { TOKEN_PEPPERS: other.TOKEN_PEPPERS as string },
        new RegExp(`^TOKEN_PEPPERS has another key with the id "${id}"`),
      ],
      [{ TOKEN_PEPPERS: rename(other.TOKEN_PEPPERS) }, new RegExp(`^TOKEN_PEPPERS lacks the key "${id}"`)],
      [{ MASTER_KEYS: '' }, /MASTER_KEYS is missing/],
    ];
    for (const [more, message] of cases) {
      const target = await newInstallation(more);
      expect(await failureOf(target.plinth('restore', backup))).toMatch(message);
      expect(await target.countTables()).toBe(0);
    }
  });

  it('refuses a database that is not empty, two databases, another object in the storage and a newer release', async () => {
    const { backup } = await backUp();
    const target = await newInstallation();
    await target.runAsOwner('create table mine ()');
    expect(await failureOf(target.plinth('restore', backup))).toContain('is not empty: it has mine and 0 others');
    await target.runAsOwner('drop table mine');
    const two = await newInstallation({ DATABASE_URL: live.DATABASE_URL });
    expect(await failureOf(two.plinth('restore', backup))).toContain('Set both to the database that is to be restored');
    const noRole = await newInstallation();
    const { url, ownerUrl: MIGRATE_DATABASE_URL } = noRole;
    const unknown = commandLine({ ...settings, MIGRATE_DATABASE_URL, DATABASE_URL: withRole(url, 'no_such_role') });
    expect(await failureOf(unknown.plinth('restore', backup))).toMatch(
      /^PostgreSQL refused the role in DATABASE_URL: /,
    );
    expect(await noRole.countTables()).toBe(0);
    const [key = ''] = listFiles(storage);
    mkdirSync(join(target.folder, key, '..'), { recursive: true });
    writeFileSync(join(target.folder, key), 'another');
    expect(await failureOf(target.plinth('restore', backup))).toContain(
      `The storage has another object with the key ${key}`,
    );
    expect(await target.countTables()).toBe(0);
    copyFileSync(join(storage, key), join(target.folder, key)); // the same object may be there already

    const newer = copyOf(backup);
    const manifest = { ...withoutDigest(readManifest(backup)), release: '9.0.0', latest_migration: '9999_newer.sql' };
    writeFileSync(join(newer, 'manifest.json'), formatManifest(manifest));
    expect(await failureOf(target.plinth('restore', newer))).toContain(
      'is of a newer release (9.0.0, with the migration 9999',
    );
    expect((await target.plinth('restore', backup)).stdout).toContain('Restored');
  });
});

describe('a copy of the keys', () => {
  const passphraseFile = join(root, 'passphrase');
  writeFileSync(passphraseFile, 'correct horse battery\n', { mode: 0o600 });
  const withPassphrase = { PLINTH_KEYS_PASSPHRASE_FILE: passphraseFile };

  it('is encrypted with a passphrase, and with it the installation can be restored without any settings', async () => {
    const file = join(root, 'keys.json');
    const { backup, stdout } = await backUp(commandLine({ ...settings, ...withPassphrase }), '--keys', file);
    expect(stdout).toContain(`Wrote the keys to ${file}, encrypted with the passphrase.`);
    expect((statSync(file).mode & 0o777).toString(8)).toBe('600');
    const written = readFileSync(file, 'utf8');
    for (const key of Object.values(keys)) expect(written).not.toContain(key.split(':').at(-1));
    const { stdout: lines } = await commandLine(withPassphrase).plinth('keys', 'unlock', file);
    expect(parseEnv(lines)).toEqual(keys);

    const noKeys = Object.fromEntries(Object.keys(keys).map((name) => [name, '']));
    const target = await newInstallation({ ...noKeys, ...withPassphrase });
    expect((await target.plinth('restore', backup, '--keys', file)).stdout).toContain(`plinth keys unlock ${file}`);
    const others = await newInstallation({ ...newKeys(), ...withPassphrase });
    expect(await failureOf(others.plinth('restore', backup, '--keys', file))).toContain(
      `is set, but not to the keys in ${file}`,
    );
  });

  it('is not opened with another passphrase or after a change, and replaces no other file', async () => {
    const file = join(root, 'keys-2.json');
    const cli = commandLine({ ...settings, ...withPassphrase });
    await backUp(cli, '--keys', file);
    const wrong = commandLine({ PLINTH_KEYS_PASSPHRASE: 'another passphrase' });
    expect(await failureOf(wrong.plinth('keys', 'unlock', file))).toContain(
      'the passphrase is wrong, or the file was damaged',
    );
    const changed = JSON.parse(readFileSync(file, 'utf8'));
    writeFileSync(file, JSON.stringify({ ...changed, tag: Buffer.alloc(16).toString('base64') }));
    expect(await failureOf(cli.plinth('keys', 'unlock', file))).toContain("can't be decrypted");
    writeFileSync(file, 'mine');
    expect(await failureOf(cli.plinth('keys', 'unlock', file))).toContain('is no copy of keys, or was damaged');
    expect(await failureOf(cli.plinth('backup', newFolder(), '--keys', file))).toContain('was not replaced');
    expect(readFileSync(file, 'utf8')).toBe('mine');
    const short = commandLine({ ...settings, PLINTH_KEYS_PASSPHRASE: 'short' });
    expect(await failureOf(short.plinth('backup', newFolder(), '--keys', file))).toContain('at least 12 characters');
  });

  it('asks a terminal for the passphrase, which does not show it, and says what to do without one', async () => {
    const file = join(root, 'keys-3.json');
    expect(await failureOf(installation.plinth('backup', newFolder(), '--keys', file))).toContain(
      'PLINTH_KEYS_PASSPHRASE_FILE',
    );
    await backUp(commandLine({ ...settings, ...withPassphrase }), '--keys', file);
    const main = join(import.meta.dirname, '../../plinth.js');
    const inTerminal = promisify(execFile)(
      'script',
      ['-qec', `${process.execPath} ${main} keys unlock ${file}`, '/dev/null'],
      {
        cwd: '/',
        env: { PATH: process.env.PATH },
      },
    );
    const { stdin, stdout } = inTerminal.child;
    const asked = Promise.withResolvers<void>();
    stdout?.on('data', (text) => String(text).includes('Passphrase') && asked.resolve());
    await asked.promise;
    stdin?.write('wrong\u007f\u007f\u007f\u007f\u007fcorrect horse battery\n');
    const { stdout: shown } = await inTerminal;
    expect(shown).not.toContain('horse');
    expect(shown).toContain(`MASTER_KEYS=${keys.MASTER_KEYS}`);
  });
});
