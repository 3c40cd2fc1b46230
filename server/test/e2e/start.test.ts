// Tests what processes check before they start, with real processes: the keys, the encoding of the database, and that
// nothing stands between them and PostgreSQL that drops their time limits. And `plinth health`, by which supervisors ask.
// Requires PgBouncer, and fails without it.
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import { afterAll, describe, expect, it } from 'vitest';
import { freePort } from '../../../harness/ports.ts';
import { newKeys } from '../../src/commands/keys.ts';
import { call } from '../support/client.ts';
import { cloneTemplate, serverUrl } from '../support/template.ts';
import { commandLine } from './command.ts';

const database = await cloneTemplate();
const folder = mkdtempSync(join(tmpdir(), 'plinth-start-'));
const admin = new pg.Client({ connectionString: `${serverUrl}/postgres` });
await admin.connect();
const plainName = `plinth_start_${process.pid}`;
afterAll(async () => {
  rmSync(folder, { recursive: true });
  await admin.query(`drop database if exists ${plainName} with (force)`);
  await admin.end();
  await database.drop();
});

const keys = newKeys();
const settings = { ...keys, DATABASE_URL: database.url };
const first = commandLine(settings);
const otherSettings = { ...newKeys(), DATABASE_URL: database.url };
const others = commandLine(otherSettings);
const [port, workerPort, bouncerPort, latePort, relayPort] = await Promise.all([
  freePort(),
  freePort(),
  freePort(),
  freePort(),
  freePort(),
]);
const ports = { HOST: '0.0.0.0', PORT: String(port), WORKER_METRICS_PORT: String(workerPort) };
const listening = commandLine({ ...otherSettings, ...ports });
/** Through a pooler. */
const through = (url: string, port: number) => url.replace(/:\d+\//, `:${port}/`);
const late = commandLine({ ...keys, DATABASE_URL: through(database.ownerUrl, latePort) });
const early = commandLine({ ...newKeys(), DATABASE_URL: through(database.url, relayPort) });
const behind = commandLine({ ...keys, DATABASE_URL: through(database.url, bouncerPort) });
const fail = (running: Promise<unknown>): Promise<{ code: number; stdout: string; stderr: string }> =>
  running.then(
    () => Promise.reject(new Error('the command succeeded')),
    (error) => error,
  );

it('a process stops when it is told to, even if nobody reads its log any more', async () => {
  const { child, url } = await first.startApi();
  child.stdout?.pause();
  expect((await call(url, 'GET', '/api/apps')).status).toBe(401);
  child.stdout?.destroy(); // with a line that was not read, so the next write fails otherwise than those after it
  child.kill('SIGTERM');
  const [code] = await once(child, 'exit');
  expect(code).toBe(0);
});

describe('keys that are not those of the database', () => {
  it('keep the API and workers from starting, until the lost ones are forgotten', async () => {
    const api = await first.startApi();
    expect((await call(api.url, 'GET', '/readyz')).body).toMatchObject({ status: 'ready' });
    api.child.kill('SIGTERM');
    const [id] = (keys.TOKEN_PEPPERS ?? '').split(':');
    const sentence = new RegExp(`TOKEN_PEPPERS has another key with the id "${id}" than the one`);
    const refused = await fail(others.plinth('api'));
    expect(refused).toMatchObject({ code: 1, stderr: expect.stringMatching(sentence) });
    const worker = await fail(others.plinth('worker'));
    expect(JSON.parse(worker.stdout.trim().split('\n').at(-1) ?? '')).toMatchObject({
      msg: 'worker failed',
      reason: expect.stringMatching(sentence),
    });
    const checked = JSON.parse((await fail(others.plinth('doctor', '--json'))).stdout);
    expect(checked.checks).toContainEqual({
      part: 'encrypted secrets',
      outcome: 'broken',
      message: expect.stringMatching(sentence),
    });
    for (const setting of ['TOKEN_PEPPERS', 'MASTER_KEYS'])
      expect((await others.plinth('keys', 'forget', setting, id ?? '')).stdout).toMatch(/^Forgot the key/);
    const { child } = await others.startApi();
    child.kill('SIGTERM');
  });
});

describe("a database that can't work", () => {
  it('is refused by its encoding before anything is created in it', async () => {
    await admin.query(`create database ${plainName} encoding 'SQL_ASCII' locale 'C' template template0`);
    const url = `${serverUrl}/${plainName}`;
    const { code, stderr } = await fail(commandLine({ ...keys, DATABASE_URL: url }).plinth('migrate'));
    expect(stderr).toMatch(/^The database "\w+" has the encoding SQL_ASCII, and Plinth needs UTF8\./);
    expect(code).toBe(1);
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    const { rows } = await client.query("select count(*)::int as count from pg_class where relname = 'migrations'");
    await client.end();
    expect(rows).toEqual([{ count: 0 }]);
  });

  it('is waited for while it starts', async () => {
    const migrating = late.plinth('migrate', '--skip-locations', '--wait', '60');
    const bouncer = await startBouncer(latePort, 'session');
    try {
      // It is there now, but it is a pooler.
      expect((await fail(migrating)).stderr).toMatch(/^DATABASE_URL leads to a connection pooler/);
    } finally {
      bouncer.kill('SIGKILL');
    }
  });
});

it('an API that starts without the database is not ready with wrong keys when it comes', async () => {
  const { child, url, log } = await early.startApi();
  const exited = once(child, 'exit');
  expect((await call(url, 'GET', '/readyz')).status).toBe(503);
  const answers: number[] = [];
  const relay = createServer((socket) => {
    const server = connect(Number(new URL(database.url).port || 5432), '127.0.0.1');
    for (const one of [socket, server]) one.on('error', () => undefined);
    socket.pipe(server).pipe(socket);
  }).listen(relayPort, '127.0.0.1');
  let isOver = false;
  void exited.then(() => {
    isOver = true;
  });
  while (!isOver) {
    const answer = await call(url, 'GET', '/readyz').catch(() => undefined);
    if (answer !== undefined) answers.push(answer.status);
  }
  expect(await exited).toEqual([1, null]);
  expect([...new Set(answers)]).toEqual([503]);
  expect(log.join('')).toMatch(/lacks the key|has another key/);
  relay.close();
});

describe('a pooler', () => {
  it('that drops time limits keeps the API and workers from starting, and doctor says so', async () => {
    const bouncer = await startBouncer(bouncerPort, 'transaction');
    try {
      const sentence = /DATABASE_URL leads to a connection pooler, which drops the time limits of statements/;
      expect(await fail(behind.plinth('api'))).toMatchObject({ code: 1, stderr: expect.stringMatching(sentence) });
      const checked = JSON.parse((await fail(behind.plinth('doctor', '--json'))).stdout);
      expect(checked.checks).toContainEqual({
        part: 'database',
        outcome: 'broken',
        message: expect.stringMatching(sentence),
      });
    } finally {
      bouncer.kill('SIGKILL');
    }
  });
});

/** Starts PgBouncer in front of the test's server. It refuses to run as root. */
async function startBouncer(port: number, mode: 'session' | 'transaction') {
  const { hostname, port: serverPort, username } = new URL(database.url);
  const file = join(folder, `bouncer-${port}.ini`);
  writeFileSync(
    file,
    [
      '[databases]',
      `* = host=${hostname} port=${serverPort}`,
      '[pgbouncer]',
      'listen_addr = 127.0.0.1',
      `listen_port = ${port}`,
      'unix_socket_dir =',
      'auth_type = any',
      `pool_mode = ${mode}`,
      'ignore_startup_parameters = statement_timeout,lock_timeout,idle_in_transaction_session_timeout,options,extra_float_digits',
    ]
      .join('\n')
      .replace('* = host', `* = user=${username} host`),
  );
  const { stdout } = await promisify(execFile)('id', ['-u', 'postgres']);
  const uid = Number(stdout);
  for (const path of [folder, file]) chownSync(path, uid, uid);
  chmodSync(folder, 0o755);
  const child = spawn('/usr/sbin/pgbouncer', [file], { uid, stdio: 'ignore' });
  const reached = async () => {
    const client = new pg.Client({ connectionString: through(database.url, port) });
    try {
      await client.connect();
      await client.query('select 1');
      return true;
    } catch {
      return false;
    } finally {
      await client.end().catch(() => undefined);
    }
  };
  await expect.poll(reached).toBe(true);
  return child;
}

describe('plinth health', () => {
  it('says whether the API is alive, and whether a worker is, in the exit code', async () => {
    expect(await fail(listening.plinth('health'))).toMatchObject({
      code: 1,
      stderr: `http://127.0.0.1:${port}/healthz does not answer (ECONNREFUSED). See the log of the process.\n`,
    });
    const waiting = listening.plinth('health', '--wait', '120');
    const { child } = await listening.startApi();
    expect((await waiting).stdout).toBe('alive\n');
    const worker = await listening.start('worker', /"worker started"/);
    expect((await listening.plinth('health', '--worker')).stdout).toBe('alive\n');
    for (const process of [child, worker.child]) process.kill('SIGKILL');
    expect(await fail(listening.plinth('health', '--wait', 'x'))).toMatchObject({ code: 2 });
    expect((await fail(commandLine(keys).plinth('health', '--worker'))).stderr).toMatch(/WORKER_METRICS_PORT/);
  });
});
