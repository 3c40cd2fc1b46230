// A page's report. It separates the page's own errors from errors caused only by blocked requests.
import { z } from 'zod';
import type { BrowserEvent } from './connection.ts';
import type { FailedRequest } from './page-server.ts';

export interface LoadedPage {
  readonly outcome: 'loaded';
  readonly title: string;
  /** Errors written to the console by the page, or by the browser about the page. */
  readonly console_errors: readonly string[];
  /** Uncaught exceptions, unhandled rejections, and scripts that can't be parsed. */
  readonly page_errors: readonly string[];
  /** The page's own files that it requested but that do not exist. */
  readonly failed_requests: readonly FailedRequest[];
  /** The number of attempted requests to other addresses, including data API calls. None were sent. */
  readonly refused_requests: number;
  readonly refused_hosts: readonly string[];
  /** The number of requests to watched addresses, excluding those that the page's own policy forbids. */
  readonly watched_requests: number;
  /** Whether the caller's condition was met. */
  readonly condition_met: boolean;
  /** Errors caused by a blocked request. They are not the page's fault. */
  readonly refusal_errors: readonly string[];
  /** The text that a person sees on the page. */
  readonly text: string;
  /** True if there were more errors or more text than the report contains. */
  readonly cut: boolean;
}

export interface PageText {
  readonly title: string;
  readonly text: string;
}

export interface ReportBuilder {
  add(event: BrowserEvent): void;
  build(page: PageText, failedRequests: readonly FailedRequest[], isConditionMet: boolean): LoadedPage;
}

const maxErrors = 20;
const maxErrorLength = 500;
const maxHosts = 10;
const maxWatched = 100;
const maxTitleLength = 200;
const maxTextLength = 4_000;
const stackLines = 6;

const RemoteValue = z.object({
  value: z.unknown().optional(),
  description: z.string().optional(),
  unserializableValue: z.string().optional(),
  preview: z.object({ properties: z.array(z.object({ name: z.string(), value: z.string().optional() })) }).optional(),
});
const ConsoleCall = z.object({ type: z.string(), args: z.array(RemoteValue) });
const Exception = z.object({
  exceptionDetails: z.object({
    text: z.string(),
    url: z.string().optional(),
    lineNumber: z.number(),
    columnNumber: z.number(),
    exception: RemoteValue.optional(),
  }),
});
const LogEntry = z.object({ entry: z.object({ source: z.string(), level: z.string(), text: z.string() }) });
const SentRequest = z.object({
  requestId: z.string(),
  request: z.object({ url: z.string() }),
  initiator: z.object({ type: z.string() }),
});
const FailedLoad = z.object({ requestId: z.string(), blockedReason: z.string().optional() });
const OpenedSocket = z.object({ url: z.string() });

export function createReport(host: string, watches: (url: string) => boolean = () => false): ReportBuilder {
  const consoleErrors: string[] = [];
  const pageErrors: string[] = [];
  const refusalErrors: string[] = [];
  const refusedHosts = new Set<string>();
  const watched = new Set<string>();
  let [refused, cut] = [0, false];

  /** Replaces the random host name, which would make every report different. */
  const rename = (text: string) => text.replaceAll(`http://${host}`, '').replaceAll(host, 'app.invalid');

  function addError(list: string[], text: string, place = ''): void {
    const into = refused > 0 && isAboutRefusal(text, host) ? refusalErrors : list;
    const [first = '', ...stack] = text.split('\n', stackLines);
    if (into.length >= maxErrors) cut = true;
    else into.push(rename([first + place, ...stack].join('\n')).slice(0, maxErrorLength));
  }

  function addRequest(url: string): void {
    if (!/^(https?|wss?):/.test(url) || !URL.canParse(url) || new URL(url).host === host) return;
    refused += 1;
    if (refusedHosts.size < maxHosts) refusedHosts.add(new URL(url).host.slice(0, maxErrorLength));
  }

  const readers: Record<string, (params: unknown) => void> = {
    'Runtime.consoleAPICalled': (params) => {
      const { type, args } = ConsoleCall.parse(params);
      if (type === 'error' || type === 'assert') addError(consoleErrors, args.map(toText).join(' '));
    },
    'Runtime.exceptionThrown': (params) => {
      const { text, url, lineNumber, columnNumber, exception } = Exception.parse(params).exceptionDetails;
      const place = url ? ` (${url}:${lineNumber + 1}:${columnNumber + 1})` : '';
      addError(pageErrors, exception === undefined ? text : toText(exception), place);
    },
    'Log.entryAdded': (params) => {
      const { source, level, text } = LogEntry.parse(params).entry;
      // Failed requests are reported by our server, and errors thrown in a worker are reported as exceptions.
      const isReported = source === 'network' || text.startsWith('Uncaught ');
      if (level === 'error' && !isReported) addError(consoleErrors, text);
    },
    'Network.requestWillBeSent': (params) => {
      const { requestId, request, initiator } = SentRequest.parse(params);
      if (initiator.type !== 'preflight') addRequest(request.url);
      if (watched.size < maxWatched && watches(request.url)) watched.add(requestId);
    },
    'Network.loadingFailed': (params) => {
      const { requestId, blockedReason } = FailedLoad.parse(params);
      if (blockedReason !== undefined) watched.delete(requestId);
    },
    'Network.webSocketCreated': (params) => addRequest(OpenedSocket.parse(params).url),
  };

  return {
    add: ({ method, params }) => readers[method]?.(params),
    build: ({ title, text }, failedRequests, isConditionMet) => ({
      outcome: 'loaded',
      title: rename(title).slice(0, maxTitleLength),
      console_errors: consoleErrors,
      page_errors: pageErrors,
      failed_requests: failedRequests,
      refused_requests: refused,
      refused_hosts: [...refusedHosts],
      watched_requests: watched.size,
      condition_met: isConditionMet,
      refusal_errors: refusalErrors,
      text: rename(text).slice(0, maxTextLength),
      cut: cut || text.length > maxTextLength,
    }),
  };
}

/** One character more than the report keeps, so the report can detect that the text was cut. */
export const neededTextLength = maxTextLength + 1;

/**
 * Only the first line is checked, because the other lines show where the error occurred:
 *
 *   TypeError: Failed to fetch                                                     a blocked request
 *   Access to fetch at 'http://127.0.0.1:8080/api' from origin … has been blocked  a blocked request
 *   TypeError: Failed to fetch dynamically imported module: http://HOST/x.js       one of the page's files
 */
function isAboutRefusal(text: string, host: string): boolean {
  const [line = ''] = text.split('\n');
  const saysThatRequestFailed = /Failed to fetch|net::ERR_|blocked by CORS policy|^WebSocket connection to/.test(line);
  return saysThatRequestFailed && !line.replace(/ from origin '[^']*'/, '').includes(host);
}

function toText({ value, description, unserializableValue, preview }: z.infer<typeof RemoteValue>): string {
  if (typeof value === 'string') return value;
  if (description === 'Object' && preview !== undefined)
    return `{${preview.properties.map(({ name, value = '…' }) => `${name}: ${value}`).join(', ')}}`;
  return description ?? unserializableValue ?? JSON.stringify(value) ?? 'undefined';
}
