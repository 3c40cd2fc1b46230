// The design of the few pages that the API itself serves, and their content security policy, which only allows
// their own scripts and styles. A page contains no data. Its script fetches the data from the API.
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { Problem } from '../../problem.ts';
import { type Answer, withNotes } from '../answer.ts';

interface HtmlPage {
  readonly html: string;
  /** The sources that the page may load, as in `Content-Security-Policy`. Other sources and framing are blocked. */
  readonly sources: string;
}

/** Responds with a page. Other sites can't show it in a frame. */
export const answerWithPage = (page: HtmlPage): Answer<string> => withNotes(page.html, { headers: pageHeaders(page) });

export const pageHeaders = ({ sources }: HtmlPage): Record<string, string> => ({
  'content-security-policy': `default-src 'none'; ${sources}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
  'referrer-policy': 'no-referrer',
});

/** Reads a page's script or style from a file next to its module. `folder` is the module's `import.meta.url`. */
export const readPart = (file: string, folder: string): string => readFileSync(new URL(file, folder), 'utf8');

const style = readPart('page.css', import.meta.url);
const sharedScript = readPart('page.browser.js', import.meta.url);

const mark = (size: number) =>
  `<svg xmlns="http://www.w3.org/2000/svg" width="${size}" height="${size}" viewBox="0 0 32 32" aria-hidden="true"><rect width="32" height="32" rx="8" fill="#2451b3"/><path fill="#fff" d="M9 7h14v4h-2v8h2.5v3H26v3H6v-3h2.5v-3H11v-8H9z"/></svg>`;
const icon = `data:image/svg+xml;base64,${Buffer.from(mark(16)).toString('base64')}`;

interface PageParts {
  readonly title: string;
  readonly main: string;
  readonly scripts: readonly string[];
  /** Links below the card. */
  readonly footer?: string;
}

/**
 * A page in the shared design. `main` has sections with the attribute `data-section`. The scripts show one section at a
 * time. Without JavaScript, the page shows a notice instead.
 */
export const renderPage = ({ title, main, scripts, footer = startLink }: PageParts): HtmlPage =>
  render(title, withoutScript + sharedSections + main, [sharedScript, ...scripts], { brand, footer });

const errorTitles: Readonly<Record<number, string>> = {
  401: 'You are not signed in',
  403: 'You can&#39;t open this page',
  404: 'Page not found',
  429: 'Too many requests',
  503: 'Temporarily unavailable',
};

const signInFirst = 'Sign in on the start page in this browser, then open this page again.';

/** Replacements for messages written for developers. */
const errorTexts: Readonly<Record<string, string>> = {
  route_not_found: 'There is no page at this address. Check the link you followed.',
  credentials_missing: signInFirst,
  credentials_invalid: signInFirst,
  credentials_expired: signInFirst,
};

/** The page for a failed browser request. It has no script. */
export function renderErrorPage({ status, code, message }: Problem, requestId: string): HtmlPage {
  const title = errorTitles[status] ?? 'Something went wrong';
  const text = errorTexts[code] ?? escapeHtml(message);
  const main = `<h1>${title}</h1>
    <p>${text}</p>
    <p class="quiet">Error ${status} <code data-code="${code}">${code}</code>, request id ${requestId}.</p>
    <a class="button" href="/">Go to the start page</a>`;
  return render(title, main, []);
}

/** An API page with a single message. */
export const renderMessage = (title: string, text: string): HtmlPage =>
  render(title, `<h1>${escapeHtml(title)}</h1>\n    <p>${escapeHtml(text)}</p>`, []);

/** A page with a single message and no links, for hosts other than our own. */
export const renderNotice = (title: string, text: string): HtmlPage =>
  render(title, `<h1>${title}</h1>\n    <p>${text}</p>`, [], { brand: '', footer: '' });

const brand = `<header class="brand">${mark(32)} Plinth</header>`;
const startLink = '<a href="/">Start page</a>';

const render = (title: string, main: string, scripts: readonly string[], frame = { brand, footer: '' }): HtmlPage => ({
  html: `<!doctype html>
<html lang="en">
<head>
  <meta charset="utf-8">
  <meta name="viewport" content="width=device-width, initial-scale=1">
  <meta name="referrer" content="no-referrer">
  <title>${title}</title>
  <link rel="icon" href="${icon}">
  <style>${style}</style>
</head>
<body>
  ${frame.brand}
  <main>
    ${main}
  </main>
  ${frame.footer && `<footer>${frame.footer}</footer>`}
${scripts.map((script) => `<script type="module">${script}</script>\n`).join('')}</body>
</html>
`,
  sources: [
    ...(scripts.length > 0 ? [`script-src ${scripts.map(hashOf).join(' ')}`, "connect-src 'self'"] : []),
    `style-src ${hashOf(style)}`,
    'img-src data:',
  ].join('; '),
});

const withoutScript = `<noscript>
      <h1>This page needs JavaScript</h1>
      <p>Turn on JavaScript in your browser and reload the page. Everything on this page can also be done through the API.</p>
    </noscript>`;

const sharedSections = `
    <p id="loading" class="quiet" data-section hidden>Loading…</p>
    <section id="failed" data-section hidden>
      <h1>This page could not be loaded</h1>
      <p data-fill="failure"></p>
    </section>`;

const escapeHtml = (text: string): string => text.replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`);

const hashOf = (text: string): string => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;
