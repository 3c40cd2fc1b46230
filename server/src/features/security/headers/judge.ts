// Owns what is wrong with the six headers that protect a published app, and what to send instead.
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
  /** What is wrong with the value. Undefined: nothing. `value` is undefined if the header is not sent. */
  readonly findFault: (value: string | undefined, headers: Headers) => string | undefined;
}

const notSent = 'The header is not sent.';
const maxValueLength = 1_000;
/** 180 days. Browsers forget shorter ones between two visits. */
const minHstsSeconds = 15_552_000;

/** `connect` are the origins that the app's pages call, beside their own. */
const rules = (connect: readonly string[]): Readonly<Record<HeaderFlag, HeaderRule>> => ({
  csp: {
    name: 'Content-Security-Policy',
    severity: 'medium',
    title: 'Limit which scripts run in the app',
    purpose: 'A content security policy keeps scripts that somebody managed to inject from running.',
    recommended: `default-src 'self'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src ${["'self'", ...connect].join(' ')}; object-src 'none'; base-uri 'self'; frame-ancestors 'self'; form-action 'self'`,
    findFault: (value) => (value === undefined ? notSent : findScriptFault(splitPolicies(value))),
  },
  hsts: {
    name: 'Strict-Transport-Security',
    severity: 'medium',
    title: 'Make browsers use https only',
    purpose: 'Without it, the first request of a visit can be read and changed on its way.',
    recommended: 'max-age=31536000',
    findFault: findHstsFault,
  },
  frame_options: {
    name: 'X-Frame-Options',
    severity: 'medium',
    title: 'Keep other sites from showing the app in a frame',
    purpose: 'A page around the app can trick people into clicking what they do not see.',
    recommended: 'SAMEORIGIN',
    findFault: findFrameFault,
  },
  content_type_options: {
    name: 'X-Content-Type-Options',
    severity: 'low',
    title: 'Keep browsers from guessing the type of files',
    purpose: 'Browsers may run a file as a script that was uploaded as something else.',
    recommended: 'nosniff',
    findFault: (value) =>
      value === undefined
        ? notSent
        : value.split(',')[0]?.trim().toLowerCase() === 'nosniff'
          ? undefined
          : 'Its only valid value is nosniff.',
  },
  referrer_policy: {
    name: 'Referrer-Policy',
    severity: 'low',
    title: "Keep the app's addresses from other sites",
    purpose: 'Other sites would see which page of the app a visitor comes from, with all that is in its address.',
    recommended: 'strict-origin-when-cross-origin',
    findFault: findReferrerFault,
  },
  permissions_policy: {
    name: 'Permissions-Policy',
    severity: 'low',
    title: 'Switch off what the app does not use of the device',
    purpose: 'Frames and injected scripts could ask for the camera, the microphone or the location.',
    recommended: 'camera=(), microphone=(), geolocation=(), payment=(), usb=()',
    findFault: findPermissionFault,
  },
});

/** `headers` by their names in lower case. */
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
  // Browsers read the first of several headers.
  const [first = ''] = value.split(',');
  const [, seconds] = /(?:^|;)\s*max-age\s*=\s*"?(\d{1,18})"?\s*(?:;|$)/i.exec(first) ?? [];
  if (seconds === undefined) return 'It has no valid max-age, so that browsers ignore it.';
  if (Number(seconds) === 0) return 'Its max-age of 0 makes browsers forget it.';
  return Number(seconds) < minHstsSeconds ? 'Its max-age is shorter than 180 days.' : undefined;
}

/** `frame-ancestors` of the policy takes the place of this header. */
function findFrameFault(value: string | undefined, headers: Headers): string | undefined {
  const rule = findFrameRule(splitPolicies(headers['content-security-policy'] ?? ''));
  if (rule === 'limited') return undefined;
  if (rule === 'open') return 'The directive frame-ancestors of the content security policy allows every site.';
  if (value === undefined) return `${notSent} The content security policy has no frame-ancestors either.`;
  const values = value.split(',').map((each) => each.trim().toLowerCase());
  return values.every((each) => each === 'deny' || each === 'sameorigin')
    ? undefined
    : 'Browsers know only the values DENY and SAMEORIGIN.';
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

/** Of several values, the last one that the browser knows holds. */
function findReferrerFault(value: string | undefined): string | undefined {
  if (value === undefined) return notSent;
  const known = value
    .split(',')
    .map((each) => each.trim().toLowerCase())
    .filter((each) => safePolicies.includes(each) || leakingPolicies.includes(each));
  const last = known.at(-1);
  if (last === undefined) return 'It has no value that browsers know.';
  return leakingPolicies.includes(last) ? `With ${last}, other sites receive the whole address.` : undefined;
}

const powerful = new Set(
  'accelerometer ambient-light-sensor bluetooth camera clipboard-read display-capture geolocation gyroscope hid identity-credentials-get idle-detection local-fonts magnetometer microphone midi payment publickey-credentials-get serial usb window-management xr-spatial-tracking'.split(
    ' ',
  ),
);
const memberForm = /^([a-z*][a-z0-9_.*-]*)(?:=(\*|[a-z][a-z-]*|"[^"]*"|\([^()]*\)|\?[01]))?(?:;.*)?$/;

/** One member that can't be parsed makes browsers ignore the whole header. */
function findPermissionFault(value: string | undefined): string | undefined {
  if (value === undefined) return notSent;
  const members = value
    .replace(/,\s*$/, '')
    .split(/,(?![^()]*\))/)
    .map((member) => memberForm.exec(member.trim()));
  if (members.includes(null)) return 'It is not in the form that browsers read, such as camera=().';
  const open = members.find(
    (member) => powerful.has(member?.[1] ?? '') && /^(?:\*|\((?:[^)]*\s)?\*[\s)])/.test(member?.[2] ?? ''),
  );
  return open == null ? undefined : `It gives every frame access to ${open[1]}.`;
}
