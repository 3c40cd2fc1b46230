// Owns the choices of a field (`enum`). A value is looked up among them, not compared with each: a request may have 150,000
// values, and a field 200 choices.
import canonicalize from 'canonicalize';
import { isScalarValue } from '../rules/values.ts';

export interface Choices {
  readonly scalars: ReadonlySet<unknown>;
  /** Arrays and objects, as canonical JSON. */
  readonly others: ReadonlySet<string>;
  /** For messages. */
  readonly description: string;
}

export function createChoices(values: readonly unknown[]): Choices {
  const scalars = new Set(values.filter(isScalarValue));
  const others = new Set(values.filter((value) => !isScalarValue(value)).map(toText));
  const description = describe([...[...scalars].map(toText), ...others]);
  return { scalars, others, description };
}

const maxDescriptionLength = 500;

/** `"low", "high"`. Many or long choices are cut: `"a", "b" and 198 more`. */
function describe(choices: readonly string[]): string {
  const shown: string[] = [];
  let length = 0;
  for (const choice of choices) {
    length += choice.length + 2;
    if (length > maxDescriptionLength) break;
    shown.push(choice);
  }
  const left = choices.length - shown.length;
  if (shown.length === 0) return `${left} values`;
  return left === 0 ? shown.join(', ') : `${shown.join(', ')} and ${left} more`;
}

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
