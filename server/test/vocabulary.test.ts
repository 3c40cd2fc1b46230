// Checks that words retired by the glossary (docs/internals/glossary.md#words-we-do-not-use) do not return as
// identifiers, file names or headings, and that no sentence in a comment, message or document contains a phrase that
// sounds translated.
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
  /** Limits the check to files whose path matches. */
  readonly only?: RegExp;
}

// Some words are retired only in these files, because they are ordinary elsewhere.
const guardFiles = /^server\/src\/(core\/|features\/[^/]+\/([^/]+\/)?[\w-]*(routes|index)\.ts)/;

// Matched against a name's words in lower case, separated by spaces: `giveUpRow` becomes `give up row`.
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
  // "Noisy neighbour" is the usual term for a tenant that harms others.
  { pattern: /\b(breath|(?<!noisy )neighbours?)\b/, instead: 'catchUpDelayMs; tenantIsolation' },
  { pattern: /^(over|through|within)$/, instead: 'appGuard, resourceGuard, nestedResource', only: guardFiles },
  { pattern: /^(reading|changing)$/, instead: 'readCredentials, writeCredentials', only: guardFiles },
  // `held` is a delivery status, so holdDeliveries and holdIfOff are correct. A row lock is called `lock`.
  { pattern: /^hold (?!deliveries|if off)/, instead: 'lock' },
  { pattern: /^later (?!ms$)/, instead: 'background', only: /^server\/src\// },
];

/** Phrases that are grammatical but unidiomatic. They are also found across a comment's lines. */
const stilted: readonly { readonly phrase: RegExp; readonly instead: string }[] = [
  { phrase: /, so that\b/, instead: ', so; or "so that" without a comma' },
  { phrase: /\bcan not\b(?! only)/, instead: "can't, cannot" },
  { phrase: /\bfor ever\b/, instead: 'forever' },
  { phrase: /\banew\b/, instead: 'again' },
  { phrase: /\balso (if|when|while|though)\b/, instead: 'even if, even when' },
  { phrase: /\b(goes|go|went) on\b/, instead: 'continues' },
  { phrase: /\b(is|was|are|were) going (on|\.)/, instead: 'is running, is under way' },
  { phrase: /\bby now\b/, instead: 'now, already' },
  { phrase: /\banother content\b/, instead: 'different content' },
  { phrase: /\bof no (more )?account\b/, instead: 'no longer counts' },
  { phrase: /\bnot any more\b/, instead: 'no longer' },
  { phrase: /\basks something else\b/, instead: 'is asking a different question' },
];

const root = fileURLToPath(new URL('../..', import.meta.url));
const sources = listFiles('server/*.ts', 'bench/*.ts', 'drills/*.ts', 'harness/*.ts', 'sandbox/*.ts', 'tools/*.ts');
const clients = listFiles('client/*.ts', 'console/*.ts', 'console/*.tsx');
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

describe('sentences', () => {
  it('have no phrase that sounds translated', () => {
    // The tests of the specification quote its sentences.
    const isProse = (path: string) => !/^server\/test\/(?:vocabulary|specification\/)|^CHANGELOG/.test(path);
    const others = listFiles('docs/*.yaml', 'docs/generated/openapi.json');
    const paths = [...sources, ...clients, ...documents, ...others].filter(isProse);
    expect(paths.flatMap((path) => findStilted(path, readFileSync(join(root, path), 'utf8')))).toEqual([]);
  });

  it('are checked across the lines of a comment', () => {
    expect(findStilted('x.ts', 'a\n// The row is locked, so\n// that nobody changes it.')).toEqual([
      'x.ts:2: ", so that" (use: , so; or "so that" without a comma)',
    ]);
    expect(findStilted('x.ts', '/** Locked so that nobody changes it. It can not only wait. */')).toEqual([]);
  });
});

function findStilted(path: string, text: string): string[] {
  // Comment markers become spaces, so positions stay the same.
  const prose = text.replace(/\n\s*(\/\/|\*|#)? ?/g, (mark) => ' '.repeat(mark.length)).replace(/\s/g, ' ');
  return stilted.flatMap(({ phrase, instead }) =>
    [...prose.matchAll(new RegExp(phrase.source.replaceAll(' ', '\\s+'), 'gi'))].map((found) => {
      const line = text.slice(0, found.index).split('\n').length;
      return `${path}:${line}: "${found[0].replace(/\s+/g, ' ')}" (use: ${instead})`;
    }),
  );
}

function findRetired(path: string, names: Iterable<string>): string[] {
  return [...new Set(names)].flatMap((name) => {
    const words = wordsOf(name);
    const found = retired.find(({ pattern, only }) => pattern.test(words) && (only?.test(path) ?? true));
    return found === undefined ? [] : [`${path}: ${name} (use: ${found.instead})`];
  });
}

/** `givenUpRow`, `given_up_row` and `given-up row` all become `given up row`. */
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
