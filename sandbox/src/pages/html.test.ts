// Tests that received texts stay texts in the sandbox's pages, and that only web addresses become links.
import { expect, it } from 'vitest';
import { html, linkUrls, renderCut } from './html.ts';

it('escapes every inserted text, in content and in attributes', () => {
  const hostile = `</b><script>alert('1')</script>&"`;
  expect(html`<b title="${hostile}">${hostile}</b>${undefined}${1}`.markup).toBe(
    `<b title="${'&#60;/b&#62;&#60;script&#62;alert(&#39;1&#39;)&#60;/script&#62;&#38;&#34;'}">${'&#60;/b&#62;&#60;script&#62;alert(&#39;1&#39;)&#60;/script&#62;&#38;&#34;'}</b>1`,
  );
  expect(html`<ul>${[html`<li>${'<i>'}</li>`, html`<li></li>`]}</ul>`.markup).toBe(
    '<ul><li>&#60;i&#62;</li><li></li></ul>',
  );
});

it.each([
  ['javascript:alert(1)', []],
  ['data:text/html,x ftp://a.example file:///etc/passwd //a.example', []],
  [
    'See https://a.example/b?c=1&d=2#e. And (http://b.example/x), please!',
    ['https://a.example/b?c=1&#38;d=2#e', 'http://b.example/x'],
  ],
  ['https://a.example/"onmouseover="alert(1)', ['https://a.example/']],
  ["https://a.example/'x", ['https://a.example/']],
  ['<a href=https://a.example/>x</a>', ['https://a.example/']],
  ['http:// https://[ HTTP://A.example', ['HTTP://A.example']],
])('links the web addresses in %j', (text, urls) => {
  const { markup } = linkUrls(text);
  expect([...markup.matchAll(/href="([^"]*)"/g)].map(([, url]) => url)).toEqual(urls);
  expect(markup.match(/rel="noreferrer noopener"/g) ?? []).toHaveLength(urls.length);
  expect(markup.replaceAll(/<a href="[^"]*" target="_blank" rel="noreferrer noopener">|<\/a>/g, '')).toBe(
    html`${text}`.markup,
  );
});

it('cuts a long text, and says how much is missing', () => {
  expect(renderCut('x'.repeat(20_000)).markup).toBe('x'.repeat(20_000));
  expect(renderCut('x'.repeat(21_500)).markup).toBe(
    `${'x'.repeat(20_000)}\n… The rest is not shown (1,500 characters).`,
  );
});
