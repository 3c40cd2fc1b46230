// Owns which files of an app are read for its packages: lock files, and the `package.json` beside each of them.
import { isLockfile } from './lockfile.ts';

interface ListedFile {
  readonly path: string;
  readonly size: number;
}

const maxLockfiles = 20;
/** People write them by hand. */
const maxManifestBytes = 1024 * 1024;

/**
 * Each `package.json` comes before the lock files, which can then be read one at a time. `isWhole` is false if the app has more lock
 * files, or larger files, than are read.
 */
export function choosePackageFiles<File extends ListedFile>(
  listed: readonly File[],
): { readonly files: readonly File[]; readonly isWhole: boolean } {
  const all = listed.filter(({ path }) => isLockfile(path));
  const lockfiles = all.slice(0, maxLockfiles);
  const besides = new Set(lockfiles.map(({ path }) => manifestOf(path)));
  const manifests = listed.filter(({ path }) => besides.has(path));
  const small = manifests.filter(({ size }) => size <= maxManifestBytes);
  const isWhole = lockfiles.length === all.length && small.length === manifests.length;
  return { files: [...small, ...lockfiles], isWhole };
}

export const manifestOf = (path: string): string => path.replace(/[^/]*$/, 'package.json');
