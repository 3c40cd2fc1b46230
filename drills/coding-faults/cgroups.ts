// Owns the control groups of the drill's command sandboxes: below one of its own, so that nobody else's are counted.
import { existsSync, readdirSync, rmdirSync } from 'node:fs';
import { join } from 'node:path';

export interface DrillCgroups {
  /** For `COMMAND_SANDBOX_CGROUP`. */
  readonly setting: string;
  /** Those that exist now. */
  list(): string[];
  /** The one of the drill. */
  remove(): void;
}

const root = '/sys/fs/cgroup';

export function nameCgroups(): DrillCgroups {
  const name = `plinth-drill-${process.pid}`;
  // Version 1 has a folder for each controller, version 2 one for all.
  const isVersion1 = existsSync(join(root, 'pids'));
  const folders = isVersion1 ? ['pids', 'memory', 'cpu'].map((each) => join(root, each, name)) : [join(root, name)];
  const existing = () => folders.filter((folder) => existsSync(folder));
  return {
    setting: isVersion1 ? name : join(root, name),
    list: () =>
      existing().flatMap((folder) =>
        readdirSync(folder, { withFileTypes: true }).flatMap((entry) =>
          entry.isDirectory() ? [join(folder, entry.name)] : [],
        ),
      ),
    remove() {
      for (const folder of existing()) {
        for (const entry of readdirSync(folder, { withFileTypes: true }))
          if (entry.isDirectory()) rmdirSync(join(folder, entry.name));
        rmdirSync(folder);
      }
    },
  };
}
