// The control groups of the drill's command sandboxes. They are below the drill's own group, so no other groups
// are counted.
import { existsSync, readdirSync, rmdirSync } from 'node:fs';
import { join } from 'node:path';

export interface DrillCgroups {
  /** The value for `COMMAND_SANDBOX_CGROUP`. */
  readonly setting: string;
  /** Lists the sandboxes' current control groups. */
  list(): string[];
  /** Removes the drill's own group and all groups below it. */
  remove(): void;
}

const root = '/sys/fs/cgroup';

export function nameCgroups(): DrillCgroups {
  const name = `plinth-drill-${process.pid}`;
  // Version 1 has a folder for each controller. Version 2 has one folder for all controllers.
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
