// Owns the services of a measurement: a new database that is dropped afterwards, and processes that are stopped by pid.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import pg from 'pg';
import { migrateAll } from '../../server/src/commands/migrate.ts';

export const adminUrl = process.env.BENCH_DATABASE_URL ?? 'postgres://postgres@127.0.0.1:5432/postgres';

/** Creates and migrates a database. */
export async function createDatabase(name: string): Promise<{ url: string; drop(): Promise<void> }> {
  const unique = `plinth_bench_${name}_${process.pid}`;
  await admin(`create database ${unique}`);
  const url = adminUrl.replace(/\/[^/]*$/, `/${unique}`);
  await migrateAll(url);
  return { url, drop: () => admin(`drop database ${unique} with (force)`) };
}

async function admin(statement: string): Promise<void> {
  const client = new pg.Client(adminUrl);
  await client.connect();
  await client.query(statement);
  await client.end();
}

export interface Running {
  readonly port: number;
  readonly pid: number;
  stop(): Promise<void>;
}

/** Starts a program that prints `listening <port>` once it serves. */
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

/** Kills a process, as a crash would. */
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
