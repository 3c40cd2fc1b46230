// Owns the matching of patterns that a caller wrote: on an engine whose time is linear in the text, never on the built-in
// one, and with a bound on the work that one request may cause.
import { RE2JS } from 're2js';
import { isStorableText } from '../../../kit/text.ts';

export interface Pattern {
  readonly source: string;
  /** How much one character of text costs at most. */
  readonly cost: number;
  matches(text: string): boolean;
}

const maxLength = 200;
const maxCost = 1_000;

/** Undefined when it is none that this engine takes, or one too large to run. */
export function compilePattern(source: string): Pattern | undefined {
  // Compiling takes as long as the program is large, so what would be too large is not compiled.
  if (source.length > maxLength || !isStorableText(source) || countAtoms(source) > maxCost) return undefined;
  try {
    const compiled = RE2JS.compile(source);
    const cost = compiled.programSize();
    if (cost > maxCost) return undefined;
    return { source, cost, matches: (text) => compiled.matcher(text).find() };
  } catch {
    return undefined;
  }
}

/** What compiling it may cost, in the steps of matching. */
export const estimateCompileSteps = (source: string): number =>
  source.length > maxLength ? 0 : 500 * (source.length + Math.min(countAtoms(source), maxCost));

const tokens = /\\Q.*?(?:\\E|$)|\\.|\[\^?\]?(?:\[:\^?\w+:\]|\\.|[^\]\\])*\]|\{(\d+)(?:,(\d*))?\}|./gsu;

/** How many atoms the program will have, each repeated as often as it and what is around it say. */
function countAtoms(source: string): number {
  const groups = [0]; // the atoms of each open group, the innermost last
  let last = 0;
  const add = (atoms: number) => groups.push((groups.pop() ?? 0) + atoms);
  for (const [token, least, most] of source.matchAll(tokens)) {
    if (token === '(') groups.push(0);
    else if (token === ')') {
      last = groups.pop() ?? 0;
      add(last);
    } else if (least !== undefined) {
      const times = Math.max(Number(least), Number(most || 0), 1);
      add(last * (times - 1));
      last *= times;
    } else {
      last = token.startsWith('\\Q') ? token.length : 1;
      add(last);
    }
  }
  return groups.reduce((sum, atoms) => sum + atoms, 0);
}
