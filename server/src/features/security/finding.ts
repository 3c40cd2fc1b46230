// A group's result in a security scan: its findings, and how much of the group was scanned.

export const severities = ['critical', 'high', 'medium', 'low'] as const;
export type Severity = (typeof severities)[number];

/** `identity` distinguishes findings from the same rule (docs/internals/security-scans.md#fingerprints). */
export interface Finding<Item> {
  readonly rule_id: string;
  readonly severity: Severity;
  readonly title: string;
  readonly description: string;
  readonly recommendation: string;
  readonly identity: readonly string[];
  /**
   * The hash of the flagged statement alone. An ignore is carried over as long as this hash stays the same. Null if the
   * group does not use it.
   */
  readonly secondary: string | null;
  /** Findings with the same rule and identity are numbered by path and line. */
  readonly position: { readonly path: string; readonly line: number };
  /** The group's additional fields. */
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

/** One of the app's text files. */
export interface ScanFile {
  readonly path: string;
  readonly content: string;
}
