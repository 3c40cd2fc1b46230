// A scan's result: how findings are stored, sorted and truncated, and how they are presented to callers.

import type { HeaderRecommendation, Language, ScanResult } from './contract.ts';
import { limitCoverage } from './coverage.ts';
import { type Coverage, severities } from './finding.ts';
import {
  type CoverageOfGroups,
  type FindingGroup,
  findingGroups,
  type GroupFindings,
  maxFindings,
  maxGroupBytes,
  type StoredFinding,
  type StoredGroups,
} from './groups.ts';
import { type NumberedFinding, numberFindings, type RememberedNumber } from './numbers.ts';
import { columnOfGroup, type ReadResult, toFindings } from './store.ts';
import { summarise } from './summary.ts';

export interface NumberedGroups {
  /** All findings in sorted order. */
  readonly groups: StoredGroups;
  readonly numbers: readonly RememberedNumber[];
}

export function storeGroups(found: GroupFindings, remembered: readonly RememberedNumber[], now: Date): NumberedGroups {
  const stored = findingGroups.map((group) => ({ group, ...storeGroup(group, found[group], remembered, now) }));
  return {
    groups: toGroups((group) => stored.find((each) => each.group === group)?.findings ?? []),
    numbers: stored.flatMap(({ numbers }) => numbers),
  };
}

export function storeGroup(
  group: FindingGroup,
  { findings, coverage }: GroupFindings[FindingGroup],
  remembered: readonly RememberedNumber[],
  now: Date,
): { findings: StoredFinding[]; numbers: RememberedNumber[] } {
  const { numbered, numbers } = numberFindings(group, findings, remembered, coverage.value === 'ran', now);
  return { findings: numbered.map(toStored).toSorted(compareFindings), numbers };
}

const toStored = ({ finding, fingerprint }: NumberedFinding): StoredFinding => {
  const { rule_id, severity, title, description, recommendation, secondary, item } = finding;
  return { ...item, fingerprint, rule_id, severity, title, description, recommendation, secondary };
};

/** Orders by severity, then title, then fingerprint. */
const compareFindings = (a: StoredFinding, b: StoredFinding): number =>
  severities.indexOf(a.severity) - severities.indexOf(b.severity) ||
  compareText(a.title, b.title) ||
  compareText(a.fingerprint, b.fingerprint);

const compareText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

/** Limits the number and total size of the findings, because a group is always read and sent as a whole. */
export function cut(findings: readonly StoredFinding[]): readonly StoredFinding[] {
  let bytes = 0;
  const kept = findings.slice(0, maxFindings);
  const end = kept.findIndex((finding) => {
    bytes += Buffer.byteLength(JSON.stringify(finding));
    return bytes > maxGroupBytes;
  });
  return end < 0 ? kept : kept.slice(0, end);
}

export const isTruncated = (findings: readonly StoredFinding[]): boolean => cut(findings).length < findings.length;

export const listTruncated = (groups: StoredGroups): FindingGroup[] =>
  findingGroups.filter((group) => isTruncated(groups[group]));

const hourMs = 60 * 60 * 1000;
export const compareEveryMs = 24 * hourMs;

/**
 * The time of the last comparison. If the advisory database did not respond, the time is set back, so the database is
 * queried again in an hour.
 */
export const comparedAt = (coverage: Coverage, now: Date): Date =>
  isUnanswered(coverage) ? new Date(now.getTime() - compareEveryMs + hourMs) : now;

export const isUnanswered = (coverage: Coverage): boolean => 'reason' in coverage && coverage.reason === 'offline';

export const readGroups = (row: ReadResult): StoredGroups => toGroups((group) => toFindings(row[columnOfGroup[group]]));

const toGroups = (findingsOf: (group: FindingGroup) => readonly StoredFinding[]): StoredGroups => ({
  rls: findingsOf('rls'),
  secrets: findingsOf('secrets'),
  functions: findingsOf('functions'),
  dependencies: findingsOf('dependencies'),
  static: findingsOf('static'),
});

/** Which parts of a result the current settings let callers see. */
export interface Visibility {
  readonly isStaticOn: boolean;
  readonly hasDependencies: boolean;
}

export interface PresentedResult {
  readonly result: ScanResult;
  readonly coverage: CoverageOfGroups;
  readonly groups: StoredGroups;
  readonly isTruncated: boolean;
}

export function presentResult(row: ReadResult, visibility: Visibility): PresentedResult {
  // The columns have the form that the scan stored.
  const coverage = limitCoverage(row.coverage as unknown as CoverageOfGroups, visibility);
  const isHidden = (group: FindingGroup) =>
    (group === 'static' && !visibility.isStaticOn) || (group === 'dependencies' && !visibility.hasDependencies);
  const all = readGroups(row);
  const groups = toGroups((group) => (isHidden(group) ? [] : all[group]));
  const headers = (row.headers as unknown as readonly HeaderRecommendation[]).filter(
    ({ flag }) => !row.dismissed_headers.includes(flag),
  );
  // Each group has its own fields.
  const present = (group: FindingGroup) => groups[group].map(withoutSecondary) as never;
  return {
    coverage,
    groups,
    isTruncated: row.truncated_groups.some((group) => !isHidden(group as FindingGroup)),
    result: {
      analysis_summary: summarise(row.language as Language, groups, headers.length, coverage),
      rls_recommendations: present('rls'),
      hardcoded_secrets: present('secrets'),
      backend_functions: present('functions'),
      dependency_vulnerabilities: present('dependencies'),
      static_code_findings: present('static'),
      header_recommendations: headers,
      core_integration_recommendation: row.integrations,
      scanned_at: row.scanned_at.toISOString(),
    },
  };
}

const withoutSecondary = ({ secondary, ...finding }: StoredFinding) => finding;
