// The conversation that the sandbox model plays if a request offers the browser test tools: recorded tool calls,
// selected by the goal. Elements are recorded by role and name, and their refs are read from the last snapshot. A play
// never states a verdict. The reply texts record the progress, so no state is kept between requests.

import type { ChatRequest, ModelReply } from './chat.ts';
import { shopPlays } from './demo-shop/flows.ts';
import { taskListPlays } from './task-list/test-plays.ts';
import type { RecordedCall, RecordedElement, TestPlay } from './test-play.ts';

export type { RecordedCall, TestPlay };

const testTools = ['open', 'click', 'type', 'select', 'assert', 'finish'];

export const isForTest = ({ tools = [] }: ChatRequest): boolean =>
  testTools.every((name) => tools.some((tool) => tool.function.name === name));

/** The plays for the sandbox's apps. */
export const testPlays: TestPlay[] = [...taskListPlays, ...shopPlays];

/** Proposes flows. Returns undefined if the request does not ask for any. */
export function proposeFlows({ messages, tools = [] }: ChatRequest): ModelReply | undefined {
  if (!tools.some((tool) => tool.function.name === 'propose_flows')) return undefined;
  const { entities, existing } = JSON.parse(toText(messages.at(-1)?.content)) as AppDocument;
  const flows = testPlays.flatMap(({ proposal }) => {
    if (proposal === undefined || existing.includes(proposal.name)) return [];
    const { entity, ...flow } = proposal;
    return entities.some(({ name }) => name === entity) ? [flow] : [];
  });
  return { tool_calls: [{ name: 'propose_flows', arguments: { flows } }] };
}

interface AppDocument {
  readonly entities: readonly { readonly name: string }[];
  /** The existing flows' names. */
  readonly existing: readonly string[];
}

/**
 * Returns the next calls. If an element is missing, the play waits for it once. If the element still does not appear,
 * the play skips to the next check, so a check detects the failure, and then finishes.
 */
export function playTest(request: ChatRequest, plays: readonly TestPlay[] = testPlays): ModelReply {
  const task = readTask(request);
  const play = plays.find(({ goalPattern }) => goalPattern.test(task.goal));
  if (play === undefined) return finish(repertoire);
  const { calls } = play;
  const { next, hasWaited, isSkipping } = readProgress(request, calls, task);
  if (isSkipping) return task.isResumed ? skip(calls, next, task) : finish();
  const call = calls[next];
  if (call === undefined) return finish();
  const isThere = call.element === undefined || findRef(task.tree, call.element) !== undefined;
  if (isThere || isCheck(call)) return playBatch(calls, next, task);
  return hasWaited ? skip(calls, next, task) : say(`Waiting for call ${next + 1}.`, waitFor(call.element));
}

/** Skips to the next check. */
function skip(calls: readonly RecordedCall[], from: number, task: Task): ModelReply {
  const index = calls.findIndex((call, at) => at >= from && isCheck(call));
  const check = calls[index];
  return check === undefined ? finish() : say(`Skipped to call ${index + 1}.`, toToolCall(check, task, calls));
}

const repertoire =
  'I am a stand-in for a language model and play recorded calls, but none for this goal. Set MODEL_URL to a real model.';

type ToolCall = NonNullable<ModelReply['tool_calls']>[number];

const say = (text: string, ...tool_calls: ToolCall[]): ModelReply => ({ text, tool_calls });
const finish = (summary = 'I did what the goal says, as far as the app let me.'): ModelReply =>
  say('Finishing.', { name: 'finish', arguments: { summary } });

const waitFor = ({ role, name }: RecordedElement): ToolCall => ({
  name: 'wait',
  arguments: { kind: 'visible', role, name },
});

const maxBatch = 4;

/** Fills in several fields together, up to the next click. */
function playBatch(calls: readonly RecordedCall[], from: number, task: Task): ModelReply {
  const batch: ToolCall[] = [];
  for (const call of calls.slice(from, from + maxBatch)) {
    if (batch.length > 0 && call.element !== undefined && findRef(task.tree, call.element) === undefined) break;
    if (batch.length > 0 && (call.name === 'assert' || call.name === 'wait')) break;
    batch.push(toToolCall(call, task, calls));
    if (call.name !== 'type') break;
  }
  return say(`Calls ${from + 1} to ${from + batch.length}.`, ...batch);
}

/** A check that the recording contains is referred to by its number and evaluated as recorded. */
function toToolCall(call: RecordedCall, task: Task, calls: readonly RecordedCall[]): ToolCall {
  const number = calls.slice(0, calls.indexOf(call) + 1).filter(isCheck).length;
  if (isCheck(call) && task.expectations.includes(number))
    return { name: 'assert', arguments: { expectation: number } };
  if (call.element === undefined) return { name: call.name, arguments: call.arguments };
  const { role, name } = call.element;
  const ref = findRef(task.tree, call.element);
  return { name: call.name, arguments: { ...(ref === undefined ? { role, name } : { ref }), ...call.arguments } };
}

const isCheck = ({ name }: RecordedCall): boolean => name === 'assert';

// ---- reading the request

interface Task {
  readonly goal: string;
  /** The last snapshot. */
  readonly tree: string;
  /** Whether the conversation continues after a replayed recording. */
  readonly isResumed: boolean;
  /** The action that could not be replayed, in words. */
  readonly failedAction: string;
  /** The numbers of the recorded expectations that have not yet been evaluated. */
  readonly expectations: readonly number[];
}

const toText = (content: unknown): string => {
  if (typeof content === 'string') return content;
  return Array.isArray(content) ? content.map((part: { text?: string }) => part.text ?? '').join('') : '';
};

/** Matches text from the page, enclosed by two lines with the same random word. The last match is the snapshot. */
const pageText = /^(PAGE-[0-9a-f]+)\n([\s\S]*?)\n\1$/gm;
const listPageTexts = (text: string): string[] => [...text.matchAll(pageText)].map(([, , inner = '']) => inner);

function readTask({ messages }: ChatRequest): Task {
  const first = toText(messages.find(({ role }) => role === 'user')?.content);
  const [remainder = ''] = listPageTexts(first).filter((text) => text.startsWith('Not done: '));
  const trees = messages.flatMap(({ content }) => listPageTexts(toText(content)).slice(-1));
  return {
    goal: /^The goal:\n([\s\S]*)/m.exec(first.replaceAll(pageText, ''))?.[1] ?? '',
    tree: trees.at(-1) ?? '',
    isResumed: remainder !== '',
    failedAction: /^Not done: (.*)/.exec(remainder)?.[1] ?? '',
    expectations: [...remainder.matchAll(/^(\d+)\. /gm)].map(([, number]) => Number(number)),
  };
}

interface Progress {
  /** The index of the next call. */
  readonly next: number;
  readonly hasWaited: boolean;
  /** Whether only checks are left. */
  readonly isSkipping: boolean;
}

function readProgress({ messages }: ChatRequest, calls: readonly RecordedCall[], task: Task): Progress {
  const said = toText(messages.findLast(({ role }) => role === 'assistant')?.content);
  const [, kind, number] = /^(Calls \d+ to|Waiting for call|Skipped to call) (\d+)\./.exec(said) ?? [];
  if (said.startsWith('Finishing')) return { next: calls.length, hasWaited: false, isSkipping: false };
  if (number === undefined) return { next: findStart(calls, task), hasWaited: false, isSkipping: false };
  if (kind === 'Waiting for call') return { next: Number(number) - 1, hasWaited: true, isSkipping: false };
  const last = toText(messages.findLast(({ role }) => role === 'tool')?.content);
  const hasFailed = last.startsWith('It does not hold');
  return { next: Number(number), hasWaited: false, isSkipping: hasFailed || kind === 'Skipped to call' };
}

/**
 * Returns the index of the first call. After a replay, that is the call that could not be replayed, searched for after
 * the last evaluated check.
 */
function findStart(calls: readonly RecordedCall[], { isResumed, failedAction, expectations }: Task): number {
  if (!isResumed) return 0;
  const checks = calls.filter(isCheck);
  const done = (expectations[0] ?? checks.length + 1) - 1;
  const lastCheck = checks[done - 1];
  const from = lastCheck === undefined ? 0 : calls.indexOf(lastCheck) + 1;
  const index = calls.findIndex((call, at) => at >= from && isInWords(call, failedAction));
  return index < 0 ? from : index;
}

/** Whether the words describe this call, as in `Click button "Add"` or `Type "Milk" into textbox "Title"`. */
function isInWords({ name, element }: RecordedCall, words: string): boolean {
  if (!words.toLowerCase().startsWith(`${name} `)) return false;
  return element === undefined || [element, ...(element.or ?? [])].some((each) => words.includes(toWords(each)));
}

const toWords = ({ role, name }: RecordedElement): string => `${role} "${name}"`;

// ---- the snapshot

/** Returns the ref of the element or one of its alternatives. Undefined if the page contains none of them. */
function findRef(tree: string, element: NonNullable<RecordedCall['element']>): string | undefined {
  const lines = tree.split('\n').map(readLine);
  for (const each of [element, ...(element.or ?? [])]) {
    const matches = lines.flatMap((line, index) => (isElement(line, each) ? [index] : []));
    const best = each.near === undefined ? matches[0] : findNearest(lines, matches, each.near);
    if (best !== undefined) return lines[best]?.ref;
  }
  return undefined;
}

interface TreeLine {
  readonly depth: number;
  readonly text: string;
  readonly ref: string | undefined;
}

/** Parses a line such as `  - button "Add" [ref=e8]`. Lines that YAML would misread are in single quotes. */
function readLine(line: string): TreeLine {
  const [, indent = '', quote, rest = ''] = /^( *)- ('?)(.*)$/.exec(line) ?? [];
  const text = quote === "'" ? rest.replaceAll("''", "'") : rest;
  return { depth: indent.length, text, ref: /\[ref=(\w+)\]/.exec(text)?.[1] };
}

const isElement = ({ text, ref }: TreeLine, { role, name }: RecordedElement): boolean =>
  ref !== undefined && text.startsWith(`${role} ${JSON.stringify(name)}`);

/** Returns the match that shares the smallest subtree with the text. */
function findNearest(lines: readonly TreeLine[], matches: readonly number[], near: string): number | undefined {
  const sharedDepth = (match: number): number => {
    let [depth, start] = [lines[match]?.depth ?? 0, match];
    for (; start >= 0; start -= 1) {
      const own = lines[start]?.depth ?? 0;
      if (own >= depth && start !== match) continue;
      depth = own;
      const size = lines.slice(start + 1).findIndex((line) => line.depth <= own);
      const part = lines.slice(start, size < 0 ? undefined : start + 1 + size);
      if (part.some(({ text }) => text.includes(near))) return own;
    }
    return -1;
  };
  const depths = matches.map(sharedDepth);
  const deepest = Math.max(...depths);
  return deepest < 0 ? undefined : matches[depths.indexOf(deepest)];
}
