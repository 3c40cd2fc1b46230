// Owns the parsed form of rules and queries, and the form of the records they are evaluated on.

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

/** Null is unknown. Only true allows. */
export type Verdict = boolean | null;

/** A rule that has the same verdict on every record. `everyone` includes anonymous callers. */
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

/** `$ne`, `$nin`, `$exists: false` and `$not` are parsed to a `nor` of the opposite test. */
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

/** An automatic column, or property names that lead into the data (inside `$elemMatch`: into the element). */
export type Path = { readonly column: Column } | { readonly column?: never; readonly names: readonly string[] };

/** An attribute of the principal: a built-in one, or `data.<name>`. */
export type Attribute =
  | { readonly builtIn: 'id' | 'email' | 'full_name' | 'role' }
  | { readonly builtIn?: never; readonly name: string };

/** The operands of a list. Scalars are a set, in which a value is found without comparing it with each of them. */
export interface OperandList {
  readonly scalars: ReadonlySet<unknown>;
  /** Templates and, in queries, arrays and objects. */
  readonly others: readonly Operand[];
}

/** What a test compares with: a value, an attribute, or text with attributes in it (`"x-{{user.id}}"`). */
export type Operand =
  | { readonly kind: 'value'; readonly value: unknown }
  | { readonly kind: 'attribute'; readonly attribute: Attribute }
  | { readonly kind: 'text'; readonly pieces: readonly (string | Attribute)[] };
