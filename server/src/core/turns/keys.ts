// Finds keys in code: keys with a well-known prefix, private keys, and Plinth's own tokens. The patterns are
// deliberately narrow, to avoid false positives. Pure. No pattern nests repetitions, so all run in linear time.
import { toLineNumbers } from '../../kit/text-edit/occurrences.ts';

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
  /** The kind of key, never the key itself. */
  readonly kind: string;
}

const maxFound = 20;

/** Returns the first lines that contain a key, each with the first kind found. */
export function findKeys(text: string): FoundKey[] {
  const kindsByLineStart = new Map<number, string>();
  for (const [kind, form] of kinds)
    for (const start of findLineStarts(text, form)) if (!kindsByLineStart.has(start)) kindsByLineStart.set(start, kind);
  const found = [...kindsByLineStart].sort(([a], [b]) => a - b).slice(0, maxFound);
  const lines = toLineNumbers(
    text,
    found.map(([start]) => start),
  );
  return found.map(([, kind], index) => ({ line: lines[index] as number, kind }));
}

/**
 * Returns the starts of the first matching lines. Searches the text as a whole, because it may have millions of lines.
 */
function findLineStarts(text: string, form: RegExp): number[] {
  const starts: number[] = [];
  const search = new RegExp(form, 'g');
  for (let hit = search.exec(text); hit !== null && starts.length < maxFound; hit = search.exec(text)) {
    starts.push(text.lastIndexOf('\n', hit.index) + 1);
    const lineEnd = text.indexOf('\n', hit.index);
    if (lineEnd === -1) break;
    search.lastIndex = lineEnd;
  }
  return starts;
}
