// Renders the receiver's deliveries for people: how each request was signed and answered, its headers and its body.
import { type Html, html, renderCut, renderTime } from './pages/html.ts';
import { toListPage } from './pages/list.ts';
import type { Page } from './pages/page.ts';

export interface ShownDelivery {
  readonly id: number;
  readonly at: number;
  readonly method: string;
  readonly path: string;
  /** Empty if the request is not from a webhook. */
  readonly event: string;
  readonly sequence: number | null;
  readonly attempt: number;
  readonly answered: number;
  /** `valid`, or the reason why the signature is not known to be valid. */
  readonly signature: string;
  readonly headers: readonly (readonly [string, string])[];
  readonly body: unknown;
}

export interface Received {
  /** The receiver's own address. */
  readonly url: string;
  /** Oldest first. */
  readonly deliveries: readonly ShownDelivery[];
  /** The path that the list is filtered by. */
  readonly path: string | null;
  readonly keptDeliveries: number;
  readonly startPage: string | undefined;
}

export const toReceivedPage = ({ url, deliveries, path, keptDeliveries, startPage }: Received): Page =>
  toListPage({
    title: 'Received webhooks',
    introduction: html`<p>Every request that was posted to <code>${url}</code>, at any path. To have signatures verified, send the webhook's secret:</p>
<pre tabindex="0" aria-label="Command">curl -d 'whsec_…' ${url}/secrets</pre>`,
    emptyText: html`<h2>Nothing received yet</h2>
<p>Set <code>${url}/orders</code>, or another path, as the URL of a webhook or of a workflow's request. What is sent to it appears here.</p>`,
    nouns: ['delivery', 'deliveries'],
    keptEntries: keptDeliveries,
    filter: { name: 'path', label: 'Sent to the path', value: path },
    entries: path === null ? deliveries : deliveries.filter((delivery) => delivery.path === path),
    renderEntry: renderDelivery,
    startPage,
  });

function renderDelivery(delivery: ShownDelivery): Html {
  const { id, at, method, path, event, signature, answered, headers, body } = delivery;
  const text = typeof body === 'string' ? body : JSON.stringify(body, null, 2);
  const [verdict, grade] = verdicts.find(([start]) => signature.startsWith(start)) ?? [signature, ''];
  return html`<li id="delivery-${id}">
<div class="heading"><h2><code>${method} ${path}</code></h2>${renderTime(at)}</div>
<p class="badges"><span class="badge ${grade}">signature ${verdict}</span>
<span class="badge ${answered < 300 ? 'good' : 'bad'}">answered ${answered}</span></p>
<dl class="facts">
${renderFact('event', event === '' ? 'none: this request is not from a webhook' : describeEvent(delivery))}
${renderFact('signature', signature === 'valid' ? 'valid: one of the known secrets made it' : signature)}
${headers.filter(([name]) => mainHeaders.has(name)).map(([name, value]) => renderFact(name, value, describeTimestamp(name, value)))}
</dl>
${text === '' ? html`<p class="quiet">The body is empty.</p>` : html`<pre tabindex="0" aria-label="Body of delivery ${id}">${renderCut(text)}</pre>`}
<details>
<summary>All ${headers.length} headers</summary>
<dl class="facts">${headers.map(([name, value]) => renderFact(name, value))}</dl>
</details>
</li>`;
}

/** How a verdict begins, and the colour in which it is shown. */
const verdicts = [
  ['valid', 'good'],
  ['invalid', 'bad'],
  ['not checked', 'wait'],
  ['missing', ''],
] as const;

/** The headers that are shown without opening the list of all. */
const mainHeaders: ReadonlySet<string> = new Set(['webhook-id', 'webhook-timestamp', 'content-type']);

const renderFact = (name: string, value: string, note?: Html): Html =>
  html`<div><dt>${name}</dt><dd>${value}${note}</dd></div>`;

const describeEvent = ({ event, sequence, attempt }: ShownDelivery): string =>
  `${event}, ${sequence === null ? 'a test' : `number ${sequence}`}, attempt ${attempt}`;

/** A signature's timestamp is in seconds. */
function describeTimestamp(name: string, value: string): Html | undefined {
  if (name !== 'webhook-timestamp' || !/^\d{1,11}$/.test(value)) return undefined;
  return html` (${renderTime(Number(value) * 1_000)})`;
}
