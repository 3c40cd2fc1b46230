// Owns the jq programs that are run: many filters in one program, with their variables, and with what is forbidden replaced by
// errors. Scanning refuses forbidden names first; the replacement holds even if the scan has missed one.
import { forbiddenFunctions, forbiddenVariable } from './scan.ts';

export interface FilterToCheck {
  readonly filter: string;
  /** The names of the variables that it may use, without `$`. */
  readonly variables: readonly string[];
}

const keywords = new Set(['import', 'include']);
const shadows = [...forbiddenFunctions]
  .filter((name) => !keywords.has(name))
  .flatMap((name) => [name, `${name}($unused)`].map((head) => `def ${head}: error("${name} is not available");`))
  .join(' ');
const prelude = ` ${shadows} null as $${forbiddenVariable} | `;

// The filter may end in a comment, which a backslash continues on the next line.
const enclose = (filter: string): string => `(\n${filter}\n\n)`;

/**
 * A program whose input is `[input, {name: value, …}]`, and whose output has, for each filter, either `[value]`, its first
 * output, or `[null, message]`.
 */
export function writeEvaluation(filters: readonly string[], variables: readonly string[]): string {
  const bindings = variables.map((name) => `$${name}`).join(',');
  const evaluations = filters.map((filter) => `(try [first(${enclose(filter)}, null)] catch [null, .])`);
  return `${prelude}. as [$__input, {${bindings || '$__none'}}] | $__input | [${evaluations.join(',')}]`;
}

export interface Compilation {
  readonly program: string;
  /** For each filter, its first line and its last line in the program; lines count from 1. */
  readonly lines: readonly (readonly [first: number, last: number])[];
}

/** A program that compiles if the filters do, and does nothing. */
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

/** The first error of each filter, by its place in `lines`. The names in jq's messages are the caller's, so none is shown. */
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

const endsEarly = 'must be valid jq: it is empty, or ends where more is expected';

function describeError(message: string, where: string): string {
  if (/^\$\*label-/.test(message)) return `must be valid jq: break has no label at ${where}`;
  if (/^\$.* is not defined$/.test(message)) return `must not use a variable that does not exist here, at ${where}`;
  if (/ is not defined$/.test(message))
    return `must not use a function that does not exist with this number of arguments, at ${where}`;
  if (message.includes('memory exhausted')) return 'must not be nested so deeply';
  return `must be valid jq: there is a mistake at ${where}`;
}
