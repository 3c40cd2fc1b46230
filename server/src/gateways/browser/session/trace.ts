// A session's trace: its actions, requests and console output, in a zip that Playwright's viewer can open.
import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import type { BrowserContext } from 'playwright-core';

export interface Trace {
  /** Returns undefined if there is no trace or it is too large. */
  end(): Promise<Buffer | undefined>;
}

const maxBytes = 20 * 1024 ** 2;
/** The maximum size of the collected data before compression. */
const maxFolderBytes = 100 * 1024 ** 2;
const watchMs = 5_000;
const endMs = 20_000;

export async function startTrace(context: BrowserContext, folder: string): Promise<Trace> {
  // Page snapshots before and after each command are turned off, because they require 40 % more messages to the browser
  // and the caller takes its own screenshots.
  await context.tracing.start({ snapshots: false, screenshots: false });
  let isRunning = true;
  /** Without this, a page that never comes to rest would fill the disk. */
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
        return undefined; // the browser has exited
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
