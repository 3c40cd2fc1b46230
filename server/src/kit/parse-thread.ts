// A thread that parses files, one at a time. For some small files, the parsers take exponential time or hundreds
// of megabytes. The thread can then be terminated without affecting the process.
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';

const defaultTimeoutMs = 2_000;
const resourceLimits = { maxOldGenerationSizeMb: 128 };

export type Parsed<Result> = {
  /** Excludes the time that the file spent waiting for others. */
  readonly elapsedMs: number;
} & (
  | { readonly outcome: 'parsed'; readonly result: Result }
  | { readonly outcome: 'too_long' }
  | { readonly outcome: 'too_much_memory' }
);

export interface ParseThread<File, Result> {
  parse(file: File): Promise<Parsed<Result>>;
}

/** `module` must post a message when it is ready, and then one reply for each message that it receives. */
export function createParseThread<File, Result>(module: URL, timeoutMs = defaultTimeoutMs): ParseThread<File, Result> {
  let thread: Worker | undefined;
  let last: Promise<unknown> = Promise.resolve();

  /** Waits until the thread is ready, so its startup does not count towards the first file. */
  async function start(): Promise<Worker> {
    const started = new Worker(module, { resourceLimits });
    started.unref();
    // An error when no file is being parsed must not end the process.
    started.on('error', () => {});
    started.on('exit', () => {
      if (thread === started) thread = undefined;
    });
    await once(started, 'message');
    return started;
  }

  async function run(file: File): Promise<Parsed<Result>> {
    thread ??= await start();
    const startedAt = performance.now();
    const outcome = await ask(thread, file);
    return { ...outcome, elapsedMs: performance.now() - startedAt };
  }

  async function ask(asked: Worker, file: File) {
    const answer = once(asked, 'message', { signal: AbortSignal.timeout(timeoutMs) });
    asked.postMessage(file);
    try {
      const [result] = await answer;
      return { outcome: 'parsed', result } as const;
    } catch (error) {
      await asked.terminate();
      thread = undefined;
      const { name, code } = error as { name?: string; code?: string };
      if (name === 'AbortError') return { outcome: 'too_long' } as const;
      if (code === 'ERR_WORKER_OUT_OF_MEMORY') return { outcome: 'too_much_memory' } as const;
      throw error;
    }
  }

  return {
    parse(file) {
      const parsed = last.then(() => run(file));
      last = parsed.catch(() => {}); // the caller receives the error
      return parsed;
    },
  };
}
