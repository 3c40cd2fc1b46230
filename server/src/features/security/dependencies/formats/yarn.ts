// Reads Yarn lock files: the classic format, and the format used since version 2.
import { parseSyml } from '@yarnpkg/parsers';
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

export function readYarn(content: string, manifest: Manifest): LockedPackages {
  const document: unknown = parseSyml(content);
  const entries = entriesOf(document).filter(([key]) => key !== '__metadata');
  if (entries.length === 0 && !/yarn lockfile v1|__metadata/.test(content)) throw new Error('not a lock file');
  const asked = listAsked(entries, manifest);
  const found: LockedPackage[] = [];
  let isComplete = true;
  for (const [key, entry] of entries) {
    const descriptors = key.split(/,\s*/);
    const resolution = textOf(fieldOf(entry, 'resolution'));
    if (isLocal(resolution ?? descriptors[0] ?? '')) continue;
    const version = textOf(fieldOf(entry, 'version'));
    const name = resolution === undefined ? nameOfDescriptor(descriptors[0] ?? '') : nameOfResolution(resolution);
    if (name === undefined || version === undefined || valid(version) === null) isComplete = false;
    else found.push({ name, version, direct: descriptors.some((each) => asked.has(each)) });
  }
  return { packages: found, isComplete };
}

const isLocal = (reference: string): boolean => /^.[^@]*@(?:workspace|link|portal|file):/.test(reference);

/**
 * The descriptors that the app's own packages depend on, in the same form as keys: `lodash@^4.17.0`,
 * `lodash@npm:^4.17.0`.
 */
function listAsked(entries: readonly [string, unknown][], manifest: Manifest): ReadonlySet<string> {
  const own = entries.filter(([, entry]) => /@workspace:/.test(textOf(fieldOf(entry, 'resolution')) ?? ''));
  const ranges = [...manifest, ...own.flatMap(([, entry]) => [...listRanges(entry)])];
  return new Set(ranges.flatMap(([name, range]) => [`${name}@${range}`, `${name}@npm:${range}`]));
}

/** Parses `lodash@^4.17.0`, `@a/b@^1.0.0`, and aliases such as `mine@npm:lodash@^4.17.0`. */
function nameOfDescriptor(descriptor: string): string | undefined {
  const at = descriptor.indexOf('@', 1);
  if (at < 0) return undefined;
  const range = descriptor.slice(at + 1);
  const [, aliased] = /^npm:((?:@[^/@]+\/)?[^/@]+)@/.exec(range) ?? [];
  return aliased ?? descriptor.slice(0, at);
}

/** Parses `lodash@npm:4.17.21` and `typescript@patch:typescript@npm%3A5.4.5#…`. */
const nameOfResolution = (resolution: string): string | undefined => {
  const at = resolution.indexOf('@', 1);
  const [, patched] = /^patch:((?:@[^/@]+\/)?[^/@]+)@/.exec(decode(resolution.slice(at + 1))) ?? [];
  return at < 0 ? undefined : (patched ?? resolution.slice(0, at));
};

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
