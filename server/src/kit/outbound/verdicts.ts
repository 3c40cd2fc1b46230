// A client's verdicts on URLs and addresses. They depend only on the text and the client's rules, so they can be
// remembered. A verdict on a URL never depends on the addresses that its name resolves to.
import { hostOf, isAllowedEndpoint, isReachable } from './address.ts';
import { portOf, type UrlReason, type UrlRules, vetUrl } from './url.ts';

/** The parts of a checked URL that a request needs. */
export interface Target {
  readonly origin: string;
  /** Normalised, without the brackets around an IPv6 address. */
  readonly host: string;
  readonly port: number;
  readonly path: string;
  /** Whether the operator allows this host and port, regardless of the host's addresses. */
  readonly mayHaveAnyAddress: boolean;
}

export type TargetVerdict = { readonly ok: Target } | { readonly reason: UrlReason };

export interface Verdicts {
  vetTarget(url: string, rules: Pick<UrlRules, 'plainHttp' | 'ownApp'>): TargetVerdict;
  /** Whether connections to all of these addresses are allowed. */
  mayConnect(target: Pick<Target, 'mayHaveAnyAddress'>, addresses: readonly string[]): boolean;
}

const maxRemembered = 10_000;
// Most URLs are shorter. Longer URLs are not remembered, so callers can't control the memory usage.
const maxRememberedLength = 300;

export function openVerdicts({ allow = [], own }: Pick<UrlRules, 'allow' | 'own'>): Verdicts {
  const vetUsual = remember((url) => vet(url, { allow, own }));
  const mayReach = remember((address) => isReachable(allow, address));
  return {
    vetTarget: (url, { plainHttp = false, ownApp = false }) =>
      // Verdicts are remembered by URL only, so requests with special rules neither use nor add remembered verdicts.
      plainHttp || ownApp ? vet(url, { allow, own, plainHttp, ownApp }) : vetUsual(url),
    mayConnect: ({ mayHaveAnyAddress }, addresses) => mayHaveAnyAddress || addresses.every(mayReach),
  };
}

function vet(text: string, rules: UrlRules): TargetVerdict {
  const verdict = vetUrl(text, rules);
  return 'reason' in verdict ? verdict : { ok: toTarget(verdict.ok, rules) };
}

export function toTarget(url: URL, { allow = [] }: Pick<UrlRules, 'allow'>): Target {
  const { origin, pathname, search } = url;
  const endpoint = { host: hostOf(url), port: portOf(url) };
  return { origin, ...endpoint, path: pathname + search, mayHaveAnyAddress: isAllowedEndpoint(allow, endpoint) };
}

/** Calls `judge` once per text. When full, forgets everything, which costs no more than a restart. */
function remember<Verdict>(judge: (text: string) => Verdict): (text: string) => Verdict {
  const known = new Map<string, Verdict>();
  return (text) => {
    const before = known.get(text);
    if (before !== undefined) return before;
    const verdict = judge(text);
    if (text.length > maxRememberedLength) return verdict;
    if (known.size >= maxRemembered) known.clear();
    known.set(text, verdict);
    return verdict;
  };
}
