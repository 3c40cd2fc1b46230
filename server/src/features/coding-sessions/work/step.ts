// A step's record: one model call, the tool calls that it requested, and the tree after them. A turn is rebuilt
// from these records if it is repeated after a crash or continues after an answer.
import type { StepRecord as RecordedStep } from '../../../core/turns/loop.ts';
import { type SentMessage, shortenOldest } from '../../../core/turns/step-messages.ts';
import type { InputRequest } from '../contract.ts';

export interface StepRecord extends RecordedStep {
  /** The ids of the user's messages that this step sent to the model for the first time. */
  readonly received: readonly string[];
  /** The tree after the last tool call. */
  readonly tree: string;
  /** The question to the user, or null if there is none. */
  readonly asked: InputRequest | null;
}

/** A message from the user, as the model receives it. */
export interface Received {
  readonly id: string;
  readonly text: string;
  /** The question or approval that the message answers. */
  readonly input_request_id: string | null;
}

/** A step without tool calls means that the model is done, unless its output was cut off. */
export const isFinish = ({ tool_calls, is_cut }: StepRecord): boolean => tool_calls.length === 0 && !is_cut;

/**
 * A turn's messages: from the user, from the model, and the tool results. `pending` contains the messages that have not
 * been sent to the model yet. If the total is too long, long texts are omitted, oldest first.
 */
export function toMessages(
  records: readonly StepRecord[],
  received: ReadonlyMap<string, Received>,
  pending: readonly Received[],
  otherCharacters: number,
): SentMessage[] {
  const steps = records.flatMap((record, index) => {
    const after = records[index + 1]?.received.flatMap((id) => received.get(id) ?? []) ?? pending;
    return toStepMessages(record, after);
  });
  const first = records[0]?.received.flatMap((id) => received.get(id) ?? []) ?? pending;
  return shortenOldest([...toUserMessages(first), ...steps], otherCharacters);
}

/** `after` contains the messages that the user sent after this step. */
function toStepMessages(record: StepRecord, after: readonly Received[]): SentMessage[] {
  const { content, tool_calls, is_cut, asked } = record;
  const answers = after.filter((received) => asked !== null && received.input_request_id === asked.input_request_id);
  const others = after.filter((received) => !answers.includes(received));
  const answer = answers.map(({ text }) => text).join('\n\n') || 'The person has not answered.';
  const said: SentMessage = { role: 'assistant', content: content || (tool_calls.length === 0 ? '…' : ''), tool_calls };
  const answered = tool_calls.map(
    ({ id, name, status, results }): SentMessage => ({
      role: 'tool',
      tool_call_id: id,
      tool_name: name,
      content: results ?? answer,
      is_error: status === 'error',
    }),
  );
  const cut: SentMessage[] = is_cut && tool_calls.length === 0 ? [{ role: 'user', content: cutNote }] : [];
  return [said, ...answered, ...cut, ...toUserMessages(others)];
}

const toUserMessages = (received: readonly Received[]): SentMessage[] =>
  received.length === 0 ? [] : [{ role: 'user', content: received.map(({ text }) => text).join('\n\n') }];

const cutNote =
  'Your output was cut off because it became too long. Continue from there, with less in one answer: one file at a time.';
