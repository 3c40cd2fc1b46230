// Owns what an open question or approval accepts as its answer (docs/api/coding-sessions.md#questions).
import { type Fault, ValidationError } from '../../kit/http/faults.ts';
import { Problem } from '../../kit/problem.ts';
import type { InputRequest, NewSessionMessage, SessionAnswer } from './contract.ts';
import type { SessionRow } from './store/sessions.ts';

export const toInputRequest = ({ input_request }: Pick<SessionRow, 'input_request'>): InputRequest | null =>
  input_request as InputRequest | null;

/** Whether the message answers something, rather than only say something. */
export const isAnswer = ({ answers, approve }: NewSessionMessage): boolean =>
  answers !== undefined || approve !== undefined;

/** 409 if nothing is asked, or something else; 422 if the answer does not fit. */
export function requireFittingAnswer(session: SessionRow, message: NewSessionMessage): void {
  const request = toInputRequest(session);
  if (session.state !== 'needs_input' || request === null) throw sessionNotWaiting();
  if (message.input_request_id !== request.input_request_id) throw inputRequestChanged();
  const faults = request.kind === 'approval' ? findApprovalFaults(message) : findAnswerFaults(request, message);
  if (faults.length > 0) throw new ValidationError(faults);
}

const fault = (loc: Fault['loc'], msg: string): Fault => ({ loc: ['body', ...loc], msg, type: 'value_error' });

const findApprovalFaults = ({ answers, approve }: NewSessionMessage): Fault[] => [
  ...(approve === undefined ? [fault(['approve'], 'must be sent: the session waits for an approval')] : []),
  ...(answers === undefined ? [] : [fault(['answers'], 'must not be sent: the session waits for an approval')]),
];

function findAnswerFaults({ questions }: InputRequest, { answers = [], approve }: NewSessionMessage): Fault[] {
  const faults: Fault[] = [];
  if (approve !== undefined) faults.push(fault(['approve'], 'must not be sent: the session waits for answers'));
  const answered = new Set<number>();
  for (const [index, answer] of answers.entries()) {
    const question = questions.find(({ question_index }) => question_index === answer.question_index);
    if (question === undefined || answered.has(answer.question_index))
      faults.push(fault(['answers', index, 'question_index'], 'must be a question of the request, each once'));
    else faults.push(...findChoiceFaults(question, answer, index));
    answered.add(answer.question_index);
  }
  if (questions.some(({ question_index }) => !answered.has(question_index)))
    faults.push(fault(['answers'], 'must have an answer to every question'));
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
  const mustExist = 'must be a label of the question';
  if (selected_label !== undefined && !labels.has(selected_label)) faults.push(at('selected_label', mustExist));
  if (selected_labels?.some((label) => !labels.has(label))) faults.push(at('selected_labels', mustExist));
  if (selected_labels !== undefined && (!multi_select || new Set(selected_labels).size < selected_labels.length))
    faults.push(at('selected_labels', multi_select ? 'must not repeat a label' : 'must not be sent: choose one label'));
  if (selected_label !== undefined && selected_labels !== undefined)
    faults.push(at('selected_labels', 'must not be sent together with selected_label'));
  if (custom_text !== undefined && !allow_custom_text)
    faults.push(at('custom_text', 'must not be sent: choose a label'));
  if (selected_label === undefined && selected_labels === undefined && custom_text === undefined)
    faults.push(fault(['answers', index], 'must have a label or a text'));
  return faults;
}

// ---- refusals

const sessionNotWaiting = () =>
  new Problem(
    'conflict',
    'session_not_waiting',
    'The session does not wait for an answer. Read it with getSession, or send a text.',
  );

const inputRequestChanged = () =>
  new Problem(
    'conflict',
    'input_request_changed',
    'The session asks something else by now. Read the question with getInputRequest, and answer with its `input_request_id`.',
  );
