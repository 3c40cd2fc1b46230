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

const toPageHeaders = ({ frame_options, referrer_policy, permissions_policy }: HeaderSettings) => ({
  'x-frame-options': frame_options,
  'referrer-policy': referrer_policy,
  'permissions-policy': permissions_policy,
});

const withoutEmpty = (headers: Record<string, string | null>): OutgoingHttpHeaders =>
  Object.fromEntries(Object.entries(headers).filter((header): header is [string, string] => header[1] !== null));
