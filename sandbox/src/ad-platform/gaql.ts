// Parses a subset of the platform's query language (GAQL): SELECT, FROM, WHERE with AND, ORDER BY and LIMIT. Other
// queries are rejected with the platform's error for invalid queries.
import { refuse } from './errors.ts';

export interface Query {
  readonly select: readonly string[];
  readonly from: string;
  readonly where: readonly Condition[];
  readonly orderBy: readonly { readonly field: string; readonly isDescending: boolean }[];
  readonly limit: number | undefined;
}

export interface Condition {
  readonly field: string;
  readonly operator: string;
  readonly values: readonly string[];
}

const clauses =
  /^\s*SELECT\s+(?<select>[\s\S]+?)\s+FROM\s+(?<from>\w+)(?:\s+WHERE\s+(?<where>[\s\S]+?))?(?:\s+ORDER\s+BY\s+(?<order>[\w.,\s]+?))?(?:\s+LIMIT\s+(?<limit>\d+))?\s*$/i;

export function parseQuery(text: string): Query {
  const groups = clauses.exec(text)?.groups;
  if (groups === undefined) throw refuse('queryError.UNEXPECTED_INPUT', 'Error in query: unexpected input.');
  const limit = groups.limit === undefined ? undefined : Number(groups.limit);
  if (limit === 0) throw refuse('queryError.BAD_LIMIT_VALUE', 'The limit must be positive.');
  return {
    select: splitList(groups.select ?? '').map(toField),
    from: (groups.from ?? '').toLowerCase(),
    where: groups.where === undefined ? [] : parseConditions(groups.where),
    orderBy: splitList(groups.order ?? '').map((part) => {
      const [field = '', direction = 'ASC'] = part.split(/\s+/);
      return { field: toField(field), isDescending: direction.toUpperCase() === 'DESC' };
    }),
    limit,
  };
}

const splitList = (text: string): string[] =>
  text
    .split(',')
    .map((part) => part.trim())
    .filter(Boolean);

function toField(text: string): string {
  if (!/^[a-z_]+(?:\.[a-z0-9_]+)+$/.test(text)) throw refuse('queryError.BAD_FIELD_NAME', 'Invalid field name.');
  return text;
}

const value = String.raw`(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|[\w.-]+)`;
const condition = new RegExp(
  String.raw`\s*([\w.]+)\s*(?:(=|!=|<=|>=|<|>|\bLIKE\b|\bDURING\b)\s*(${value})|\b(BETWEEN)\s+(${value})\s+AND\s+(${value})|\b((?:NOT\s+)?IN)\s*\(([^)]*)\))\s*(?:AND\b|$)`,
  'iy',
);

function parseConditions(text: string): Condition[] {
  const found: Condition[] = [];
  condition.lastIndex = 0;
  while (condition.lastIndex < text.length) {
    const match = condition.exec(text);
    if (match === null) throw refuse('queryError.BAD_OPERATOR', 'Error in the WHERE clause.');
    const [, field = '', operator, operand, between, low, high, membership, members] = match;
    const operands = between ? [low, high] : membership ? (members ?? '').match(new RegExp(value, 'g')) : [operand];
    found.push({
      field: toField(field),
      operator: (operator ?? between ?? membership ?? '').toUpperCase().replace(/\s+/g, ' '),
      values: (operands ?? []).map((each) => unquote(each ?? '')),
    });
  }
  return found;
}

const unquote = (text: string): string => (/^['"]/.test(text) ? text.slice(1, -1).replaceAll(/\\(.)/g, '$1') : text);

/** Compares numbers numerically, even if they are strings in JSON. */
export function matches({ operator, values }: Condition, actual: unknown): boolean {
  const [first = '', second = ''] = values;
  if (operator === 'IN') return values.some((each) => compare(actual, each) === 0);
  if (operator === 'NOT IN') return values.every((each) => compare(actual, each) !== 0);
  if (operator === 'BETWEEN') return compare(actual, first) >= 0 && compare(actual, second) <= 0;
  if (operator === 'LIKE') return toPattern(first).test(String(actual ?? ''));
  const order = compare(actual, first);
  const results: Record<string, boolean> = {
    '=': order === 0,
    '!=': order !== 0,
    '<': order < 0,
    '<=': order <= 0,
    '>': order > 0,
    '>=': order >= 0,
  };
  return results[operator] ?? false;
}

export function compare(a: unknown, b: unknown): number {
  const [left, right] = [String(a ?? ''), String(b ?? '')];
  const number = /^-?\d+(?:\.\d+)?$/;
  if (number.test(left) && number.test(right)) return Number(left) - Number(right);
  return left < right ? -1 : left > right ? 1 : 0;
}

const toPattern = (text: string): RegExp =>
  new RegExp(
    `^${text
      .replaceAll(/[.*+?^${}()|\\]/g, '\\$&')
      .replaceAll('%', '[\\s\\S]*')
      .replaceAll('_', '.')}$`,
    'i',
  );
