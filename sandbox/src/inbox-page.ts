// Renders the inbox for people: each mail with its text, and its HTML part in a frame that can do nothing.
import { type Html, html, linkUrls, renderCut, renderTime } from './pages/html.ts';
import { toListPage } from './pages/list.ts';
import type { Page, PageAnswer } from './pages/page.ts';

export interface ShownMail {
  readonly id: number;
  readonly at: number;
  readonly to: readonly string[];
  readonly from: string;
  readonly subject: string;
  readonly text: string;
  readonly html: string | undefined;
}

export interface Inbox {
  /** Oldest first. */
  readonly mails: readonly ShownMail[];
  /** The address that the list is filtered by. */
  readonly to: string | null;
  readonly keptMails: number;
  readonly startPage: string | undefined;
}

export const toInboxPage = ({ mails, to, keptMails, startPage }: Inbox): Page =>
  toListPage({
    title: 'Inbox',
    introduction: html`<p>Every e-mail that Plinth sends arrives here, whoever it is addressed to. No mail leaves this machine.</p>`,
    emptyText: html`<h2>No mail yet</h2>
<p>Invitations, links to set a password and notifications appear here as soon as a worker sends them.</p>`,
    nouns: ['message', 'messages'],
    keptEntries: keptMails,
    filter: { name: 'to', label: 'Filter by recipient', value: to },
    entries: to === null ? mails : mails.filter((mail) => mail.to.includes(to)),
    renderEntry: renderMail,
    startPage,
  });

const renderMail = (mail: ShownMail): Html => html`<li id="mail-${mail.id}">
<div class="heading"><h2>${mail.subject === '' ? 'No subject' : mail.subject}</h2>${renderTime(mail.at)}</div>
<dl class="facts short">
<div><dt>To</dt><dd>${mail.to.map(renderRecipient)}</dd></div>
<div><dt>From</dt><dd>${mail.from}</dd></div>
</dl>
${mail.text.trim() === '' ? html`<p class="quiet">This mail has no text.</p>` : html`<p class="written">${renderCut(mail.text.trim(), linkUrls)}</p>`}
${mail.html === undefined ? undefined : renderFrame(mail)}
</li>`;

const renderRecipient = (address: string, index: number): Html =>
  html`${index === 0 ? '' : ', '}<a href="/inbox?to=${encodeURIComponent(address)}">${address}</a>`;

const renderFrame = ({ id, subject }: ShownMail): Html => html`<details>
<summary>HTML version</summary>
<iframe src="/inbox/${id}/html" title="HTML version of: ${subject}" sandbox loading="lazy"></iframe>
</details>`;

/** A mail's HTML part. It runs no script, loads nothing and can't navigate, even if it is opened without the frame. */
export const answerWithMailHtml = (markup: string): PageAnswer => ({
  status: 200,
  headers: {
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy':
      "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; form-action 'none'; base-uri 'none'; frame-ancestors 'self'",
    'referrer-policy': 'no-referrer',
    'x-content-type-options': 'nosniff',
    'cache-control': 'no-store',
  },
  body: markup,
});
