// Owns the matching of patterns that a caller wrote: on an engine whose time is linear in the text, never on the built-in
// one, and with a bound on the work that one request may cause.
import { RE2JS } from 're2js';
import { isKeepable } from '../../../kit/text.ts';

export interface Pattern {
  readonly source: string;
  /** How much one character of text costs at most. */
  readonly cost: number;
  matches(text: string): boolean;
}

const maxLength = 200;
const maxCost = 1_000;

/** Undefined when it is none that this engine takes, or one too large to run. */
export function patternOf(source: string): Pattern | undefined {
  if (source.length > maxLength || !isKeepable(source)) return undefined;
  try {
    const compiled = RE2JS.compile(source);
    const cost = compiled.programSize();
    if (cost > maxCost) return undefined;
    return { source, cost, matches: (text) => compiled.matcher(text).find() };
  } catch {
    return undefined;
  }
}
