// OSV's advisory format.

/** An OSV record. Fields that are not listed here are kept unchanged. */
export interface OsvRecord {
  readonly id: string;
  readonly modified: string;
  readonly withdrawn?: string;
  readonly affected?: readonly {
    readonly package?: { readonly name: string; readonly ecosystem: string };
    readonly ranges?: readonly {
      readonly type: string;
      readonly events: readonly Readonly<Record<string, string>>[];
    }[];
    readonly versions?: readonly string[];
  }[];
  readonly [field: string]: unknown;
}
