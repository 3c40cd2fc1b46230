// A scan's dependencies group: which packages an app installs, and which advisories affect them
// (docs/internals/security-scans.md#dependencies).
import type { Advisories, AdvisoryReference } from '../../../gateways/advisories/index.ts';
import { createParseThread } from '../../../kit/parse-thread.ts';
import type { Coverage, Finding, GroupResult, ScanFile, SkipReason } from '../finding.ts';
import { manifestOf } from './files.ts';
import type { InstalledPackage, LockedPackages } from './formats/entry.ts';
import type { DependencyItem } from './item.ts';
import { isLockfile, type LockfileText } from './lockfile.ts';
import { type KnownAdvisory, matchAll } from './matching.ts';

export interface DependencyDeps {
  readonly advisories: Pick<Advisories, 'isOffline' | 'find' | 'read'>;
}

/** The packages that a scan stores, so new advisories can be looked up without reading the app again. */
export interface InstalledPackages {
  readonly packages: readonly InstalledPackage[];
  /** The reason why packages are missing, or null if none are. */
  readonly missing: SkipReason | null;
}

const maxLockfileBytes = 10 * 1024 * 1024;
const maxPackages = 20_000;
/**
 * The maximum number of versions of one package in one lock file. Apps use only a few. Thousands would be an attack.
 */
const maxVersions = 50;
const maxAdvisories = 2_000;
const concurrentReads = 8;
const parseTimeoutMs = 10_000;

const thread = createParseThread<LockfileText, LockedPackages | undefined>(
  new URL('lockfile-thread.ts', import.meta.url),
  parseTimeoutMs,
);

/** Returns the findings, and the packages to store. */
export async function scanDependencies(
  deps: DependencyDeps,
  files: AsyncIterable<ScanFile> | Iterable<ScanFile>,
  isWhole?: () => boolean,
  signal?: AbortSignal,
): Promise<{ readonly found: GroupResult<DependencyItem>; readonly packages: InstalledPackages }> {
  const packages = await readLockfiles(files, isWhole);
  return { found: await evaluatePackages(deps, packages, signal), packages };
}

/**
 * `files` are the app's lock files, preceded by the `package.json` next to each. Only one lock file is in memory at a
 * time.
 */
export async function readLockfiles(
  files: AsyncIterable<ScanFile> | Iterable<ScanFile>,
  isWhole: () => boolean = () => true,
): Promise<InstalledPackages> {
  const manifests = new Map<string, string>();
  const packages: InstalledPackage[] = [];
  let missing: SkipReason | null = null;
  let lockfiles = 0;
  for await (const { path, content } of files) {
    if (!isLockfile(path)) {
      manifests.set(path, content);
      continue;
    }
    lockfiles += 1;
    const read = await readInThread({ path, content, manifest: manifests.get(manifestOf(path)) });
    if ('reason' in read) missing ??= read.reason;
    else {
      for (const { name, version, direct } of read.packages) packages.push({ name, version, direct, file_path: path });
      if (!read.isComplete) missing ??= 'no_lockfile';
    }
  }
  if (!isWhole()) missing = 'too_large';
  else if (lockfiles === 0) missing = 'no_lockfile';
  if (packages.length <= maxPackages) return { packages, missing };
  return { packages: packages.slice(0, maxPackages), missing: 'too_large' };
}

async function readInThread(file: LockfileText): Promise<LockedPackages | { readonly reason: SkipReason }> {
  if (file.content.length > maxLockfileBytes) return { reason: 'too_large' };
  const parsed = await thread.parse(file);
  if (parsed.outcome !== 'parsed') return { reason: 'too_large' };
  return parsed.result ?? { reason: 'no_lockfile' };
}

/** Looks up the current advisories for the packages. */
export async function evaluatePackages(
  { advisories }: DependencyDeps,
  { packages, missing }: InstalledPackages,
  signal?: AbortSignal,
): Promise<GroupResult<DependencyItem>> {
  if (packages.length === 0 && missing !== null) return skipped(missing);
  if (advisories.isOffline) return skipped('offline');
  const { kept, isWhole } = limitVersions(packages);
  const versions = [...new Map(kept.map((each) => [`${each.name}@${each.version}`, each])).values()];
  const found = await advisories.find(versions, signal);
  if (found.outcome === 'unavailable') return skipped('offline');

  const names = collectNames(versions, found.lists);
  const references = [...names.keys()].slice(0, maxAdvisories);
  const read = await readAll(advisories, references, signal);
  const matched = await matchAll(read.known, names, kept, signal);
  const isAllMatched = isWhole && found.isComplete && names.size <= maxAdvisories && matched.isComplete;
  const reason = missing ?? (!isAllMatched ? 'too_large' : read.isComplete ? null : 'offline');
  return { coverage: coverageOf(reason), findings: withoutAliases(matched.findings) };
}

function limitVersions(packages: readonly InstalledPackage[]): { kept: InstalledPackage[]; isWhole: boolean } {
  const counts = new Map<string, number>();
  const kept = packages.filter(({ name, file_path }) => {
    const key = `${name} ${file_path}`;
    const count = (counts.get(key) ?? 0) + 1;
    counts.set(key, count);
    return count <= maxVersions;
  });
  return { kept, isWhole: kept.length === packages.length };
}

const skipped = (reason: SkipReason): GroupResult<DependencyItem> => ({
  coverage: { value: 'skipped', reason },
  findings: [],
});

const coverageOf = (reason: SkipReason | null): Coverage =>
  reason === null ? { value: 'ran' } : { value: 'partial', reason };

/** Maps each advisory to the packages it was found for. */
function collectNames(
  versions: readonly InstalledPackage[],
  lists: readonly (readonly AdvisoryReference[])[],
): Map<AdvisoryReference, Set<string>> {
  const byId = new Map<string, AdvisoryReference>();
  const names = new Map<AdvisoryReference, Set<string>>();
  for (const [index, { name }] of versions.entries()) {
    for (const each of lists[index] ?? []) {
      const reference = byId.get(each.id) ?? each;
      byId.set(each.id, reference);
      names.set(reference, (names.get(reference) ?? new Set()).add(name));
    }
  }
  return names;
}

/** Reads a few advisories at a time. `isComplete` is false if the database did not respond for one of them. */
async function readAll(
  advisories: DependencyDeps['advisories'],
  references: readonly AdvisoryReference[],
  signal: AbortSignal | undefined,
): Promise<{ readonly known: readonly KnownAdvisory[]; readonly isComplete: boolean }> {
  const known: KnownAdvisory[] = [];
  let isComplete = true;
  const waiting = references.values();
  const readNext = async () => {
    for (const reference of waiting) {
      const read = await advisories.read(reference, signal);
      if (read.outcome === 'read') known.push({ reference, advisory: read.advisory });
      // An advisory that was removed in the meantime affects no package.
      else if (read.outcome === 'unavailable') isComplete = false;
    }
  };
  await Promise.all(Array.from({ length: concurrentReads }, readNext));
  return { known, isComplete };
}

/** Databases list the same vulnerability under several ids. GitHub's ids have the most precise ranges. */
function withoutAliases(findings: readonly Finding<DependencyItem>[]): Finding<DependencyItem>[] {
  const rank = (id: string) => (id.startsWith('GHSA-') ? 0 : id.startsWith('MAL-') ? 1 : 2);
  const seen = new Set<string>();
  return findings
    .toSorted((a, b) => rank(a.item.advisory_id) - rank(b.item.advisory_id) || compareText(a, b))
    .filter(({ item: { advisory_id, aliases, package_name, file_path } }) => {
      const keys = [advisory_id, ...aliases].map((id) => `${id} ${package_name} ${file_path}`);
      const isRepeat = keys.some((key) => seen.has(key));
      for (const key of keys) seen.add(key);
      return !isRepeat;
    });
}

const compareText = (a: Finding<DependencyItem>, b: Finding<DependencyItem>): number =>
  a.identity.join(' ') < b.identity.join(' ') ? -1 : 1;
