// The fields of a finding about row rules.

export interface RowRulesItem {
  readonly entity_name: string;
  readonly open_operations: readonly string[];
  /** The open operations' rules, as written in the schema for the operation itself or for `write`. */
  readonly current_rules: Readonly<Record<string, unknown>>;
  /** The rules that close the open operations. */
  readonly recommended_rules: Readonly<Record<string, unknown>>;
  /** A request that currently succeeds. Contains field names but never values. */
  readonly proof: {
    readonly principal: 'anonymous' | 'any_user';
    readonly operation: string;
    readonly reachable_records: number;
    readonly sample_fields: readonly string[];
  };
}
