// Checks filters: names are checked first, and then many filters are compiled as one program.
import type { FilterToCheck } from './program.ts';
import { scanFilter } from './scan.ts';

/** Errors by filter index, or 'too_complex' if compiling took too much time or memory. Empty if all filters compile. */
export type CompileResult = ReadonlyMap<number, string> | 'too_complex';
type Compile = (filters: readonly FilterToCheck[]) => Promise<CompileResult>;

/** Returns, for each filter, the reason why it can't be used, or undefined if it can. */
export async function checkFilters(
  filters: readonly FilterToCheck[],
  compile: Compile,
): Promise<(string | undefined)[]> {
  const problems = filters.map(({ filter }) => findNameProblem(filter));
  const places = filters.keys().filter((place) => problems[place] === undefined);
  for (const chunk of splitIntoChunks([...places], filters)) {
    const found = await findProblems(
      chunk.map((place) => at(filters, place)),
      compile,
    );
    for (const [index, problem] of found) problems[at(chunk, index)] = problem;
  }
  return problems;
}

const at = <Item>(items: readonly Item[], place: number): Item => {
  const item = items[place];
  if (item === undefined) throw new RangeError(`no item ${place}`);
  return item;
};

/**
 * Finds forbidden names, and unbalanced brackets or strings, which would let a filter escape its enclosing brackets.
 */
function findNameProblem(filter: string): string | undefined {
  if (filter.includes('\0')) return 'must not contain a NUL character';
  if (Buffer.byteLength(filter) > maxFilterBytes) return `must be at most ${maxFilterBytes} bytes long`;
  const { forbidden, isBalanced } = scanFilter(filter);
  if (forbidden.length > 0) return `must not use ${forbidden.join(', ')}`;
  if (!isBalanced) return 'must be valid jq: unbalanced brackets or `end`, or an unterminated string';
  return undefined;
}

const maxFilterBytes = 16 * 1024;
const maxChunkBytes = 32 * 1024;
const maxChunkFilters = 50;

function* splitIntoChunks(places: readonly number[], filters: readonly FilterToCheck[]): Generator<number[]> {
  let [chunk, bytes]: [number[], number] = [[], 0];
  for (const place of places) {
    const { length } = at(filters, place).filter;
    if (chunk.length > 0 && (chunk.length >= maxChunkFilters || bytes + length > maxChunkBytes)) {
      yield chunk;
      [chunk, bytes] = [[], 0];
    }
    chunk.push(place);
    bytes += length;
  }
  if (chunk.length > 0) yield chunk;
}

const maxRounds = 20;
const tooComplex = 'is too complex to compile within the time and memory limits';

/**
 * jq reports all unknown names together, but only the first syntax error, so filters with an error are removed and the
 * others are compiled again. A program that takes too long is split to find the filter responsible.
 */
async function findProblems(filters: readonly FilterToCheck[], compile: Compile): Promise<Map<number, string>> {
  const problems = new Map<number, string>();
  let parts = [[...filters.keys()]];
  for (let round = 0; parts.length > 0 && round < maxRounds; round += 1) {
    const [part = [], ...others] = parts;
    const result = await compile(part.map((place) => at(filters, place)));
    const [first, middle] = [part[0], Math.ceil(part.length / 2)];
    if (result === 'too_complex' && part.length > 1) parts = [part.slice(0, middle), part.slice(middle), ...others];
    else if (result === 'too_complex' && first !== undefined) {
      problems.set(first, tooComplex);
      parts = others;
    } else if (result !== 'too_complex') {
      for (const [index, error] of result) problems.set(at(part, index), error);
      const rest = part.filter((place) => !problems.has(place));
      parts = result.size > 0 && rest.length > 0 ? [rest, ...others] : others;
    }
  }
  for (const place of parts.flat()) if (!problems.has(place)) problems.set(place, notChecked);
  return problems;
}

const notChecked = 'is still unchecked, because too many other expressions contain errors';
