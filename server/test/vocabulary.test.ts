// Owns the check that words which the glossary retired (docs/internals/glossary.md#words-we-do-not-use) do not return as
// identifiers, file names or headings. Sentences in comments, strings and paragraphs are not checked.
//
// Identifiers are compared word by word: `toldRecord`, `wasTold` and `told_at` contain `told`; `untold` does not.
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import { describe, expect, it } from 'vitest';

interface Retired {
  readonly pattern: RegExp;
  readonly instead: string;
  /** Only files whose path matches are checked. */
  readonly only?: RegExp;
}

// These five words are ordinary elsewhere.
const guardFiles = /^server\/src\/(core\/|features\/[^/]+\/([^/]+\/)?[\w-]*(routes|index)\.ts)/;

// Matched against the words of a name in lower case, separated by spaces: `giveUpRow` is `give up row`.
const retired: readonly Retired[] = [
  { pattern: /\b(tell|tells|told|telling)\b/, instead: 'publish, published; notify' },
  { pattern: /\b(hear|hears|heard|hearing|deaf|listens)\b/, instead: 'handle, handled; listeners' },
  { pattern: /\b(gives?|gave|given) up\b/, instead: 'dead-letter' },
  { pattern: /\b(suspects?|deadly)\b/, instead: 'quarantined, crashing' },
  { pattern: /\b(dies|died|deaths?)\b/, instead: 'crashed, crashes' },
  { pattern: /\b(hurry|hurries|hurried)\b/, instead: 'asyncCommit' },
  { pattern: /\b(lanes?|everywhere)\b/, instead: 'concurrencyKey, globalLimits' },
  { pattern: /\b(rooms?|houses?|doors?)\b/, instead: 'module, layout, entry point' },
  { pattern: /\bfigures?\b/, instead: 'metrics', only: /^server\/src\// },
  { pattern: /\bgives\b/, instead: 'returns' },
  { pattern: /\bstandings?\b/, instead: 'health, balance' },
  // A noisy neighbour is the usual name of a tenant that harms others.
  { pattern: /\b(breath|(?<!noisy )neighbours?)\b/, instead: 'catchUpDelayMs; tenantIsolation' },
  { pattern: /^(over|through|within)$/, instead: 'appGuard, resourceGuard, nestedResource', only: guardFiles },
  { pattern: /^(reading|changing)$/, instead: 'readCredentials, writeCredentials', only: guardFiles },
  // `held` is a status of deliveries, so holdDeliveries and holdIfOff are right. A row lock is `lock`.
  { pattern: /^hold (?!deliveries|if off)/, instead: 'lock' },
  { pattern: /^later (?!ms$)/, instead: 'background', only: /^server\/src\// },
];

const root = fileURLToPath(new URL('../..', import.meta.url));
const sources = listFiles('server/*.ts', 'bench/*.ts', 'drills/*.ts', 'sandbox/*.ts');
const documents = listFiles('*.md');

describe('the retired words', () => {
  it('are in no identifier', () => {
    expect(sources.flatMap((path) => findRetired(path, identifiersOf(path)))).toEqual([]);
  });

  it('are in no file name', () => {
    const paths = listFiles('*').filter((path) => !path.startsWith('server/migrations/'));
    expect(paths.flatMap((path) => findRetired(path, path.split('/')))).toEqual([]);
  });

  it('are in no heading of a document', () => {
    expect(documents.flatMap((path) => findRetired(path, headingsOf(path)))).toEqual([]);
  });

  it('are recognised in every spelling, and nowhere else', () => {
    const names = ['toldRecord', 'wasTold', 'told_at', 'TOLD', 'givenUp', 'later-figures.ts', 'within', 'holdWebhook'];
    expect(findRetired('server/src/core/x.ts', names)).toHaveLength(names.length);
    const plain = ['untold', 'given', 'listeners', 'holdDeliveries', 'withinMs', 'planeOf', 'indoors', 'overflow'];
    expect(findRetired('server/src/core/x.ts', plain)).toEqual([]);
  });
});

function findRetired(path: string, names: Iterable<string>): string[] {
  return [...new Set(names)].flatMap((name) => {
    const words = wordsOf(name);
    const found = retired.find(({ pattern, only }) => pattern.test(words) && (only?.test(path) ?? true));
    return found === undefined ? [] : [`${path}: ${name} (use: ${found.instead})`];
  });
}

/** `givenUpRow`, `given_up_row` and `given-up row` are all `given up row`. */
const wordsOf = (name: string): string =>
  name
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replace(/[^A-Za-z0-9]+/g, ' ')
    .trim()
    .toLowerCase();

function identifiersOf(path: string): Set<string> {
  const names = new Set<string>();
  const visit = (node: ts.Node): void => {
    if (ts.isIdentifier(node) || ts.isPrivateIdentifier(node)) names.add(node.text);
    ts.forEachChild(node, visit);
  };
  visit(ts.createSourceFile(path, readFileSync(join(root, path), 'utf8'), ts.ScriptTarget.Latest));
  return names;
}

function headingsOf(path: string): string[] {
  const text = readFileSync(join(root, path), 'utf8').replace(/^```[\s\S]*?^```/gm, '');
  return [...text.matchAll(/^#{1,6}\s+(.+)$/gm)].map(([, heading = '']) => heading);
}

function listFiles(...patterns: string[]): string[] {
  const args = ['ls-files', '--cached', '--others', '--exclude-standard', ...patterns];
  const listed = execFileSync('git', args, { cwd: root, encoding: 'utf8' }).split('\n');
  const files = listed.filter((path) => path !== '' && existsSync(join(root, path)));
  if (files.length === 0) throw new Error(`no files match ${patterns.join(' ')}`);
  return files;
}
