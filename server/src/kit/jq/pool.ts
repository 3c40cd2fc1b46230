// The threads that run jq. They start when needed, run one call at a time, and are terminated and replaced if a
// call uses too much CPU time or memory. Owners take turns.
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { createFairGate, GateClosed } from '../fair-gate.ts';
import { getJqModule } from './wasm.ts';

export interface Call {
  readonly number: number;
  readonly owner: string;
  readonly program: string;
  /** JSON text. */
  readonly input: string;
}

export type Answer =
  | { readonly stdout: string; readonly stderr: string; readonly exitCode: number }
  | { readonly isTooLarge: true }
  | { readonly trap: string };

export interface ThreadData {
  readonly module: WebAssembly.Module;
  /** The thread writes the call's number and its own CPU time in microseconds here when it starts a call. */
  readonly meter: Float64Array;
  readonly maxOutputBytes: number;
}

export type Outcome = Answer | { readonly failure: 'timeout' | 'busy' | 'aborted' };

export interface PoolLimits {
  readonly threads: number;
  /** The maximum CPU time per call. A thread that waits because the machine is busy uses no CPU time. */
  readonly maxCpuMs: number;
  /** The elapsed time after which the machine is considered too busy for the call. */
  readonly maxElapsedMs: number;
  readonly maxOutputBytes: number;
  readonly maxWaiting: number;
  readonly maxWaitingOfOwner: number;
  readonly maxWaitMs: number;
  /** How long a thread may be idle before it is terminated. */
  readonly maxIdleMs: number;
}

export interface Pool {
  run(owner: string, call: Pick<Call, 'program' | 'input'>, signal?: AbortSignal): Promise<Outcome>;
  close(): Promise<void>;
}

interface Thread {
  readonly worker: Worker;
  readonly meter: Float64Array;
  idleTimer?: NodeJS.Timeout;
}

export function createPool(limits: PoolLimits): Pool {
  const { threads, maxWaitingOfOwner, maxWaitMs } = limits;
  // An owner has at most one running call, so no owner can occupy all threads.
  const gate = createFairGate({ inAll: threads, perOwner: 1, maxWaitingOfOwner, maxWaitMs });
  const idle: Thread[] = [];
  const all = new Set<Thread>();
  let waiting = 0;
  let calls = 0;
  let isClosed = false;

  async function run(owner: string, call: Pick<Call, 'program' | 'input'>, signal?: AbortSignal): Promise<Outcome> {
    if (waiting >= limits.maxWaiting || isClosed) return { failure: 'busy' };
    waiting += 1;
    try {
      const leave = await gate.enter(owner);
      try {
        return await runInThread({ ...call, owner }, signal);
      } finally {
        leave();
      }
    } catch (error) {
      if (error instanceof GateClosed) return { failure: 'busy' };
      throw error;
    } finally {
      waiting -= 1;
    }
  }

  async function runInThread(call: Omit<Call, 'number'>, signal?: AbortSignal): Promise<Outcome> {
    if (signal?.aborted) return { failure: 'aborted' };
    if (isClosed) return { failure: 'busy' };
    const thread = takeIdle() ?? (await start());
    if (!all.has(thread)) return { failure: 'busy' }; // the thread ended while starting
    calls += 1;
    const outcome = await ask(thread, { ...call, number: calls }, limits, signal);
    if ('failure' in outcome || 'trap' in outcome || isClosed) await end(thread);
    else keep(thread);
    return outcome;
  }

  function takeIdle(): Thread | undefined {
    const thread = idle.pop();
    clearTimeout(thread?.idleTimer);
    return thread;
  }

  function keep(thread: Thread): void {
    if (!all.has(thread)) return;
    idle.push(thread);
    thread.idleTimer = setTimeout(() => void end(thread), limits.maxIdleMs);
    thread.idleTimer.unref();
  }

  /** Waits until the thread is ready, so its startup does not count towards the first call. */
  async function start(): Promise<Thread> {
    const thread = await startThread(limits.maxOutputBytes);
    all.add(thread);
    thread.worker.on('exit', () => forget(thread));
    const isEnded = new AbortController();
    await Promise.race([once(thread.worker, 'message', isEnded), once(thread.worker, 'exit', isEnded)]).finally(() =>
      isEnded.abort(),
    );
    return thread;
  }

  function forget(thread: Thread): void {
    all.delete(thread);
    clearTimeout(thread.idleTimer);
    if (idle.includes(thread)) idle.splice(idle.indexOf(thread), 1);
  }

  async function end(thread: Thread): Promise<void> {
    forget(thread);
    await thread.worker.terminate();
  }

  return {
    run,
    async close() {
      isClosed = true;
      await Promise.all([...all].map(end));
    },
  };
}

async function startThread(maxOutputBytes: number): Promise<Thread> {
  const module = await getJqModule();
  const meter = new Float64Array(new SharedArrayBuffer(2 * Float64Array.BYTES_PER_ELEMENT));
  const workerData: ThreadData = { module, meter, maxOutputBytes };
  const worker = new Worker(new URL('thread.ts', import.meta.url), {
    workerData,
    env: {},
    // If jq aborts, its output must not reach our log.
    stdout: true,
    stderr: true,
  });
  worker.stdout.resume();
  worker.stderr.resume();
  worker.unref();
  // An error while no call is running must not end the process.
  worker.on('error', () => {});
  return { worker, meter };
}

/** Resolves on the first event: a reply, the thread's exit, an abort or an exceeded limit. */
function ask(thread: Thread, call: Call, limits: PoolLimits, signal?: AbortSignal): Promise<Outcome> {
  const { worker } = thread;
  const { promise, resolve } = Promise.withResolvers<Outcome>();
  const onExit = () => resolve({ trap: 'the thread ended' });
  const onAbort = () => resolve({ failure: 'aborted' });
  worker.once('message', resolve);
  worker.once('exit', onExit);
  signal?.addEventListener('abort', onAbort, { once: true });
  const stopWatching = watch(thread, call, limits, resolve);
  worker.postMessage(call);
  return promise.finally(() => {
    worker.off('message', resolve);
    worker.off('exit', onExit);
    signal?.removeEventListener('abort', onAbort);
    stopWatching();
  });
}

/**
 * Reports a call that uses too much CPU time or takes too long overall. Returns a function that stops the monitoring.
 */
function watch(thread: Thread, call: Call, limits: PoolLimits, report: (outcome: Outcome) => void): () => void {
  const startedAt = performance.now();
  let isWatching = true;
  let timer: NodeJS.Timeout;

  const look = async () => {
    const cpuMs = await readCpuMs(thread, call);
    if (!isWatching) return;
    if (cpuMs >= limits.maxCpuMs) report({ failure: 'timeout' });
    else wait(limits.maxCpuMs - cpuMs);
  };
  const wait = (ms: number) => {
    timer = setTimeout(() => look().catch(() => {}), Math.max(ms, 10));
  };
  const deadline = setTimeout(() => report({ failure: 'busy' }), limits.maxElapsedMs - (performance.now() - startedAt));
  wait(limits.maxCpuMs);
  return () => {
    isWatching = false;
    clearTimeout(timer);
    clearTimeout(deadline);
  };
}

async function readCpuMs({ worker, meter }: Thread, call: Call): Promise<number> {
  if (meter[0] !== call.number) return 0; // the thread has not yet started the call
  const { user, system } = await worker.cpuUsage();
  return (user + system - (meter[1] ?? 0)) / 1000;
}
