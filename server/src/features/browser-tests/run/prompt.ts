// The agent's prompt for a step: the task and the steps so far, within a character limit. The oldest snapshots are
// omitted first, then the oldest exchanges. The last snapshot is always kept.
import { randomBytes } from 'node:crypto';
import type { Snapshot } from '../../../gateways/browser/session/types.ts';
import type { RequestedCall, StepMessage } from '../../../gateways/language-model/index.ts';
import { instructions } from './instructions.ts';
import type { RunInput } from './types.ts';

/** A model call and its results. */
export interface Exchange {
  readonly content: string;
  readonly calls: readonly AnsweredCall[];
  /** The message to the model if it did not call any tool. */
  readonly note: string | null;
  /** The page after the last call. */
  readonly snapshot: string;
}

export interface AnsweredCall extends RequestedCall {
  readonly result: string;
  readonly is_error: boolean;
}

/** The rest of a recording that could not be fully replayed. */
export interface Remainder {
  /** The number of steps replayed, and the total number of steps. */
  readonly replayed: number;
  readonly total: number;
  readonly failedAction: string;
  readonly expectations: readonly { readonly number: number; readonly expectation: string }[];
}

/** A random line that pages can't guess. */
export const newBoundary = (): string => `PAGE-${randomBytes(16).toString('hex')}`;

/** Encloses text from the current or the recorded page between two boundary lines. */
export const wrapPageText = (text: string, boundary: string): string => [boundary, text, boundary].join('\n');

export const wrapSnapshot = ({ url, title, tree }: Snapshot, boundary: string): string =>
  `The page now:\n${wrapPageText([`Address: ${url}`, `Title: ${title}`, tree].join('\n'), boundary)}`;

export function describeTask({ goal, role }: RunInput, remainder: Remainder | null, boundary: string): string {
  const task = [`You are signed out. Your user has the role ${role}. The app is open.`, `The goal:\n${goal}`];
  if (remainder === null) return task.join('\n\n');
  const { replayed, total, failedAction, expectations } = remainder;
  return [
    ...task,
    `This test was recorded before. Recorded steps that were repeated just now: ${replayed} of ${total}. The next one could not be done, because the page has changed. Continue from there, as the goal says. That step, and the recorded expectations that you must still evaluate by their numbers:`,
    wrapPageText([`Not done: ${failedAction}`, ...expectations.map(toLine)].join('\n'), boundary),
  ].join('\n\n');
}

export const listExpectations = (expectations: Remainder['expectations'], boundary: string): string =>
  `Recorded expectations that you must still evaluate, by number:\n${wrapPageText(expectations.map(toLine).join('\n'), boundary)}`;

const toLine = ({ number, expectation }: Remainder['expectations'][number]): string =>
  `${number}. ${toOneLine(expectation).slice(0, maxShown.expectation)}`;

const toOneLine = (text: string): string => text.replaceAll(/\s+/g, ' ');

const leftOut = '…';
const maxShown = { content: 500, arguments: 2_000, expectation: 200 };

/** Together with the instructions, the messages have at most `maxCharacters`. */
export function buildMessages(
  task: string,
  firstSnapshot: string,
  exchanges: readonly Exchange[],
  maxCharacters: number,
): StepMessage[] {
  const excess = () => countCharacters(messages()) + instructions.length - maxCharacters;
  const snapshots = [firstSnapshot, ...exchanges.map(({ snapshot }) => snapshot)];
  let dropped = 0;
  const messages = (): StepMessage[] => [
    { role: 'user', content: [task, ...(dropped === 0 ? [] : [droppedNote(dropped)]), snapshots[0]].join('\n\n') },
    ...exchanges.slice(dropped).flatMap((each, index) => toMessages(each, snapshots[dropped + index + 1] ?? leftOut)),
  ];
  for (let index = 0; index < exchanges.length && excess() > 0; index += 1) snapshots[index] = leftOut;
  while (dropped < exchanges.length - 1 && excess() > 0) dropped += 1;
  return messages();
}

const droppedNote = (count: number): string => `(Your first ${count} answers are left out to save space.)`;

function toMessages({ content, calls, note }: Exchange, snapshot: string): StepMessage[] {
  const shown = content.slice(0, maxShown.content).toWellFormed();
  if (calls.length === 0)
    return [
      { role: 'assistant', content: shown || leftOut, tool_calls: [] },
      { role: 'user', content: [note ?? '', snapshot].join('\n\n') },
    ];
  return [
    { role: 'assistant', content: shown, tool_calls: calls.map(toRequested) },
    ...calls.map((call, index) => toResult(call, index === calls.length - 1 ? snapshot : null)),
  ];
}

const toRequested = ({ id, name, arguments_string }: AnsweredCall): RequestedCall => ({
  id,
  name,
  arguments_string: arguments_string.length > maxShown.arguments ? '{}' : arguments_string,
});

const toResult = ({ id, name, result, is_error }: AnsweredCall, snapshot: string | null): StepMessage => ({
  role: 'tool',
  tool_call_id: id,
  tool_name: name,
  content: snapshot === null ? result : `${result}\n\n${snapshot}`,
  is_error,
});

export const countCharacters = (messages: readonly StepMessage[]): number =>
  messages.reduce((sum, message) => sum + message.content.length + countArguments(message), 0);

const countArguments = (message: StepMessage): number =>
  message.role === 'assistant'
    ? message.tool_calls.reduce((sum, { name, arguments_string }) => sum + name.length + arguments_string.length, 0)
    : 0;
