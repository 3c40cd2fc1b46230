// Owns hiding secrets in what a run records: every text that a definition could have made from a secret by a usual encoding.

const masked = '***';
/** Shorter values are ordinary words and numbers, which would be hidden everywhere. */
const minLength = 4;

export type Mask = <Value>(value: Value) => Value;

const unmasked: Mask = (value) => value;

export function createMask(secrets: Iterable<string>): Mask {
  const forms = [...new Set([...secrets].filter(({ length }) => length >= minLength).flatMap(listForms))]
    // The longest first: a secret may be part of another.
    .sort((a, b) => b.length - a.length);
  if (forms.length === 0) return unmasked;
  const pattern = new RegExp(forms.map((form) => RegExp.escape(form)).join('|'), 'g');
  const maskText = (text: string): string => text.replace(pattern, masked);
  // A number that contains a secret of digits becomes a text.
  const maskNumber = (value: number): number | string => {
    const text = maskText(String(value));
    return text === String(value) ? value : text;
  };
  const maskValue = (value: unknown): unknown => {
    if (typeof value === 'string') return maskText(value);
    if (typeof value === 'number') return maskNumber(value);
    if (typeof value !== 'object' || value === null) return value;
    if (Array.isArray(value)) return value.map(maskValue);
    return Object.fromEntries(Object.entries(value).map(([name, inner]) => [maskText(name), maskValue(inner)]));
  };
  return <Value>(value: Value) => maskValue(value) as Value;
}

/** As it is, as part of a URL or of JSON, and in base 64, each without what depends on its surroundings. */
function listForms(secret: string): string[] {
  const wellFormed = secret.toWellFormed();
  const inUrl = encodeURIComponent(wellFormed);
  const bytes = Buffer.from(wellFormed);
  return [
    secret,
    inUrl,
    inUrl.replaceAll('%20', '+'),
    // As jq's @uri and URLSearchParams write it.
    inUrl.replace(/[!'()*]/g, toPercent),
    inUrl.replace(/[!'()~]/g, toPercent).replaceAll('%20', '+'),
    JSON.stringify(secret).slice(1, -1),
    ...[0, 1, 2].flatMap((offset) => toBase64At(bytes, offset)),
  ].filter(({ length }) => length >= minLength);
}

const toPercent = (character: string): string => `%${character.charCodeAt(0).toString(16).toUpperCase()}`;

const minBase64Length = 8;

/**
 * The characters of a base 64 text that depend on the secret alone, if this many bytes modulo 3 come before it. Example: of
 * `user:secret`, whose secret has the offset 2, the bytes of `ecret` without the last two.
 */
function toBase64At(bytes: Buffer, offset: number): string[] {
  const whole = bytes.subarray((3 - offset) % 3);
  const text = whole.subarray(0, whole.length - (whole.length % 3)).toString('base64');
  return text.length < minBase64Length ? [] : [text, text.replaceAll('+', '-').replaceAll('/', '_')];
}
