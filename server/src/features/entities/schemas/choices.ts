// A field's choices (`enum`). A value is looked up in a set instead of being compared with each choice, because a
// request may have 150,000 values and a field 200 choices.
import canonicalize from 'canonicalize';
import { isScalarValue } from '../rules/values.ts';

export interface Choices {
  readonly scalars: ReadonlySet<unknown>;
  /** Arrays and objects as canonical JSON. */
  readonly others: ReadonlySet<string>;
  /** The list of choices, for use in messages. */
  readonly description: string;
}

export function createChoices(values: readonly unknown[]): Choices {
  const scalars = new Set(values.filter(isScalarValue));
  const others = new Set(values.filter((value) => !isScalarValue(value)).map(toText));
  const description = describe([...[...scalars].map(toText), ...others]);
  return { scalars, others, description };
}

const maxDescriptionLength = 500;

/** Lists the choices, such as `"low", "high"`. A long list is truncated, as in `"a", "b" and 198 more`. */
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

/** Numbers that are too large have no canonical JSON, but they never occur in choices or storable values. */
function toText(value: unknown): string {
  try {
    return canonicalize(value) ?? '';
  } catch {
    return JSON.stringify(value);
  }
}
