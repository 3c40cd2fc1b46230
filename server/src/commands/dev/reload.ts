// Defines how `plinth dev` reacts to a changed file: it reloads the API and the worker, restarts the sandbox, or prints
// what needs a restart.
import { watchFile } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { isDeepStrictEqual } from 'node:util';
import type { ApiProcess } from './api-process.ts';
import { type Sandbox, startSandbox, type WorkerProcess } from './children.ts';
import { watchFolders } from './watch.ts';

const folderOf = (path: string) => fileURLToPath(new URL(`../../../../${path}`, import.meta.url));
const sources = folderOf('server/src/');
const migrations = folderOf('server/migrations/');
const sandboxSources = folderOf('sandbox/src/');
/** The code that the watching process itself runs. */
const ownSources = [folderOf('server/src/commands/dev.ts'), folderOf('server/src/commands/dev/')];

type Effect = 'reload' | 'restart sandbox' | 'say that migrations changed' | 'say that dev changed';

/**
 * The effect of a changed file. Undefined for tests, editors' temporary files, and other files that are not part of the
 * running code.
 */
export function effectOf(file: string): Effect | undefined {
  if (/\.test\.ts$|~$|[/\\]\.[^/\\]*$/.test(file)) return undefined;
  if (file.startsWith(migrations)) return file.endsWith('.sql') ? 'say that migrations changed' : undefined;
  if (!/\.(ts|js|json|css|html|svg|txt|md)$/.test(file)) return undefined;
  if (file.startsWith(sandboxSources)) return 'restart sandbox';
  if (ownSources.some((own) => file.startsWith(own))) return 'say that dev changed';
  return file.startsWith(sources) ? 'reload' : undefined;
}

export function reloadOnChange(
  api: ApiProcess,
  worker: WorkerProcess,
  sandbox: Sandbox | undefined,
  print: (line: string) => void = console.log,
): void {
  api.prepare();
  let latest = 0;
  const reload = async (noticedAt: number) => {
    const number = ++latest;
    const outcome = await api.reload();
    if (outcome === 'superseded') return;
    if (outcome === 'failed') {
      print(
        'api: not reloaded, because of the error above. The previous code is still running. Fix the error and save.',
      );
      return api.prepare();
    }
    print(`api: reloaded in ${secondsSince(noticedAt)} s`);
    const isStarted = await worker.restart();
    if (number !== latest) return;
    print(
      isStarted
        ? `worker: reloaded in ${secondsSince(noticedAt)} s`
        : 'worker: not started within 30 s, see above. It is started again when you save a file.',
    );
    api.prepare();
  };
  let sandboxRestarts = Promise.resolve();
  const restartSandbox = async (noticedAt: number, before: Sandbox) => {
    const now = await startSandbox().catch((error: Error) => print(`sandbox: ${error.message}`));
    if (now === undefined) return;
    print(`sandbox: restarted in ${secondsSince(noticedAt)} s`);
    if (!isDeepStrictEqual(now, before)) print('sandbox: its ports have changed. Restart `npm run dev` to use them.');
  };
  watchFolders([sources, migrations, ...(sandbox ? [sandboxSources] : [])], (files, noticedAt) => {
    const effects = new Set(files.map(effectOf));
    if (effects.has('say that migrations changed'))
      print('migrations changed: restart `npm run dev` to apply them, once they are complete');
    if (effects.has('say that dev changed')) print('the code of `npm run dev` itself changed: restart it');
    if (effects.has('restart sandbox') && sandbox)
      sandboxRestarts = sandboxRestarts.then(() => restartSandbox(noticedAt, sandbox));
    if (effects.has('reload')) void reload(noticedAt);
  });
  watchFile('.env', { interval: 1_000, persistent: false }, () =>
    print('.env changed: restart `npm run dev` to use it'),
  );
}

const secondsSince = (start: number): string => ((performance.now() - start) / 1_000).toFixed(1);
