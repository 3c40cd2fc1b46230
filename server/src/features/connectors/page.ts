// Owns what a browser is shown or sent to when an attempt to connect has ended.
import { Answer } from '../../kit/http/answer.ts';
import { answerWithPage, renderMessage } from '../../kit/http/page.ts';
import type { Outcome } from './flow.ts';
import type { AttemptError } from './store/attempts.ts';

/** A redirect. The address that is left may have a state, which no other site needs to know. */
export const redirectTo = (url: string, headers: Readonly<Record<string, string>> = {}): Answer<string> =>
  new Answer('', { headers: { location: url, 'referrer-policy': 'no-referrer', ...headers } }, 302);

/** Back to where the caller wanted the person to go on; otherwise a page that says how it ended. */
export function answerOutcome({ connection_id, display_name, return_url, error }: Outcome): Answer<string> {
  if (return_url === null)
    return error === null
      ? answerWithPage(renderMessage(`Connected to ${display_name}`, 'You can close this window.'))
      : answerWithPage(renderMessage(`Not connected to ${display_name}`, reasons[error]));
  const url = new URL(return_url);
  url.searchParams.set('status', error === null ? 'ACTIVE' : 'FAILED');
  url.searchParams.set('connection_id', connection_id);
  if (error !== null) url.searchParams.set('error', error);
  return redirectTo(url.href);
}

const reasons: Readonly<Record<AttemptError, string>> = {
  access_denied: 'Access was denied at the service. Nothing was changed. To try again, start the connection again.',
  exchange_failed:
    'The service did not confirm the connection. Nothing was changed. Start the connection again in a moment.',
  scope_missing:
    'The service granted less than the app asked for. Nothing was changed. Start the connection again and allow everything.',
};
