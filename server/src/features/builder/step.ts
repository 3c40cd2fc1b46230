// Owns the record of a step: one call of the model, the tools that it asked for, and what they changed. A turn that is run
// again after a crash is rebuilt from the records of its steps.
import type { ToolCall } from '../../core/turns/deltas.ts';
import { toValidUsage } from '../../core/turns/messages.ts';
import { listKnownCalls, shorten, shortenArguments, shortenOldest } from '../../core/turns/step-messages.ts';
import type { StepMessage, Usage } from '../../gateways/language-model/index.ts';
import type { DraftChanges } from './draft.ts';

export interface StepRecord extends DraftChanges {
  readonly content: string;
  /** With their results as the model gets them. */
  readonly tool_calls: readonly ToolCall[];
  /** Whether the model had to stop because its output became too long. */
  readonly is_cut: boolean;
  /** Null if the model did not report it. */
  readonly usage: Usage | null;
  /** As reported, or else as estimated. */
  readonly tokens: number;
  readonly model: string;
  /** What each tool call was, and on which state of the draft: a repeated key means that nothing has changed in between. */
  readonly call_keys: readonly string[];
  /** The checks after the model said that it is done. */
  readonly checks: readonly ToolCall[];
  /** What the person is asked; null: nothing. */
  readonly question: string | null;
}

/** What a step without tool calls means: the model is done, unless its output was cut. */
export const isFinish = ({ tool_calls, is_cut }: StepRecord): boolean => tool_calls.length === 0 && !is_cut;

const hasErrors = ({ checks }: StepRecord): boolean => checks.some(({ status }) => status === 'error');

/** Whether no more steps follow: the person was asked, or the model is done and its one round of corrections is over. */
export function isComplete(steps: readonly StepRecord[]): boolean {
  const last = steps.at(-1);
  if (last === undefined) return false;
  if (last.question !== null) return true;
  return isFinish(last) && (!hasErrors(last) || steps.filter(isFinish).length > 1);
}

/** Null if a step has none, or the sum is beyond belief. */
export function sumUsage(steps: readonly StepRecord[]): Usage | null {
  let [prompt_tokens, completion_tokens] = [0, 0];
  for (const { usage } of steps) {
    if (usage === null) return null;
    prompt_tokens += usage.prompt_tokens;
    completion_tokens += usage.completion_tokens;
  }
  return steps.length === 0 ? null : toValidUsage({ prompt_tokens, completion_tokens });
}

/**
 * The messages that the model gets after the conversation: what it said in this turn, and what the tools answered. Once all of
 * it becomes too long, long texts in arguments and results are left out, the oldest first.
 */
export function toStepMessages(steps: readonly StepRecord[], historyCharacters: number): StepMessage[] {
  return shortenOldest(steps.flatMap(toMessages), historyCharacters);
}

function toMessages(step: StepRecord): StepMessage[] {
  const { content, tool_calls, checks, is_cut } = step;
  const said: StepMessage = { role: 'assistant', content: content || (tool_calls.length === 0 ? '…' : ''), tool_calls };
  const answered = tool_calls.map(
    ({ id, name, status, results }): StepMessage => ({
      role: 'tool',
      tool_call_id: id,
      tool_name: name,
      content: results ?? '',
      is_error: status === 'error',
    }),
  );
  if (is_cut && tool_calls.length === 0) return [said, { role: 'user', content: cutNote }];
  if (!hasErrors(step)) return [said, ...answered];
  const found = checks.filter(({ status }) => status === 'error').map(({ results }) => results);
  return [said, ...answered, { role: 'user', content: [correctionNote, ...found].join('\n\n') }];
}

const cutNote =
  'Your output was cut off because it became too long. Go on from there, with less in one answer: one file at a time.';
const correctionNote =
  'Your changes were checked, and errors were found. Correct them, then finish with your summary. There is no second round.';

/** The keys of the calls whose results the model still gets. The others it is told to make again if it needs them. */
export function listKnownCallKeys(steps: readonly StepRecord[], historyCharacters: number): string[] {
  const known = listKnownCalls(toStepMessages(steps, historyCharacters));
  return steps.flatMap(({ tool_calls, call_keys }) =>
    call_keys.filter((_key, index) => known.has(tool_calls[index]?.id ?? '')),
  );
}

// ---- what people see

const maxShown = { content: 200_000, argument: 1_000, results: 2_000, calls: 400_000 };

export interface Reply {
  readonly content: string;
  readonly tool_calls: readonly ToolCall[];
}

/** The text of a turn, and its tool calls, shortened for people. The model got them in full. */
export const toShownReply = (steps: readonly StepRecord[]): Reply => shortenReply(toReply(steps));

export function toReply(steps: readonly StepRecord[]): Reply {
  const texts = steps.flatMap(({ content, question }) => [content, question ?? '']);
  return { content: joinParagraphs(texts), tool_calls: steps.flatMap((step) => [...step.tool_calls, ...step.checks]) };
}

export const shortenReply = ({ content, tool_calls }: Reply): Reply => ({
  content: shorten(content, maxShown.content),
  tool_calls: shortenAll(tool_calls),
});

const joinParagraphs = (texts: readonly string[]): string => texts.filter((text) => text !== '').join('\n\n');

/** Shortens each call, and after a total length leaves out arguments and results. */
function shortenAll(calls: readonly ToolCall[]): ToolCall[] {
  let remaining = maxShown.calls;
  return calls.map((call) => {
    const shown = shortenCall(call);
    remaining -= shown.arguments_string.length + (shown.results?.length ?? 0);
    return remaining >= 0 ? shown : { ...shown, arguments_string: '{}', results: '(left out: the turn is too long)' };
  });
}

export const shortenCall = (call: ToolCall): ToolCall => ({
  ...call,
  arguments_string: shortenArguments(call.arguments_string, maxShown.argument),
  results: call.results === null ? null : shorten(call.results, maxShown.results),
});
