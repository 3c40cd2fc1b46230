// The layout of the sandbox's pages for people, and their content security policy: nothing but their own style and
// script.
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { type Html, html, trustMarkup } from './html.ts';

export interface Page {
  readonly title: string;
  readonly main: Html;
  /** The address of the start page, to which the header links. */
  readonly startPage: string | undefined;
  /** A narrow page has a form or a message. The others have lists. */
  readonly isNarrow?: true;
  /** Adds new entries of the page's list while the page is open. */
  readonly refreshes?: true;
  /** Allows forms whose answer redirects to another site. Browsers apply the policy to redirects too. */
  readonly sendsFormsElsewhere?: true;
}

export interface PageAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Whether the request comes from a browser that opens a page. Programs get JSON. */
export const wantsPage = ({ headers }: Pick<IncomingMessage, 'headers'>): boolean =>
  headers.accept?.includes('text/html') ?? false;

export function sendPage(response: ServerResponse, page: Page, status = 200): void {
  const { headers, body } = answerWithPage(page, status);
  response.writeHead(status, headers).end(body);
}

export const answerWithPage = (page: Page, status = 200): PageAnswer => ({
  status,
  headers: {
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': policyOf(page),
    'referrer-policy': 'no-referrer',
    'x-content-type-options': 'nosniff',
    'cache-control': 'no-store',
    vary: 'accept',
  },
  body: `<!doctype html>\n${render(page).markup}`,
});

const readPart = (file: string): string => readFileSync(new URL(file, import.meta.url), 'utf8');
const style = readPart('page.css');
const script = readPart('refresh.browser.js');
const hashOf = (text: string): string => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;
const sources = {
  style: `style-src ${hashOf(style)}`,
  script: `script-src ${hashOf(script)}; connect-src 'self'; frame-src 'self'`,
};

const policyOf = ({ refreshes, sendsFormsElsewhere }: Page): string =>
  [
    "default-src 'none'",
    sources.style,
    'img-src data:',
    ...(refreshes ? [sources.script] : []),
    `form-action 'self'${sendsFormsElsewhere ? ' http: https:' : ''}`,
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join('; ');

const mark =
  '<svg xmlns="http://www.w3.org/2000/svg" width="20" height="20" viewBox="0 0 16 16" fill="#2451b3" aria-hidden="true"><path d="M5 1h6v4H5zM3 6h10v4H3zM1 11h14v4H1z"/></svg>';
const icon = `data:image/svg+xml;base64,${Buffer.from(mark).toString('base64')}`;
const brand = html`${trustMarkup(mark)} Plinth sandbox`;

const render = ({ title, main, startPage, isNarrow, refreshes }: Page): Html => html`<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title} · Plinth sandbox</title>
<link rel="icon" href="${icon}">
<style>${trustMarkup(style)}</style>
</head>
<body class="${isNarrow ? 'narrow' : 'wide'}">
<header class="top">${startPage === undefined ? html`<span>${brand}</span>` : html`<a href="${startPage}">${brand}</a>`}</header>
<main>
${main}
</main>
${refreshes && html`<script type="module">${trustMarkup(script)}</script>`}
</body>
</html>
`;

export const notFoundPage = (startPage: string | undefined): Page => ({
  title: 'Page not found',
  main: html`<h1>Page not found</h1>
<p>The sandbox has no page at this address. Check the link that you followed.</p>`,
  startPage,
  isNarrow: true,
});
