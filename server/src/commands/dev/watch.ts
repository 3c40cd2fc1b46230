// Watches source files for `plinth dev`. Each folder is watched separately, because Node's recursive watching on
// Linux loses track of a file once an editor has replaced it twice.
import { type FSWatcher, readdirSync, watch } from 'node:fs';
import { join } from 'node:path';

/**
 * Editors and `git checkout` write several files in quick succession. They are reported as one change once nothing has
 * been written for this long.
 */
const quietMs = 80;

/**
 * Calls `onChange` with the changed, added and removed files, and the time of the first change. Folders that do not
 * exist are ignored.
 */
export function watchFolders(
  folders: readonly string[],
  onChange: (files: readonly string[], noticedAt: number) => void,
): void {
  const changed = new Set<string>();
  let noticedAt = 0;
  let timer: NodeJS.Timeout | undefined;
  const report = (file: string) => {
    if (changed.size === 0) noticedAt = performance.now();
    changed.add(file);
    clearTimeout(timer);
    timer = setTimeout(() => {
      const files = [...changed];
      changed.clear();
      onChange(files, noticedAt);
    }, quietMs);
  };
  for (const folder of folders) watchTree(folder, report);
}

function watchTree(root: string, report: (file: string) => void): void {
  const watchers = new Map<string, FSWatcher>();
  const add = (folder: string, isNew: boolean) => {
    const entries = listEntries(folder);
    if (entries === undefined) return;
    const watcher = watch(folder, (_event, name) => {
      if (name === null) return;
      const path = join(folder, name);
      watchers.get(path)?.close(); // if the path was a folder, it has been removed or replaced
      watchers.delete(path);
      if (listEntries(path) === undefined) report(path);
      else add(path, true);
    });
    watcher.on('error', () => watcher.close()); // the folder was removed, which its parent's watcher reports
    watchers.set(folder, watcher);
    for (const entry of entries) {
      const path = join(folder, entry.name);
      if (entry.isDirectory()) add(path, isNew);
      else if (isNew) report(path);
    }
  };
  add(root, false);
}

/** Undefined if the path is not a folder or no longer exists. */
function listEntries(path: string) {
  try {
    return readdirSync(path, { withFileTypes: true });
  } catch {
    return undefined;
  }
}
