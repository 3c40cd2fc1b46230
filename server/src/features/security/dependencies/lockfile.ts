// Reads the npm packages that a lock file installs. Parsing runs in a thread (lockfile-thread.ts), because the
// parsers have no time limit.
import { type LockedPackage, type LockedPackages, listRanges, type Manifest } from './formats/entry.ts';
import { readNpm } from './formats/npm.ts';
import { readPnpm } from './formats/pnpm.ts';
import { readYarn } from './formats/yarn.ts';

/** A lock file, and the `package.json` next to it. */
export interface LockfileText {
  readonly path: string;
  readonly content: string;
  readonly manifest: string | undefined;
}

const readers: Readonly<Record<string, (content: string, manifest: Manifest) => LockedPackages>> = {
  'package-lock.json': readNpm,
  'npm-shrinkwrap.json': readNpm,
  'pnpm-lock.yaml': readPnpm,
  'yarn.lock': readYarn,
};

export const isLockfile = (path: string): boolean => Object.hasOwn(readers, baseName(path));

/**
 * Returns `undefined` if the file can't be read. A file with merge conflict markers is ambiguous and is not read
 * either.
 */
export function readLockfile({ path, content, manifest }: LockfileText): LockedPackages | undefined {
  const read = readers[baseName(path)];
  if (read === undefined || /^(?:<{7}|={7}|>{7})(?: |$)/m.test(content)) return undefined;
  try {
    const { packages, isComplete } = read(content, readManifest(manifest));
    const unique = new Map<string, LockedPackage>();
    for (const each of packages) {
      const key = `${each.name}@${each.version}`;
      if (each.direct || !unique.has(key)) unique.set(key, each);
    }
    return { packages: [...unique.values()], isComplete };
  } catch {
    return undefined;
  }
}

const baseName = (path: string): string => path.slice(path.lastIndexOf('/') + 1);

function readManifest(text: string | undefined): Manifest {
  try {
    return listRanges(JSON.parse(text ?? '{}'));
  } catch {
    return new Map();
  }
}
