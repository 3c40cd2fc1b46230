// Owns the group of a scan about headers: fetches the published app as a visitor does, and judges what it answers with
// (docs/internals/security-scans.md#headers).
import type { Outbound } from '../../../kit/outbound/outbound.ts';
import type { Coverage } from '../finding.ts';
import type { HeaderItem } from './item.ts';
import { judgeHeaders } from './judge.ts';

export interface HeaderDeps {
  readonly outbound: Pick<Outbound, 'send'>;
  /** The workspace that causes the request. */
  readonly owner: string;
  /** Origins that pages of apps call, such as that of the API. */
  readonly connect?: readonly string[];
}

export interface HeaderResult {
  readonly coverage: Coverage;
  readonly items: readonly HeaderItem[];
}

const timeoutMs = 10_000;
const maxBodyBytes = 64 * 1024;
const maxRedirects = 3;

/** `url` is the address of the published app. */
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

/** Also if it answers with an error: it is published, but a visitor does not get its page. */
const notAnswered: HeaderResult = { coverage: { value: 'skipped', reason: 'offline' }, items: [] };

/** Within the app. What another site answers with is not the app's. */
function redirectTarget(from: string, location: string | undefined): string | undefined {
  const target = location === undefined ? null : URL.parse(location, from);
  if (target === null || target.origin !== new URL(from).origin) return undefined;
  target.hash = '';
  return target.href;
}
