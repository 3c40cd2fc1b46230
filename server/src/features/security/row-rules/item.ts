// Owns the fields of a finding about row rules.

export interface RowRulesItem {
  readonly entity_name: string;
  readonly open_operations: readonly string[];
  /** The rules of the open operations, as the schema has them for the operation or for `write`. */
  readonly current_rules: Readonly<Record<string, unknown>>;
  /** The rules that close the open operations. */
  readonly recommended_rules: Readonly<Record<string, unknown>>;
  /** A request that succeeds today. Field names, never values. */
  readonly proof: {
    readonly principal: 'anonymous' | 'any_user';
    readonly operation: string;
    readonly reachable_records: number;
    readonly sample_fields: readonly string[];
  };
}
