// Tests the pure parts of the agent tools, with tables of cases and random texts: finding, editing, placeholders and
// searching.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { measureLeastCpuMs } from '../../../test/support/cpu.ts';
import { editText } from './edit.ts';
import { findElision } from './elision.ts';
import { createFinder, findAll } from './occurrences.ts';
import { searchText } from './search.ts';

const fileLimit = 5 * 1024 * 1024;
const replace = (text: string, oldText: string, newText: string, replaceAll = false) =>
  editText(text, { oldText, newText, replaceAll }, fileLimit);

const smallText = fc.string({ unit: fc.constantFrom('a', 'b', '\n', 'é'), maxLength: 40 });

describe('finding', () => {
  it('finds what indexOf finds', () => {
    fc.assert(
      fc.property(
        smallText,
        fc.string({ unit: fc.constantFrom('a', 'b', '\n'), minLength: 1, maxLength: 4 }),
        (text, part) => {
          expect(createFinder(part).find(text)).toBe(text.indexOf(part));
          expect(findAll(text, part).length).toBe(text.split(part).length - 1);
        },
      ),
    );
  });

  it('takes time in proportion to the text, whatever the text', () => {
    const text = 'a'.repeat(2_000_000);
    for (const part of [`${'a'.repeat(50_000)}b${'a'.repeat(50_000)}`, `b${'a'.repeat(100_000)}`])
      expect(measureLeastCpuMs(() => findAll(text, part))).toBeLessThan(2_500); // indexOf would take half a minute
  });
});

describe('editing', () => {
  it('replaces the one occurrence, as split and join would', () => {
    fc.assert(
      fc.property(
        smallText,
        fc.string({ unit: fc.constantFrom('a', 'b'), minLength: 1, maxLength: 3 }),
        (text, part) => {
          const edited = replace(text, part, 'X', true);
          const count = text.split(part).length - 1;
          if (count > 0) expect(edited).toMatchObject({ text: text.split(part).join('X'), replaced: count });
          else expect(edited).not.toHaveProperty('replaced');
        },
      ),
    );
  });

  it.each([
    ['line ends of the file are kept', 'a\r\nb\r\nc\r\n', 'b\nc\n', 'x\ny\n', 'a\r\nx\r\ny\r\n'],
    ['spaces at the end of lines', 'a  \nb\t\nc', 'a\nb', 'x', 'x\nc'],
    ['the last line without an end', 'a \nb', 'a\nb\n', 'x\n', 'x\n'],
    ['a whole line is removed', 'x\ny', 'x\n', '', 'y'],
  ])('tolerates differences: %s', (_what, text, oldText, newText, expected) => {
    expect(replace(text, oldText, newText)).toMatchObject({ text: expected });
  });

  it('does not tolerate other indentation, and shows where the text comes nearest', () => {
    const text = 'function f() {\n    return 1;\n}\n';
    expect(replace(text, '  return 1;', 'x')).toMatchObject({ text: expect.stringContaining('  x') });
    expect(replace(text, '\treturn 1;\n}', 'x')).toEqual({
      nearest: { firstLine: 1, lines: ['function f() {', '    return 1;', '}', ''] },
    });
    expect(replace('a', 'nothing alike', 'x')).toEqual({ nearest: undefined });
  });

  it('names the first ten lines of a text that occurs often', () => {
    expect(replace('a\n'.repeat(3), 'a', 'x')).toEqual({ lines: [1, 2, 3], more: false });
    expect(replace('a\n'.repeat(10), 'a', 'x')).toMatchObject({ lines: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10], more: false });
    expect(replace('a\n'.repeat(11), 'a', 'x')).toMatchObject({ lines: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10], more: true });
  });

  it('refuses a result that is too long before it is built', () => {
    const inserted = 'x'.repeat(100_000);
    expect(replace('a'.repeat(1024 * 1024), 'a', inserted, true)).toEqual({ tooLong: true }); // 100 GB
    expect(replace('a'.repeat(1024 * 1024), 'a', 'xxxxx', true)).toHaveProperty('replaced', 1024 * 1024);
    expect(replace('a'.repeat(1024 * 1024), 'a', 'xxxxxx', true)).toEqual({ tooLong: true });
    expect(replace('a  \nb\n'.repeat(3), 'a\nb\n', inserted, true)).toHaveProperty('tolerated', true);
  });

  it.each([
    ['many matches', 'a', 'a'],
    ['many lines', '\n', 'a\nb'],
    ['many lines with spaces at their ends', 'a \n', 'a\na\nb'],
  ])('takes less than two seconds for a file of 1 MiB: %s', (_what, unit, oldText) => {
    const text = unit.repeat((1024 * 1024) / unit.length);
    expect(measureLeastCpuMs(() => replace(text, oldText, 'x'))).toBeLessThan(2_000);
  });
});

describe('placeholders', () => {
  it.each([
    '// ... existing code ...',
    '// … rest of the code …',
    '/* ... keep the other styles ... */',
    '<!-- ... -->',
    '<!-- rest of the page stays unchanged -->',
    '{/* ... remaining items ... */}',
    '# ... same as before ...',
    '...',
    '// the rest of the file remains the same',
    '// existing functions stay here unchanged',
  ])('are found: %s', (line) => {
    expect(findElision(`let a;\n  ${line}\nlet b;`, 'let c;')).toEqual({ line: 2, text: line });
  });

  it.each([
    'f(...args);',
    '// Loading…',
    '// wait 3 s ... then retry',
    'const all = [...old, item]; // the rest is added below',
    '<p>Please wait ...</p>',
    '# Heading',
    '* { margin: 0 }',
    '// existing users keep their role',
  ])('are not seen in: %s', (line) => {
    expect(findElision(line, 'let c;')).toBeUndefined();
  });

  it('that were there before are left alone', () => {
    expect(findElision('a\n// ... more ...', '// ... more ...\nb')).toBeUndefined();
  });
});

it('a search with * finds parts in their order within a line', () => {
  const text = 'const a = fetch("/tasks");\r\nfetch(\n"/tasks")';
  expect(searchText(text, 'fetch(*tasks', false, 10)).toEqual([{ line: 1, text: 'const a = fetch("/tasks");' }]);
  expect(searchText(text, 'tasks*fetch', false, 10)).toEqual([]);
  expect(searchText(text, 'FETCH', true, 1)).toHaveLength(1);
});
