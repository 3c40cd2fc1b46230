// Owns the search for secrets in a file of an app (docs/internals/security-scans.md#secrets). It runs in the process that reads code.
// Time is linear in the size of the file, and a secret appears in no finding, only its keyed hash and its first characters.
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

/** Long files are read in pieces, so that no pattern sees more. Neighbours overlap by more than the longest secret. */
const pieceLength = 128 * 1024;
const overlap = 16 * 1024;
const maxFindings = 200;

export interface FileSecrets {
  readonly findings: readonly Finding<SecretItem>[];
  /** False if the file has more: the most severe are kept. */
  readonly isComplete: boolean;
}

/** `key` is the app's own: equal secrets of two apps have different identities. */
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

/** Where a file has secrets, also invented ones, for those who show its text. Without the rules of secretlint, which take time. */
export function findMarkedSecrets(text: string, path: string): Pick<SecretMatch, 'start' | 'end'>[] {
  const marked = listPieces(text).flatMap(({ start: from, piece }) =>
    [
      findUrlCredentials(piece),
      findFormats(piece, path),
      findPrivateKeys(piece),
      findJwts(piece, new Date(0)), // tokens that have expired are marked, too
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

/** Lock files are long and full of hashes. What can be secret in one is the address of a registry. */
const lockfile =
  /(?:^|\/)(?:package-lock\.json|npm-shrinkwrap\.json|yarn\.lock|pnpm-lock\.yaml|bun\.lockb?|deno\.lock)$/;
/** Only a test loads these. */
const testFile =
  /(?:^|\/)(?:tests?|__tests__|__mocks__|e2e|cypress|spec|testing|test-utils?)\/|\.(?:test|spec|stories)\.[a-z]+$/i;
/** What tests use, but the app may load, too. */
const testData = /(?:^|\/)(?:__fixtures__|fixtures?|mocks?|test-data|testdata)\/|\.(?:mock|fixture)\.[a-z]+$/i;
const sampleFile =
  /(?:^|\/)\.?env[\w.-]*\.(?:example|sample|template|dist|defaults?)$|\.(?:example|sample|template)(?:\.\w+)?$/i;
/** What tests invent. A key with the form of a live one is reported in tests, too. */
const inventedInTests = new Set<SecretKindName>(['generic', 'url_credentials', 'jwt', 'stripe_test', 'private_key']);

/** Of two matches at one place, the one of the lower rank is kept. */
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

/** Not what browsers can read: all of `public/` and `dist/`, and what pages may import. */
const isOfTests = (path: string): boolean =>
  (testFile.test(path) && !/^(?:public|dist)\//.test(path)) || (testData.test(path) && !isReachableFromBrowser(path));

/** One match per place, also where pieces of the file overlap, and one per secret and line. */
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

/** The line of an offset, from 1. Offsets are asked for in any order. */
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
    ? 'Files in this folder are sent to browsers, so every visitor of the app can read it.'
    : 'Everyone who can read the code of the app can use it.';
  return {
    rule_id: `secrets/${match.kind.replaceAll('_', '-')}`,
    severity: isReachable && severity === 'high' ? 'critical' : severity,
    title: `The code contains ${name}`,
    description: `The file contains ${name} in clear text. ${readers}`,
    recommendation: `Revoke it in ${issuer} and create a new one. Store the new one as a secret of the app, and read it from there in a backend function.`,
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

/** Four characters would give away too much of a short password. */
const mask = (secret: string): string => `${secret.length < 8 ? '' : secret.slice(0, 4)}…`;

const isReachableFromBrowser = (path: string): boolean => /^(?:src|public|dist)\//.test(path);
