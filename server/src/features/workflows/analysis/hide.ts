// Hides credentials in a language model's prompts and replies: the app's secrets in any common encoding, and
// anything that looks like a credential.
import { createMask } from '../runs/mask.ts';

export interface Hider {
  /** Hides the credentials in a JSON value. If a field's name suggests a credential, its whole value is hidden. */
  hide(value: unknown): unknown;
  /** Hides credentials in prose, where `token: expired` is not a credential. */
  hideInText(text: string): string;
}

const hidden = '***';

export function createHider(secrets: Iterable<string>): Hider {
  const maskSecrets = createMask([...secrets].flatMap(listSpellings));
  const hideText = (text: string, keepsWords: boolean): string =>
    patterns.reduce((rest, hide) => hide(rest, keepsWords), maskSecrets(text));
  // Secrets are masked before and after normalisation, because normalisation may change the characters of a secret.
  const normalizeText = (text: string): string => maskSecrets(text).normalize('NFKC').replace(invisible, '');
  const hide = (value: unknown): unknown => {
    if (typeof value === 'string') return hideText(normalizeText(value), false);
    if (typeof value === 'number') return maskSecrets(value);
    if (typeof value !== 'object' || value === null) return value;
    if (Array.isArray(value)) return value.map(hide);
    return Object.fromEntries(
      Object.entries(value).map(([name, inner]) => [
        hideText(normalizeText(name), true),
        isCredentialName(name) ? hideField(inner, hide) : hide(inner),
      ]),
    );
  };
  return { hide, hideInText: (text) => hideText(text, true) };
}

/** Characters that readers can't see, which can make different texts look identical. */
export const invisible = /\p{Cf}|\p{Variation_Selector}|[\u{E0000}-\u{E00FF}]/gu;

const minSpelledLength = 8;

/** Lists the forms in which a service may repeat a secret. The mask itself handles URL, JSON and base64 encodings. */
function listSpellings(secret: string): string[] {
  if (secret.length < minSpelledLength) return [secret];
  const hex = Buffer.from(secret.toWellFormed()).toString('hex');
  return [
    secret,
    secret.normalize('NFKC').replace(invisible, ''),
    secret.toLowerCase(),
    secret.toUpperCase(),
    [...secret].reverse().join(''),
    hex,
    hex.toUpperCase(),
    secret.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;'),
  ];
}

// ---- credentials by field name

const credentialNames =
  /(?:authorization|cookie|password|passwd|passphrase|pwd|secret|token|apikey|accesskey|privatekey|credentials?|signature)$/;

const isCredentialName = (name: string): boolean =>
  credentialNames.test(
    name
      .normalize('NFKC')
      .toLowerCase()
      .replace(/[^a-z]/g, ''),
  );

/**
 * Removes an expression's literals but keeps the names that it reads, because they help to explain a failure.
 * Example: `"Bearer " + $secrets.KEY` becomes `"***" + $secrets.KEY`.
 */
function hideField(value: unknown, hide: (value: unknown) => unknown): unknown {
  if (typeof value !== 'string') return typeof value === 'number' ? hidden : hide(value);
  return /^\$\{[\s\S]*\}$/.test(value) ? hide(value.replace(/"(?:[^"\\]|\\.)*"/g, `"${hidden}"`)) : hidden;
}

// ---- credentials by appearance. Each pattern takes linear time: it either never rescans text that it has read, or
// reads only a little.

type Pattern = (text: string, keepsWords: boolean) => string;

/** Ordinary words such as `expired` and `Required.` are not credentials. */
const isWord = (text: string): boolean => /^[A-Za-z]?[a-z]{0,18}[.,;:!?)]*$/.test(text);

const replace =
  (pattern: RegExp, by: string): Pattern =>
  (text) =>
    text.replace(pattern, by);

const patterns: readonly Pattern[] = [
  // private keys, even if the end is cut off
  replace(/-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]{0,40}PRIVATE KEY-----|$)/g, hidden),
  replace(/\b([a-z][a-z0-9+.-]{1,20}:\/\/)[^\s/?#@"'<>\\]{1,500}@/gi, `$1${hidden}@`),
  // JSON Web Tokens
  replace(/(?<![\w-])eyJ[\w-]{8,}\.[\w-]{2,}(?:\.[\w-]*)*/g, hidden),
  // our own tokens, keys, hooks and webhook secrets
  replace(/\bpl[a-z]_[0-9A-Za-z]{8,}|\bwhsec_[\w+/=-]{8,200}/g, hidden),
  replace(/(\/api\/hooks\/)[^\s/?#"'<>\\]+/g, `$1${hidden}`),
  // tokens from well-known services
  replace(
    /(?<![\w-])(?:[spr]k[-_](?:live|test|proj|ant|or)[-_][\w-]{8,}|sk-[\w-]{16,}|gh[pousr]_\w{16,}|github_pat_\w{16,}|glpat-[\w-]{16,}|xox[a-z]-[\w-]{8,}|A[KS]IA[0-9A-Z]{12,}|AIza[\w-]{20,}|SG\.[\w-]{10,}\.[\w-]{10,}|npm_\w{20,}|ya29\.[\w.-]{16,})/g,
    hidden,
  ),
  (text) =>
    text.replace(/\b(bearer|basic|digest|apikey|token)(\s{1,5})([\w+/=.~:-]{6,})/gi, (whole, scheme, space, value) =>
      isWord(value) ? whole : `${scheme}${space}${hidden}`,
    ),
  replace(/\b((?:set-)?cookie\\?["']?\s{0,5}:\s{0,5}\\?["']?)[^\r\n"'\\]{2,}/gi, `$1${hidden}`),
  // `password=…` and `"api_key": "…"`, including JSON that is embedded in a string
  (text, keepsWords) =>
    text.replace(
      /((?:password|passwd|passphrase|pwd|secret|token|api[-_]?key|access[-_]?key|private[-_]?key|authorization|credential|signature)s?\\{0,4}["']?\s{0,5}[:=]\s{0,5}\\{0,4}["']?)([^\s"'\\&,;<>]{3,})/gi,
      (whole, name, value) => (keepsWords && isWord(value) ? whole : `${name}${hidden}`),
    ),
];
