// The fingerprints of findings, and the numbers that distinguish findings with the same rule and identity. A
// finding keeps its number across scans. A new finding gets an unused number, so a copy of ignored code is not ignored.
import { createHash } from 'node:crypto';
import type { AnyFinding, FindingGroup } from './groups.ts';

/** An assigned number, and the place where a scan last saw its finding. */
export interface RememberedNumber {
  readonly group: FindingGroup;
  /** The hash of the rule and identity. */
  readonly key: string;
  readonly number: number;
  readonly path: string;
  readonly line: number;
  /** Whether the last scan of the group found the finding. */
  readonly isPresent: boolean;
  readonly seenAt: string;
}

export interface NumberedFinding {
  readonly finding: AnyFinding;
  readonly fingerprint: string;
}

interface Place {
  readonly path: string;
  readonly line: number;
}

const maxRemembered = 20_000;
const keptMs = 180 * 24 * 60 * 60 * 1000;

/**
 * Numbers a group's findings. `isWhole` means that the whole group was scanned, so missing findings no longer exist.
 *
 * For example, number 0 was at a.ts:10. Now the code is at a.ts:14 and b.ts:3. The finding in a.ts keeps 0, and the one
 * in b.ts gets 1.
 */
export function numberFindings(
  group: FindingGroup,
  findings: readonly AnyFinding[],
  remembered: readonly RememberedNumber[],
  isWhole: boolean,
  now: Date,
): { numbered: NumberedFinding[]; numbers: RememberedNumber[] } {
  const byKey = Map.groupBy(findings, computeKey);
  const knownByKey = Map.groupBy(
    remembered.filter((number) => number.group === group),
    ({ key }) => key,
  );
  const seenAt = now.toISOString();
  const numbered: NumberedFinding[] = [];
  const numbers: RememberedNumber[] = [];
  for (const [key, equal] of byKey) {
    const known = knownByKey.get(key) ?? [];
    const given = assignNumbers(equal, known, isWhole);
    for (const [finding, number] of given) {
      numbered.push({ finding, fingerprint: computeFingerprint(finding, number) });
      numbers.push({ group, key, number, ...toPlace(finding.position), isPresent: true, seenAt });
    }
    const used = new Set(given.values());
    numbers.push(...known.filter(({ number }) => !used.has(number)).map((number) => toAbsent(number, isWhole)));
  }
  for (const [key, known] of knownByKey)
    if (!byKey.has(key)) numbers.push(...known.map((number) => toAbsent(number, isWhole)));
  return { numbered, numbers };
}

/** Keeps the most recent numbers, except those that have been absent for half a year. */
export const forgetOldNumbers = (numbers: readonly RememberedNumber[], now: Date): RememberedNumber[] =>
  numbers
    .filter(({ isPresent, seenAt }) => isPresent || now.getTime() - Date.parse(seenAt) < keptMs)
    .toSorted((a, b) => Number(b.isPresent) - Number(a.isPresent) || b.seenAt.localeCompare(a.seenAt))
    .slice(0, maxRemembered);

const toAbsent = (number: RememberedNumber, isWhole: boolean): RememberedNumber =>
  isWhole ? { ...number, isPresent: false } : number;

const toPlace = ({ path, line }: Place): Place => ({ path, line });

const hash = (parts: readonly string[]): string => createHash('sha256').update(parts.join('\0')).digest('hex');

const computeKey = ({ rule_id, identity }: AnyFinding): string => hash(['v1', rule_id, ...identity]);

/** See docs/internals/security-scans.md#fingerprints. */
const computeFingerprint = ({ rule_id, identity }: AnyFinding, number: number): string =>
  hash(['v1', rule_id, ...identity, String(number)]);

/**
 * Assigns known numbers first to findings at the same place: on the same line, then in the same file. Next come
 * findings in renamed files, but only if the whole group was scanned. Otherwise, the number may belong to a file that
 * was not read. Findings that have reappeared in their former file come last. All others get new numbers.
 */
function assignNumbers(
  findings: readonly AnyFinding[],
  known: readonly RememberedNumber[],
  isWhole: boolean,
): Map<AnyFinding, number> {
  const given = new Map<AnyFinding, number>();
  const waiting = new Set(findings.toSorted((a, b) => comparePlaces(a.position, b.position)));
  const inOrder = known.toSorted((a, b) => comparePlaces(a, b) || a.number - b.number);
  const present = new Set(inOrder.filter(({ isPresent }) => isPresent));
  const absent = new Set(inOrder.filter(({ isPresent }) => !isPresent));
  const match = (numbers: Set<RememberedNumber>, toText: (place: Place) => string) => {
    const free = Map.groupBy(numbers, toText);
    for (const finding of [...waiting]) {
      const number = free.get(toText(finding.position))?.shift();
      if (number === undefined) continue;
      given.set(finding, number.number);
      waiting.delete(finding);
      numbers.delete(number);
    }
  };
  for (const numbers of [present, absent]) {
    match(numbers, ({ path, line }) => `${line} ${path}`);
    match(numbers, ({ path }) => path);
    if (numbers === present && isWhole) match(numbers, () => '');
  }
  let next = Math.max(-1, ...known.map(({ number }) => number)) + 1;
  for (const finding of waiting) {
    given.set(finding, next);
    next += 1;
  }
  return given;
}

const comparePlaces = (a: Place, b: Place): number => (a.path === b.path ? a.line - b.line : a.path < b.path ? -1 : 1);
