// Finds secrets that are recognisable only by their name: `const apiKey = "…"`, `env.JWT_SECRET || "…"`,
// `jwt.sign(user, "…")`, and `DB_PASSWORD=…` in a settings file.
import type { SecretMatch } from './kinds.ts';
import { isPlaceholder, isRandom, isWording } from './placeholder.ts';

/** `weak` values are chosen by people, so they need not look random. */
type Strength = 'weak' | 'random';

const literal = /([=:,?(]|\|\|)\s{0,40}(["'`])([^"'`\s\\]{6,512})\2/g;
const contextLength = 240;

export function findAssignments(text: string, path: string): SecretMatch[] {
  const found: SecretMatch[] = [];
  for (const match of text.matchAll(literal)) {
    const [whole, operator = '', , value = ''] = match;
    const context = text.slice(Math.max(0, match.index - contextLength), match.index + operator.length);
    const strength = strengthOf(context, operator);
    if (strength === undefined || !isSecretValue(value, strength)) continue;
    const end = match.index + whole.length - 1;
    found.push({ kind: 'generic', start: end - value.length, end, secret: value });
  }
  found.push(...findAuthorization(text), ...findParameters(text), ...findEncodedPasswords(text));
  return isSettingsFile(path) ? [...found, ...findSettings(text)] : found;
}

/** What a value must look like to be reported here. `undefined` if nothing in the context suggests a secret. */
function strengthOf(context: string, operator: string): Strength | undefined {
  if (operator === ',') return strengthOfArgument(context);
  if (operator === '(') return strengthOfOnlyArgument(context);
  if (operator === '?') return strengthOfName(chosenName.exec(context)?.[1]);
  const own = strengthOfName(assignedName.exec(context)?.[1]);
  if (own !== undefined || operator !== ':') return own;
  return strengthOfName(otherChosenName.exec(context)?.[1]);
}

// Each pattern starts at the beginning of a word and must match up to the end of the text, so few positions are tried.
/**
 * Matches assignments such as `apiKey =`, `"apiKey":` and `apiKey: string =`, fallbacks such as `env.API_KEY ??` and
 * `env.get("API_KEY") ||`, and comparisons such as `config['api-key'] ===`.
 */
const assignedName =
  /(?<![\w$-])([\w$-]{2,80})["'`]?[\])]{0,2}\s{0,8}[?!]?(?::\s{0,4}[A-Za-z<>[\]| ]{1,40})?\s{0,8}(?:[!=]==?|\|\|=?|\?\?=?|[=:])$/;
/** Matches `apiKey = isLive ?` and `apiKey = isLive ? "…" :`. */
const chosenName = /(?<![\w$-])([\w$-]{2,80})["']?\s{0,8}[=:][^=:;{}]{1,100}\?$/;
const otherChosenName = /(?<![\w$-])([\w$-]{2,80})["']?\s{0,8}[=:][^=:;{}]{1,100}\?[^?:;{}]{1,100}:$/;
/** Matches `headers.set('x-api-key',`. */
const argumentName = /["'`]([\w$-]{2,80})["'`]\s{0,8},$/;

/** A secret follows `createHmac('sha256', ` and `jwt.sign(payload, `, regardless of its name. */
function strengthOfArgument(context: string): Strength | undefined {
  if (/createHmac\(\s{0,8}["'`][\w-]{1,20}["'`]\s{0,8},$/.test(context)) return 'weak';
  if (/(?<!\w)(?:jwt|jsonwebtoken|jose)\w{0,12}\.(?:sign|verify)\([^'"`;]{1,120},$/i.test(context)) return 'weak';
  return strengthOfName(argumentName.exec(context)?.[1]) === undefined ? undefined : 'random';
}

/** Handles `secret = new TextEncoder().encode(` and `setApiKey(`. */
function strengthOfOnlyArgument(context: string): Strength | undefined {
  const [, setter] = /(?<![\w$])(?:set|with|use)([A-Z]\w{2,40})\($/.exec(context) ?? [];
  if (setter !== undefined) return strengthOfName(setter) === undefined ? undefined : 'random';
  if (!/(?:\.encode|Buffer\.from|createSecretKey)\($/.test(context)) return undefined;
  return strengthOfName(/(?<![\w$-])([\w$-]{2,80})\s{0,8}[=:][^=:;{}]{1,60}\($/.exec(context)?.[1]);
}

const weakWords = new Set(['password', 'passwd', 'pwd', 'passphrase', 'secret', 'pass']);
const strongWords = new Set(['token', 'apikey', 'pat', 'credential', 'credentials', 'bearer', 'apitoken', 'authtoken']);
/** Words that mark a following `key` as a secret. */
const secretKeys = new Set(
  'api secret access private signing signature encryption auth master service account admin jwt hmac session cookie webhook server'.split(
    ' ',
  ),
);
const suffixes = new Set(
  'value default prod production live dev development staging base fallback hardcoded current old new primary v'.split(
    ' ',
  ),
);
const publicWords = new Set(
  'public publishable anon anonymous client site search page next cursor continuation pagination verification csrf xsrf nonce placeholder sitekey hash hashed digest checksum integrity amplitude mixpanel posthog segment sentry datadog recaptcha turnstile hcaptcha vapid design color colour theme css syntax lexer wrong invalid bad test mock fake dummy example sample'.split(
    ' ',
  ),
);

/** Classifies a name by its last words, because `passwordLabel` and `tokenKind` are not secrets. */
function strengthOfName(name: string | undefined): Strength | undefined {
  if (name === undefined || name.length > 80) return undefined;
  const words = toWords(name);
  while (words.length > 1 && (suffixes.has(words.at(-1) ?? '') || /^v?\d+$/.test(words.at(-1) ?? ''))) words.pop();
  const [last = '', previous = ''] = words.toReversed();
  const isOpen = words.some((word) => publicWords.has(word));
  if (weakWords.has(last)) return isOpen && last !== 'secret' ? undefined : 'weak';
  if (isOpen) return undefined;
  if (strongWords.has(last) || (last === 'key' && secretKeys.has(previous))) return 'random';
  return undefined;
}

const toWords = (name: string): string[] =>
  name
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replace(/([A-Z])([A-Z][a-z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter(Boolean);

const publicValues =
  /^(?:pk[_.]|sb_publishable_|phc_|ca-pub-|eyJ|AIza|https?:|[./#@]|sha\d{3}-|\$2[aby]\$|\$argon2|data:|urn:|pub[0-9a-f]{32}$)/;
const developmentWords = /(?:^|[-_.])(?:dev|demo|test|local|mock|stub|unit|ci|development|staging)(?:$|[-_.])/i;

function isSecretValue(value: string, strength: Strength): boolean {
  if (publicValues.test(value) || isPlaceholder(value) || /\$\{|^[A-Z][A-Z0-9_]*$/.test(value)) return false;
  if (isRandom(value)) return true;
  return strength === 'weak' && isChosenSecret(value);
}

/** Values such as `Summer2024!` and `k8s-prod-hunter2`: letters with digits or symbols, but not an ordinary name. */
function isChosenSecret(value: string): boolean {
  if (value.length < 7 || value.length > 128 || developmentWords.test(value)) return false;
  if (!/[A-Za-z]/.test(value) || /^[\w.-]+[/:][\w./:-]+$/.test(value) || /^[a-z]+\(/.test(value)) return false;
  if (/[!@#$%^&*+=?]/.test(value) || (/\d/.test(value) && !/^[A-Za-z]+[-_.]?(?:v?\d{1,2})$/.test(value))) return true;
  // Values without digits and symbols must consist of several joined words.
  return (
    value.length >= 16 &&
    /secret|key|pass|sign|jwt/i.test(value) &&
    value.split(/[-_.]/).length >= 3 &&
    isWording(value)
  );
}

/** Finds `Bearer f3Kq9…`, and `Basic` with a base64-encoded name and password. */
function findAuthorization(text: string): SecretMatch[] {
  const found: SecretMatch[] = [];
  for (const { 0: whole, 1: scheme, 2: value = '', index } of text.matchAll(
    /\b(Bearer|Basic)[ ]([A-Za-z0-9_.~+/-]{12,1024}={0,2})/g,
  )) {
    const start = index + whole.length - value.length;
    const isSecret = scheme === 'Basic' ? isBasicPassword(value) : isSecretValue(value, 'random');
    if (isSecret) found.push({ kind: 'generic', start, end: index + whole.length, secret: value });
  }
  return found;
}

function isBasicPassword(encoded: string): boolean {
  const text = Buffer.from(encoded, 'base64').toString('latin1');
  const [, user = '', password = ''] = /^([!-~]{1,100}):([!-~]{4,200})$/.exec(text) ?? [];
  return password !== '' && password !== user && !isPlaceholder(password);
}

/** Finds `?api_key=…`, `&client_secret=…` and `;Password=…` in a URL, a form or a connection string. */
function findParameters(text: string): SecretMatch[] {
  const found: SecretMatch[] = [];
  for (const { 0: whole, 1: name = '', 2: value = '', index } of text.matchAll(
    /[?&;]\s?([A-Za-z][\w-]{1,40})=([^\s&;"'`<>\\]{7,256})/g,
  )) {
    const strength = strengthOfName(name) ?? (/^(?:key|sig|auth|appid)$/i.test(name) ? 'random' : undefined);
    if (strength === undefined || !isSecretValue(value, strength)) continue;
    const end = index + whole.length;
    found.push({ kind: 'generic', start: end - value.length, end, secret: value });
  }
  return found;
}

/** Finds `btoa("name:password")` and `Buffer.from("name:password")`. */
function findEncodedPasswords(text: string): SecretMatch[] {
  const found: SecretMatch[] = [];
  for (const { 0: whole, 1: user = '', 2: password = '', index } of text.matchAll(
    /(?:btoa|Buffer\.from)\(\s{0,8}["'`]([\w.@+-]{1,100}):([^\s"'`$\\]{4,200})["'`]/g,
  )) {
    if (password === user || isPlaceholder(password)) continue;
    const end = index + whole.length - 1;
    found.push({ kind: 'generic', start: end - password.length, end, secret: password });
  }
  return found;
}

const isSettingsFile = (path: string): boolean =>
  /(?:^|\/)\.env(?:\.[\w.-]+)?$|\.(?:env|ini|toml|properties|conf|cfg|ya?ml)$|(?:^|\/)\.npmrc$/i.test(path);

/** Finds lines of the form `NAME=value` or `name: value`. */
function findSettings(text: string): SecretMatch[] {
  const found: SecretMatch[] = [];
  for (const { 0: whole, 1: name, 2: value = '', index } of text.matchAll(
    /^[ \t]{0,40}(?:export |- )?[\w./:-]{0,80}?([\w-]{2,80})[ \t]{0,8}[=:][ \t]{0,8}([^\s"'`#]{8,512})[ \t]*$/gm,
  )) {
    const strength = strengthOfName(name);
    if (strength === undefined || !isSecretValue(value, strength)) continue;
    const end = index + whole.trimEnd().length;
    found.push({ kind: 'generic', start: end - value.length, end, secret: value });
  }
  return found;
}
