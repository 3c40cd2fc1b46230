// A page with a list that refreshes itself: what was received, newest first, and a field that filters it.
import { type Html, html } from './html.ts';
import type { Page } from './page.ts';

/** The number of entries on a page. The JSON form has all that are kept. */
const maxShown = 100;

export interface ListPage<Entry> {
  readonly title: string;
  /** What the list contains, above the list. */
  readonly introduction: Html;
  /** What will appear here, while the list is empty. */
  readonly emptyText: Html;
  /** The noun for one entry and for several. */
  readonly nouns: readonly [string, string];
  /** How many entries the server keeps. */
  readonly keptEntries: number;
  /** The parameter of the URL by which the list is filtered, the label of its field, and its current value. */
  readonly filter: { readonly name: string; readonly label: string; readonly value: string | null };
  /** Oldest first. */
  readonly entries: readonly Entry[];
  /** Renders an entry. It must have an `id` that no other entry has. */
  readonly renderEntry: (entry: Entry) => Html;
  readonly startPage: string | undefined;
}

export function toListPage<Entry>(list: ListPage<Entry>): Page {
  const { title, introduction, emptyText, filter, entries, renderEntry, startPage } = list;
  const shown = entries.slice(-maxShown).toReversed();
  const main = html`<h1>${title}</h1>
<div class="quiet">${introduction}</div>
<form class="filter">
<label for="filter">${filter.label}</label>
<input id="filter" name="${filter.name}" value="${filter.value ?? ''}" autocomplete="off" spellcheck="false">
<button>Show</button>
${filter.value === null ? undefined : html`<a href="?">Show all</a>`}
</form>
<p id="summary" role="status">${summarise(list, shown.length)}</p>
<noscript><p class="quiet">JavaScript is off: reload the page to see what has arrived since.</p></noscript>
<ol id="entries" class="entries">${shown.map(renderEntry)}</ol>
<div class="empty">${filter.value === null ? emptyText : html`<p>Nothing here matches the filter.</p>`}</div>`;
  return { title, main, startPage, refreshes: true };
}

function summarise<Entry>({ entries, nouns: [one, several], keptEntries }: ListPage<Entry>, shown: number): string {
  const count = entries.length === 1 ? `1 ${one}` : `${entries.length.toLocaleString('en')} ${several}`;
  const part = shown < entries.length ? `, of which the newest ${shown} are shown` : ', newest first';
  const limit = `The sandbox keeps the last ${keptEntries.toLocaleString('en')}, until it restarts.`;
  return `${entries.length === 0 ? `No ${several}` : count + part}. ${limit}`;
}
