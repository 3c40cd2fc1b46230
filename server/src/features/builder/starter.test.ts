// Tests that the starter is self-contained. test/e2e/starter.test.ts tests its behaviour and appearance in a browser.
import { expect, it } from 'vitest';
import { readStarter } from './starter.ts';

const starter = readStarter();

it('has a page, its script, style and icon, all below `public`', () => {
  expect([...starter.keys()]).toEqual([
    'public/app.js',
    'public/icon.svg',
    'public/index.html',
    'public/sign-in.js',
    'public/style.css',
  ]);
});

it('loads only files that it has, and those of the platform', () => {
  const referred = [...starter].flatMap(([, text]) =>
    [...text.matchAll(/(?:src|href)="(\/[^"#]+)"|from '([^']+)'/g)].map(([, url, module]) => url ?? module ?? ''),
  );
  const missing = referred.filter((url) => !url.startsWith('/_plinth/') && !starter.has(`public${url}`));
  expect(referred.length).toBeGreaterThan(5);
  expect(missing).toEqual([]);
});

it('needs neither inline scripts nor inline styles, so the app can have a strict content security policy', () => {
  const page = starter.get('public/index.html') ?? '';
  expect(page).not.toMatch(/<style|style=|\son\w+=|<script(?![^>]*\ssrc=)/);
});
