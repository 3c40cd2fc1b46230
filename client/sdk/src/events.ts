// Reads event streams, and resumes them after a lost connection: every event is yielded once.
import { readLines } from './body.ts';
import { PlinthError, toError } from './errors.ts';
import { lastEvents } from './generated/table.ts';
import {
  chooseWait,
  describeRefusal,
  type Failure,
  judge,
  maxWaitMs,
  type Outgoing,
  type Received,
  sendOnce,
  type Transport,
  waitToRepeat,
} from './send.ts';

export interface StreamEvent {
  readonly event: string;
  readonly data: unknown;
  readonly id: string | undefined;
}

/** How many connections without an event are made before the client gives up. */
const maxEmpty = 6;

export interface Following {
  readonly transport: Transport;
  readonly outgoing: Outgoing;
  /** Called with the first answer, whose headers contain the notes. */
  readonly onOpen?: (received: Received) => void;
}

/**
 * Yields events until the last one of the operation. Until the first event, the request is repeated as often as any
 * other; then the stream is resumed as long as events arrive.
 */
export async function* followStream({ transport, outgoing, onOpen }: Following): AsyncGenerator<StreamEvent> {
  const { operation, signal, maxRetries } = outgoing;
  const heldMs = Number(operation.value('h') ?? 0) * 1000;
  const isChange = !operation.has('r');
  let lastId: string | undefined;
  let isOpened = false;
  let hasBegun = false;
  let isUnknown = false;
  let isOver = false;
  let waitedMs = 0;
  for (let empty = 0, attempt = 1; ; attempt += 1) {
    const headers = { ...outgoing.headers, accept: 'text/event-stream', ...(lastId && { 'last-event-id': lastId }) };
    const openedAt = Date.now();
    const opened = await sendOnce(transport, { ...outgoing, headers }, 'events', { attempt, isUnknown });
    let failure = 'error' in opened ? opened : undefined;
    let count = 0;
    if (!('error' in opened)) {
      if (!isOpened) onOpen?.(opened);
      isOpened = true;
      // The server has begun to do what was asked for.
      isUnknown ||= isChange;
      const reading = readEvents(opened, operation.name, signal);
      try {
        for (;;) {
          const next = await reading.next();
          if (next.done) {
            failure = next.value;
            break;
          }
          count += 1;
          lastId = next.value.id ?? lastId;
          yield next.value;
          const last = judgeEvent(operation.name, next.value);
          if (last === 'last') return;
          isOver = last === 'last if the server closes';
        }
      } finally {
        await reading.return(undefined);
      }
    }
    if (isOver && failure === undefined) return;
    isUnknown ||= (failure?.mayHaveEffect ?? true) && isChange;
    const error = failure?.error ?? gaveUp(operation.name, outgoing.requestId);
    const cause = describeRefusal(error, outgoing, isUnknown);
    // A stream that has begun is resumed by its last id, which repeats nothing.
    const isResumable = outgoing.isRepeatable || lastId !== undefined || failure?.repeat === 'yes';
    if (failure?.repeat === 'no' || !isResumable) throw cause;
    hasBegun ||= count > 0;
    // A connection that was open for its whole time was not lost.
    const isFull = failure === undefined && heldMs > 0 && Date.now() - openedAt > heldMs * 0.9;
    empty = count > 0 || isFull ? 0 : empty + 1;
    if (empty === 0 && failure === undefined) continue;
    const waitMs = chooseWait(cause, Math.max(empty, 1));
    waitedMs += waitMs;
    const isTired = empty > maxRetries || waitedMs > maxWaitMs;
    if (empty >= maxEmpty || (!hasBegun && isTired)) throw cause;
    await waitToRepeat(transport, outgoing, { attempt, waitMs, cause });
  }
}

const gaveUp = (operation: string, requestId: string): PlinthError =>
  new PlinthError({ code: 'unreachable', operation, message: 'The stream ended before its last event.', requestId });

/**
 * An event that is the last one only with some data can be followed by more. Example: a session is `completed`, and
 * `queued` again because a message had arrived.
 */
function judgeEvent(
  operation: string,
  { event, data }: StreamEvent,
): 'last' | 'last if the server closes' | 'not last' {
  const last = lastEvents[operation]?.[event];
  if (last === undefined) return 'not last';
  if (last === true) return 'last';
  const isMet = Object.entries(last).every(([field, values]) =>
    values.includes(String((data as Record<string, unknown>)[field])),
  );
  return isMet ? 'last if the server closes' : 'not last';
}

/** Yields the events of one connection. Returns the failure that ended it, if one did. */
async function* readEvents(
  { response, requestId }: Received,
  operation: string,
  signal: AbortSignal | undefined,
): AsyncGenerator<StreamEvent, Failure | undefined> {
  try {
    for await (const { event, data, id } of parseEvents(readLines(response))) {
      const value = JSON.parse(data);
      if (event !== 'error') {
        yield { event, data: value, id };
        continue;
      }
      const { status = 500, request_id = '', retry_after } = value;
      const error = toError(value, { operation, status, requestId: request_id, retryAfterSeconds: retry_after });
      return error && judge(error);
    }
    return undefined;
  } catch (cause) {
    if (signal?.aborted) throw signal.reason;
    const message = 'The connection was lost before the stream had ended.';
    return {
      error: new PlinthError({ code: 'unreachable', operation, message, requestId, cause }),
      repeat: 'if repeatable',
      mayHaveEffect: true,
    };
  }
}

interface TextEvent {
  readonly event: string;
  readonly data: string;
  readonly id: string | undefined;
}

/** An event that was cut off has no empty line after it, and is dropped. */
async function* parseEvents(lines: AsyncIterable<string>): AsyncGenerator<TextEvent> {
  let event = 'message';
  let data: string[] = [];
  let id: string | undefined;
  for await (const line of lines) {
    if (line === '') {
      if (data.length > 0) yield { event, data: data.join('\n'), id };
      event = 'message';
      data = [];
      id = undefined;
      continue;
    }
    const [, field, value = ''] = /^(\w+)(?:: ?(.*))?$/s.exec(line) ?? [];
    if (field === 'event') event = value;
    if (field === 'data') data.push(value);
    if (field === 'id') id = value;
  }
}
