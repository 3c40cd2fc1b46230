// The parsed form of a schema document (docs/api/entities.md#schema-document), which is used to validate values.
import type { FieldRules } from '../rules/field-rules.ts';
import type { Rules } from '../rules/grammar.ts';
import type { SchemaProperties } from '../rules/properties.ts';
import type { Choices } from './choices.ts';
import type { FormatName } from './formats.ts';
import type { Pattern } from './pattern.ts';

export type FieldType = 'string' | 'number' | 'integer' | 'boolean' | 'array' | 'object';

/** An object's fields, and the names of the required fields. */
export interface Fields {
  readonly fields: ReadonlyMap<string, Field>;
  readonly required: ReadonlySet<string>;
}

export interface Field {
  readonly types: readonly FieldType[];
  /** Whether null is an allowed value. */
  readonly nullable: boolean;
  readonly enum?: Choices;
  readonly default?: unknown;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly pattern?: Pattern;
  readonly format?: FormatName;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly items?: Field;
  /** Undefined means that any fields are allowed. */
  readonly properties?: Fields;
}

export interface EntitySchema extends Fields {
  readonly name: string;
  readonly unique: readonly (readonly string[])[];
  readonly rules: Rules;
  /** The document's `rls` member, from which `rules` were parsed. */
  readonly rls: unknown;
  readonly fieldRules: FieldRules;
  /** The total size of the schema's patterns. */
  readonly patternCost: number;
  /** The document's properties, which rules and queries may name. */
  readonly properties: SchemaProperties;
}

/** The fields that every record has, although its schema does not declare them. */
export const automaticFieldNames: readonly string[] = [
  'id',
  'created_date',
  'updated_date',
  'created_by',
  'created_by_id',
  'is_sample',
];

export const anyText: Field = { types: ['string'], nullable: false };
