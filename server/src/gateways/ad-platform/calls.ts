// Calls to the ad platform: the access token, the headers, and how responses to changes and reads are interpreted.
import type { Clock } from '../../kit/clock.ts';
import { type Credentials, createAccessTokens } from './credentials.ts';
import { cutReasons, isUnfinished, readReasons, readRequestId, readStatus } from './failure.ts';
import { asObject, type Json } from './json.ts';
import type { Change, Reading, Unavailable } from './outcome.ts';
import { openRest, type Purpose, type RestAnswer } from './rest.ts';

export interface AdPlatformSettings {
  /** Undefined if the platform is not configured. */
  readonly url: string | undefined;
  readonly version: string;
  /** The manager account's id, digits only. */
  readonly managerId: string | undefined;
  readonly credentials: Credentials | undefined;
  readonly clock: Clock;
  readonly changeTimeoutMs?: number;
  readonly readTimeoutMs?: number;
  /** Called after every call. */
  readonly onCall?: (outcome: string, seconds: number) => void;
  /** Called after a failed call, if the reason may concern the operator. */
  readonly onFailure?: (failure: { readonly reason: string; readonly request_id: string | null }) => void;
}

export interface Call {
  /** The path after the version, such as `/customers/1/googleAds:search`. */
  readonly path: string;
  readonly body: Json;
}

/** Undefined if the response does not have the expected form. */
type ReadResult<Result> = (body: Json) => Result | undefined;

export interface Calls {
  readonly configured: boolean;
  /** `notAfter` is a `performance.now()` time. After it, nothing is sent and the call stops waiting for a response. */
  change<Result>(call: Call, readResult: ReadResult<Result>, notAfter?: number): Promise<Change<Result>>;
  read<Result>(call: Call, readResult: ReadResult<Result>, notAfter?: number): Promise<Reading<Result>>;
  close(): Promise<void>;
}

const notConfigured: Unavailable = { outcome: 'unavailable', reason: 'not_configured' };

export function createCalls({
  url,
  version,
  managerId,
  credentials,
  clock,
  changeTimeoutMs = 30_000,
  readTimeoutMs = 20_000,
  onCall,
  onFailure,
}: AdPlatformSettings): Calls {
  if (url === undefined || managerId === undefined || credentials === undefined)
    return {
      configured: false,
      change: async () => notConfigured,
      read: async () => notConfigured,
      close: async () => {},
    };
  const { send, close } = openRest();
  const tokens = createAccessTokens(credentials, send, clock);

  /**
   * Undefined if there is no access token. Nothing is sent after `until`, and callers waiting for an outcome rely on
   * this.
   */
  async function sendOnce({ path, body }: Call, purpose: Purpose, until: number): Promise<RestAnswer | undefined> {
    const token = await tokens.get();
    if (token === undefined) return undefined;
    const timeoutMs = until - performance.now();
    if (timeoutMs <= 0) return { outcome: 'failed', kind: 'timeout', sent: false };
    const answer = await send({
      purpose,
      method: 'POST',
      url: `${url}/${version}${path}`,
      headers: {
        authorization: `Bearer ${token}`,
        'login-customer-id': managerId as string,
        'content-type': 'application/json',
      },
      body: JSON.stringify(body),
      timeoutMs,
    });
    if (answer.outcome === 'answered' && answer.status === 401) tokens.drop(token);
    return answer;
  }

  /** The platform ignores calls whose token it does not accept, so they can be resent with a new token. */
  async function sendCall(
    call: Call,
    purpose: Purpose,
    timeoutMs: number,
    notAfter = Number.POSITIVE_INFINITY,
  ): Promise<RestAnswer | undefined> {
    const until = Math.min(performance.now() + timeoutMs, notAfter);
    const answer = await sendOnce(call, purpose, until);
    return answer?.outcome === 'answered' && answer.status === 401 ? sendOnce(call, purpose, until) : answer;
  }

  const counted = async <Result extends Change<unknown> | Reading<unknown>>(
    work: () => Promise<Result>,
  ): Promise<Result> => {
    const startedAt = performance.now();
    const result = await work();
    onCall?.(result.outcome, (performance.now() - startedAt) / 1000);
    const failure = describeFailure(result);
    if (failure !== undefined) onFailure?.(failure);
    return result;
  };

  return {
    configured: true,
    change: (call, readResult, notAfter) =>
      counted(async () => toChange(call, await sendCall(call, 'changes', changeTimeoutMs, notAfter), readResult)),
    read: (call, readResult, notAfter) =>
      counted(async () => toReading(await sendCall(call, 'reads', readTimeoutMs, notAfter), readResult)),
    close,
  };
}

/** Undefined after a success, and for a duplicate name, which callers expect. */
function describeFailure(result: Change<unknown> | Reading<unknown>) {
  if (result.outcome === 'unavailable') return { reason: result.reason, request_id: null };
  if (result.outcome === 'unknown') return { reason: 'no_answer', request_id: result.requestId };
  if (result.outcome !== 'refused') return undefined;
  const reason = result.reasons.find(({ kind }) => kind !== 'duplicate_name')?.code;
  return reason === undefined ? undefined : { reason, request_id: result.requestId };
}

const noToken: Unavailable = { outcome: 'unavailable', reason: 'no_access_token' };

function toChange<Result>(call: Call, answer: RestAnswer | undefined, readResult: ReadResult<Result>): Change<Result> {
  if (answer === undefined) return noToken;
  if (answer.outcome === 'failed')
    return answer.sent ? { outcome: 'unknown', requestId: null } : { outcome: 'unavailable', reason: answer.kind };
  const requestId = answer.requestId ?? readRequestId(answer.body);
  const unknown = { outcome: 'unknown', requestId } as const;
  // A proxy's error page, or an error partway through, does not prove that nothing was changed.
  if (answer.body === undefined || answer.status >= 500) return unknown;
  const { partialFailureError } = asObject(answer.body);
  const isSuccess = answer.status >= 200 && answer.status < 300;
  // A validate-only request counts as refused if a successful response contains failures.
  if (isSuccess && (partialFailureError === undefined || call.body.validateOnly !== true)) {
    const result = readResult(asObject(answer.body));
    return result === undefined ? unknown : { outcome: 'applied', result, requestId };
  }
  const reasons = isSuccess ? readStatus(asObject(partialFailureError)) : readReasons(answer.body);
  if (reasons.length === 0 || isUnfinished(reasons)) return unknown;
  return { outcome: 'refused', reasons: cutReasons(reasons), requestId };
}

function toReading<Result>(answer: RestAnswer | undefined, readResult: ReadResult<Result>): Reading<Result> {
  if (answer === undefined) return noToken;
  if (answer.outcome === 'failed') return { outcome: 'unavailable', reason: answer.kind };
  const result = answer.status === 200 && answer.body !== undefined ? readResult(asObject(answer.body)) : undefined;
  if (result !== undefined) return { outcome: 'read', result, requestId: answer.requestId };
  return { outcome: 'unavailable', reason: readReasons(answer.body)[0]?.code ?? `status_${answer.status}` };
}
