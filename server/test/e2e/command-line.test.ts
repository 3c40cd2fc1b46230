// Tests the command line's output for operators: help, usage errors, and failures that an operator can fix. Each
// failure prints one or two sentences, sets an exit code and never shows a stack trace.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { newKeys } from '../../src/commands/keys.ts';
import { newId } from '../../src/kit/ids.ts';
import { call } from '../support/client.ts';
import { cloneTemplate, createEmptyDatabase, serverUrl } from '../support/template.ts';
import { commandLine } from './command.ts';

const database = await cloneTemplate();
const empty = await createEmptyDatabase();
const folder = mkdtempSync(join(tmpdir(), 'plinth-command-line-'));
const taken = createServer().listen(0, '127.0.0.1');
await new Promise((resolve) => taken.once('listening', resolve));
const { port } = taken.address() as { port: number };
afterAll(async () => {
  taken.close();
  rmSync(folder, { recursive: true });
  await database.drop();
  await empty.drop();
});

const keys = newKeys();
const settings = { ...keys, DATABASE_URL: database.url };
const { plinth } = commandLine(settings);
const misspelled = commandLine({ ...settings, DATABSE_POOL_SIZE: '4' });
const unreachable = commandLine({ ...settings, DATABASE_URL: 'postgres://postgres@127.0.0.1:1/plinth' });
const unresolved = commandLine({ ...settings, DATABASE_URL: 'postgres://postgres@nowhere.invalid/plinth' });
const missing = commandLine({ ...settings, DATABASE_URL: `${serverUrl}/plinth_no_such_database` });
const onEmpty = commandLine({ ...keys, DATABASE_URL: empty.url, MIGRATE_DATABASE_URL: empty.ownerUrl });

const onTakenPort = commandLine({ ...settings, WORKER_METRICS_PORT: String(port), PORT: String(port) });

interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}
/** Runs a command that must fail. */
const fail = (running: Promise<unknown>): Promise<Ended> =>
  running.then(
    () => Promise.reject(new Error('the command succeeded')),
    (error) => error,
  );
const stackLine = /^\s+at /m;

async function expectSentence(running: Promise<unknown>, sentence: RegExp): Promise<void> {
  const { code, stderr } = await fail(running);
  expect(stderr).toMatch(sentence);
  expect(stderr).not.toMatch(stackLine);
  expect(stderr.trim().split('\n')).toHaveLength(1);
  expect(code).toBe(1);
}

describe('help', () => {
  it('--help lists the commands, and describes one after its name', async () => {
    const { stdout, stderr } = await plinth('--help');
    expect(stdout).toMatch(
      /^usage: plinth COMMAND, which is run by: npm run plinth -- COMMAND\n[\s\S]*plinth worker\n[\s\S]*plinth migrate \[--status \| --dry-run /,
    );
    expect(stderr).toBe('');
    expect((await plinth()).stdout).toBe(stdout);
    expect((await plinth('import', '--help')).stdout).toMatch(/^ {2}plinth import ARCHIVE .*\n {6}import an exported/);
  });

  it('--version prints the version', async () => {
    expect((await plinth('--version')).stdout).toMatch(/^plinth \d+\.\d+\.\d+\n$/);
  });
});

describe('what a command does not know', () => {
  it.each([
    ['a flag', ['api', '--prot', '8081'], "Unknown option '--prot'.\nusage: plinth api\n"],
    ['a word', ['worker', 'now'], "Unexpected argument 'now'.\nusage: plinth worker\n"],
    ['a second file', ['import', 'a', 'b'], "Unexpected argument 'b'.\nusage: plinth import ARCHIVE"],
    ['a command', ['serve'], "There is no command 'serve'. To list the commands, run: plinth --help\n"],
  ])('is refused with exit code 2 and the usage: %s', async (_what, args, text) => {
    const { code, stdout, stderr } = await fail(plinth(...args));
    expect(stderr.startsWith(text), stderr).toBe(true);
    expect(stderr).not.toMatch(stackLine);
    expect([code, stdout]).toEqual([2, '']);
  });
});

describe('settings', () => {
  it('that are misspelled are warned about, by the name that was meant', async () => {
    const { stdout, stderr } = await misspelled.plinth('migrate', '--dry-run');
    expect(stderr).toBe(
      'DATABSE_POOL_SIZE is not a Plinth setting and has no effect. Did you mean DATABASE_POOL_SIZE?\n',
    );
    expect(stdout).toBe('no pending migrations\n');
    expect((await plinth('migrate', '--status')).stderr).toBe('');
  });
});

describe('a port in use', () => {
  it('ends the API and a worker with one sentence and exit code 1', async () => {
    const sentence = (setting: string) =>
      `Port ${port} at 127.0.0.1 is in use. Stop the process that uses it, or set ${setting} to another port.`;
    await expectSentence(onTakenPort.plinth('api'), new RegExp(`^${sentence('PORT')}\n$`));
    // A worker logs everything to standard output, including failures.
    const { code, stdout } = await fail(onTakenPort.plinth('worker'));
    const last = JSON.parse(stdout.trim().split('\n').at(-1) ?? '');
    expect(last).toMatchObject({ msg: 'worker failed', reason: sentence('WORKER_METRICS_PORT') });
    expect(last).not.toHaveProperty('error');
    expect(code).toBe(1);
  });
});

describe('an expected failure is explained in a sentence, without a stack trace', () => {
  const bootstrap = ['bootstrap', '--email', 'a@example.com', '--name', 'A', '--workspace', 'W'];

  it('a PostgreSQL server that does not run', async () => {
    const sentence =
      /^PostgreSQL can't be reached at 127.0.0.1:1 \(ECONNREFUSED\). Start it, or correct DATABASE_URL.\n$/;
    await expectSentence(unreachable.plinth('migrate'), sentence);
    await expectSentence(unreachable.plinth(...bootstrap), sentence);
  });

  it('the same for the role that migrates, with the setting that was used', async () => {
    const { plinth } = commandLine({ ...settings, MIGRATE_DATABASE_URL: 'postgres://owner@127.0.0.1:1/plinth' });
    await expectSentence(plinth('migrate'), /^PostgreSQL can't be reached at .* or correct MIGRATE_DATABASE_URL.\n$/);
    await expectSentence(plinth('geo', 'import', 'x'), /or correct MIGRATE_DATABASE_URL.\n$/);
  });

  it('a run role that was not granted what it needs', async () => {
    const other = await cloneTemplate();
    await other.runAsOwner(`revoke all on users from ${new URL(other.url).username}`);
    const { plinth } = commandLine({ ...settings, DATABASE_URL: other.url });
    const sentence =
      /^PostgreSQL refused a statement \(permission denied for table users\). Run "npm run plinth -- migrate"/;
    await expectSentence(plinth('user', 'reset', '--user', 'a@example.com'), sentence);
    await other.drop();
  });

  it('a host that has no address', async () => {
    await expectSentence(
      unresolved.plinth('migrate'),
      /^The host nowhere.invalid in DATABASE_URL could not be resolved/,
    );
  });

  it('a database that does not exist', async () => {
    const { plinth, start } = missing;
    const sentence =
      /database "plinth_no_such_database" does not exist. Create it with \\?"createdb -h \S+ -p \d+ -U \S+ plinth_no_such_database\\?", or correct/;
    await expectSentence(plinth('migrate'), sentence);
    await expectSentence(plinth('user', 'reset', '--user', 'a@example.com'), sentence);
    // The API and the worker wait for the database, and log the problem only once.
    const api = await start('api', /"reason":"PostgreSQL has no such database:[^}]*"msg":"setup token not created"/);
    const worker = await start(
      'worker',
      /"reason":"PostgreSQL has no such database:[^}]*"msg":"waiting for the database"/,
    );
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    expect(worker.log.join('').match(/waiting for the database/g)).toHaveLength(1);
    for (const { log } of [api, worker]) expect(log.join('')).not.toContain('"stack"');
  });

  it('a database without tables', async () => {
    const sentence = /^The database doesn't have this release's tables \(.*\). Run: npm run plinth -- migrate\n$/;
    await expectSentence(onEmpty.plinth(...bootstrap), sentence);
    await expectSentence(onEmpty.plinth('worker'), sentence);
  });

  it('an archive that is missing, or is none', async () => {
    const file = join(folder, 'archive.tar.gz');
    await expectSentence(plinth('import', file), /^The archive can't be read: ENOENT/);
    writeFileSync(file, 'no archive');
    await expectSentence(plinth('import', file), /^The archive was not imported, and nothing was stored: /);
  });

  it('a workspace that does not exist', async () => {
    for (const id of [newId(), 'none'])
      await expectSentence(plinth('workspace', 'restore', '--id', id), /^There is no workspace with this id.\n$/);
  });
});

// Runs last, because it migrates the empty database.
describe('plinth migrate', () => {
  it('an empty database is not ready: its migrations are pending, and --status and --dry-run list them', async () => {
    const { url, child } = await onEmpty.startApi();
    expect(await call(url, 'GET', '/readyz')).toMatchObject({
      status: 503,
      body: { checks: { database: 'ok', migrations: 'pending', workers: 'unknown' } },
    });
    child.kill('SIGTERM');
    expect((await onEmpty.plinth('migrate', '--status')).stdout).toMatch(/^pending {19}0001_access.sql\npending /);
    expect((await onEmpty.plinth('migrate', '--dry-run')).stdout).toMatch(/^would apply 0001_access.sql, 0002_/);
  });

  it('--status and --dry-run change nothing; afterwards --status shows when each was applied', async () => {
    expect((await onEmpty.plinth('migrate', '--dry-run')).stdout).toContain('would apply 0001_access.sql');
    expect((await onEmpty.plinth('migrate', '--skip-locations')).stdout).toContain('applied 0001_access.sql');
    const lines = (await onEmpty.plinth('migrate', '--status')).stdout.trim().split('\n');
    expect(lines[0]).toMatch(/^\d{4}-\d\d-\d\dT[\d:.]+Z {2}0001_access.sql$/);
    expect(lines.filter((line) => line.startsWith('pending'))).toEqual([]);
    expect((await onEmpty.plinth('migrate', '--dry-run')).stdout).toBe('no pending migrations\n');
    await empty.runAsOwner("insert into migrations values ('9999_later.sql', 'x', now())");
    expect((await onEmpty.plinth('migrate', '--status')).stdout).toMatch(
      /9999_later.sql {2}\(from a newer release\)\n$/,
    );
  });

  it('refuses a migration that was edited after it was applied, and so does --dry-run', async () => {
    await empty.runAsOwner("update migrations set checksum = 'x' where name = '0003_folders.sql'");
    for (const flags of [[], ['--dry-run']])
      await expectSentence(
        onEmpty.plinth('migrate', ...flags),
        /^migration 0003_folders.sql was edited after it was applied/,
      );
  });
});
