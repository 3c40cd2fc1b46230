// Markup in which every inserted text is escaped, because mails, webhooks and repositories are hostile input.

/** Markup that is safe to send. A class, because no received object can be mistaken for an instance of it. */
class Html {
  readonly markup: string;

  constructor(markup: string) {
    this.markup = markup;
  }
}

export type { Html };

type Part = string | number | Html | readonly Html[] | undefined;

/** A template in which texts are escaped. Attributes must be in double quotes. `undefined` inserts nothing. */
export const html = (strings: TemplateStringsArray, ...parts: readonly Part[]): Html =>
  new Html(strings.map((text, index) => text + (index < parts.length ? toMarkup(parts[index]) : '')).join(''));

/** Inserts markup as it is. Only for files and constants of the sandbox. */
export const trustMarkup = (markup: string): Html => new Html(markup);

function toMarkup(part: Part): string {
  if (part === undefined) return '';
  if (part instanceof Html) return part.markup;
  if (typeof part === 'object') return part.map(({ markup }) => markup).join('');
  return escapeHtml(String(part));
}

const escapeHtml = (text: string): string => text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);

/** Punctuation after a URL belongs to the sentence. */
const urlPattern = /\bhttps?:\/\/[^\s<>"']*[^\s<>"'.,:;!?)\]}]/gi;

/** Turns the URLs in a text into links, but only those with http or https. */
export function linkUrls(text: string): Html {
  const parts: Html[] = [];
  let end = 0;
  for (const { 0: url, index } of text.matchAll(urlPattern)) {
    if (!URL.canParse(url)) continue;
    parts.push(html`${text.slice(end, index)}<a href="${url}" target="_blank" rel="noreferrer noopener">${url}</a>`);
    end = index + url.length;
  }
  return html`${parts}${text.slice(end)}`;
}

/** Cuts a long text, because a page must stay readable whatever was received. */
export function renderCut(text: string, render: (text: string) => Html = (shown) => html`${shown}`): Html {
  if (text.length <= maxCharacters) return render(text);
  return html`${render(text.slice(0, maxCharacters))}
… The rest is not shown (${(text.length - maxCharacters).toLocaleString('en')} characters).`;
}

const maxCharacters = 20_000;

const timeFormat = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'medium' });

/** A time in the time zone of this machine. */
export const renderTime = (at: number): Html =>
  html`<time datetime="${new Date(at).toISOString()}">${timeFormat.format(at)}</time>`;
