// A separate Redis server without persistence, for drills that flush and stop it.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { freePort } from './ports.ts';

export interface OwnRedis {
  readonly url: string;
  /** Returns false while Redis is stopped. */
  flush(): Promise<boolean>;
  /** `start` and `stop` can be called repeatedly. */
  start(): Promise<void>;
  stop(): void;
}

export async function startRedis(): Promise<OwnRedis> {
  const port = await freePort();
  const args = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no'];
  let child: ChildProcess | undefined;
  const start = async () => {
    if (child !== undefined) return;
    const started = spawn('redis-server', args, { stdio: ['ignore', 'pipe', 'inherit'] });
    child = started;
    await once(started.stdout, 'data');
    started.stdout.resume();
  };
  await start();
  return {
    url: `redis://127.0.0.1:${port}`,
    flush: () =>
      once(connect(port, '127.0.0.1').end('FLUSHALL\r\n'), 'data').then(
        () => true,
        () => false,
      ),
    start,
    stop() {
      child?.kill('SIGKILL');
      child = undefined;
    },
  };
}
