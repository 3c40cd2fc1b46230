// A scan's groups: their names in the coverage header, in results and in ignores, and how they are stored.
import type { Coverage, Finding, GroupResult, Severity } from './finding.ts';

/** In coverage header order. Header recommendations are not findings, because they have no fingerprint. */
export const findingGroups = ['rls', 'secrets', 'functions', 'dependencies', 'static'] as const;
export type FindingGroup = (typeof findingGroups)[number];
export const groups = [...findingGroups, 'headers'] as const;
export type Group = (typeof groups)[number];

export const findingTypes = ['rls', 'hardcoded_secret', 'backend_function', 'dependency', 'static_code'] as const;
export type FindingType = (typeof findingTypes)[number];

export const typeOfGroup: Readonly<Record<FindingGroup, FindingType>> = {
  rls: 'rls',
  secrets: 'hardcoded_secret',
  functions: 'backend_function',
  dependencies: 'dependency',
  static: 'static_code',
};

export type CoverageOfGroups = Readonly<Record<Group, Coverage>>;
/** A finding's additional fields depend on its group (contract.ts). */
export type GroupFindings = Readonly<Record<FindingGroup, GroupResult<object>>>;
export type AnyFinding = Finding<object>;

/** A finding as it is stored. Callers see everything except `secondary`. */
export interface StoredFinding {
  readonly fingerprint: string;
  readonly secondary: string | null;
  readonly rule_id: string;
  readonly severity: Severity;
  readonly title: string;
  readonly description: string;
  readonly recommendation: string;
  readonly [field: string]: unknown;
}

export type StoredGroups = Readonly<Record<FindingGroup, readonly StoredFinding[]>>;

/** The maximum number of findings per group. The most severe are kept. */
export const maxFindings = 1_000;
export const maxGroupBytes = 2 * 1024 * 1024;
