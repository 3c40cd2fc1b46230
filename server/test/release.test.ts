// Tests that all places that state this release's version agree: packages, lock file, reference and changelog.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { version } from '../src/release.ts';

const read = (path: string) => readFileSync(fileURLToPath(new URL(`../../${path}`, import.meta.url)), 'utf8');

it.each([
  'package.json',
  'server/package.json',
  'sandbox/package.json',
  'client/sdk/package.json',
  'client/cli/package.json',
  'package-lock.json',
])('%s has it', (path) => {
  expect(JSON.parse(read(path)).version).toBe(version);
});

it('the lock file has it for each workspace', () => {
  const { packages } = JSON.parse(read('package-lock.json'));
  expect(['', 'server', 'sandbox', 'client/sdk', 'client/cli'].map((path) => packages[path].version)).toEqual(
    Array(5).fill(version),
  );
});

it.each([
  ['docs/api/installation.md', `"version": "${version}"`],
  ['docs/api/conventions.md', `| release of Plinth, ${version} |`],
  ['server/src/features/installation/routes.ts', `'The release of Plinth that is running.', '${version}'`],
])('%s shows it', (path, text) => {
  expect(read(path)).toContain(text);
});

it('the changelog begins with what is not released yet, and then has notes for it with a date', () => {
  const headings = read('CHANGELOG.md').match(/^## .*$/gm) ?? [];
  expect(headings[0]).toBe('## Unreleased');
  expect(headings[1]).toMatch(new RegExp(`^## ${version.replaceAll('.', '\\.')} \\(\\d{4}-\\d\\d-\\d\\d\\)$`));
});
