// Owns the groups of a scan: their names in the coverage header, in the result and in ignores, and how a group is stored.
import type { Coverage, Finding, GroupResult, Severity } from './finding.ts';

/** In the order of the coverage header. Headers are no findings: they have no fingerprint. */
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
/** The further fields of a finding depend on its group (contract.ts). */
export type GroupFindings = Readonly<Record<FindingGroup, GroupResult<object>>>;
export type AnyFinding = Finding<object>;

/** A finding as it is stored, and as callers see it but for `secondary`. */
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

/** Of each group: the most severe are kept. */
export const maxFindings = 1_000;
export const maxGroupBytes = 2 * 1024 * 1024;
