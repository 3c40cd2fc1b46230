// The forms of a call: whole, page by page, item by item, or as a stream of events.
import { readLines } from './body.ts';
import type { Answer, CallOptions, CallSteps } from './call.ts';
import { PlinthError } from './errors.ts';
import { followStream } from './events.ts';
import { type Notes, readNotes } from './notes.ts';
import type { Operation } from './operation.ts';
import { type Arguments, buildRequest, type RequestDefaults } from './request.ts';
import { type Form, type Outgoing, type Received, sendWithRetries, type Transport } from './send.ts';

export interface StepDeps {
  readonly transport: Transport;
  readonly defaults: RequestDefaults;
  readonly report: (notes: Notes, operation: string, headers: Headers) => void;
}

export function createSteps(deps: StepDeps, operation: Operation, args: Arguments, options: CallOptions): CallSteps {
  const outgoing = buildRequest(operation, args, options, deps.defaults);
  const send = () => sendWhole(deps, outgoing);
  const pages = () => readPages(deps, operation, args, options);
  return {
    send,
    pages,
    items: () =>
      operation.has('n') ? readEntries(send) : operation.has('e') ? stream() : readItems(operation, pages()),
    stream,
    as: async (media) => (await sendOnceAs(deps, outgoing, media)).data as Uint8Array,
    isOnlyStream: operation.has('e'),
  };
  function stream() {
    return followStream({
      transport: deps.transport,
      outgoing,
      onOpen: (received) => toAnswer(deps, operation, received),
    });
  }
}

async function sendWhole(deps: StepDeps, outgoing: Outgoing): Promise<Answer<unknown>> {
  const { operation } = outgoing;
  if (operation.has('e')) throw new TypeError(`${operation.name} has only a stream: iterate it, or use .stream()`);
  if (operation.has('v')) return sendLong(deps, outgoing);
  const form: Form = operation.has('n') ? 'lines' : operation.has('t') ? 'text' : operation.has('y') ? 'bytes' : 'json';
  const received = await sendWithRetries(deps.transport, outgoing, form);
  const data = operation.has('n') ? parseLines(received.response, outgoing) : received.data;
  return toAnswer(deps, operation, { ...received, data });
}

async function sendOnceAs({ transport }: StepDeps, outgoing: Outgoing, media: string): Promise<Received> {
  const headers = { ...outgoing.headers, accept: media };
  return sendWithRetries(transport, { ...outgoing, headers }, 'bytes');
}

/** A call that is held for minutes is read from its event stream: its last event contains the answer. */
async function sendLong(deps: StepDeps, outgoing: Outgoing): Promise<Answer<unknown>> {
  let opened: Received | undefined;
  let data: unknown;
  const onOpen = (received: Received) => {
    opened = received;
  };
  for await (const event of followStream({ transport: deps.transport, outgoing, onOpen })) data = event.data;
  const {
    status = 200,
    headers = new Headers(),
    requestId = outgoing.requestId,
    response = new Response(),
  } = opened ?? {};
  return toAnswer(deps, outgoing.operation, { status, headers, requestId, response, data });
}

function toAnswer(
  { report }: StepDeps,
  { name }: Operation,
  { data, status, headers, requestId, response }: Received,
): Answer<unknown> {
  const notes = readNotes(headers);
  try {
    report(notes, name, headers);
  } catch (error) {
    // Nobody will read what is still to come.
    response.body?.cancel().catch(() => undefined);
    throw error;
  }
  return { data, notes, status, headers, requestId: headers.get('x-request-id') ?? requestId };
}

interface Page {
  readonly next_cursor?: string | null;
  readonly has_more?: boolean;
}

async function* readPages(
  deps: StepDeps,
  operation: Operation,
  args: Arguments,
  options: CallOptions,
): AsyncGenerator<Page> {
  for (let cursor = args.cursor; ; ) {
    const outgoing = buildRequest(
      operation,
      { ...args, ...(cursor !== undefined && { cursor }) },
      options,
      deps.defaults,
    );
    const { data, headers, status, requestId } = await sendWhole(deps, outgoing);
    // The first page again, in the middle of the list: what comes after it is not the rest.
    if (cursor !== undefined && headers.get('x-cursor') === 'reset') {
      const message = 'The cursor is no longer valid, so the rest of the list is not known. Read the list again.';
      throw new PlinthError({ code: 'cursor_reset', operation: operation.name, message, status, requestId });
    }
    const page = data as Page;
    yield page;
    if (!page.has_more || typeof page.next_cursor !== 'string') return;
    cursor = page.next_cursor;
  }
}

async function* readItems(operation: Operation, pages: AsyncIterable<Page>): AsyncGenerator<unknown> {
  const field = operation.value('p') ?? 'items';
  for await (const page of pages) yield* (page as Record<string, Iterable<unknown>>)[field] ?? [];
}

async function* readEntries(send: () => Promise<Answer<unknown>>): AsyncGenerator<unknown> {
  yield* (await send()).data as AsyncIterable<unknown>;
}

async function* parseLines(response: Response, { operation, requestId, signal }: Outgoing): AsyncGenerator<unknown> {
  try {
    for await (const line of readLines(response)) if (line !== '') yield JSON.parse(line);
  } catch (cause) {
    if (signal?.aborted) throw signal.reason;
    const message = 'The connection was lost before the last line.';
    throw new PlinthError({ code: 'unreachable', operation: operation.name, message, requestId, cause });
  }
}
