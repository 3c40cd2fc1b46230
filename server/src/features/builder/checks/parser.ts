// Owns the thread in which files are parsed. The parsers take exponential time, or hundreds of megabytes, for some small files;
// a thread can be ended then, and the process runs on. One thread, one file at a time; more files wait for their turn.
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import type { FileCheck, FileText } from './syntax.ts';

const timeoutMs = 2_000;
const resourceLimits = { maxOldGenerationSizeMb: 128 };

export interface TimedCheck {
  readonly check: FileCheck;
  /** Without the time that the file waited for others. */
  readonly elapsedMs: number;
}

let thread: Worker | undefined;
let lastCheck: Promise<unknown> = Promise.resolve();

export function parseInThread(file: FileText): Promise<TimedCheck> {
  const check = lastCheck.then(() => runCheck(file));
  lastCheck = check.catch(() => {}); // its caller gets the error
  return check;
}

async function runCheck(file: FileText): Promise<TimedCheck> {
  thread ??= await startThread();
  const startedAt = performance.now();
  const check = await ask(thread, file);
  return { check, elapsedMs: performance.now() - startedAt };
}

/** Waits until the thread is ready, so that its start does not count as time of the first file. */
async function startThread(): Promise<Worker> {
  const started = new Worker(new URL('parser-thread.ts', import.meta.url), { resourceLimits });
  started.unref();
  // An error while no file is checked must not end the process.
  started.on('error', () => {});
  started.on('exit', () => {
    if (thread === started) thread = undefined;
  });
  await once(started, 'message');
  return started;
}

async function ask(asked: Worker, file: FileText): Promise<FileCheck> {
  const answer = once(asked, 'message', { signal: AbortSignal.timeout(timeoutMs) });
  asked.postMessage(file);
  try {
    const [check] = await answer;
    return check;
  } catch (error) {
    await asked.terminate();
    thread = undefined;
    const { name, code } = error as { name?: string; code?: string };
    if (name === 'AbortError') return { outcome: 'not_checked', reason: 'it takes too long to parse' };
    if (code === 'ERR_WORKER_OUT_OF_MEMORY')
      return { outcome: 'not_checked', reason: 'it takes too much memory to parse' };
    throw error;
  }
}
