// Reads event streams, and resumes them after a lost connection: every event is yielded once.
import { PlinthError, toError, withUnknownOutcome } from './errors.ts';
import { lastEvents } from './generated/table.ts';
import {
  chooseWait,
  type Failure,
  judge,
  type Outgoing,
  type Received,
  sendOnce,
  sleep,
  type Transport,
} from './send.ts';

export interface StreamEvent {
  readonly event: string;
  readonly data: unknown;
  readonly id: string | undefined;
}

/** The server sends at least a ping every 15 seconds. */
const silentMs = 45_000;
/** How many connections without an event are made before the client gives up. */
const maxEmpty = 6;

export interface Following {
  readonly transport: Transport;
  readonly outgoing: Outgoing;
  /** Called with the first answer, whose headers contain the notes. */
  readonly onOpen?: (received: Received) => void;
}

/** Yields events until the last one of the operation. Reconnects as long as events arrive. */
export async function* followStream({ transport, outgoing, onOpen }: Following): AsyncGenerator<StreamEvent> {
  const { operation, signal } = outgoing;
  const heldMs = Number(operation.value('h') ?? 0) * 1000;
  let lastId: string | undefined;
  let isUnknown = false;
  let isOver = false;
  for (let empty = 0, connection = 1; ; connection += 1) {
    const headers = { ...outgoing.headers, accept: 'text/event-stream', ...(lastId && { 'last-event-id': lastId }) };
    const openedAt = Date.now();
    const opened = await sendOnce(transport, { ...outgoing, headers }, 'open', connection);
    let failure = 'error' in opened ? opened : undefined;
    let count = 0;
    if (!('error' in opened)) {
      if (connection === 1) onOpen?.(opened);
      const reading = readEvents(opened.response, operation.name, signal);
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
    const isChange = !operation.has('r');
    isUnknown ||= (failure?.mayHaveEffect ?? true) && isChange;
    const error = failure?.error ?? gaveUp(operation.name, outgoing.requestId);
    const cause = isUnknown ? withUnknownOutcome(error) : error;
    // A stream that has begun is resumed by its last id, which repeats nothing.
    const isResumable = outgoing.isRepeatable || lastId !== undefined || failure?.repeat === 'yes';
    if (failure?.repeat === 'no' || !isResumable) throw cause;
    // A connection that was open for its whole time was not lost.
    const isFull = failure === undefined && heldMs > 0 && Date.now() - openedAt > heldMs * 0.9;
    empty = count > 0 || isFull ? 0 : empty + 1;
    if (empty >= maxEmpty) throw cause;
    if (empty > 0 || failure) await sleep(chooseWait(cause, Math.max(empty, 1)), signal);
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
  response: Response,
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
      error: new PlinthError({ code: 'unreachable', operation, message, cause }),
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

/** Yields the lines of a body. Throws if nothing arrives for too long. */
export async function* readLines(response: Response): AsyncGenerator<string> {
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  if (reader === undefined) return;
  let rest: string[] = [];
  try {
    for (;;) {
      const { done, value } = await readSoon(reader);
      if (done) break;
      // The parts of a line are joined when it ends, so that a long line takes no more time than its length.
      const [first = '', ...more] = value.split('\n');
      rest.push(first);
      for (const next of more) {
        yield rest.join('').replace(/\r$/, '');
        rest = [next];
      }
    }
    if (rest.join('') !== '') yield rest.join('');
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

async function readSoon(reader: ReadableStreamDefaultReader<string>): Promise<Awaited<ReturnType<typeof reader.read>>> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const silence = new Promise<never>((_, fail) => {
    timer = setTimeout(() => fail(new Error('nothing arrived for 45 seconds')), silentMs);
  });
  try {
    return await Promise.race([reader.read(), silence]);
  } finally {
    clearTimeout(timer);
  }
}
