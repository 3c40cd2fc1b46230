// Owns the parsed form of a schema document (docs/api/entities.md#schema-document), by which values are validated.
import type { FieldRules } from '../rules/field-rules.ts';
import type { Rules } from '../rules/grammar.ts';
import type { SchemaProperties } from '../rules/properties.ts';
import type { Choices } from './choices.ts';
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
  /** Null is an allowed value. */
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
  /** Undefined: any fields are allowed. */
  readonly properties?: Fields;
}

export interface EntitySchema extends Fields {
  readonly name: string;
  readonly unique: readonly (readonly string[])[];
  readonly rules: Rules;
  /** The member `rls` of the document, from which `rules` were parsed. */
  readonly rls: unknown;
  readonly fieldRules: FieldRules;
  /** The size of all its patterns together. */
  readonly patternCost: number;
  /** The properties of the document, which rules and queries may name. */
  readonly properties: SchemaProperties;
}

/** The fields that every record has without declaring them. */
export const automaticFieldNames: readonly string[] = [
  'id',
  'created_date',
  'updated_date',
  'created_by',
  'created_by_id',
  'is_sample',
];

export const anyText: Field = { types: ['string'], nullable: false };
