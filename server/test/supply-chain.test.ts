// Owns the checks of what is installed: every package of the lock file is pinned by a hash.
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';

interface LockEntry {
  readonly version?: string;
  readonly integrity?: string;
  readonly resolved?: string;
  /** A link to a workspace of this repository. */
  readonly link?: true;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

const lock = JSON.parse(readFileSync(new URL('../../package-lock.json', import.meta.url), 'utf8')) as {
  packages: Record<string, LockEntry>;
};
const installed = Object.entries(lock.packages).filter(([path, { link }]) => path.includes('node_modules/') && !link);

it('the lock file has a SHA-512 hash and no download address for every package', () => {
  expect(installed.length).toBeGreaterThan(100);
  const unpinned = installed.filter(([, entry]) => !entry.integrity?.startsWith('sha512-') || entry.resolved);
  expect(unpinned.map(([path]) => path)).toEqual([]);
});

// A registry may publish the builds of a release at different times. npm then leaves the late ones out of the lock file,
// and whoever needs one gets no build at all.
it('the lock file has the native builds for every platform', () => {
  const isLocked = (path: string, name: string) =>
    `${path}/node_modules/${name}` in lock.packages || `node_modules/${name}` in lock.packages;
  const missing = installed.flatMap(([path, { optionalDependencies = {} }]) =>
    Object.keys(optionalDependencies).filter((name) => !isLocked(path, name)),
  );
  expect(missing).toEqual([]);
});
