// Builds jq calls that evaluate filters, and reads their results.
import type { Outcome } from './pool.ts';
import { writeEvaluation } from './program.ts';
import { scanFilter } from './scan.ts';

export type JqFailure = 'failed' | 'timeout' | 'memory' | 'busy' | 'too_large';

export interface JqError {
  readonly error: string;
  readonly kind: JqFailure;
  /** The index of the filter that failed, if known. */
  readonly index?: number;
}

export interface JqData {
  /** The value of `.`. */
  readonly input: unknown;
  /** Values by name, without `$`. Variables that no filter uses are not sent to jq. */
  readonly variables: Readonly<Record<string, unknown>>;
  /** The call's owner, such as a workspace id. Owners take turns. */
  readonly owner?: string;
  /** Texts that must not appear in error messages, such as secret values. */
  readonly secrets?: readonly string[];
}

export const maxBytes = 1024 * 1024;
const maxProgramBytes = 256 * 1024; // jq copies the program to its 1 MiB stack
const maxErrorLength = 200;

/** Returns undefined if the call is too large. */
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

// JSON.stringify escapes only unpaired surrogates. jq does not accept these escapes.
const escapes = /\\(?:ud[89a-f][0-9a-f]{2}|.)/g;
const unpairedLength = String.raw`\ud800`.length;

/** Returns undefined if the value is too large or nested too deeply. */
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
  error: "The expression's data (its input and variables) or its result is larger than 1 MiB.",
};
const timeout: JqError = { kind: 'timeout', error: 'The expression took more than 250 ms.' };
const busy: JqError = { kind: 'busy', error: 'Too many expressions are waiting to be evaluated.' };
const outOfMemory: JqError = {
  kind: 'memory',
  error: 'The expression needs more than 64 MiB of memory, or is nested too deeply.',
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
  // If a filter simulates a `break`, its result is empty.
  return { values: results.map(([value]) => value ?? null) };
}

/** Returns undefined if jq omitted values that are nested too deeply. */
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
 * Returns the beginning of a message, without secrets. jq truncates values in its messages, so even the beginning of a
 * secret is hidden. The filter's author controls the message, which may be 1 MiB long, so only the part that may be
 * shown is searched.
 */
function shorten(message: string, secrets: readonly string[]): string {
  const isCut = message.length > maxErrorLength;
  // Long enough to recognise a secret that starts at the last shown character.
  const text = message.slice(0, maxErrorLength + minSecretLength);
  const isHidden = findBeginnings(text, secrets);
  let shown = '';
  for (let index = 0; index < (isCut ? maxErrorLength - 1 : text.length); index += 1) {
    if (!isHidden[index]) shown += text[index];
    else if (index === 0 || !isHidden[index - 1]) shown += '***';
  }
  return isCut ? `${shown.toWellFormed()}…` : shown;
}

/** Returns, for each character, whether it belongs to the beginning of a secret. */
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
 * Returns, for each character in the text, the length of the longest prefix of `pattern` that ends there, using the
 * Knuth-Morris-Pratt algorithm. Example: for `aab` in `aaab`, the result is 1, 2, 2, 3.
 */
function measureBeginnings(pattern: string, text: string): number[] {
  // The same lengths for the pattern itself, from its second character on. They determine where to continue after a
  // mismatch.
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
