// The rules for answering an open question or approval (docs/api/coding-sessions.md#questions).
import { type Fault, ValidationError } from '../../../kit/http/faults.ts';
import { Problem } from '../../../kit/problem.ts';
import type { InputRequest, NewSessionMessage, SessionAnswer } from '../contract.ts';
import type { SessionRow } from '../store/sessions.ts';

export const toInputRequest = ({ input_request }: Pick<SessionRow, 'input_request'>): InputRequest | null =>
  input_request as InputRequest | null;

/** Whether the message answers a question or approval, rather than containing only text. */
export const isAnswer = ({ answers, approve }: NewSessionMessage): boolean =>
  answers !== undefined || approve !== undefined;

/**
 * Throws 409 if no question is open or the answer is for a different one, and 422 if the answer does not fit the
 * question.
 */
export function requireFittingAnswer(session: SessionRow, message: NewSessionMessage): void {
  const request = toInputRequest(session);
  if (session.state !== 'needs_input' || request === null) throw sessionNotWaiting();
  if (message.input_request_id !== request.input_request_id) throw inputRequestChanged();
  const faults = request.kind === 'approval' ? findApprovalFaults(message) : findAnswerFaults(request, message);
  if (faults.length > 0) throw new ValidationError(faults);
}

const fault = (loc: Fault['loc'], msg: string): Fault => ({ loc: ['body', ...loc], msg, type: 'value_error' });

const findApprovalFaults = ({ answers, approve }: NewSessionMessage): Fault[] => [
  ...(approve === undefined ? [fault(['approve'], 'is required because the session is waiting for an approval')] : []),
  ...(answers === undefined
    ? []
    : [fault(['answers'], 'must not be sent while the session is waiting for an approval')]),
];

function findAnswerFaults({ questions }: InputRequest, { answers = [], approve }: NewSessionMessage): Fault[] {
  const faults: Fault[] = [];
  if (approve !== undefined)
    faults.push(fault(['approve'], 'must not be sent while the session is waiting for answers'));
  const answered = new Set<number>();
  for (const [index, answer] of answers.entries()) {
    const question = questions.find(({ question_index }) => question_index === answer.question_index);
    if (question === undefined || answered.has(answer.question_index))
      faults.push(
        fault(
          ['answers', index, 'question_index'],
          'must be the index of a question in this request, and must not be repeated',
        ),
      );
    else faults.push(...findChoiceFaults(question, answer, index));
    answered.add(answer.question_index);
  }
  if (questions.some(({ question_index }) => !answered.has(question_index)))
    faults.push(fault(['answers'], 'must contain an answer to every question'));
  return faults;
}

function findChoiceFaults(
  { options, multi_select, allow_custom_text }: InputRequest['questions'][number],
  { selected_label, selected_labels, custom_text }: SessionAnswer,
  index: number,
): Fault[] {
  const at = (field: string, msg: string) => fault(['answers', index, field], msg);
  const labels = new Set(options.map(({ label }) => label));
  const faults: Fault[] = [];
  const mustExist = "must be the label of one of the question's options";
  if (selected_label !== undefined && !labels.has(selected_label)) faults.push(at('selected_label', mustExist));
  if (selected_labels?.some((label) => !labels.has(label))) faults.push(at('selected_labels', mustExist));
  if (selected_labels !== undefined && (!multi_select || new Set(selected_labels).size < selected_labels.length))
    faults.push(
      at(
        'selected_labels',
        multi_select
          ? 'must not repeat a label'
          : 'must not be sent for a single-choice question; use `selected_label`',
      ),
    );
  if (selected_label !== undefined && selected_labels !== undefined)
    faults.push(at('selected_labels', 'must not be sent together with `selected_label`'));
  if (custom_text !== undefined && !allow_custom_text)
    faults.push(at('custom_text', "must not be sent because this question doesn't accept custom text; choose a label"));
  if (selected_label === undefined && selected_labels === undefined && custom_text === undefined)
    faults.push(fault(['answers', index], 'must contain `selected_label`, `selected_labels` or `custom_text`'));
  return faults;
}

// ---- refusals

const sessionNotWaiting = () =>
  new Problem(
    'conflict',
    'session_not_waiting',
    'The session is not waiting for an answer. Check its state with getSession, or send `text` instead.',
  );

const inputRequestChanged = () =>
  new Problem(
    'conflict',
    'input_request_changed',
    'The session is now asking a different question. Read it with getInputRequest, and answer with its `input_request_id`.',
  );
