// Decides whether an advisory affects a version, according to its OSV ranges, and how the ranges are shown to people.
import { lt, parse, type SemVer } from 'semver';
import type { Advisory, AdvisoryRange } from '../../../gateways/advisories/index.ts';

type RangeEvent = AdvisoryRange['events'][number];

export interface Effect {
  /** A range such as `>=1.0.0 <1.5.0 || >=2.0.0`. */
  readonly vulnerableRange: string;
  /** The first version after the installed one that fixes the vulnerability. */
  readonly fixedVersion: string | null;
}

const kinds = ['introduced', 'fixed', 'last_affected', 'limit'] as const satisfies (keyof RangeEvent)[];

/** An event whose version is comparable. */
interface Step {
  readonly kind: (typeof kinds)[number];
  readonly text: string;
  readonly at: SemVer;
}

const maxRangeLength = 500;

/**
 * Parses the advisory once, because it may be checked against thousands of versions of the package. The returned
 * function returns `undefined` for a version that is not affected.
 */
export function readEffects({ affected }: Advisory, name: string): (version: string) => Effect | undefined {
  const entries = affected.filter((each) => each.package?.name === name && each.package.ecosystem === 'npm');
  const ranges = entries.flatMap((each) => each.ranges.filter(isOrdered)).map(({ events }) => toSteps(events));
  const versions = new Set(entries.flatMap((each) => each.versions));
  const vulnerableRange = describeRanges(ranges, versions);
  return (version) => {
    const installed = parse(version);
    const within = installed === null ? [] : ranges.filter((steps) => isWithin(installed, steps));
    if (within.length === 0 && !versions.has(version)) return undefined;
    const isFix = ({ kind, at }: Step) => kind === 'fixed' && installed !== null && at.compare(installed) > 0;
    const fixes = within.flatMap((steps) => steps.find(isFix) ?? []);
    return { vulnerableRange, fixedVersion: fixes.toSorted(compareSteps)[0]?.text ?? null };
  };
}

/** Commit ranges contain no information about versions. */
const isOrdered = ({ type }: AdvisoryRange): boolean => type === 'SEMVER' || type === 'ECOSYSTEM';

/** The events in version order. Events without a comparable version are left out. */
const toSteps = (events: readonly RangeEvent[]): Step[] =>
  events.flatMap((event) => kinds.flatMap((kind) => toStep(kind, event[kind]) ?? [])).toSorted(compareSteps);

function toStep(kind: Step['kind'], text: string | undefined): Step | undefined {
  const at = parse(text === '0' ? '0.0.0-0' : text); // 0 precedes all versions
  return at === null || text === undefined ? undefined : { kind, text, at };
}

const compareSteps = (a: Step, b: Step): number => a.at.compare(b.at);

/**
 * With `{introduced: 1.0.0}, {fixed: 1.5.0}, {introduced: 2.0.0}`, the versions 1.4.9 and 2.1.0 are affected, while
 * 1.5.0 and 2.0.0-rc.1 are not. `satisfies` would exclude prereleases.
 */
function isWithin(version: SemVer, steps: readonly Step[]): boolean {
  let isVulnerable = false;
  for (const { kind, at } of steps) {
    const order = version.compare(at);
    const isPassed = order > 0 || (order === 0 && kind !== 'last_affected');
    if (isPassed) isVulnerable = kind === 'introduced';
  }
  return isVulnerable;
}

function describeRanges(ranges: readonly (readonly Step[])[], versions: ReadonlySet<string>): string {
  const parts = ranges.flatMap(describeSteps);
  const texts = [...new Set(parts.length > 0 ? parts : [...versions].map((version) => `=${version}`))];
  const text = texts.join(' || ');
  if (text.length <= maxRangeLength) return text;
  return `${text.slice(0, text.lastIndexOf(' || ', maxRangeLength - 5))} || …`;
}

/** Describes ranges as `>=1.0.0 <1.5.0`, `<=2.0.1` or `*`. */
function describeSteps(steps: readonly Step[]): string[] {
  const parts: string[] = [];
  let start: string | undefined;
  const end = (upper: string) => {
    if (start !== undefined) parts.push([start, upper].filter(Boolean).join(' ') || '*');
    start = undefined;
  };
  for (const { kind, text } of steps) {
    if (kind === 'introduced') start ??= text === '0' ? '' : `>=${text}`;
    else end(kind === 'last_affected' ? `<=${text}` : `<${text}`);
  }
  end('');
  return parts;
}

/** The newest of several fixes, because a single update must include all of them. Null if one fix is missing. */
export const highestFix = (fixes: readonly (string | null)[]): string | null =>
  fixes.reduce(
    (highest, fix) => (highest === null || fix === null ? null : lt(highest, fix) ? fix : highest),
    fixes[0] ?? null,
  );
