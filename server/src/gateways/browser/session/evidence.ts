// The evidence collected while a page is used: errors, failed requests, and our answers to the page's dialogs.
// Errors caused only by blocked requests are not the page's fault.
import type { BrowserContext, ConsoleMessage, Request, Response } from 'playwright-core';
import type { Destinations } from './destinations.ts';
import { watchRepeats } from './repeats.ts';
import type { Evidence, NetworkFailure, PageMessage } from './types.ts';

export interface EvidenceCollector {
  beginStep(number: number): void;
  /** Marks the start of an action on the page. */
  beginAction(): void;
  note(text: string): void;
  /** Records that a network limit was reached. */
  noteLimit(limit: string): void;
  build(): Evidence;
}

const maxEntries = 50;
const maxTextLength = 500;
const maxUrlLength = 300;
const stackLines = 6;

export function collectEvidence(
  context: BrowserContext,
  origin: string,
  destinations: Destinations,
): EvidenceCollector {
  const consoleErrors: PageMessage[] = [];
  const pageErrors: PageMessage[] = [];
  const failures = new Map<string, Counted>();
  const notes: PageMessage[] = [];
  const showUrl = (text: string): string => {
    const url = URL.parse(text);
    const shown = url === null || url.origin === origin ? (url?.pathname ?? '') : url.origin + url.pathname;
    return shown.slice(0, maxUrlLength);
  };
  const repeats = watchRepeats(context, showUrl);
  let [step, cut, exhausted] = [0, false, false];

  function add(list: PageMessage[], text: string): void {
    if (list.length < maxEntries) list.push({ text: text.slice(0, maxTextLength), step });
    else if (list !== notes) cut = true;
  }

  function addText(list: PageMessage[], text: string): void {
    const into = isAboutRefusal(text, destinations.listBlocked()) ? notes : list;
    const lines = text.replaceAll(origin, '').split('\n', stackLines).join('\n');
    add(into, lines);
  }

  function addFailure(request: Request, status: number | null, reason: string): void {
    const url = URL.parse(request.url());
    if (url === null || !/^https?:$/.test(url.protocol) || destinations.isBlocked(url)) return;
    if (url.pathname === '/favicon.ico') return; // requested by browsers, not by pages
    const failure = { url: showUrl(request.url()), method: request.method(), status, reason, step };
    const key = JSON.stringify([failure.method, failure.url, reason]);
    const known = failures.get(key);
    // Failures that are often harmless must not take up the entries for other failures.
    const alike = failures.values().filter((each) => isRefusal(each.failure) === isRefusal(failure));
    if (known !== undefined) known.count += 1;
    else if ([...alike].length < maxEntries) failures.set(key, { failure, count: 1 });
    else if (!isRefusal(failure)) cut = true;
  }

  context.on('console', (message: ConsoleMessage) => {
    if (!['error', 'assert'].includes(message.type())) return;
    // Failed requests are reported separately.
    if (!message.text().startsWith('Failed to load resource')) addText(consoleErrors, message.text());
  });
  context.on('weberror', (webError) => {
    const error: unknown = webError.error();
    addText(pageErrors, error instanceof Error ? (error.stack ?? error.message) : String(error));
  });
  context.on('response', (response: Response) => {
    if (response.status() >= 400) addFailure(response.request(), response.status(), `HTTP ${response.status()}`);
  });
  context.on('requestfailed', (request: Request) => {
    const reason = request.failure()?.errorText ?? 'failed';
    // The page no longer needed the response, or was replaced by another page.
    if (reason !== 'net::ERR_ABORTED') addFailure(request, null, reason);
  });

  return {
    beginStep(number) {
      step = number;
      repeats.beginStep(number);
    },
    beginAction: repeats.beginAction,
    note: (text) => add(notes, text),
    noteLimit(limit) {
      exhausted = true;
      add(notes, `The session has used up its ${limit}. Later requests failed.`);
    },
    build: () => ({
      console_errors: [...consoleErrors],
      page_errors: [...pageErrors],
      network_failures: [...failures.values()].map(describeFailure),
      repeated_requests: repeats.list(),
      notes: [...notes],
      blocked: destinations.listBlocked(),
      exhausted,
      cut,
    }),
  };
}

interface Counted {
  readonly failure: NetworkFailure;
  count: number;
}

const isRefusal = ({ status }: NetworkFailure): boolean => status !== null && status < 500;

const describeFailure = ({ failure, count }: Counted): NetworkFailure =>
  count === 1 ? failure : { ...failure, reason: `${failure.reason} (${count} times)` };

/**
 * With `10.0.0.5:80` blocked:
 *
 *   Access to fetch at 'http://10.0.0.5/a' from origin … has been blocked by CORS policy   true
 *   TypeError: Failed to fetch                                                             true (it names no address)
 *   TypeError: x is not a function                                                         false
 */
function isAboutRefusal(text: string, blocked: readonly string[]): boolean {
  if (blocked.length === 0) return false;
  const [line = ''] = text.split('\n');
  if (!/Failed to fetch|net::ERR_|blocked by CORS policy|WebSocket connection to|NetworkError/.test(line)) return false;
  const named = /\b(?:https?|wss?):\/\/[^\s'")]+/.exec(line)?.[0];
  const url = named === undefined ? null : URL.parse(named);
  if (url === null) return true;
  const port = url.port === '' ? (/s:$/.test(url.protocol) ? '443' : '80') : url.port;
  return blocked.includes(`${url.hostname}:${port}`);
}
