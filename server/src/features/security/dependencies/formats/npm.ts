// Reads npm lock files, versions 1 to 3.
import { valid } from 'semver';
import {
  entriesOf,
  fieldOf,
  type LockedPackage,
  type LockedPackages,
  listRanges,
  type Manifest,
  textOf,
} from './entry.ts';

export function readNpm(content: string, manifest: Manifest): LockedPackages {
  const document: unknown = JSON.parse(content);
  const packages = fieldOf(document, 'packages');
  if (packages !== undefined) return readPackages(packages);
  if (fieldOf(document, 'lockfileVersion') === undefined) throw new Error('not a lock file');
  return readTree(fieldOf(document, 'dependencies'), manifest);
}

const folder = 'node_modules/';
/** References to the app's own folders and links. */
const localForm = /^(?:file|link|workspace|portal):/;

/**
 * Reads versions 2 and 3, with keys like `node_modules/a/node_modules/b`. The app's own packages have keys like
 * `packages/own/node_modules/c`.
 */
function readPackages(packages: unknown): LockedPackages {
  const found: LockedPackage[] = [];
  let isComplete = true;
  const rangesByFolder = new Map(
    entriesOf(packages)
      .filter(([path]) => !path.includes(folder))
      .map(([path, entry]) => [path === '' ? '' : `${path}/`, listRanges(entry)]),
  );
  for (const [path, entry] of entriesOf(packages)) {
    const at = path.lastIndexOf(folder);
    if (at < 0 || fieldOf(entry, 'link') === true) continue;
    const installedAs = path.slice(at + folder.length);
    const version = textOf(fieldOf(entry, 'version'));
    if (valid(version) === null || version === undefined) {
      isComplete &&= localForm.test(textOf(fieldOf(entry, 'resolved')) ?? '');
      continue;
    }
    // An alias's entry also contains the real name.
    const name = textOf(fieldOf(entry, 'name')) ?? installedAs;
    // One of the app's own packages may use a copy in a parent folder.
    const isAsked = [...rangesByFolder].some(
      ([own, ranges]) => (at === 0 || path.slice(0, at) === own) && ranges.has(installedAs),
    );
    found.push({ name, version, direct: isAsked });
  }
  return { packages: found, isComplete };
}

/** Reads version 1, which nests packages inside the packages that depend on them. */
function readTree(tree: unknown, manifest: Manifest): LockedPackages {
  const found: LockedPackage[] = [];
  let isComplete = true;
  const open = entriesOf(tree).map(([name, entry]) => ({ name, entry, isTop: true }));
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { name, entry, isTop } = next;
    for (const [inner, child] of entriesOf(fieldOf(entry, 'dependencies')))
      open.push({ name: inner, entry: child, isTop: false });
    const text = textOf(fieldOf(entry, 'version')) ?? '';
    const [, alias, aliased] = /^npm:((?:@[^/@]+\/)?[^@]+)@(.+)$/.exec(text) ?? [];
    const version = aliased ?? text;
    if (valid(version) !== null) found.push({ name: alias ?? name, version, direct: isTop && manifest.has(name) });
    else isComplete &&= localForm.test(version);
  }
  return { packages: found, isComplete };
}
