// Tests that a model's text has no effect on the git host: no images, HTML, mentions, references or CI instructions.
import { describe, expect, it } from 'vitest';
import { measureLeastCpuMs } from '../../../../test/support/cpu.ts';
import type { SessionRow } from '../store/sessions.ts';
import { toBody, toCommitMessage, toSafeMarkdown } from './description.ts';
import { runsByItself } from './run-files.ts';

const session = (change: object = {}) =>
  ({
    id: '0198c218-4c36-7a2d-9e5f-61728394a5b6',
    title: 'Fix it',
    commit_message: null,
    pull_request_body: null,
    run_files: [],
    ...change,
  }) as unknown as SessionRow;

describe('the summary in a description', () => {
  it.each([
    ['# Title\n\n- *one*\n- **two**', '# Title\n\n- *one*\n- **two**'],
    ['![x](https://evil.example/pixel.png)', '!\\[x\\](https://evil.example/pixel.png)'],
    ['\\![x][y]\n\n[y]: https://evil.example', '\\!\\[x\\]\\[y\\]\n\n\\[y\\]: https://evil.example'],
    ['<img src=x> <!-- a --> \\<b>', '&lt;img src=x> &lt;!-- a --> &lt;b>'],
    ['Ask @ada, \\@ada and &#64;ada', 'Ask @&#8203;ada, @&#8203;ada and &amp;#&#8203;64;ada'],
    ['Closes #7, acme/shop#8 and GH-9', 'Closes #&#8203;7, acme/shop#&#8203;8 and GH-&#8203;9'],
    ['Fixes https://github.com/a/b/issues/7', 'Fixes github.com/a/b/issues/7'],
    ['Fixes https\\://github.com/a/b\\/issues/7', 'Fixes github.com/a/b/issues/7'],
    [
      'See https://x.example/@a/b#7 or https://x.example/#top',
      'See https://x.example/%40a/b%237 or https://x.example/#top',
    ],
    ['Run `npm test @x #1 <b>`, then @x', 'Run `npm test @x #1 <b>`, then @&#8203;x'],
    ['``a ` @b`` and ` @c', '``a ` @b`` and \\` @&#8203;c'],
    ['\\`@a\\` `@b\\` @c', '\\`@&#8203;a\\` `@b\\` @&#8203;c'],
    ['`a\n@b`', '\\`a\n@&#8203;b\\`'],
    ['| a | b |\n|---|---|\n| `x | @y` | `@z` |', '| a | b |\n|---|---|\n| \\`x | @&#8203;y\\` | `@z` |'],
    ['> ~~~\n> @a', '> \\~\\~\\~\n> @&#8203;a'],
  ])('%j becomes %j', (text, shown) => {
    expect(toSafeMarkdown(text)).toBe(shown);
  });

  it.each([
    ['```sh\nnpm test @a\n```\n@b', '\n```sh\nnpm test @a\n```\n\n@&#8203;b'],
    ['1. Run:\n   ```\n   x\n   ```', '1. Run:\n\n```\nx\n```\n'],
    ['- ```js\n  x\n  ```\nafter', '\n-\n\n```js\nx\n```\n\nafter'],
    ['~~~\n```\n@a\n~~~\n@b', '\n````\n```\n@a\n````\n\n@&#8203;b'],
    ['```mermaid\ngraph TD\n```', '\n```\ngraph TD\n```\n'],
    ['```a`b\n@c', '\\`\\`\\`a\\`b\n@&#8203;c'],
    ['```\nnot closed', '\n```\nnot closed\n```\n'],
  ])('keeps a block of code, and nothing else is one: %j', (text, shown) => {
    expect(toSafeMarkdown(text)).toBe(shown);
  });

  it('has no control characters and no text that is turned around', () => {
    expect(toSafeMarkdown('\u001b[31mred\u001b[0m\u202e.')).toBe('red\ufffd.');
  });

  it('is bounded, however much longer it becomes', () => {
    const shown = toSafeMarkdown('@'.repeat(10_000));
    expect(shown.length).toBeLessThan(38_010);
    expect(shown).toMatch(/…$/);
  });

  it('does not take long, whatever it is', () => {
    const texts = ['`', '\\`', '-|', '~~~\n', '```\n', '` `` ', '# '].map((text) => text.repeat(10_000 / text.length));
    for (const text of texts) expect(measureLeastCpuMs(() => toSafeMarkdown(text))).toBeLessThan(2_000);
  });
});

describe('a description', () => {
  it('names the files that run by themselves above the summary, and leaves the words of the person as they are', () => {
    const run_files = ['.github/workflows/ci.yml', 'a`b\n# c/Makefile'];
    expect(toBody(session({ run_files, pull_request_body: 'Closes #7, @ada' }), 'Done.')).toBe(
      [
        '**Review these first:** this pull request changes files that run in CI, during installation or during a build: ` .github/workflows/ci.yml `, `` a`b # c/Makefile ``.',
        'Done.',
        'Closes #7, @ada',
        '<!-- plinth-session: 0198c218-4c36-7a2d-9e5f-61728394a5b6 -->',
      ].join('\n\n'),
    );
  });

  it('names at most 20 of them', () => {
    const run_files = Array.from({ length: 23 }, (_, index) => `${index}${'x'.repeat(1_000)}/Makefile`);
    const body = toBody(session({ run_files }), 'Done.');
    expect(body).toContain(' and 3 more.');
    expect(body.length).toBeLessThan(4_000);
  });
});

describe('the message of a commit', () => {
  it.each([
    ['Fixes #7 for @ada.\nMore.', 'Fixes # 7 for @ ada.'],
    ['Closes https://github.com/a/b/issues/7 and GH-8', 'Closes github.com/a/b/issues/7 and GH- 8'],
    ['[skip ci] \u001b[1mDone', '(skip ci) Done'],
    ['Co-authored-by: Eve <eve@evil.example>', 'Co-authored-by – Eve <eve@ evil.example>'],
  ])('%j becomes %j', (summary, line) => {
    expect(toCommitMessage(session(), summary)).toBe(`Fix it\n\n${line}`);
  });

  it('is what the person gave, if they gave one', () => {
    expect(toCommitMessage(session({ commit_message: 'Fixes #7' }), 'Done.')).toBe('Fixes #7');
    expect(toCommitMessage(session(), ' \n')).toBe('Fix it');
  });
});

describe('files that run by themselves', () => {
  it.each([
    '.github/workflows/ci.yml',
    'action.yml',
    '.gitlab-ci.yml',
    'packages/a/package.json',
    'package-lock.json',
    'pnpm-lock.yaml',
    'yarn.lock',
    '.npmrc',
    'Makefile',
    'sub/GNUmakefile',
    'rules.mk',
    'Dockerfile.dev',
    'setup.py',
    'requirements-dev.txt',
    'build.rs',
    'gradle/wrapper/gradle-wrapper.jar',
    '.husky/pre-commit',
    'Jenkinsfile',
    '.gitmodules',
  ])('%s', (path) => expect(runsByItself(path)).toBe(true));

  it.each(['src/index.ts', 'guide/makefile.md', 'package.md', '.github/CODEOWNERS', 'github/workflows/ci.yml'])(
    'not %s',
    (path) => expect(runsByItself(path)).toBe(false),
  );
});
