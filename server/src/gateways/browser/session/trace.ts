// Owns the trace of a session: what was done, requested and written to the console, in a zip that Playwright's viewer opens.
import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import type { BrowserContext } from 'playwright-core';

export interface Trace {
  /** Undefined if there is none, or it has become too large. */
  end(): Promise<Buffer | undefined>;
}

const maxBytes = 20 * 1024 ** 2;
/** Of what is collected for it, before it is compressed. */
const maxFolderBytes = 100 * 1024 ** 2;
const watchMs = 5_000;
const endMs = 20_000;

export async function startTrace(context: BrowserContext, folder: string): Promise<Trace> {
  // Without copies of the page before and after each command: they are 40 % more messages to the browser. The caller has pictures.
  await context.tracing.start({ snapshots: false, screenshots: false });
  let isRunning = true;
  /** A page that never rests would fill the disk. */
  const watch = setInterval(async () => {
    if (!isRunning || (await measureFolder(folder)) <= maxFolderBytes) return;
    await discard();
  }, watchMs).unref();

  async function discard(): Promise<void> {
    clearInterval(watch);
    if (isRunning) await context.tracing.stop().catch(() => {});
    isRunning = false;
  }

  return {
    async end() {
      clearInterval(watch);
      if (!isRunning) return undefined;
      isRunning = false;
      const path = join(folder, 'trace.zip');
      try {
        const stopped = context.tracing.stop({ path }).then(() => true);
        if (!(await Promise.race([stopped, wait(endMs, false, { ref: false })]))) return undefined; // the page hangs
        return (await stat(path)).size <= maxBytes ? await readFile(path) : undefined;
      } catch {
        return undefined; // the browser is gone
      }
    },
  };
}

async function measureFolder(folder: string): Promise<number> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
  const sizes = entries
    .filter((entry) => entry.isFile())
    .map(async (entry) => (await stat(join(entry.parentPath, entry.name)).catch(() => ({ size: 0 }))).size);
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
}
