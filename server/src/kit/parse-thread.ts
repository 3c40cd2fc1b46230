// Owns a thread in which files are parsed. The parsers take exponential time, or hundreds of megabytes, for some small files; a
// thread can be ended then, and the process runs on. One file at a time; more files wait for their turn.
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';

const defaultTimeoutMs = 2_000;
const resourceLimits = { maxOldGenerationSizeMb: 128 };

export type Parsed<Result> = {
  /** Without the time that the file waited for others. */
  readonly elapsedMs: number;
} & (
  | { readonly outcome: 'parsed'; readonly result: Result }
  | { readonly outcome: 'too_long' }
  | { readonly outcome: 'too_much_memory' }
);

export interface ParseThread<File, Result> {
  parse(file: File): Promise<Parsed<Result>>;
}

/** `module` posts `ready` when it has started, and then one answer for each message. */
export function createParseThread<File, Result>(module: URL, timeoutMs = defaultTimeoutMs): ParseThread<File, Result> {
  let thread: Worker | undefined;
  let last: Promise<unknown> = Promise.resolve();

  /** Waits until the thread is ready, so that its start does not count as time of the first file. */
  async function start(): Promise<Worker> {
    const started = new Worker(module, { resourceLimits });
    started.unref();
    // An error while no file is parsed must not end the process.
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
      last = parsed.catch(() => {}); // its caller gets the error
      return parsed;
    },
  };
}
