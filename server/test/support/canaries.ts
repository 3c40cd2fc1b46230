// The canaries: things outside the sandbox that an attempt would reach, change or leave behind if it broke out.
// The canaries determine whether an attempt was contained, regardless of its own output.
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { hostname, networkInterfaces, tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import pg from 'pg';

export interface Canaries {
  /** The parent of the attempts' folders. Every user may enter it. */
  readonly folder: string;
  /** Environment variables that name the targets outside the sandbox. */
  readonly environment: Readonly<Record<string, string>>;
  /** Environment variables in this process that attempts must not see. */
  readonly secretEnvironment: Readonly<Record<string, string>>;
  readonly uid: number;
  /** Lists the canaries that the attempt reached. Empty if the attempt was contained. */
  judge(output: string, clone: string): Promise<string[]>;
  /** Restores the canaries after an attempt that reached some of them. */
  restore(): Promise<void>;
  close(): Promise<void>;
}

const kernelSettings = ['/proc/sys/kernel/core_pattern', '/proc/sys/kernel/panic'];
const redisUrl = 'redis://127.0.0.1:6379';

/**
 * `firstUid` and the next 255 ids belong to the users of the sandbox under test, and to nothing else on the machine.
 */
export async function openCanaries(firstUid: number, databaseUrl: string): Promise<Canaries> {
  const secret = `canary-${randomBytes(16).toString('hex')}`;
  const folder = mkdtempSync(join(tmpdir(), 'plinth-escape-'));
  const outside = join(folder, 'outside');
  const key = `${secret}:redis`;
  const role = secret.replaceAll('-', '_');
  const reached: string[] = [];
  const redis = new Redis(redisUrl);
  const database = new pg.Client({ connectionString: `${databaseUrl}/postgres` });
  await database.connect();
  chmodSync(folder, 0o755);
  makeOutside();
  const otherClone = join(folder, 'other-clone');
  mkdirSync(join(otherClone, '.git'), { recursive: true });
  writeFileSync(join(otherClone, 'canary'), secret);
  writeFileSync(join(otherClone, '.git/config'), secret);
  const sockets = await openServers((how) => reached.push(how), join(outside, 'socket'), secret);
  const before = describeOutside();
  const settings = describeMachine();
  let victim = await startVictim(firstUid, secret);
  // Attempts look for this secret in the environment of the process that started them.
  process.env.ESCAPE_CANARY = secret;

  function makeOutside(): void {
    mkdirSync(join(outside, 'victim-folder'), { recursive: true });
    writeFileSync(join(outside, 'secret'), secret);
    writeFileSync(join(outside, 'victim-folder', 'file'), 'text');
    for (const path of ['', 'victim-folder']) chmodSync(join(outside, path), 0o777);
    for (const path of ['secret', 'victim-folder/file']) chmodSync(join(outside, path), 0o666);
  }

  function describeOutside(): string {
    const names = readdirSync(outside, { recursive: true }).map(String).toSorted();
    return JSON.stringify(
      names.map((name) => {
        const found = lstatSync(join(outside, name));
        return [name, found.mode, found.uid, found.isFile() ? readFileSync(join(outside, name), 'latin1') : ''];
      }),
    );
  }

  return {
    folder,
    secretEnvironment: { ESCAPE_CANARY: secret },
    uid: firstUid,
    get environment() {
      return {
        OUTSIDE: outside,
        SECRET_FILE: join(outside, 'secret'),
        OTHER_CLONE: otherClone,
        PORT: String(sockets.port),
        FREE_PORT: '18999',
        ADDRESSES: Object.values(networkInterfaces())
          .flatMap((each = []) => each.filter(({ family }) => family === 'IPv4').map(({ address }) => address))
          .join(' '),
        SOCKET: join(outside, 'socket'),
        ABSTRACT: secret.slice(0, 12),
        VICTIM: String(victim.pid),
        REDIS_PORT: '6379',
        REDIS_KEY: key.replace(secret, secret.slice(0, 12)),
        DATABASE_PORT: new URL(databaseUrl).port,
        DATABASE_ROLE: role.slice(0, 14),
        PSQL: findPsql(),
      };
    },
    async judge(output, clone) {
      const tripped = [...reached.splice(0)];
      if (output.includes(secret)) tripped.push('printed the secret');
      if (spawnSync('grep', ['-rqF', '--devices=skip', '-e', secret, clone]).status === 0)
        tripped.push('took the secret into the clone');
      if (describeOutside() !== before) tripped.push('changed files outside');
      if (describeMachine() !== settings) tripped.push("changed the machine's settings");
      if (!isAlive(victim)) tripped.push('killed a process');
      if (listProcessesOf(firstUid).some((pid) => pid !== victim.pid)) tripped.push('left a process');
      if ((await redis.exists(key.replace(secret, secret.slice(0, 12)))) > 0) tripped.push('wrote to Redis');
      const { rowCount } = await database.query('select 1 from pg_roles where rolname = $1', [role.slice(0, 14)]);
      if (rowCount !== 0) tripped.push('wrote to PostgreSQL');
      if (hasControls(output)) tripped.push('printed control characters');
      return tripped;
    },
    async restore() {
      for (const pid of listProcessesOf(firstUid)) if (pid !== victim.pid) process.kill(pid, 'SIGKILL');
      for (const name of readdirSync(outside)) if (name !== 'socket') rmSync(join(outside, name), { recursive: true });
      makeOutside();
      if (!isAlive(victim)) victim = await startVictim(firstUid, secret);
      await redis.del(key.replace(secret, secret.slice(0, 12)));
      await database.query(`drop role if exists ${role.slice(0, 14)}`);
      reached.splice(0);
    },
    async close() {
      victim.kill('SIGKILL');
      sockets.close();
      redis.disconnect();
      await database.end();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

const isAlive = (child: ChildProcess): boolean => child.exitCode === null && child.signalCode === null;

/** Detects control characters (except line breaks and tabs), bidirectional controls, and unpaired surrogates. */
const hasControls = (output: string): boolean =>
  !output.isWellFormed() || /[^\P{Cc}\n\t]|[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/u.test(output);

const describeMachine = (): string => [hostname(), ...kernelSettings.map((path) => readFileSync(path, 'utf8'))].join();

function findPsql(): string {
  const versions = readdirSync('/usr/lib/postgresql').toSorted((a, b) => Number(b) - Number(a));
  return `/usr/lib/postgresql/${versions[0]}/bin/psql`;
}

/** Starts a process that has the secret in its arguments and environment, and runs as the same user as the attempts. */
async function startVictim(uid: number, secret: string): Promise<ChildProcess> {
  const victim = spawn('/usr/bin/python3', ['-c', 'import time; print(1, flush=True); time.sleep(600)', secret], {
    uid,
    gid: uid,
    env: { ESCAPE_CANARY: secret },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  if (victim.stdout === null) throw new Error('the victim has no output');
  await once(victim.stdout, 'data');
  return victim;
}

/** Lists the 256 users' processes, except those that are exiting or have exited. */
export function listProcessesOf(firstUid: number): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        const uid = lstatSync(`/proc/${pid}`).uid;
        return uid >= firstUid && uid < firstUid + 256 && !isExiting(readFileSync(`/proc/${pid}/stat`, 'utf8'));
      } catch {
        return false; // the process has just ended
      }
    })
    .map(Number);
}

const exitingFlag = 0x4; // the kernel's PF_EXITING flag

/**
 * Whether the process has stopped running its own code. On a busy machine, a killed process may still be listed as
 * running (R) after it has left its control group, until the kernel has finished its exit.
 *
 * `8679 (bwrap) R 1 8679 8679 0 -1 4195660 …`: after the name, the state is the 1st value and the flags are the 7th.
 */
export function isExiting(stat: string): boolean {
  const values = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return ['Z', 'X'].includes(values[0] ?? '') || (Number(values[6]) & exitingFlag) !== 0;
}

async function openServers(onReached: (how: string) => void, path: string, name: string) {
  const listen = async (how: string, options: object): Promise<Server> => {
    const server = createServer((socket) => {
      onReached(`connected over ${how}`);
      socket.on('error', () => undefined).end('HTTP/1.1 200 OK\r\n\r\n');
    });
    server.listen(options);
    await once(server, 'listening');
    return server;
  };
  const first = await listen('TCP', { host: '0.0.0.0', port: 0 });
  const { port } = first.address() as AddressInfo;
  const servers = [
    first,
    await listen('IPv6', { host: '::1', port }),
    await listen('a Unix socket', { path, writableAll: true, readableAll: true }),
    await listen('an abstract socket', { path: `\0${name.slice(0, 12)}` }),
  ];
  const datagrams = createSocket('udp4').on('message', () => onReached('sent a datagram'));
  datagrams.bind(port, '127.0.0.1');
  await once(datagrams, 'listening');
  return {
    port,
    close() {
      for (const server of servers) server.close();
      datagrams.close();
    },
  };
}
