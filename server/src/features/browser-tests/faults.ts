// Owns the faults of Plinth itself that keep a run from saying something about the app: telling them from faults of the app, and what the
// person who started the run is told.
import type { Evidence, NetworkFailure } from '../../gateways/browser/session/types.ts';
import type { StoredResult } from './report.ts';
import type { Verdict } from './run/verdict.ts';

export const messages = {
  crashed: 'The browser or the worker crashed twice during this run. Nothing is charged. Start it again.',
  noBrowser: 'No browser could be started within 2 minutes. Nothing is charged. Start the run again later.',
  notConfigured: 'This worker has no browser. Nothing is charged. Ask the operator to set BROWSER_EXECUTABLE.',
  tookTooLong: 'The run did not end within 15 minutes. Nothing is charged. Split the test into smaller ones.',
  waitedTooLong: 'No worker had time for this run within an hour. Nothing is charged. Start it again later.',
  accessLost: 'Who started this run may no longer test the app. Nothing is charged.',
  notPublished: 'The app is not published any more. Nothing is charged. Publish it, then start the run again.',
  modelUnavailable: 'The language model became unavailable during this run. Nothing is charged. Start it again later.',
  tooManyRequests:
    'Plinth refused requests of this run because there were too many. Nothing is charged. Start it again later.',
  unreachable: 'The browser could not reach Plinth for a moment during this run. Nothing is charged. Start it again.',
  notAnalysed: 'The result of this run could not be analysed because of an error in Plinth. Nothing is charged.',
  other: 'An error of the platform kept this run from finishing. Nothing is charged. Start it again.',
} as const;

/** Why the run says too little about the app, if that is Plinth's fault. */
export function findFault(
  { result, evidence }: StoredResult,
  verdict: Verdict['verdict'],
  apiOrigin: string,
): string | undefined {
  if (result.ended === 'time_limit') return messages.tookTooLong;
  if (verdict === 'passed') return undefined;
  const failures = evidence.network_failures.filter(({ url }) => isServedByPlinth(url, apiOrigin));
  // All browsers of a worker have one address, so a limit by address may have been used up by other runs.
  if (failures.some((each) => each.status === 429 && isOfApi(each, apiOrigin))) return messages.tooManyRequests;
  if (failures.some((each) => isUnavailable(each, evidence, apiOrigin))) return messages.unreachable;
  return result.ended === 'model_unavailable' && verdict === 'inconclusive' ? messages.modelUnavailable : undefined;
}

/** The published app is, too. */
const isServedByPlinth = (url: string, apiOrigin: string): boolean =>
  url.startsWith('/') || url.startsWith(`${apiOrigin}/`);
const isOfApi = ({ url }: NetworkFailure, apiOrigin: string): boolean =>
  url.startsWith('/api/') || url.startsWith(`${apiOrigin}/api/`);

/** The connection ended, or was none, before there was an answer. What a page may not ask for, by CORS, is `net::ERR_FAILED`. */
const connectionLost =
  /net::ERR_(?:CONNECTION_|EMPTY_RESPONSE|INCOMPLETE_|PROXY_CONNECTION_|TUNNEL_CONNECTION_|SOCKET_|TIMED_OUT|NETWORK_)/;

function isUnavailable(failure: NetworkFailure, { exhausted }: Evidence, apiOrigin: string): boolean {
  if (failure.status !== null) return failure.status === 503 && isOfApi(failure, apiOrigin);
  // A page that has used up its network loses its connections, too.
  return connectionLost.test(failure.reason) && !exhausted;
}
