// Tests that docs/internals/first-change.md is correct: everything that it names exists, and the lines that its example
// changes are in the code.
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { readBlocks } from './support/guide.ts';

const resolve = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url));
const read = (path: string) => readFileSync(resolve(path), 'utf8');
const page = read('docs/internals/first-change.md');
const findAll = (pattern: RegExp) => [...new Set([...page.matchAll(pattern)].map((match) => match[1] ?? ''))];

it.each(findAll(/(?<![\w/])((?:server|sandbox|docs|bench)\/[\w./-]*\w)/g))('%s exists', (path) => {
  expect(existsSync(resolve(path))).toBe(true);
});

it.each(findAll(/npm run ([\w:]+)/g))('npm run %s exists', (script) => {
  expect(Object.keys(JSON.parse(read('package.json')).scripts)).toContain(script);
});

it.each(findAll(/npm run bench -- ([\w-]+)/g))('npm run bench -- %s exists', (name) => {
  expect(read('tools/run.ts')).toMatch(new RegExp(`^ {2}'?${name}'?[:,]`, 'm'));
});

const changes = [...page.matchAll(/^`(server\/[\w./-]+)`:\n\n(```diff\n[\s\S]*?^```$)/gm)].map(
  ([, path = '', block = '']) => {
    const lines = readBlocks(block)[0]?.text.split('\n') ?? [];
    return { path, removed: lines.filter((line) => line.startsWith('-')).map((line) => line.slice(1)) };
  },
);

it('its example changes a test and a source file', () => {
  expect(changes.map(({ path }) => path.endsWith('.test.ts'))).toEqual([true, false]);
});

it.each(changes)('the lines that its example changes are in $path', ({ path, removed }) => {
  const lines = read(path).split('\n');
  for (const line of removed) expect(lines).toContain(line);
});

it('the test that its example runs exists', () => {
  const [name = 'none'] = findAll(/vitest run \S+ -t '([^']+)'/g);
  expect(read('server/src/features/folders/folders.test.ts')).toContain(`it('${name}`);
});
