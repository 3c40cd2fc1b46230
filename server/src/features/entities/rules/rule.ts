// Owns the parsed form of a rule and of a query, and what they look at: who asks, and a record.

/** A record as rules see it: automatic columns and data. Dates are ISO text with milliseconds and `Z`. */
export interface Subject {
  readonly id: string;
  readonly created_by: string;
  readonly created_by_id: string;
  readonly created_date: string;
  readonly updated_date: string;
  readonly is_sample: boolean;
  readonly data: Readonly<Record<string, unknown>>;
}

/** Null is unknown, which is refused. */
export type Verdict = boolean | null;

export type Rule = 'missing' | 'everyone' | 'nobody' | Condition;

export type Condition =
  | { readonly kind: 'and' | 'or' | 'nor'; readonly parts: readonly Condition[] }
  | UserCondition
  | { readonly kind: 'field'; readonly place: Place; readonly test: Test };

export interface UserCondition {
  readonly kind: 'user';
  readonly attribute: Attribute;
  readonly operand: Operand;
}

/** `$ne`, `$nin`, `$exists: false` and `$not` are a `nor` of their opposite. */
export type Test =
  | { readonly op: 'eq' | Comparator; readonly operand: Operand }
  | { readonly op: 'in' | 'all'; readonly operands: readonly Operand[] }
  | { readonly op: 'exists' }
  | { readonly op: 'size'; readonly length: number }
  | { readonly op: 'some'; readonly condition: Condition }
  | { readonly op: 'contains' | 'startsWith'; readonly text: string };

export type Comparator = 'gt' | 'gte' | 'lt' | 'lte';

export const columns = ['id', 'created_by', 'created_by_id', 'created_date', 'updated_date', 'is_sample'] as const;

export type Column = (typeof columns)[number];

/** Where a value stands: an automatic column, or names that lead into the data (in `$elemMatch`: into the element). */
export type Place = { readonly column: Column } | { readonly column?: never; readonly names: readonly string[] };

export type Attribute =
  | { readonly own: 'id' | 'email' | 'full_name' | 'role' }
  | { readonly own?: never; readonly name: string };

export type Operand =
  | { readonly kind: 'value'; readonly value: unknown }
  | { readonly kind: 'attribute'; readonly attribute: Attribute }
  | { readonly kind: 'text'; readonly pieces: readonly (string | Attribute)[] };
