// Owns noticing that one action created the same record twice: the page sent a POST again with the same content while the first was
// under way or had just been answered, and the answers have different ids. Requests that only ask, that are answered with what
// the first one created, or that repeat one that failed, are no such thing.
import { createHash } from 'node:crypto';
import type { BrowserContext, Request } from 'playwright-core';
import type { RepeatedRequest } from './types.ts';

export interface RepeatWatch {
  beginStep(number: number): void;
  /** What is sent from now on has another cause. */
  beginAction(): void;
  list(): readonly RepeatedRequest[];
}

/** Equal requests that follow each other at once. */
interface Group {
  readonly step: number;
  readonly sent: SentRequest[];
}

interface SentRequest {
  readonly request: Request;
  answeredAtMs?: number;
  /** Of the record in the answer. */
  id?: string | undefined;
}

/** What is sent later than this after an answer is meant. */
const soonMs = 1_000;
const maxGroups = 200;
const maxRepeats = 20;

/** `showUrl` makes an address that a report may have. */
export function watchRepeats(context: BrowserContext, showUrl: (url: string) => string): RepeatWatch {
  /** Since the last action. */
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
  context.on('requestfinished', (request) => void compare(request).catch(() => {})); // the browser is gone
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

/** Undefined if the request was refused, or the answer is no record. */
async function readId(request: Request): Promise<string | undefined> {
  const response = await request.response();
  if (response === null || !response.ok()) return undefined;
  const answer: unknown = await response.json().catch(() => undefined);
  const isRecord = typeof answer === 'object' && answer !== null && 'id' in answer;
  return isRecord && ['string', 'number'].includes(typeof answer.id) ? String(answer.id) : undefined;
}
