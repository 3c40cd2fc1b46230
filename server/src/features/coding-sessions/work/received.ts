// Defines how the user's messages are presented to the model: plain text, answers with their questions, and approvals.
import type { InputRequest, SessionAnswer } from '../contract.ts';
import type { MessageRow } from '../store/messages.ts';
import type { Received, StepRecord } from './step.ts';

/** Returns the messages that have not failed, keyed by id. */
export function toReceived(messages: readonly MessageRow[], records: readonly StepRecord[]): Map<string, Received> {
  const requests = new Map(
    records.flatMap(({ asked }) => (asked === null ? [] : [[asked.input_request_id, asked] as const])),
  );
  return new Map(
    messages
      .filter(({ state }) => state !== 'failed')
      .map((message) => {
        const { id, input_request_id } = message;
        const request = input_request_id === null ? undefined : requests.get(input_request_id);
        return [id, { id, text: describe(message, request), input_request_id }];
      }),
  );
}

function describe({ text, answers, approve }: MessageRow, request: InputRequest | undefined): string {
  const parts = [
    ...(approve === null ? [] : [approve ? 'The person approved.' : refusal]),
    ...((answers as SessionAnswer[] | null) ?? []).map((answer) => describeAnswer(answer, request)),
    ...(text === null ? [] : [text]),
  ];
  return parts.join('\n\n');
}

const refusal = 'The person did not approve. Do not do it. Continue without, or finish and say so.';

function describeAnswer(answer: SessionAnswer, request: InputRequest | undefined): string {
  const { question_index, selected_label, selected_labels, custom_text } = answer;
  const question = request?.questions.find((each) => each.question_index === question_index)?.text ?? '';
  const chosen = [...(selected_label === undefined ? [] : [selected_label]), ...(selected_labels ?? [])];
  const said = [...chosen, ...(custom_text === undefined ? [] : [custom_text])].join('\n');
  return `${question}\nAnswer: ${said}`.trim();
}
