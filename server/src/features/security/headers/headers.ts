// A scan's headers group: fetches the published app as a visitor would, and judges the response headers
// (docs/internals/security-scans.md#headers).
import type { Outbound } from '../../../kit/outbound/outbound.ts';
import type { Coverage } from '../finding.ts';
import type { HeaderItem } from './item.ts';
import { judgeHeaders } from './judge.ts';

export interface HeaderDeps {
  readonly outbound: Pick<Outbound, 'send'>;
  /** The workspace on whose behalf the request is sent. */
  readonly owner: string;
  /** Origins that app pages call, such as the API's origin. */
  readonly connect?: readonly string[];
}

export interface HeaderResult {
  readonly coverage: Coverage;
  readonly items: readonly HeaderItem[];
}

const timeoutMs = 10_000;
const maxBodyBytes = 64 * 1024;
const maxRedirects = 3;

/** `url` is the published app's address. */
export async function scanHeaders(deps: HeaderDeps, url: string, signal?: AbortSignal): Promise<HeaderResult> {
  let target = url;
  for (let redirects = 0; redirects <= maxRedirects; redirects += 1) {
    const got = await deps.outbound.send({
      owner: deps.owner,
      method: 'GET',
      url: target,
      headers: { accept: 'text/html' },
      plainHttp: true,
      ownApp: true,
      timeoutMs,
      maxBodyBytes,
      ...(signal && { signal }),
    });
    if (got.outcome !== 'answered' || got.status >= 400) return notAnswered;
    const next = got.status >= 300 ? redirectTarget(target, got.headers.location) : undefined;
    if (next === undefined) return { coverage: { value: 'ran' }, items: judgeHeaders(got.headers, deps.connect) };
    target = next;
  }
  return notAnswered;
}

/** The result if a visitor does not get the page, for example because of an error response. */
const notAnswered: HeaderResult = { coverage: { value: 'skipped', reason: 'offline' }, items: [] };

/** Follows redirects only within the app, because responses from other sites are not part of it. */
function redirectTarget(from: string, location: string | undefined): string | undefined {
  const target = location === undefined ? null : URL.parse(location, from);
  if (target === null || target.origin !== new URL(from).origin) return undefined;
  target.hash = '';
  return target.href;
}
