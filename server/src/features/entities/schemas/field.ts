// Owns the parsed form of a schema: what a document (docs/contract.md §5.1) says, made ready to check values by.
import type { Rule } from '../rules/rule.ts';
import type { FormatName } from './formats.ts';
import type { Pattern } from './pattern.ts';

export type FieldType = 'string' | 'number' | 'integer' | 'boolean' | 'array' | 'object';

/** The fields of an object, and which of them it must have. */
export interface Fields {
  readonly fields: ReadonlyMap<string, Field>;
  readonly required: ReadonlySet<string>;
}

export interface Field {
  readonly types: readonly FieldType[];
  /** Null is one of its values. */
  readonly nullable: boolean;
  readonly enum?: readonly unknown[];
  readonly default?: unknown;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly pattern?: Pattern;
  readonly format?: FormatName;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly items?: Field;
  /** Undefined: any fields. */
  readonly properties?: Fields;
  readonly rules: FieldRules;
}

/** Undefined: no rule here, the closest field around decides; at the top, everybody whom the row's rule lets in may. */
export interface FieldRules {
  readonly read?: Rule;
  readonly create?: Rule;
  readonly update?: Rule;
}

export type RowOperation = 'create' | 'read' | 'update' | 'delete';

export interface EntitySchema extends Fields {
  readonly name: string;
  readonly unique: readonly (readonly string[])[];
  readonly rules: Readonly<Record<RowOperation, Rule>>;
  /** Must hold on the record as an update would leave it. */
  readonly updateCheck: Rule | undefined;
}

/** Names that every record has by itself. */
export const automaticNames = ['id', 'created_date', 'updated_date', 'created_by', 'created_by_id', 'is_sample'] as const;
