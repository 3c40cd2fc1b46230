// Owns the record of a step: one call of the model, the tools that it asked for, and the tree after them. A turn that is run again after
// a crash, and one that goes on after an answer, is rebuilt from the records of its steps.
import { listKnownCalls, type SentMessage, shortenOldest } from '../../../core/turns/step-messages.ts';
import type { Usage } from '../../../gateways/language-model/index.ts';
import type { InputRequest } from '../contract.ts';

export interface StepCall {
  readonly id: string;
  readonly name: string;
  readonly arguments_string: string;
  readonly status: 'success' | 'error';
  /** As the model gets it. Null: what the person answers. */
  readonly results: string | null;
}

export interface StepRecord {
  /** The messages of the person that the model was sent for the first time. */
  readonly received: readonly string[];
  readonly content: string;
  readonly tool_calls: readonly StepCall[];
  /** Whether the model had to stop because its output became too long. */
  readonly is_cut: boolean;
  /** Null if the model did not report it. */
  readonly usage: Usage | null;
  /** As reported, or else as estimated. */
  readonly tokens: number;
  readonly model: string;
  /** What each tool call was, and on which tree: a repeated key means that nothing has changed in between. */
  readonly call_keys: readonly string[];
  /** After the last tool. */
  readonly tree: string;
  /** What the person is asked; null: nothing. */
  readonly asked: InputRequest | null;
}

/** What the person wrote, as the model gets it. */
export interface Received {
  readonly id: string;
  readonly text: string;
  /** The question or approval that it answers. */
  readonly input_request_id: string | null;
}

/** What a step without tool calls means: the model is done, unless its output was cut. */
export const isFinish = ({ tool_calls, is_cut }: StepRecord): boolean => tool_calls.length === 0 && !is_cut;

/**
 * The messages of a turn: what the person wrote, what the model said, and what the tools answered. `pending`: what the model has not
 * been sent yet. Long texts are left out, the oldest first, once all of it becomes too long.
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

/** The keys of the calls whose results the model still gets. The others it is told to make again if it needs them. */
export function listKnownCallKeys(records: readonly StepRecord[], otherCharacters: number): string[] {
  const known = listKnownCalls(toMessages(records, new Map(), [], otherCharacters));
  return records.flatMap(({ tool_calls, call_keys }) =>
    call_keys.filter((_key, index) => known.has(tool_calls[index]?.id ?? '')),
  );
}

/** `after`: what the person wrote after this step. */
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
  'Your output was cut off because it became too long. Go on from there, with less in one answer: one file at a time.';
