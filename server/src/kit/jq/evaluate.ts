// Owns what is sent to jq to evaluate filters, and reading its answer.
import type { Outcome } from './pool.ts';
import { writeEvaluation } from './program.ts';
import { scanFilter } from './scan.ts';

export type JqFailure = 'failed' | 'timeout' | 'memory' | 'busy' | 'too_large';

export interface JqError {
  readonly error: string;
  readonly kind: JqFailure;
  /** Which of the filters failed, if one of them did. */
  readonly index?: number;
}

export interface JqData {
  /** The value of `.`. */
  readonly input: unknown;
  /** By name, without `$`. Those that no filter uses are not sent to jq. */
  readonly variables: Readonly<Record<string, unknown>>;
  /** Whose call it is, such as the id of a workspace: owners take turns. */
  readonly owner?: string;
  /** Texts that no error message may contain, such as the values of secrets. */
  readonly secrets?: readonly string[];
}

export const maxBytes = 1024 * 1024;
const maxProgramBytes = 256 * 1024; // jq copies the program to its stack, which has 1 MiB
const maxErrorLength = 200;

/** Returns undefined if it is too large. */
export function writeCall(
  filters: readonly string[],
  { input, variables }: JqData,
): { readonly program: string; readonly input: string } | undefined {
  const used = listUsedVariables(filters, variables);
  const json = serialize([input ?? null, used]);
  const program = writeEvaluation(filters, Object.keys(used));
  return json === undefined || Buffer.byteLength(program) > maxProgramBytes ? undefined : { program, input: json };
}

function listUsedVariables(
  filters: readonly string[],
  variables: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const names = new Set(filters.flatMap((filter) => scanFilter(filter).variables.map(({ name }) => name)));
  return Object.fromEntries(Object.entries(variables).filter(([name]) => names.has(name)));
}

// JSON.stringify escapes surrogates that are not part of a pair, and no others. jq does not accept them.
const escapes = /\\(?:ud[89a-f][0-9a-f]{2}|.)/g;
const unpairedLength = String.raw`\ud800`.length;

/** Returns undefined if the value is too large, or nested too deeply. */
function serialize(value: unknown): string | undefined {
  try {
    const json = JSON.stringify(value);
    if (json.length > maxBytes || Buffer.byteLength(json) > maxBytes) return undefined;
    if (!json.includes('\\ud')) return json;
    return json.replace(escapes, (found) => (found.length === unpairedLength ? '\\ufffd' : found));
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

export const tooLarge: JqError = {
  kind: 'too_large',
  error: 'The data of the expression, or its result, is larger than 1 MiB.',
};
const timeout: JqError = { kind: 'timeout', error: 'The expression took more than 250 ms.' };
const busy: JqError = { kind: 'busy', error: 'Too many expressions wait to be evaluated.' };
const outOfMemory: JqError = {
  kind: 'memory',
  error: 'The expression needs more than 64 MiB, or is nested too deeply.',
};

export function readOutcome(outcome: Outcome, secrets: readonly string[]): { readonly values: unknown[] } | JqError {
  if ('failure' in outcome) return outcome.failure === 'timeout' ? timeout : busy;
  if ('isTooLarge' in outcome) return tooLarge;
  if ('trap' in outcome) return outOfMemory;
  const { stdout, stderr, exitCode } = outcome;
  if (exitCode !== 0) return { kind: 'failed', error: shorten(stderr, secrets) };
  const results = parseResults(stdout);
  if (results === undefined) return outOfMemory;
  const index = results.findIndex((result) => result.length > 1);
  if (index >= 0) return { kind: 'failed', error: shorten(toText(results[index]?.[1]), secrets), index };
  // A `break` that a filter made up itself leaves the result empty.
  return { values: results.map(([value]) => value ?? null) };
}

/** Undefined if jq has left out values that are nested too deeply. */
function parseResults(stdout: string): [value?: unknown, message?: unknown][] | undefined {
  try {
    return JSON.parse(stdout);
  } catch {
    return undefined;
  }
}

const toText = (message: unknown): string => (typeof message === 'string' ? message : JSON.stringify(message));

const minSecretLength = 4;

/**
 * The beginning of a message, without secrets. jq cuts values in its messages, so the beginning of a secret counts as the
 * secret. A message may have 1 MiB and is chosen by the definition: only what can be shown is searched.
 */
function shorten(message: string, secrets: readonly string[]): string {
  const isCut = message.length > maxErrorLength;
  // Long enough to recognise a secret that begins with the last character that is shown.
  const text = message.slice(0, maxErrorLength + minSecretLength);
  const isHidden = findBeginnings(text, secrets);
  let shown = '';
  for (let index = 0; index < (isCut ? maxErrorLength - 1 : text.length); index += 1) {
    if (!isHidden[index]) shown += text[index];
    else if (index === 0 || !isHidden[index - 1]) shown += '***';
  }
  return isCut ? `${shown.toWellFormed()}…` : shown;
}

/** For each character, whether it is part of the beginning of a secret. */
function findBeginnings(text: string, secrets: readonly string[]): readonly boolean[] {
  const isFound = new Array<boolean>(text.length).fill(false);
  for (const secret of secrets) {
    if (secret.length < minSecretLength) continue;
    const lengths = measureBeginnings(secret.slice(0, text.length), text);
    for (const [index, length] of lengths.entries())
      if (length >= minSecretLength) isFound.fill(true, index + 1 - length, index + 1);
  }
  return isFound;
}

/**
 * For each character of the text, the length of the longest beginning of `pattern` that ends there, by the algorithm of Knuth,
 * Morris and Pratt. Example: of `aab` in `aaab`, 1 2 2 3.
 */
function measureBeginnings(pattern: string, text: string): number[] {
  // The same for the pattern in itself, from its second character on: where to go on if the next character differs.
  const shorter = [0];
  const follow = (length: number, character: string | undefined): number => {
    let kept = length;
    while (kept > 0 && (kept === pattern.length || pattern[kept] !== character)) kept = shorter[kept - 1] ?? 0;
    return pattern[kept] === character ? kept + 1 : kept;
  };
  for (let index = 1; index < pattern.length; index += 1) shorter.push(follow(shorter[index - 1] ?? 0, pattern[index]));
  const lengths: number[] = [];
  for (let index = 0; index < text.length; index += 1) lengths.push(follow(lengths[index - 1] ?? 0, text[index]));
  return lengths;
}
