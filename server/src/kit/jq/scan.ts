// Splits a jq filter into tokens, as jq's own lexer does, to find the functions and variables that it uses.
// Parsing is left to jq.

/** Functions that access anything other than the data, or whose result differs between runs. */
export const forbiddenFunctions: ReadonlySet<string> = new Set([
  'env',
  'input',
  'inputs',
  'debug',
  'stderr',
  'input_filename',
  'input_line_number',
  'halt',
  'halt_error',
  'import',
  'include',
  'now',
  'localtime',
  'strflocaltime',
  'get_search_list',
  'modulemeta',
]);
export const forbiddenVariable = 'ENV';

export interface VariableUse {
  readonly name: string;
  /** `NAME` in `$secrets.NAME`. */
  readonly field?: string;
}

export interface Scan {
  readonly variables: readonly VariableUse[];
  /** The forbidden functions that the filter uses, and `$ENV` if it is used. */
  readonly forbidden: readonly string[];
  /** Whether every bracket and string that is opened in the filter is also closed. */
  readonly isBalanced: boolean;
}

/**
 * Examples:
 *
 *   .env, {env}, {env: 1}, "env", # env      fields, keys, texts and comments: not forbidden
 *   env, "\(env)", {(env): 1}, {$ENV}        forbidden
 */
export function scanFilter(filter: string): Scan {
  const variables: VariableUse[] = [];
  const forbidden = new Set<string>();
  // The brackets, `if`s, strings and string interpolations that are currently open.
  const open: Opener[] = [];
  let isBalanced = true;
  let previous = '';
  let offset = 0;

  while (offset < filter.length) {
    const isInString = open.at(-1) === '"';
    const token = readToken(filter, offset, isInString);
    offset += token.length;
    if (isInString) {
      followString(token, open);
      continue;
    }
    if (isBlank(token)) continue;
    const isKey = open.at(-1) === '{' && (previous === '{' || previous === ',');
    if (token.startsWith('$')) {
      const name = token.slice(1).trim();
      variables.push(readUse(name, filter, offset));
      if (name === forbiddenVariable) forbidden.add(`$${name}`);
    } else if (!isKey && forbiddenFunctions.has(token)) forbidden.add(token);
    if (!isKey || !isWord(token)) isBalanced = follow(token, open) && isBalanced;
    previous = token;
  }
  return { variables, forbidden: [...forbidden], isBalanced: isBalanced && open.length === 0 };
}

type Opener = '(' | '[' | '{' | 'if' | '"' | '\\(';

const closers: Readonly<Record<string, readonly Opener[]>> = {
  ')': ['(', '\\('],
  ']': ['['],
  '}': ['{'],
  end: ['if'],
};

/**
 * Tracks the bracket, `if` or string that the token opens or closes. Returns false if it closes something that is not
 * open.
 */
function follow(token: string, open: Opener[]): boolean {
  if (token === '(' || token === '[' || token === '{' || token === 'if' || token === '"') open.push(token);
  else if (token === '."') open.push('"');
  const closes = closers[token];
  if (closes === undefined) return true;
  const last = open.at(-1);
  if (last === undefined || !closes.includes(last)) return false;
  open.pop();
  return true;
}

function followString(token: string, open: Opener[]): void {
  if (token === '"') open.pop();
  else if (token === '\\(') open.push(token);
}

const blank = String.raw`[ \t\r\n]+`;
// A backslash at the end of a line continues the comment on the next line.
const comment = String.raw`#(?:[^\\\n]|\\(?:\r\n|[\s\S]))*\\?`;
const word = '[A-Za-z_][A-Za-z0-9_]*';
const code = new RegExp(
  [
    blank,
    comment,
    String.raw`\.?"`,
    String.raw`\.\.`,
    String.raw`\.${word}`,
    String.raw`\$[ \t\r\n]*${word}(?:::${word})*`,
    `(?:${word}::)*${word}`,
    '@[A-Za-z0-9_]+',
    String.raw`(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?`,
    String.raw`[\s\S]`,
  ].join('|'),
  'y',
);
/** Matches tokens within a string. */
const text = /[^"\\]+|\\\(|\\[\s\S]?|"/y;

function readToken(filter: string, offset: number, isInString: boolean): string {
  const form = isInString ? text : code;
  form.lastIndex = offset;
  return form.exec(filter)?.[0] ?? filter.slice(offset);
}

const isBlank = (token: string): boolean => /^[ \t\r\n#]/.test(token);
const isWord = (token: string): boolean => /^[A-Za-z_]/.test(token);

const fieldForm = new RegExp(String.raw`[ \t\r\n]*\.(${word})`, 'y');

function readUse(name: string, filter: string, offset: number): VariableUse {
  fieldForm.lastIndex = offset;
  const field = fieldForm.exec(filter)?.[1];
  return field === undefined ? { name } : { name, field };
}
