// A separate PostgreSQL server with its own port and folder, for drills that crash it and for checks that discard
// its data.
import { execFileSync, spawnSync } from 'node:child_process';
import { appendFileSync, chownSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from './ports.ts';

export interface OwnPostgres {
  readonly url: string;
  readonly port: number;
  /** Stops without a checkpoint, as in a crash, and starts again. */
  restartImmediately(): void;
  /** Returns the ids of the server's processes. */
  pids(): number[];
  stop(): void;
}

const settingsOfDrills = { max_connections: '200', shared_buffers: '256MB' };

/** Starts a server. `settings` replaces the drills' usual settings. */
export async function startPostgres(settings: Record<string, string> = settingsOfDrills): Promise<OwnPostgres> {
  const port = await freePort();
  const folder = mkdtempSync(join(tmpdir(), 'plinth-drill-'));
  const data = join(folder, 'data');
  if (process.getuid?.() === 0) chownSync(folder, postgresUid(), -1); // PostgreSQL cannot run as root
  run('initdb', '-D', data, '-A', 'trust', '-U', 'postgres', '--no-sync');
  const all = { port, listen_addresses: "'127.0.0.1'", unix_socket_directories: "''", ...settings };
  const lines = Object.entries(all).map(([name, value]) => `${name} = ${value}\n`);
  appendFileSync(join(data, 'postgresql.conf'), lines.join(''));
  const start = () => run('pg_ctl', '-D', data, '-w', '-l', join(folder, 'log'), 'start');
  start();
  return {
    url: `postgres://postgres@127.0.0.1:${port}/postgres`,
    port,
    restartImmediately() {
      run('pg_ctl', '-D', data, '-m', 'immediate', '-w', 'stop');
      start();
    },
    pids() {
      const main = readFileSync(join(data, 'postmaster.pid'), 'utf8').split('\n')[0] as string;
      const children = readFileSync(`/proc/${main}/task/${main}/children`, 'utf8').trim().split(' ');
      return [main, ...children].map(Number);
    },
    stop() {
      run('pg_ctl', '-D', data, '-m', 'immediate', '-w', 'stop');
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

export const postgresUid = (): number => Number(execFileSync('id', ['-u', 'postgres'], { encoding: 'utf8' }));

function run(program: string, ...args: string[]): void {
  const base = '/usr/lib/postgresql';
  const version = readdirSync(base).sort((a, b) => Number(b) - Number(a))[0] as string;
  const { status, stderr } = spawnSync(join(base, version, 'bin', program), args, {
    encoding: 'utf8',
    cwd: '/',
    stdio: ['ignore', 'ignore', 'pipe'],
    ...(process.getuid?.() === 0 && { uid: postgresUid() }),
  });
  if (status !== 0) throw new Error(`${program} failed: ${stderr}`);
}
