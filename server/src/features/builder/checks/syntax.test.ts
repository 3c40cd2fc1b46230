// Tests which errors the file check finds, and that it never reports an unchecked file as correct.
import { describe, expect, it } from 'vitest';
import { checkFiles } from './check-files.ts';
import { checkFile } from './syntax.ts';

const ok = { outcome: 'checked', errors: [], references: [] };

it.each([
  ['a.js', 'const a = 1;\nexport { a };'],
  ['a.js', 'function f() {}\nfunction f() {}\nwith (f) {}'], // valid as a script
  ['a.js', 'const a = await fetch("/");'], // valid as a module
  ['a.ts', 'let a: number = 1; @d class A { accessor x = 1 }'],
  ['a.tsx', 'const a: X = <b>hi</b>;'],
  ['a.jsx', 'export default () => <b />;'],
  ['a.html', '<p>Optional parts may be left out'],
  ['a.html', '<script type="application/ld+json">not checked</script><script type="text/x-template">{{</script>'],
  ['a.css', '@media (width < 40em) { a { color: red } }'],
  ['a.json', '{"a": [1]}'],
])('finds nothing wrong in %s: %s', (path, text) => {
  expect(checkFile(path, text)).toEqual(ok);
});

it.each([
  ['a.js', 'let a;\nconst b = ;', 'line 2: Unexpected token'],
  ['a.js', 'const a = <b />;', 'line 1: This syntax is not JavaScript that browsers run'],
  ['a.js', 'let a; let a;', "line 1: Identifier 'a' has already been declared."],
  ['a.mjs', 'with (a) {}', "line 1: 'with' in strict mode."],
  ['a.html', '<p>\n<script>\nlet a = ;</script>', 'line 3: Unexpected token'],
  ['a.html', '<template><script>a b</script></template>', 'line 1: Missing semicolon.'],
  ['a.html', '<script type="importmap">{</script>', 'script at line 1: '],
  ['a.html', '<a href="x>y</a>', 'line 1: eof in tag'],
  ['a.css', 'a { color: red', 'line 1: Unclosed block'],
  ['a.css', 'a { color red }', 'line 1: Unknown word'],
  ['a.json', '{"a":}', 'Unexpected token'],
])('finds the error in %s: %s', (path, text, error) => {
  const check = checkFile(path, text);
  expect(check.outcome === 'checked' ? check.errors.join('\n') : '').toContain(error);
});

it.each([
  ['a.png', 'x', null],
  ['a.js', `let a = '${'x'.repeat(256 * 1024)}';`, 'it is larger than 256 KiB'],
  ['a.js', '('.repeat(20_000), 'it is nested too deeply'],
  ['a.html', `<script>${'('.repeat(20_000)}</script>`, 'it is nested too deeply'],
])('does not claim to have checked %s', (path, text, reason) => {
  expect(checkFile(path, text)).toEqual({ outcome: 'not_checked', reason });
});

it('survives a page that is nested deeper than calls can be', () => {
  expect(checkFile('a.html', '<div>'.repeat(40_000))).toEqual(ok);
});

it('reports files that a page loads and that do not exist, but not what is elsewhere', async () => {
  const page = [
    '<link rel="stylesheet" href="./a.css"><link rel="canonical" href="/none">',
    '<script src="/app.js?v=1"></script><script type="module" src="/_plinth/client.js"></script>',
    '<img src="https://example.com/a.png"><img src="data:,x"><img src="../pictures/z.png"><script src="none.js"></script>',
  ].join('\n');
  const { status, results } = await checkFiles(
    new Map([['public/sub/index.html', page]]),
    new Set(['public/app.js', 'public/sub/a.css']),
  );
  expect(status).toBe('error');
  expect(results.split('\n')).toEqual([
    '1 of 1 changed files were parsed, 2 errors.',
    'public/sub/index.html: line 3: the file public/pictures/z.png does not exist',
    'public/sub/index.html: line 3: the file public/sub/none.js does not exist',
  ]);
});

it('finds the files that a page loads as browsers do: by decoded names, and never above the published folder', async () => {
  const page = [
    '<img src="my%20picture%231.png?v=1"><img src="my picture%231.png"><script src="../../../app.js"></script>',
    '<script src="../../server.js"></script><img src="%zz.png"><img src="">',
  ].join('\n');
  const { results } = await checkFiles(
    new Map([['public/50% off/index.html', page]]),
    new Set(['public/50% off/index.html', 'public/50% off/my picture#1.png', 'public/app.js', 'server.js']),
  );
  expect(results.split('\n').slice(1)).toEqual([
    'public/50% off/index.html: line 2: the file public/server.js does not exist',
    'public/50% off/index.html: line 2: the file public/50% off/%zz.png does not exist',
  ]);
});

it('says which files it did not check because the turn changed too much', async () => {
  const text = `let a = '${'x'.repeat(250 * 1024)}';`;
  const files = Array.from({ length: 10 }, (_, n): [string, string] => [`public/${n}.js`, text]);
  const { status, results } = await checkFiles(new Map(files), new Set());
  expect(status).toBe('success');
  expect(results).toContain('8 of 10 changed files were parsed, 0 errors.');
  expect(results).toContain('public/9.js was not checked: the turn changed too much.');
});

describe('a file that the parsers cannot cope with', () => {
  const exponential = `x = ${'async<T>(a='.repeat(12)}@@`;
  const bold = Array.from({ length: 1000 }, (_, n) => `<b a=${n}>`).join('');
  const quadratic = `<p>${bold}${'<p>x'.repeat(1000)}`;

  it.each([
    ['public/a.ts', exponential, /it takes too long to parse/],
    ['public/a.html', quadratic, /it takes too (?:long|much memory) to parse/],
  ])(
    'is not checked, the process continues meanwhile, and the next file is checked: %s',
    async (path, text, reason) => {
      const files = new Map([
        [path, text],
        ['public/next.js', 'let a = ;'],
      ]);
      const startedAt = performance.now();
      let beats = 0;
      const heart = setInterval(() => (beats += 1), 50);
      const { results } = await checkFiles(files, new Set());
      clearInterval(heart);
      const [summary, error, notChecked] = results.split('\n');
      expect(summary).toBe('1 of 2 changed files were parsed, 1 errors.');
      expect(error).toContain('public/next.js: line 1: Unexpected token');
      expect(notChecked).toMatch(reason);
      expect(performance.now() - startedAt).toBeLessThan(30_000);
      expect(beats).toBeGreaterThan(10);
    },
  );

  it('holds up the files of other turns for a limited time, however many there are', async () => {
    const files = Array.from({ length: 20 }, (_, n): [string, string] => [`public/${n}.ts`, exponential]);
    let areChecked = false;
    const many = checkFiles(new Map(files), new Set()).finally(() => (areChecked = true));
    const other = await checkFiles(new Map([['public/a.js', 'let a;']]), new Set());
    expect(other.results).toBe('1 of 1 changed files were parsed, 0 errors.');
    expect(areChecked).toBe(false); // it waited for one of the files, not for all of them
    expect((await many).results).toContain('public/19.ts was not checked: other files took too long to parse.');
  });
});
