// Owns a Redis of a drill's own, which keeps nothing: it can be emptied, and be gone for a while.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { freePort } from './ports.ts';

export interface OwnRedis {
  readonly url: string;
  flush(): void;
  start(): Promise<void>;
  stop(): void;
}

export async function startRedis(): Promise<OwnRedis> {
  const port = await freePort();
  const args = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no'];
  let child: ChildProcess;
  const start = async () => {
    child = spawn('redis-server', args, { stdio: ['ignore', 'pipe', 'inherit'] });
    await once(child.stdout as NodeJS.ReadableStream, 'data');
    child.stdout?.resume();
  };
  await start();
  return {
    url: `redis://127.0.0.1:${port}`,
    flush: () =>
      void connect(port, '127.0.0.1')
        .on('error', () => {})
        .end('FLUSHALL\r\n'),
    start,
    stop: () => void child.kill('SIGKILL'),
  };
}
