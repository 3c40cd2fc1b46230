// The jq programs that are run. A program combines many filters with their variables. Scanning has already
// rejected forbidden functions, but in case it misses one, the program also replaces them with errors.
import { forbiddenFunctions, forbiddenVariable } from './scan.ts';

export interface FilterToCheck {
  readonly filter: string;
  /** The names of the variables that the filter may use, without `$`. */
  readonly variables: readonly string[];
}

const keywords = new Set(['import', 'include']);
const shadows = [...forbiddenFunctions]
  .filter((name) => !keywords.has(name))
  .flatMap((name) => [name, `${name}($unused)`].map((head) => `def ${head}: error("${name} is not available");`))
  .join(' ');
const prelude = ` ${shadows} null as $${forbiddenVariable} | `;

// The filter may end with a comment, and a trailing backslash would continue the comment on the next line.
const enclose = (filter: string): string => `(\n${filter}\n\n)`;

/**
 * Returns a program whose input is `[input, {name: value, …}]`. Its output is a list with an element for each filter:
 * either `[value]` with the filter's first output, or `[null, message]`.
 */
export function writeEvaluation(filters: readonly string[], variables: readonly string[]): string {
  const bindings = variables.map((name) => `$${name}`).join(',');
  const evaluations = filters.map((filter) => `(try [first(${enclose(filter)}, null)] catch [null, .])`);
  return `${prelude}. as [$__input, {${bindings || '$__none'}}] | $__input | [${evaluations.join(',')}]`;
}

export interface Compilation {
  readonly program: string;
  /** Each filter's first and last line in the program. Lines start at 1. */
  readonly lines: readonly (readonly [first: number, last: number])[];
}

/** Returns a program that does nothing, but that compiles only if all filters compile. */
export function writeCompilation(filters: readonly FilterToCheck[]): Compilation {
  const lines: [number, number][] = [];
  let program = `${prelude}empty`;
  let line = 1;
  for (const { filter, variables } of filters) {
    const bindings = variables.map((name) => `null as $${name} | `).join('');
    const count = filter.split('\n').length;
    lines.push([line + 1, line + count]);
    line += count + 2;
    program += ` | (${bindings}${enclose(filter)})`;
  }
  return { program, lines };
}

const messageForm = /^jq: error: (.*) at <top-level>, line (\d+), column (\d+):$/;

/**
 * Returns each filter's first error, by index in `lines`. Names in jq's messages come from the caller, so they are not
 * shown.
 */
export function readCompileErrors(stderr: string, { lines }: Compilation): Map<number, string> {
  const errors = new Map<number, string>();
  for (const text of stderr.split('\n')) {
    const [, message, line, column] = messageForm.exec(text) ?? [];
    if (message === undefined) continue;
    const place = Math.max(
      lines.findLastIndex(([first]) => first <= Number(line)),
      0,
    );
    const [first, last] = lines[place] ?? [1, 1];
    const where = `line ${Number(line) - first + 1}, column ${column}`;
    if (!errors.has(place)) errors.set(place, Number(line) > last ? endsEarly : describeError(message, where));
  }
  return errors;
}

const endsEarly = 'must be valid jq: the expression is empty or incomplete';

function describeError(message: string, where: string): string {
  if (/^\$\*label-/.test(message)) return `must be valid jq: break to an undefined label at ${where}`;
  if (/^\$.* is not defined$/.test(message)) return `must be valid jq: undefined variable at ${where}`;
  if (/ is not defined$/.test(message))
    return `must be valid jq: undefined function or wrong number of arguments at ${where}`;
  if (message.includes('memory exhausted')) return 'is nested too deeply';
  return `must be valid jq: syntax error at ${where}`;
}
