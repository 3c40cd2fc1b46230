// A measurement's services: a new database that is dropped at the end, and processes that are stopped by pid.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { migrateAll } from '../server/src/commands/migrate.ts';

export const adminUrl = process.env.BENCH_DATABASE_URL ?? 'postgres://postgres@127.0.0.1:5432/postgres';

export interface BenchDatabase {
  readonly url: string;
  /** Creates a database with the same content. Fails while another session is connected to this database. */
  copy(name: string): Promise<BenchDatabase>;
  /** Returns the ids of the PostgreSQL processes that serve this database. */
  backends(): Promise<number[]>;
  drop(): Promise<void>;
}

/** Creates and migrates a database. `server` is the URL of any other database of the same server. */
export async function createDatabase(name: string, server = adminUrl): Promise<BenchDatabase> {
  const database = await addDatabase(server, `plinth_bench_${name}_${process.pid}`, 'template1');
  await migrateAll(database.url);
  return database;
}

async function addDatabase(server: string, name: string, template: string): Promise<BenchDatabase> {
  await admin(server, `create database ${name} template ${template}`);
  return {
    url: server.replace(/\/[^/]*$/, `/${name}`),
    copy: (suffix) => addDatabase(server, `${name}_${suffix}`, name),
    backends: async () => {
      const rows = await admin(server, `select pid from pg_stat_activity where datname = '${name}'`);
      return rows.map(({ pid }) => Number(pid));
    },
    drop: async () => {
      await admin(server, `drop database ${name} with (force)`);
    },
  };
}

async function admin(server: string, statement: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client(server);
  await client.connect();
  try {
    return (await client.query(statement)).rows;
  } finally {
    await client.end();
  }
}

export interface Running {
  readonly port: number;
  readonly pid: number;
  stop(): Promise<void>;
}

const thisCheckout = fileURLToPath(new URL('..', import.meta.url));
// Checkouts from before the harness/ folder existed have the program in bench/lib.
const apiServers = ['harness/api-server.ts', 'bench/lib/api-server.ts'];

/** Starts the API from this checkout, or from another checkout that has its packages installed. */
export function startApi(environment: Record<string, string>, checkout = thisCheckout): Promise<Running> {
  const program = apiServers.map((path) => join(checkout, path)).find((path) => existsSync(path));
  if (program === undefined) throw new Error(`${checkout} is not a checkout of Plinth`);
  return startProgram(program, environment);
}

/** Starts a program that prints `listening <port>` when it is ready. */
export async function startProgram(file: string, environment: Record<string, string>): Promise<Running> {
  const child = spawn(process.execPath, [file], {
    env: { ...process.env, ...environment },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const port = await listening(child, file);
  return {
    port,
    pid: child.pid as number,
    stop: async () => {
      if (child.exitCode !== null) return;
      child.kill('SIGTERM');
      await once(child, 'exit');
    },
  };
}

/** Kills a process, as in a crash. */
export async function killProcess(child: ChildProcess): Promise<void> {
  child.kill('SIGKILL');
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
}

async function listening(child: ChildProcess, file: string): Promise<number> {
  let printed = '';
  for await (const chunk of child.stdout as NodeJS.ReadableStream) {
    printed += chunk;
    const port = /listening (\d+)/.exec(printed)?.[1];
    if (port !== undefined) return Number(port);
  }
  throw new Error(`${file} ended before it listened`);
}
