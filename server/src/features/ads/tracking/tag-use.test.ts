// Tests for finding conversion tags in a file.
import { describe, expect, it } from 'vitest';
import { renderCall, renderTag } from './tag.ts';
import { readTagUse } from './tag-use.ts';

const nothing = { loads: [], configures: [], calls: [], includes: [], isComplete: true };
const unread = { ...nothing, isComplete: false };
const report = (sendTo: string | null, line = 1) => ({ ...nothing, calls: [{ sendTo, line }] });
const loader = 'https://www.googletagmanager.com/gtag/js?id=AW-1';

describe('the tag use of a page', () => {
  it.each([
    ['the base tag', `<head>${renderTag('AW-1')}</head>`, { ...nothing, loads: ['AW-1'], configures: ['AW-1'] }],
    ['a tag in a comment', `<!-- ${renderTag('AW-1')} -->`, nothing],
    ['a script that browsers do not run', `<script type="text/plain">gtag('config', 'AW-1')</script>`, nothing],
    ['a tag that browsers do not run', `<script type="text/plain" src="${loader}"></script>`, nothing],
    ['a tag that pages of https do not load', `<script src="${loader.replace('https', 'http')}"></script>`, nothing],
    ['a tag in a template', `<template>${renderTag('AW-1')}</template>`, nothing],
    [
      'scripts of the app',
      '<script src="/gtag/js?id=AW-1"></script><script src="my%20app.js"></script>',
      { ...nothing, includes: ['gtag/js', 'pages/my app.js'] },
    ],
    ['a tag without a scheme', `<script src="${loader.slice(6)}"></script>`, { ...nothing, loads: ['AW-1'] }],
    [
      'a handler',
      `<p>\n<a onclick="gtag('event', 'conversion', {send_to: 'AW-1/a'}); return true">x</a>`,
      report('AW-1/a', 2),
    ],
    ['a script that is broken and has no tag', '<script>let a = ;</script>', nothing],
    [
      'a script that is broken, beside one that is not',
      `<script>gtag(</script><script>gtag('config', 'AW-1')</script>`,
      { ...unread, configures: ['AW-1'] },
    ],
  ])('is found: %s', (_, text, expected) => {
    expect(readTagUse({ path: 'pages/index.html', text })).toEqual(expected);
  });
});

describe('the tag use of a script', () => {
  const fields = `{ 'send_to': 'AW-1/a', value: 1 }`;
  it.each([
    ['a call', `gtag('event', 'conversion', ${fields})`, report('AW-1/a')],
    [
      'the call that we propose',
      renderCall({ conversionId: 'AW-1', label: 'a', value: 'x', currency: '' }),
      report('AW-1/a'),
    ],
    [
      'a call in a function',
      `x.on(async () => {\n  await y;\n  window.gtag('event', 'conversion', ${fields});\n})`,
      report('AW-1/a', 3),
    ],
    ['a constant', `const id = 'AW-1'; gtag('event', 'conversion', { send_to: \`\${id}/a\` })`, report('AW-1/a')],
    ['texts that are added', "gtag('event', 'conversion', { send_to: 'AW-1' + '/a' })", report('AW-1/a')],
    [
      'a name with two values',
      "var a = 'AW-1/a'; { var a = 'AW-1/b'; } gtag('event', 'conversion', { send_to: a })",
      report(null),
    ],
    [
      'a variable that is changed',
      "let a = 'AW-1/a'; a = x(); gtag('event', 'conversion', { send_to: a })",
      report(null),
    ],
    [
      'a parameter with the name of a constant',
      "const a = 'AW-1/a'; function f({ a }) { gtag('event', 'conversion', { send_to: a }) }",
      report(null),
    ],
    ['a call by its name', `window['gtag']('event', 'conversion', ${fields})`, report('AW-1/a')],
    ['holes', `gtag('event', 'conversion', { send_to: [${','.repeat(5_000)}] })`, nothing],
    [
      'more calls than anybody writes',
      "gtag('event', 'conversion');".repeat(1_001),
      { ...unread, calls: Array.from({ length: 1_000 }, () => ({ sendTo: null, line: 1 })) },
    ],
    ['a computed value', "gtag('event', 'conversion', { send_to: labels[type] })", report(null)],
    ['no fields', "gtag('event', 'conversion')", report(null)],
    [
      'several goals',
      "gtag('event', 'conversion', { send_to: ['AW-1/a', x] })",
      {
        ...nothing,
        calls: [
          { sendTo: 'AW-1/a', line: 1 },
          { sendTo: null, line: 1 },
        ],
      },
    ],
    ['another event', "gtag('event', 'page_view', { send_to: 'AW-1/a' })", nothing],
    ['a function of another object', `x.gtag('event', 'conversion', ${fields})`, nothing],
    ['a comment', `// gtag('event', 'conversion', ${fields})`, nothing],
    [
      'a tag that is loaded by a script',
      `const s = document.createElement('script'); s.src = '${loader}';`,
      { ...nothing, loads: ['AW-1'] },
    ],
    ['a broken script', 'gtag(', unread],
    ['a script that is nested too deeply', `gtag(${'('.repeat(20_000)}`, unread],
  ])('is found: %s', (_, text, expected) => {
    expect(readTagUse({ path: 'app.js', text })).toEqual(expected);
  });

  it('takes no more memory for texts that are added up again and again', () => {
    const names = Array.from({ length: 60 }, (_, n) => `const a${n + 1} = a${n} + a${n};`).join('');
    const text = `const a0 = 'x'; ${names} gtag('event', 'conversion', { send_to: a60 })`;
    expect(readTagUse({ path: 'app.js', text })).toEqual(report(null));
  });
});
