// Matches advisories against installed versions, and the resulting findings. Lock files are untrusted, so
// matching never blocks the process for long, regardless of how many versions a file lists.
import { setImmediate } from 'node:timers/promises';
import type { Advisory, AdvisoryReference } from '../../../gateways/advisories/index.ts';
import type { Finding } from '../finding.ts';
import { highestFix, readEffects } from './affected.ts';
import type { InstalledPackage } from './formats/entry.ts';
import type { DependencyItem } from './item.ts';
import { severityOf } from './severity.ts';

const maxListedVersions = 10;
const maxMatchMs = 20_000;
/** How long matching may block the process before it yields to other work. */
const turnMs = 5;

export interface KnownAdvisory {
  readonly reference: AdvisoryReference;
  readonly advisory: Advisory;
}

/** `isComplete` is false if matching took too long or was aborted. */
export async function matchAll(
  known: readonly KnownAdvisory[],
  names: ReadonlyMap<AdvisoryReference, ReadonlySet<string>>,
  packages: readonly InstalledPackage[],
  signal: AbortSignal | undefined,
): Promise<{ readonly findings: Finding<DependencyItem>[]; readonly isComplete: boolean }> {
  const byName = Map.groupBy(packages, ({ name }) => name);
  const findings: Finding<DependencyItem>[] = [];
  const end = performance.now() + maxMatchMs;
  let turnEnd = 0;
  for (const { reference, advisory } of known) {
    for (const name of names.get(reference) ?? []) {
      if (performance.now() > turnEnd) {
        await setImmediate();
        turnEnd = performance.now() + turnMs;
        if (turnEnd > end || signal?.aborted) return { findings, isComplete: false };
      }
      findings.push(...toFindings(advisory, name, byName.get(name) ?? []));
    }
  }
  return { findings, isComplete: true };
}

/** Creates one finding per lock file, covering all affected versions that it installs. */
function toFindings(
  advisory: Advisory,
  name: string,
  installed: readonly InstalledPackage[],
): Finding<DependencyItem>[] {
  if (advisory.withdrawn) return [];
  const effectOn = readEffects(advisory, name);
  return [...Map.groupBy(installed, ({ file_path }) => file_path)].flatMap(([path, packages]) => {
    const affected = packages.flatMap(({ version, direct }) => {
      const effect = effectOn(version);
      return effect === undefined ? [] : [{ version, direct, ...effect }];
    });
    const [first] = affected;
    if (first === undefined) return [];
    const item: DependencyItem = {
      package_name: name,
      installed_version: listVersions(affected.map(({ version }) => version)),
      vulnerable_range: first.vulnerableRange,
      fixed_version: highestFix(affected.map(({ fixedVersion }) => fixedVersion)),
      advisory_id: advisory.id,
      aliases: advisory.aliases,
      direct: affected.some(({ direct }) => direct),
      file_path: path,
    };
    return [toFinding(advisory, item)];
  });
}

const listVersions = (versions: readonly string[]): string =>
  versions.length <= maxListedVersions
    ? versions.join(', ')
    : `${versions.slice(0, maxListedVersions).join(', ')} and ${versions.length - maxListedVersions} more`;

const toFinding = (advisory: Advisory, item: DependencyItem): Finding<DependencyItem> => ({
  rule_id: 'dependencies/known-vulnerability',
  severity: severityOf(advisory),
  title: `${item.package_name} has a known vulnerability: ${toLine(advisory.summary) || advisory.id}`,
  description: describe(item),
  recommendation: recommend(item),
  identity: [item.advisory_id, item.package_name],
  secondary: null,
  position: { path: item.file_path, line: 1 },
  item,
});

/** Summaries come from third parties, and must fit on one line. */
const toLine = (text: string): string => text.replace(/[\p{C}\s]+/gu, ' ').trim();

const describe = ({ package_name, installed_version, vulnerable_range, advisory_id, direct }: DependencyItem): string =>
  `The lock file installs ${package_name} ${installed_version}${direct ? '' : ', because another package depends on it'}. Advisory ${advisory_id} applies to versions ${vulnerable_range || 'listed in the advisory'}.`;

function recommend({ package_name, fixed_version, direct, advisory_id }: DependencyItem): string {
  if (fixed_version === null)
    return `No fixed version is known. See advisory ${advisory_id} for a workaround, or replace ${package_name}.`;
  return direct
    ? `Update ${package_name} to ${fixed_version} or newer.`
    : `Update the package that depends on ${package_name}, or override its version with ${fixed_version} or newer.`;
}
