// Detects faults in Plinth that prevent a run from testing the app, as opposed to faults in the app, and the
// messages shown to the user who started the run.
import { maxUnpaidADay, maxUnpaidOfWorkspaceADay } from '../../core/credits/unpaid.ts';
import type { Evidence, NetworkFailure } from '../../gateways/browser/session/types.ts';
import type { StoredResult } from './report.ts';
import type { Verdict } from './run/verdict.ts';

const free = 'Nothing was charged.';

export const messages = {
  crashed: `The browser or the worker crashed twice during this run. ${free} Start it again.`,
  noBrowser: `No browser could be started within 2 minutes. ${free} Start the run again later.`,
  notConfigured: `This worker has no browser. ${free} Ask the operator to set BROWSER_EXECUTABLE.`,
  tookTooLong: `The run did not end within 15 minutes. ${free} Split the test into smaller ones.`,
  waitedTooLong: `No worker was available for this run within an hour. ${free} Start it again later.`,
  accessLost: `The person who started this run can no longer test the app. ${free} Ask another editor to start it.`,
  notPublished: `The app is no longer published. ${free} Publish it, then start the run again.`,
  modelUnavailable: `The language model became unavailable during this run. ${free} Start it again later.`,
  tooManyRequests: `Requests from this run exceeded Plinth's rate limit. ${free} Start it again later.`,
  unreachable: `The browser briefly lost connection to Plinth during this run. ${free} Start it again.`,
  notAnalysed: `The result of this run could not be analysed because of an internal error. ${free} Start it again.`,
  other: `This run could not finish because of an internal error. ${free} Start it again.`,
} as const;

/** The same message for a run that is charged, because the app has had its free failures of today. */
export const sayCharged = (message: string): string =>
  message.replace(
    free,
    `The run was charged, because ${maxUnpaidADay.test_run} runs of this app, or ${maxUnpaidOfWorkspaceADay.test_run} of the workspace, have failed free of charge today.`,
  );

/** Returns a message if a fault in Plinth prevented the run from testing the app. */
export function findFault(
  { result, evidence }: StoredResult,
  verdict: Verdict['verdict'],
  apiOrigin: string,
): string | undefined {
  if (result.ended === 'time_limit') return messages.tookTooLong;
  if (verdict === 'passed') return undefined;
  const failures = evidence.network_failures.filter(({ url }) => isServedByPlinth(url, apiOrigin));
  // A worker's browsers share one IP address, so other runs may have used up a per-address limit.
  if (failures.some((each) => each.status === 429 && isOfApi(each, apiOrigin))) return messages.tooManyRequests;
  if (failures.some((each) => isUnavailable(each, evidence, apiOrigin))) return messages.unreachable;
  return result.ended === 'model_unavailable' && verdict === 'inconclusive' ? messages.modelUnavailable : undefined;
}

/** Includes the published app, because Plinth serves it. */
const isServedByPlinth = (url: string, apiOrigin: string): boolean =>
  url.startsWith('/') || url.startsWith(`${apiOrigin}/`);
const isOfApi = ({ url }: NetworkFailure, apiOrigin: string): boolean =>
  url.startsWith('/api/') || url.startsWith(`${apiOrigin}/api/`);

/**
 * Matches connections that failed or were closed before the response. Requests blocked by CORS do not match: they fail
 * with `net::ERR_FAILED`.
 */
const connectionLost =
  /net::ERR_(?:CONNECTION_|EMPTY_RESPONSE|INCOMPLETE_|PROXY_CONNECTION_|TUNNEL_CONNECTION_|SOCKET_|TIMED_OUT|NETWORK_)/;

function isUnavailable(failure: NetworkFailure, { exhausted }: Evidence, apiOrigin: string): boolean {
  if (failure.status !== null) return failure.status === 503 && isOfApi(failure, apiOrigin);
  // A page that has exhausted its network quota also loses its connections.
  return connectionLost.test(failure.reason) && !exhausted;
}
