// Decides which of an app's files are read to find its packages: lock files, and the `package.json` next to each of
// them.
import { isLockfile } from './lockfile.ts';

interface ListedFile {
  readonly path: string;
  readonly size: number;
}

const maxLockfiles = 20;
/** These files are written by hand, so the limit is generous. */
const maxManifestBytes = 1024 * 1024;

/**
 * Lists every `package.json` before the lock files, so the lock files can be read one at a time. `isWhole` is false if
 * the app has more or larger files than the limits allow.
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
