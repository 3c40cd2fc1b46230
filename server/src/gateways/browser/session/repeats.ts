// Detects that one action created the same record twice. This means that the page repeated a POST with the same
// content while the first was in progress or had just been answered, and that the responses have different ids.
// Requests that only query, that return the first request's record, or that repeat a failed request do not count.
import { createHash } from 'node:crypto';
import type { BrowserContext, Request } from 'playwright-core';
import type { RepeatedRequest } from './types.ts';

export interface RepeatWatch {
  beginStep(number: number): void;
  /** Later requests are attributed to the new action. */
  beginAction(): void;
  list(): readonly RepeatedRequest[];
}

/** Identical requests in quick succession. */
interface Group {
  readonly step: number;
  readonly sent: SentRequest[];
}

interface SentRequest {
  readonly request: Request;
  answeredAtMs?: number;
  /** The id of the response's record. */
  id?: string | undefined;
}

/** A request sent longer than this after a response is considered intentional. */
const soonMs = 1_000;
const maxGroups = 200;
const maxRepeats = 20;

/** `showUrl` returns the address in the form used in reports. */
export function watchRepeats(context: BrowserContext, showUrl: (url: string) => string): RepeatWatch {
  /** The groups seen since the last action. */
  const groups = new Map<string, Group>();
  const groupOf = new WeakMap<Request, Group>();
  const repeats = new Map<Group, RepeatedRequest>();
  let step = 0;

  function add(request: Request): void {
    if (request.method() !== 'POST') return;
    const key = toKey(request);
    const known = groups.get(key);
    if (known === undefined && groups.size >= maxGroups) return;
    const group = known !== undefined && isSoonAfter(known.sent.at(-1)) ? known : { step, sent: [] };
    group.sent.push({ request });
    groups.set(key, group);
    groupOf.set(request, group);
  }

  async function compare(request: Request): Promise<void> {
    const group = groupOf.get(request);
    const own = group?.sent.find((each) => each.request === request);
    if (group === undefined || own === undefined) return;
    own.answeredAtMs = performance.now();
    if (group.sent.length < 2) return;
    await Promise.all(group.sent.filter(isAnswered).map(readIdOnce));
    const { size: count } = new Set(group.sent.flatMap(({ id }) => id ?? []));
    if (count < 2 || (repeats.size >= maxRepeats && !repeats.has(group))) return;
    repeats.set(group, { method: request.method(), url: showUrl(request.url()), count, step: group.step });
  }

  context.on('request', add);
  context.on('requestfinished', (request) => void compare(request).catch(() => {})); // the browser has exited
  return {
    beginStep(number) {
      step = number;
    },
    beginAction: () => groups.clear(),
    list: () => [...repeats.values()],
  };
}

const isAnswered = ({ answeredAtMs }: SentRequest): boolean => answeredAtMs !== undefined;
const isSoonAfter = (sent: SentRequest | undefined): boolean =>
  sent !== undefined && (sent.answeredAtMs === undefined || performance.now() - sent.answeredAtMs < soonMs);

const toKey = (request: Request): string =>
  createHash('sha256')
    .update(`${request.url()}\n`)
    .update(request.postDataBuffer() ?? '')
    .digest('base64');

async function readIdOnce(sent: SentRequest): Promise<void> {
  if (sent.id === undefined) sent.id = await readId(sent.request);
}

/** Returns undefined if the request failed or the response is not a record. */
async function readId(request: Request): Promise<string | undefined> {
  const response = await request.response();
  if (response === null || !response.ok()) return undefined;
  const answer: unknown = await response.json().catch(() => undefined);
  const isRecord = typeof answer === 'object' && answer !== null && 'id' in answer;
  return isRecord && ['string', 'number'].includes(typeof answer.id) ? String(answer.id) : undefined;
}
