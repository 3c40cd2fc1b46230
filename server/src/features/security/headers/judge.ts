// Judges the six headers that protect a published app, and recommends values for them.
import type { Severity } from '../finding.ts';
import type { HeaderFlag, HeaderItem } from './item.ts';
import { findFrameRule, findScriptFault, splitPolicies } from './policy.ts';

type Headers = Readonly<Record<string, string>>;

interface HeaderRule {
  readonly name: string;
  readonly severity: Severity;
  readonly title: string;
  /** Why the app needs the header. */
  readonly purpose: string;
  readonly recommended: string;
  /**
   * Describes what is wrong with a value, or returns `undefined` if it is fine. `value` is `undefined` if the header is
   * missing.
   */
  readonly findFault: (value: string | undefined, headers: Headers) => string | undefined;
}

const notSent = 'The header is not sent.';
const maxValueLength = 1_000;
/** 180 days. With a shorter lifetime, browsers may forget the header between two visits. */
const minHstsSeconds = 15_552_000;

/** `connect` lists the origins that the app's pages call, besides their own. */
const rules = (connect: readonly string[]): Readonly<Record<HeaderFlag, HeaderRule>> => ({
  csp: {
    name: 'Content-Security-Policy',
    severity: 'medium',
    title: 'Limit which scripts run in the app',
    purpose: 'A content security policy keeps injected scripts from running.',
    recommended: `default-src 'self'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src ${["'self'", ...connect].join(' ')}; object-src 'none'; base-uri 'self'; frame-ancestors 'self'; form-action 'self'`,
    findFault: (value) => (value === undefined ? notSent : findScriptFault(splitPolicies(value))),
  },
  hsts: {
    name: 'Strict-Transport-Security',
    severity: 'medium',
    title: 'Make browsers use only HTTPS',
    purpose: 'Without it, the first request of a visit can be read and modified in transit.',
    recommended: 'max-age=31536000',
    findFault: findHstsFault,
  },
  frame_options: {
    name: 'X-Frame-Options',
    severity: 'medium',
    title: 'Keep other sites from framing the app',
    purpose: "A page that frames the app can trick people into clicking things they can't see.",
    recommended: 'SAMEORIGIN',
    findFault: findFrameFault,
  },
  content_type_options: {
    name: 'X-Content-Type-Options',
    severity: 'low',
    title: 'Keep browsers from guessing file types',
    purpose: 'Browsers may run a file as a script even if it was uploaded as something else.',
    recommended: 'nosniff',
    findFault: (value) =>
      value === undefined
        ? notSent
        : value.split(',')[0]?.trim().toLowerCase() === 'nosniff'
          ? undefined
          : 'The only valid value is nosniff.',
  },
  referrer_policy: {
    name: 'Referrer-Policy',
    severity: 'low',
    title: "Hide the app's URLs from other sites",
    purpose: 'Other sites can see which page of the app a visitor came from, including everything in its URL.',
    recommended: 'strict-origin-when-cross-origin',
    findFault: findReferrerFault,
  },
  permissions_policy: {
    name: 'Permissions-Policy',
    severity: 'low',
    title: "Turn off device features that the app doesn't use",
    purpose: 'Frames and injected scripts could request access to the camera, microphone or location.',
    recommended: 'camera=(), microphone=(), geolocation=(), payment=(), usb=()',
    findFault: findPermissionFault,
  },
});

/** `headers` must have lower-case names. */
export function judgeHeaders(headers: Headers, connect: readonly string[] = []): HeaderItem[] {
  return Object.entries(rules(connect)).flatMap(
    ([flag, { name, severity, title, purpose, recommended, findFault }]) => {
      const value = headers[name.toLowerCase()];
      const fault = findFault(value, headers);
      if (fault === undefined) return [];
      return [
        {
          flag: flag as HeaderFlag,
          header_name: name,
          severity,
          title,
          description: `${fault} ${purpose}`,
          current_value: value === undefined ? null : cut(value),
          recommended_value: recommended,
        },
      ];
    },
  );
}

const cut = (value: string): string => (value.length > maxValueLength ? `${value.slice(0, maxValueLength)}…` : value);

function findHstsFault(value: string | undefined): string | undefined {
  if (value === undefined) return notSent;
  // If the header is sent several times, browsers use the first one.
  const [first = ''] = value.split(',');
  const [, seconds] = /(?:^|;)\s*max-age\s*=\s*"?(\d{1,18})"?\s*(?:;|$)/i.exec(first) ?? [];
  if (seconds === undefined) return 'The header has no valid max-age, so browsers ignore it.';
  if (Number(seconds) === 0) return 'A max-age of 0 makes browsers forget the header.';
  return Number(seconds) < minHstsSeconds ? 'The max-age is shorter than 180 days.' : undefined;
}

/** The policy's `frame-ancestors` directive overrides this header. */
function findFrameFault(value: string | undefined, headers: Headers): string | undefined {
  const rule = findFrameRule(splitPolicies(headers['content-security-policy'] ?? ''));
  if (rule === 'limited') return undefined;
  if (rule === 'open') return "The content security policy's frame-ancestors directive allows every site.";
  if (value === undefined) return `${notSent} The content security policy has no frame-ancestors directive either.`;
  const values = value.split(',').map((each) => each.trim().toLowerCase());
  return values.every((each) => each === 'deny' || each === 'sameorigin')
    ? undefined
    : 'Browsers recognise only the values DENY and SAMEORIGIN.';
}

const safePolicies = [
  'no-referrer',
  'same-origin',
  'strict-origin',
  'strict-origin-when-cross-origin',
  'origin',
  'origin-when-cross-origin',
];
const leakingPolicies = ['unsafe-url', 'no-referrer-when-downgrade'];

/** If there are several values, browsers use the last one that they recognise. */
function findReferrerFault(value: string | undefined): string | undefined {
  if (value === undefined) return notSent;
  const known = value
    .split(',')
    .map((each) => each.trim().toLowerCase())
    .filter((each) => safePolicies.includes(each) || leakingPolicies.includes(each));
  const last = known.at(-1);
  if (last === undefined) return 'The header has no value that browsers recognise.';
  return leakingPolicies.includes(last) ? `With ${last}, other sites receive the full URL.` : undefined;
}

const powerful = new Set(
  'accelerometer ambient-light-sensor bluetooth camera clipboard-read display-capture geolocation gyroscope hid identity-credentials-get idle-detection local-fonts magnetometer microphone midi payment publickey-credentials-get serial usb window-management xr-spatial-tracking'.split(
    ' ',
  ),
);
const memberForm = /^([a-z*][a-z0-9_.*-]*)(?:=(\*|[a-z][a-z-]*|"[^"]*"|\([^()]*\)|\?[01]))?(?:;.*)?$/;

/** A single member that can't be parsed makes browsers ignore the whole header. */
function findPermissionFault(value: string | undefined): string | undefined {
  if (value === undefined) return notSent;
  const members = value
    .replace(/,\s*$/, '')
    .split(/,(?![^()]*\))/)
    .map((member) => memberForm.exec(member.trim()));
  if (members.includes(null)) return "Browsers can't parse the header. Use a form such as camera=().";
  const open = members.find(
    (member) => powerful.has(member?.[1] ?? '') && /^(?:\*|\((?:[^)]*\s)?\*[\s)])/.test(member?.[2] ?? ''),
  );
  return open == null ? undefined : `The header gives every frame access to ${open[1]}.`;
}
