// Owns finding keys that were typed into code: those with a well-known beginning, private keys, and Plinth's own tokens. Narrow
// on purpose: what is reported should be a key. Pure; every expression is linear, because none repeats a repetition.

const kinds: readonly (readonly [name: string, form: RegExp])[] = [
  ['an AWS access key', /\b(?:AKIA|ASIA)[0-9A-Z]{16}\b/],
  ['a Stripe secret key', /\b[rs]k_(?:live|test)_[0-9A-Za-z]{20,}/],
  ['a Stripe webhook secret', /\bwhsec_[0-9A-Za-z+/]{24,}/],
  ['an Anthropic API key', /\bsk-ant-[0-9A-Za-z_-]{20,}/],
  ['an OpenAI API key', /\bsk-(?:proj-)?[0-9A-Za-z_-]{32,}/],
  ['a GitHub token', /\b(?:gh[opsur]_[0-9A-Za-z]{36,}|github_pat_[0-9A-Za-z_]{40,})/],
  ['a GitLab token', /\bglpat-[0-9A-Za-z_-]{20,}/],
  ['a Slack token', /\bxox[abeprs]-[0-9A-Za-z-]{20,}/],
  ['a SendGrid API key', /\bSG\.[0-9A-Za-z_-]{20,}\.[0-9A-Za-z_-]{30,}/],
  ['an npm token', /\bnpm_[0-9A-Za-z]{36}\b/],
  ['a private key', /-----BEGIN (?:[A-Z]{2,10} ){0,2}PRIVATE KEY-----/],
  ['a token of this platform', /\bpl[pkwu]_[0-9A-Za-z]{40}\b/],
];

export interface FoundKey {
  readonly line: number;
  /** Never the key itself. */
  readonly kind: string;
}

const maxFound = 20;

export function findKeys(text: string): FoundKey[] {
  const found: FoundKey[] = [];
  if (!kinds.some(([, form]) => form.test(text))) return found;
  for (const [index, line] of text.split('\n').entries()) {
    const kind = kinds.find(([, form]) => form.test(line))?.[0];
    if (kind !== undefined) found.push({ line: index + 1, kind });
    if (found.length === maxFound) break;
  }
  return found;
}
