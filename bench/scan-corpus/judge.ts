// Judges a scan's findings for a case: which expectations were met, and which findings are wrong.
import type { CorpusCase, CorpusGroup, Expected } from './cases.ts';

/** A finding, with the fields used for comparison. */
export type Reported = Omit<Expected, 'group'>;

export interface Verdict {
  readonly group: CorpusGroup;
  readonly expected: number;
  readonly met: number;
  readonly reported: number;
  readonly right: number;
  /** Missed and wrong findings, in readable form. */
  readonly faults: readonly string[];
  /** The kinds of missed and wrong findings, such as `missed static xss`. */
  readonly kinds: readonly string[];
}

const maxLineDistance = 3;

export function judge({ name, group, expect }: CorpusCase, reported: readonly Reported[]): Verdict {
  const missed = expect.filter((expected) => !reported.some((found) => matches(expected, found)));
  const wrong = reported.filter((found) => !expect.some((expected) => matches(expected, found)));
  return {
    group,
    expected: expect.length,
    met: expect.length - missed.length,
    reported: reported.length,
    right: reported.length - wrong.length,
    faults: [
      ...missed.map((expected) => `missed ${name}: ${JSON.stringify(expected)}`),
      ...wrong.map((found) => `wrong ${name}: ${JSON.stringify(found)}`),
    ],
    kinds: [
      ...missed.map((expected) => `missed ${group} ${describeKind(expected)}`),
      ...wrong.map((found) => `wrong ${group} ${describeKind(found)}`),
    ],
  };
}

const describeKind = ({ kind, operation, flag }: Reported): string => kind ?? operation ?? flag ?? 'package';

export function countKinds(verdicts: readonly Verdict[]): Record<string, number> {
  const kinds = Map.groupBy(
    verdicts.flatMap((verdict) => verdict.kinds),
    (kind) => kind,
  );
  return Object.fromEntries([...kinds].map(([kind, all]) => [kind, all.length]));
}

/** Compares only a secret's location, because providers have many names. */
function matches({ group, ...expected }: Expected, found: Reported): boolean {
  const { line, kind, ...rest } = expected;
  const isNear = line === undefined || Math.abs(line - (found.line ?? Number.NEGATIVE_INFINITY)) <= maxLineDistance;
  const isOfKind = group === 'secrets' || kind === found.kind;
  return isNear && isOfKind && Object.entries(rest).every(([field, value]) => Reflect.get(found, field) === value);
}

export interface Score {
  readonly cases: number;
  readonly faults: number;
  readonly harmless: number;
  readonly recall: number;
  readonly precision: number;
}

/** The precision is 1 if nothing was reported. */
export function score(verdicts: readonly Verdict[]): Score {
  const sum = (field: 'expected' | 'met' | 'reported' | 'right') =>
    verdicts.reduce((total, verdict) => total + verdict[field], 0);
  const ratio = (part: number, whole: number) => (whole === 0 ? 1 : Number((part / whole).toFixed(3)));
  return {
    cases: verdicts.length,
    faults: sum('expected'),
    harmless: verdicts.filter(({ expected }) => expected === 0).length,
    recall: ratio(sum('met'), sum('expected')),
    precision: ratio(sum('right'), sum('reported')),
  };
}
