// Recorded calls of the tools of browser tests. An element is recorded by its role and name; the ref that a call needs is read from
// the last snapshot that the request contains.
import type { ChatRequest, ModelReply } from '../model.ts';

export interface RecordedCall {
  readonly name: 'open' | 'click' | 'type' | 'select' | 'resize' | 'assert';
  /** The element that a `ref` is needed for. */
  readonly element?: { readonly role: string; readonly name: string };
  readonly arguments: CallArguments;
}

/** Without `ref`. Each tool has its own. */
interface CallArguments {
  readonly path?: string;
  readonly text?: string;
  readonly option?: string;
  readonly width?: number;
  readonly height?: number;
  readonly kind?: 'text' | 'no_text' | 'count' | 'value' | 'fits';
  readonly role?: string;
  readonly name?: string;
  readonly count?: number;
  readonly value?: string;
}

export const open = (path: string): RecordedCall => ({ name: 'open', arguments: { path } });
export const click = (role: string, name: string): RecordedCall => ({
  name: 'click',
  element: { role, name },
  arguments: {},
});
export const type = (role: string, name: string, text: string): RecordedCall => ({
  name: 'type',
  element: { role, name },
  arguments: { text },
});
export const select = (role: string, name: string, option: string): RecordedCall => ({
  name: 'select',
  element: { role, name },
  arguments: { option },
});
export const resize = (width: number, height: number): RecordedCall => ({
  name: 'resize',
  arguments: { width, height },
});

const expectThat = (check: CallArguments): RecordedCall => ({ name: 'assert', arguments: check });
export const expectText = (text: string): RecordedCall => expectThat({ kind: 'text', text });
export const expectNoText = (text: string): RecordedCall => expectThat({ kind: 'no_text', text });
export const expectCount = (role: string, name: string, count: number): RecordedCall =>
  expectThat({ kind: 'count', role, name, count });
export const expectValue = (role: string, name: string, value: string): RecordedCall =>
  expectThat({ kind: 'value', role, name, value });
export const expectFit = (): RecordedCall => expectThat({ kind: 'fits' });

/** How many calls one reply may have. */
const maxCalls = 4;

/**
 * What the model does next. If an element is not there it waits for it, and if it does not come it checks that it is there,
 * which fails the test. After a failed check there is nothing more to do.
 */
export function playCalls(calls: readonly RecordedCall[], { messages }: ChatRequest): ModelReply {
  const done = messages.flatMap(readCalls);
  const last = messages.findLast(({ role }) => role === 'tool')?.content ?? '';
  const next = calls[done.filter((call) => !isLookingForElement(call)).length];
  if (next === undefined || /It does not hold/.test(last)) return finish;
  const tree = messages.findLast(({ content }) => content?.includes('[ref='))?.content ?? '';
  if (next.element !== undefined && findRef(tree, next.element) === undefined) {
    const check = { kind: 'visible', ...next.element };
    return callTools({ name: done.at(-1)?.name === 'wait' ? 'assert' : 'wait', arguments: check });
  }
  return callTools(...takeBatch(calls.slice(calls.indexOf(next)), tree));
}

const callTools = (...tool_calls: NonNullable<ModelReply['tool_calls']>): ModelReply => ({ tool_calls });
const finish = callTools({
  name: 'finish',
  arguments: { summary: 'I did what the goal says, as far as the app let me.' },
});

/** The calls that can be made without another look at the page: fields are filled in together, up to the click that follows. */
function takeBatch(calls: readonly RecordedCall[], tree: string) {
  const batch = [];
  for (const { name, element, arguments: given } of calls.slice(0, maxCalls)) {
    const ref = element && findRef(tree, element);
    if (element !== undefined && ref === undefined) break;
    batch.push({ name, arguments: { ...(ref !== undefined && { ref }), ...given } });
    if (name !== 'type') break;
  }
  return batch;
}

/** A line of the tree is `- button "Add" [ref=e8]`. */
function findRef(tree: string, { role, name }: { readonly role: string; readonly name: string }): string | undefined {
  const line = tree.split('\n').find((each) => each.includes(`- ${role} ${JSON.stringify(name)}`));
  return /\[ref=(\w+)\]/.exec(line ?? '')?.[1];
}

interface DoneCall {
  readonly name: string;
  readonly arguments: string;
}

/** Only `playCalls` itself asks for these: recordings check texts, values and counts. */
const isLookingForElement = (call: DoneCall): boolean => JSON.parse(call.arguments).kind === 'visible';

/** What the assistant has called. The protocol's messages have more than `ChatRequest` says. */
function readCalls(message: ChatRequest['messages'][number]): DoneCall[] {
  const { tool_calls = [] } = message as { tool_calls?: readonly { function: DoneCall }[] };
  return tool_calls.map((call) => call.function);
}
