// The parsed form of rules and queries, and the form of the records they are evaluated on.

/** A record with its automatic columns and its data. Dates are ISO text with milliseconds and `Z`. */
export interface DataRecord {
  readonly id: string;
  readonly created_by: string;
  readonly created_by_id: string;
  readonly created_date: string;
  readonly updated_date: string;
  readonly is_sample: boolean;
  readonly data: Readonly<Record<string, unknown>>;
}

/** Null means unknown. Only true allows the operation. */
export type Verdict = boolean | null;

/** A rule with the same verdict on every record. `everyone` includes anonymous callers. */
export type ConstantRule = 'missing' | 'everyone' | 'signed_in' | 'nobody';

export type Rule = ConstantRule | Condition;

export type Condition =
  | { readonly kind: 'and' | 'or' | 'nor'; readonly parts: readonly Condition[] }
  | UserCondition
  | { readonly kind: 'field'; readonly path: Path; readonly test: Test };

export interface UserCondition {
  readonly kind: 'user';
  readonly attribute: Attribute;
  readonly operand: Operand;
}

/** `$ne`, `$nin`, `$exists: false` and `$not` are parsed as a `nor` of the opposite test. */
export type Test =
  | { readonly op: 'eq' | Comparator; readonly operand: Operand }
  | { readonly op: 'in' | 'all'; readonly operands: OperandList }
  | { readonly op: 'exists' }
  | { readonly op: 'size'; readonly length: number }
  | { readonly op: 'some'; readonly condition: Condition }
  | { readonly op: 'contains' | 'startsWith'; readonly text: string };

export type Comparator = 'gt' | 'gte' | 'lt' | 'lte';

export const columns = ['id', 'created_by', 'created_by_id', 'created_date', 'updated_date', 'is_sample'] as const;

export type Column = (typeof columns)[number];

/**
 * An automatic column, or the property names on the path to a value in the data. Inside `$elemMatch`, the path starts
 * at the element.
 */
export type Path = { readonly column: Column } | { readonly column?: never; readonly names: readonly string[] };

/** A principal attribute, either built-in or `data.<name>`. */
export type Attribute =
  | { readonly builtIn: 'id' | 'email' | 'full_name' | 'role' }
  | { readonly builtIn?: never; readonly name: string };

/** A list of operands. Scalars are kept in a set, so a lookup does not compare the value with each of them. */
export interface OperandList {
  readonly scalars: ReadonlySet<unknown>;
  /** Templates and, in queries, arrays and objects. */
  readonly others: readonly Operand[];
}

/**
 * The value that a test compares with: a constant, an attribute, or text that contains attributes (`"x-{{user.id}}"`).
 */
export type Operand =
  | { readonly kind: 'value'; readonly value: unknown }
  | { readonly kind: 'attribute'; readonly attribute: Attribute }
  | { readonly kind: 'text'; readonly pieces: readonly (string | Attribute)[] };
