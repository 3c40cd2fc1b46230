// Owns the headers that an app's security settings add to its files.
import type { OutgoingHttpHeaders } from 'node:http';
import type { HeaderSettings } from '../contract.ts';

/** What a page below /p/ may do. Without an origin of its own it can't use the cookies, the storage or the pages of the API. */
export const sandboxPolicy = 'sandbox allow-scripts allow-forms';

/** Several policies in one header. Browsers apply each on its own. */
export const joinPolicies = (...policies: readonly (string | undefined)[]): string =>
  policies.filter(Boolean).join(', ');

/** On a host of the app's own. */
export const toOwnHeaders = (settings: HeaderSettings): OutgoingHttpHeaders =>
  withoutEmpty({
    'content-security-policy': settings.csp,
    'strict-transport-security': settings.hsts,
    ...toPageHeaders(settings),
  });

/** Below /p/. The app's policy can't loosen the sandbox. Whether the API's host is reached by https is not the app's to say. */
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
