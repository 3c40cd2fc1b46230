// The page or redirect shown to a browser when a connection attempt has ended.
import { Answer } from '../../kit/http/answer.ts';
import { answerWithPage, renderMessage } from '../../kit/http/page/page.ts';
import type { Outcome } from './flow.ts';
import type { AttemptError } from './store/attempts.ts';

/** A redirect without a referrer, because the current address may contain a state that must not leak to other sites. */
export const redirectTo = (url: string, headers: Readonly<Record<string, string>> = {}): Answer<string> =>
  new Answer('', { headers: { location: url, 'referrer-policy': 'no-referrer', ...headers } }, 302);

/** Redirects to the caller's return URL, or shows a page with the result if there is none. */
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
  access_denied: 'Access to the service was denied. Nothing was changed. To try again, start a new connection.',
  exchange_failed:
    'The service did not confirm the connection. Nothing was changed. Start a new connection in a moment.',
  scope_missing:
    'The service granted fewer permissions than the app requested. Nothing was changed. Try connecting again, and grant all the requested permissions.',
};
