// A step's record: the model's text, its tool calls, and the changes they made.
import type { ToolCall } from '../../core/turns/deltas.ts';
import type { StepRecord as RecordedStep } from '../../core/turns/loop.ts';
import { toValidUsage } from '../../core/turns/messages.ts';
import { shorten, shortenArguments, shortenOldest } from '../../core/turns/step-messages.ts';
import type { StepMessage, Usage } from '../../gateways/language-model/index.ts';
import type { DraftChanges } from './draft.ts';

export interface StepRecord extends RecordedStep, DraftChanges {
  /** The checks that run after the model reports that it is done. */
  readonly checks: readonly ToolCall[];
  /** The question for the person, or null if there is none. */
  readonly question: string | null;
}

/** A step without tool calls means that the model is done, unless its output was cut off. */
export const isFinish = ({ tool_calls, is_cut }: StepRecord): boolean => tool_calls.length === 0 && !is_cut;

const hasErrors = ({ checks }: StepRecord): boolean => checks.some(({ status }) => status === 'error');

/**
 * Whether the turn is over: either the person was asked a question, or the model is done and its changes have no errors
 * or have already been corrected once.
 */
export function isComplete(steps: readonly StepRecord[]): boolean {
  const last = steps.at(-1);
  if (last === undefined) return false;
  if (last.question !== null) return true;
  return isFinish(last) && (!hasErrors(last) || steps.filter(isFinish).length > 1);
}

/** Null if a step reports no usage, or if the sum is implausible. */
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
 * The messages that follow the conversation in the prompt: the model's output in this turn, and its tools' results. If
 * they are too long, long texts in arguments and results are omitted, oldest first.
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
  'Your output was cut off because it became too long. Continue from there, with less in one answer: one file at a time.';
const correctionNote =
  'Your changes were checked, and errors were found. Correct them, then finish with your summary. There is no second round.';

// ---- the reply shown to people

const maxShown = { content: 200_000, argument: 1_000, results: 2_000, calls: 400_000 };

export interface Reply {
  readonly content: string;
  readonly tool_calls: readonly ToolCall[];
}

/** A turn's text and tool calls, shortened for display. The model received them in full. */
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

/** Shortens each call. Once the total length is exceeded, arguments and results are omitted. */
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
