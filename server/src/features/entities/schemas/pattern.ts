// Regular expressions written by callers. They run on RE2, whose running time is linear in the length of the text,
// and never on JavaScript's own engine. Their size is limited.
import { RE2JS } from 're2js';
import { isStorableText } from '../../../kit/text.ts';

export interface Pattern {
  readonly source: string;
  /** The maximum number of steps per character of text. */
  readonly cost: number;
  matches(text: string): boolean;
}

export const maxPatternLength = 200;
const maxCost = 1_000;

/** Returns undefined if RE2 does not accept the pattern, or if it is too large. */
export function compilePattern(source: string): Pattern | undefined {
  // Compile time grows with the size of the program, so the size is estimated before compiling.
  if (source.length > maxPatternLength || !isStorableText(source) || countAtoms(source) > maxCost) return undefined;
  try {
    const compiled = RE2JS.compile(source);
    const cost = compiled.programSize();
    if (cost > maxCost) return undefined;
    return { source, cost, matches: (text) => compiled.matcher(text).find() };
  } catch {
    return undefined;
  }
}

/** The cost of compiling a pattern, in matching steps. */
export const estimateCompileSteps = (source: string): number =>
  source.length > maxPatternLength ? 0 : 500 * (source.length + Math.min(countAtoms(source), maxCost));

const tokens = /\\Q.*?(?:\\E|$)|\\.|\[\^?\]?(?:\[:\^?\w+:\]|\\.|[^\]\\])*\]|\{(\d+)(?:,(\d*))?\}|./gsu;

/** The number of atoms in the compiled program, with repetitions expanded. For example, `(ab){3}` has 6. */
function countAtoms(source: string): number {
  const groups = [0]; // the atoms of each open group, innermost last
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
