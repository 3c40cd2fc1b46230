// The headers that an app's security settings add to its files.
import type { OutgoingHttpHeaders } from 'node:http';
import type { HeaderSettings } from '../contract.ts';

/**
 * Sandboxes pages below /p/. They then have no origin of their own, so they can't use the API's cookies, storage or
 * pages.
 */
export const sandboxPolicy = 'sandbox allow-scripts allow-forms';

/** Joins several policies into one header. Browsers apply each policy separately. */
export const joinPolicies = (...policies: readonly (string | undefined)[]): string =>
  policies.filter(Boolean).join(', ');

/** Returns the headers for the app's own host. */
export const toOwnHeaders = (settings: HeaderSettings): OutgoingHttpHeaders =>
  withoutEmpty({
    'content-security-policy': settings.csp,
    'strict-transport-security': settings.hsts,
    ...toPageHeaders(settings),
  });

/**
 * Returns the headers for pages below /p/. The app's policy can't loosen the sandbox, and HSTS is set by the API, which
 * owns the host.
 */
export const toSandboxedHeaders = (settings: HeaderSettings): OutgoingHttpHeaders =>
  withoutEmpty({
    'content-security-policy': joinPolicies(sandboxPolicy, settings.csp ?? undefined),
    ...toPageHeaders(settings),
  });

/**
 * Returns the headers for a page of a preview, which only `consoleOrigin` may show in a frame. The app's own policy
 * applies as on the app's host, except for frames. The address of a preview is a secret, so links don't pass it on.
 */
export const toPreviewHeaders = (
  { csp = null, permissions_policy = null }: Partial<Pick<HeaderSettings, 'csp' | 'permissions_policy'>>,
  { isSandboxed, host, consoleOrigin }: { isSandboxed: boolean; host: string; consoleOrigin: string },
): OutgoingHttpHeaders =>
  withoutEmpty({
    'content-security-policy': joinPolicies(
      isSandboxed ? sandboxPolicy : undefined,
      csp === null ? undefined : withoutFrameAncestors(allowOwnFiles(csp, host)),
      `frame-ancestors ${consoleOrigin}`,
    ),
    'permissions-policy': permissions_policy,
    'referrer-policy': 'no-referrer',
    'x-robots-tag': 'noindex',
  });

/** Removes the directive from all policies of the header. */
export const withoutFrameAncestors = (policies: string): string =>
  policies
    .split(',')
    .map((policy) =>
      policy
        .split(';')
        .filter((directive) => !/^\s*frame-ancestors(\s|$)/i.test(directive))
        .join(';'),
    )
    .filter((policy) => policy.trim() !== '')
    .join(',');

/**
 * Adapts a policy for viewing a page on another host, so sources that allow the app's own host by name, or all https
 * hosts, also allow the page's own files.
 */
export function allowOwnFiles(policy: string, hostname: string): string {
  const isOwn = (host: string) => host === hostname || (host.startsWith('*.') && hostname.endsWith(host.slice(1)));
  const rename = (source: string): string => {
    if (source.toLowerCase() === 'https:') return "https: 'self'";
    const host = /^(?:https?:\/\/)?([^/:']+)(?::[\d*]+)?(?:\/.*)?$/i.exec(source)?.[1]?.toLowerCase();
    return host !== undefined && isOwn(host) ? "'self'" : source;
  };
  return policy.replaceAll(/[^\s;,]+/g, rename);
}

const toPageHeaders = ({ frame_options, referrer_policy, permissions_policy }: HeaderSettings) => ({
  'x-frame-options': frame_options,
  'referrer-policy': referrer_policy,
  'permissions-policy': permissions_policy,
});

const withoutEmpty = (headers: Record<string, string | null>): OutgoingHttpHeaders =>
  Object.fromEntries(Object.entries(headers).filter((header): header is [string, string] => header[1] !== null));
