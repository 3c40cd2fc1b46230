// Describes what a person sent to a session, for the session's log: who sent it, and what it says.
import type { InputRequest, NewSessionMessage, SessionAnswer } from '../contract.ts';

/**
 * `request` is the question that was open. Examples: `Answered by ada@example.com: 19 %` and `Approved by
 * ada@example.com: Run npm install`.
 */
export function describeSent(message: NewSessionMessage, request: InputRequest | null, email: string | null): string {
  const { text, answers = [], approve, author } = message;
  const sender = [email ?? 'a person', ...(author ? [`on behalf of ${author}`] : [])].join(' ');
  const more = text === undefined ? '' : `\n${text}`;
  if (approve !== undefined)
    return `${approve ? 'Approved' : 'Denied'} by ${sender}: ${request?.approval?.title ?? ''}${more}`;
  if (answers.length > 0) return `Answered by ${sender}:${describeAnswers(answers, request)}${more}`;
  return `Message from ${sender}: ${text ?? ''}`;
}

/** One answer is not repeated with its question, because the log has the question just above. */
function describeAnswers(answers: readonly SessionAnswer[], request: InputRequest | null): string {
  const [first, ...others] = answers;
  if (first !== undefined && others.length === 0) return ` ${describeChoice(first)}`;
  return answers
    .map((answer) => {
      const question = request?.questions.find(({ question_index }) => question_index === answer.question_index);
      return `\n${question?.text ?? ''} ${describeChoice(answer)}`;
    })
    .join('');
}

const describeChoice = ({ selected_label, selected_labels = [], custom_text }: SessionAnswer): string =>
  [selected_label, ...selected_labels, custom_text].filter((part) => part !== undefined).join(', ');
