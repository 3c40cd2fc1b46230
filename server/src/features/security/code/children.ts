// The processes that read code: starting them, sending them requests, and ending them. One is started in advance,
// because loading the compiler takes longer than most scans. Each process serves a single scan and is never reused.
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { getCompileCacheDir } from 'node:module';
import { dirname } from 'node:path';
import { forkUnprivileged } from '../../../kit/unprivileged.ts';
import type { ChildAnswer, ChildRequest } from './protocol.ts';

export interface ChildLimits {
  readonly maxHeapMb: number;
  /** How long a spare process may wait for a scan before it is ended. With 0 there is no spare. */
  readonly maxIdleMs: number;
}

export interface Children {
  /**
   * Returns a process that has not read any file. The caller must end it. Throws if aborted or if no process starts.
   */
  take(signal: AbortSignal): Promise<ChildProcess>;
  /** Ends all processes, including those in use by scans. */
  close(): Promise<void>;
}

const maxStartMs = 60_000;

export function createChildren({ maxHeapMb, maxIdleMs }: ChildLimits): Children {
  const all = new Set<ChildProcess>();
  let spare: ChildProcess | undefined;
  let idleTimer: NodeJS.Timeout | undefined;
  let isClosed = false;

  function launch(): ChildProcess {
    if (isClosed) throw new Error('code not scanned: the scanner is closed');
    const child = startProcess(maxHeapMb);
    if (child.pid !== undefined) all.add(child);
    child.once('exit', () => {
      all.delete(child);
      if (spare === child) removeSpare();
    });
    return child;
  }

  function removeSpare(): ChildProcess | undefined {
    const removed = spare;
    spare = undefined;
    clearTimeout(idleTimer);
    return removed;
  }

  /** Starts a spare for the next scan, or for this scan if a file crashes its process. */
  function startSpare(): void {
    if (spare !== undefined || maxIdleMs === 0 || isClosed) return;
    spare = launch();
    idleTimer = setTimeout(() => removeSpare()?.kill('SIGKILL'), maxIdleMs);
  }

  /** Waits until the process has started. A spare may have died, so it must reply before it is used for a scan. */
  async function isReady(child: ChildProcess, signal: AbortSignal): Promise<boolean> {
    let answer: ChildAnswer | undefined;
    try {
      answer = await ask(child, { kind: 'ping' }, maxStartMs, signal);
    } finally {
      if (answer === undefined) child.kill('SIGKILL');
    }
    return answer !== undefined;
  }

  return {
    async take(signal) {
      const ahead = removeSpare(); // from here on, no other scan can take it
      const child = ahead !== undefined && (await isReady(ahead, signal)) ? ahead : launch();
      if (child !== ahead && !(await isReady(child, signal)))
        throw new Error('code not scanned: the process did not start');
      startSpare();
      return child;
    },
    async close() {
      isClosed = true;
      removeSpare();
      const exits = [...all].map((child) => once(child, 'exit'));
      for (const child of all) child.kill('SIGKILL');
      await Promise.all(exits);
    },
  };
}

/** Returns `undefined` if the process exits without a reply or does not reply in time. */
export async function ask(
  child: ChildProcess,
  request: ChildRequest,
  maxMs: number,
  signal: AbortSignal,
): Promise<ChildAnswer | undefined> {
  signal.throwIfAborted();
  // An exited process emits no further exit event.
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return undefined;
  const ended = new AbortController();
  const timer = setTimeout(() => ended.abort(), maxMs);
  const stop = () => ended.abort();
  signal.addEventListener('abort', stop, { once: true });
  try {
    const answered = once(child, 'message', ended).then(([answer]) => answer as ChildAnswer);
    const exited = once(child, 'exit', ended).then(() => undefined);
    child.send(request, () => {});
    return await Promise.race([answered, exited]);
  } catch (error) {
    signal.throwIfAborted();
    if (ended.signal.aborted) return undefined;
    throw error;
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', stop);
    ended.abort();
  }
}

function startProcess(maxHeapMb: number): ChildProcess {
  // Loading compiled modules halves the CPU time needed to start. The process writes them before it reads any file.
  const compiled = getCompileCacheDir(); // the subfolder for this version of Node
  const child = forkUnprivileged(new URL('child.ts', import.meta.url), [String(process.pid)], {
    env: compiled === undefined ? {} : { NODE_COMPILE_CACHE: dirname(compiled) },
    execArgv: [`--max-old-space-size=${maxHeapMb}`],
    serialization: 'advanced',
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  });
  child.on('error', () => {}); // callers that are waiting for a reply notice the exit
  return child;
}
