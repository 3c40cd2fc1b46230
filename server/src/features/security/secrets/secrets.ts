// Searches an app's files for secrets (docs/internals/security-scans.md#secrets). Runs in the code-reading
// process, in time linear in the file's size. A finding contains only the secret's keyed hash and its first characters,
// never the secret itself.
import { createHmac } from 'node:crypto';
import { type Finding, type ScanFile, severities } from '../finding.ts';
import { findAssignments } from './assignments.ts';
import { findFormats } from './formats.ts';
import type { SecretItem } from './item.ts';
import { findJwts } from './jwt.ts';
import { type SecretKind, type SecretKindName, type SecretMatch, secretKinds } from './kinds.ts';
import { findPrivateKeys } from './private-keys.ts';
import { findKnownSecrets } from './secretlint.ts';
import { findUrlCredentials } from './url-credentials.ts';

/** Long files are split into pieces to limit each pattern's work. The overlap exceeds the longest secret. */
const pieceLength = 128 * 1024;
const overlap = 16 * 1024;
const maxFindings = 200;

export interface FileSecrets {
  readonly findings: readonly Finding<SecretItem>[];
  /** False if the file contains more secrets than the limit allows. The most severe are kept. */
  readonly isComplete: boolean;
}

/** `key` belongs to the app, so the same secret has different identities in two apps. */
export async function scanSecrets(file: ScanFile, key: Uint8Array, now: Date = new Date()): Promise<FileSecrets> {
  const { path, content } = file;
  const matches: RankedMatch[] = [];
  for (const { start, piece } of listPieces(content))
    for (const match of await findSecrets(piece, path, now))
      matches.push({ ...match, start: match.start + start, end: match.end + start });
  const toLine = countLines(content);
  const unique = withoutRepeats(matches, toLine);
  const kept = unique.length <= maxFindings ? unique : unique.toSorted(bySeverity).slice(0, maxFindings);
  return {
    findings: kept.map((match) => toFinding(match, path, toLine(match.start), key)),
    isComplete: kept.length === unique.length,
  };
}

/**
 * The positions of secrets in a file, including made-up ones, for masking its text. The secretlint rules are skipped,
 * because they are slow.
 */
export function findMarkedSecrets(text: string, path: string): Pick<SecretMatch, 'start' | 'end'>[] {
  const marked = listPieces(text).flatMap(({ start: from, piece }) =>
    [
      findUrlCredentials(piece),
      findFormats(piece, path),
      findPrivateKeys(piece),
      findJwts(piece, new Date(0)), // includes expired tokens
      findAssignments(piece, path),
    ].flatMap((matches) => matches.map(({ start, end }) => ({ start: start + from, end: end + from }))),
  );
  return marked.toSorted((a, b) => a.start - b.start);
}

function listPieces(content: string): { readonly start: number; readonly piece: string }[] {
  const pieces: { start: number; piece: string }[] = [];
  for (let start = 0; start === 0 || start < content.length - overlap; start += pieceLength - overlap)
    pieces.push({ start, piece: content.slice(start, start + pieceLength) });
  return pieces;
}

const bySeverity = (a: SecretMatch, b: SecretMatch): number =>
  severities.indexOf(secretKinds[a.kind].severity) - severities.indexOf(secretKinds[b.kind].severity);

/** Lock files are long and full of hashes. The only secrets they can contain are in registry URLs. */
const lockfile =
  /(?:^|\/)(?:package-lock\.json|npm-shrinkwrap\.json|yarn\.lock|pnpm-lock\.yaml|bun\.lockb?|deno\.lock)$/;
/** Files that are loaded only by tests. */
const testFile =
  /(?:^|\/)(?:tests?|__tests__|__mocks__|e2e|cypress|spec|testing|test-utils?)\/|\.(?:test|spec|stories)\.[a-z]+$/i;
/** Test data that the app may load as well. */
const testData = /(?:^|\/)(?:__fixtures__|fixtures?|mocks?|test-data|testdata)\/|\.(?:mock|fixture)\.[a-z]+$/i;
const sampleFile =
  /(?:^|\/)\.?env[\w.-]*\.(?:example|sample|template|dist|defaults?)$|\.(?:example|sample|template)(?:\.\w+)?$/i;
/** Kinds of secrets that tests make up. Keys in a live key's format are reported even in tests. */
const inventedInTests = new Set<SecretKindName>(['generic', 'url_credentials', 'jwt', 'stripe_test', 'private_key']);

/** If two matches overlap, the one with the lower rank is kept. */
type RankedMatch = SecretMatch & { readonly rank: number };

async function findSecrets(text: string, path: string, now: Date): Promise<RankedMatch[]> {
  const isLockfile = lockfile.test(path);
  const byCertainty = [
    findUrlCredentials(text),
    findFormats(text, path),
    isLockfile ? [] : findPrivateKeys(text),
    isLockfile ? [] : findJwts(text, now),
    isLockfile ? [] : await findKnownSecrets(text, path),
    isLockfile || sampleFile.test(path) ? [] : findAssignments(text, path),
  ];
  const all = byCertainty.flatMap((matches, rank) => matches.map((match) => ({ ...match, rank })));
  return isOfTests(path) ? all.filter(({ kind }) => !inventedInTests.has(kind)) : all;
}

/**
 * Whether only tests use a file. Excludes files that browsers can read: all of `public/` and `dist/`, and test data
 * that pages may import.
 */
const isOfTests = (path: string): boolean =>
  (testFile.test(path) && !/^(?:public|dist)\//.test(path)) || (testData.test(path) && !isReachableFromBrowser(path));

/** Keeps one match per position, even where pieces overlap, and one per secret on each line. */
function withoutRepeats(matches: readonly RankedMatch[], toLine: (offset: number) => number): SecretMatch[] {
  const kept: RankedMatch[] = [];
  for (const match of matches.toSorted((a, b) => a.start - b.start || a.rank - b.rank)) {
    const last = kept.at(-1);
    if (last === undefined || match.start >= last.end) kept.push(match);
    else if (match.rank < last.rank) kept[kept.length - 1] = match;
  }
  const byLine = new Map(kept.map((match) => [`${toLine(match.start)} ${match.secret}`, match]));
  return [...byLine.values()];
}

/** Returns a function that maps an offset to its line, starting at 1. Offsets may be queried in any order. */
function countLines(content: string): (offset: number) => number {
  const starts = [0];
  for (let at = content.indexOf('\n'); at >= 0; at = content.indexOf('\n', at + 1)) starts.push(at + 1);
  return (offset) => {
    let [low, high] = [0, starts.length];
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if ((starts[middle] ?? 0) <= offset) low = middle;
      else high = middle;
    }
    return low + 1;
  };
}

function toFinding(match: SecretMatch, path: string, line: number, key: Uint8Array): Finding<SecretItem> {
  const { name, issuer, severity }: SecretKind = secretKinds[match.kind];
  const isReachable = isReachableFromBrowser(path);
  const readers = isReachable
    ? 'Files in this folder are sent to browsers, so anyone who visits the app can read it.'
    : "Anyone who can read the app's code can use it.";
  return {
    rule_id: `secrets/${match.kind.replaceAll('_', '-')}`,
    severity: isReachable && severity === 'high' ? 'critical' : severity,
    title: `The code contains ${name}`,
    description: `The file contains ${name} in plain text. ${readers}`,
    recommendation: `Revoke it in ${issuer} and create a new one. Store the new one as an app secret, and use it in a workflow: functions of an app are not run.`,
    identity: [createHmac('sha256', key).update(match.secret).digest('hex')],
    secondary: null,
    position: { path, line },
    item: {
      file_path: path,
      line,
      secret_type: match.kind,
      masked_value: mask(match.secret),
      reachable_from_browser: isReachable,
    },
  };
}

/** Four characters would reveal too much of a short password. */
const mask = (secret: string): string => `${secret.length < 8 ? '' : secret.slice(0, 4)}…`;

const isReachableFromBrowser = (path: string): boolean => /^(?:src|public|dist)\//.test(path);
