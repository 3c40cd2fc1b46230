// Owns the choices of a field (`enum`). A value is looked up among them, not compared with each: a request may have 150,000
// values, and a field 200 choices.
import canonicalize from 'canonicalize';
import { isScalarValue } from '../rules/values.ts';

export interface Choices {
  readonly scalars: ReadonlySet<unknown>;
  /** Arrays and objects, as canonical JSON. */
  readonly others: ReadonlySet<string>;
}

export const createChoices = (values: readonly unknown[]): Choices => ({
  scalars: new Set(values.filter(isScalarValue)),
  others: new Set(values.filter((value) => !isScalarValue(value)).map(toText)),
});

export const countChoices = ({ scalars, others }: Choices): number => scalars.size + others.size;

export const hasChoice = ({ scalars, others }: Choices, value: unknown): boolean =>
  isScalarValue(value) ? scalars.has(value) : others.size > 0 && others.has(toText(value));

/** A number that is too large has no canonical JSON. No choice has one, and neither has a value that can be stored. */
function toText(value: unknown): string {
  try {
    return canonicalize(value) ?? '';
  } catch {
    return JSON.stringify(value);
  }
}
