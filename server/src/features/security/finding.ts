// Owns what a group of a security scan reports: findings, and how much of the group was looked at.

export const severities = ['critical', 'high', 'medium', 'low'] as const;
export type Severity = (typeof severities)[number];

/** `identity` is what tells this finding from others of the same rule (docs/internals/security-scans.md#fingerprints). */
export interface Finding<Item> {
  readonly rule_id: string;
  readonly severity: Severity;
  readonly title: string;
  readonly description: string;
  readonly recommendation: string;
  readonly identity: readonly string[];
  /** Of the flagged statement alone: an ignore is carried over while it is unchanged. Null: the group has none. */
  readonly secondary: string | null;
  /** Findings with equal rule and identity are numbered in the order of path and line. */
  readonly position: { readonly path: string; readonly line: number };
  /** The further fields of the group. */
  readonly item: Item;
}

export type SkipReason =
  | 'no_schemas'
  | 'no_files'
  | 'no_lockfile'
  | 'offline'
  | 'not_published'
  | 'rollout'
  | 'too_large';

export type Coverage =
  | { readonly value: 'ran' | 'off' }
  | { readonly value: 'partial' | 'skipped'; readonly reason: SkipReason };

export interface GroupResult<Item> {
  readonly coverage: Coverage;
  readonly findings: readonly Finding<Item>[];
}

/** A text file of the app. */
export interface ScanFile {
  readonly path: string;
  readonly content: string;
}
