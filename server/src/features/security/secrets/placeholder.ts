// Decides whether a value that looks like a secret is real or a placeholder, such as `changeme` or `<your key>`.

const placeholderWords =
  /example|sample|placeholder|your|change[-_ ]?(?:me|this|it)|replace|redacted|dummy|fake|insert|todo|xxxx|\*\*\*|\.\.\.|…|abc123|123abc|foobar|lorem|mysecret|123e4567-e89b|00000000-0000|not[-_ ]?(?:a[-_ ]?)?(?:real|secret|valid)|[<>{}]|\$\(|%s|\[[a-z_-]+\]/i;

const weakValues =
  /^(?:(?:my|the|a|new|old|some|user|db|root|admin|super|app|dev|local|test|demo)?[-_]?(?:pass(?:word|wd)?|pwd|secret|token|key|apikey|api[-_]key|credentials?|auth)[-_]?\d{0,4}!?|user(?:name)?|postgres|mysql|mongo|redis|root|admin|guest|test\w{0,8}|demo\w{0,8}|dev|local\w{0,6}|none|null|undefined|true|false|default|unset|missing|hidden|masked|secret(?:key)?|qwerty|12345\d*|letmein)$/i;

/** Applies to any kind of secret. */
export const isPlaceholder = (value: string): boolean =>
  placeholderWords.test(value) || weakValues.test(value) || isRepetitive(value) || isCounting(value);

/** Whether a value has few distinct characters for its length, such as `aaaaaaaa`, `1234123412341234` or `x-x-x-x`. */
function isRepetitive(value: string): boolean {
  const body = value.replace(/^[a-z]{1,8}[-_]/i, '');
  if (body.length < 8) return false;
  const different = new Set(body.toLowerCase()).size;
  return different <= 3 || (body.length >= 20 && different <= 5) || (body.length >= 16 && hasPeriod(body));
}

/** Whether a string repeats a short part. */
function hasPeriod(text: string): boolean {
  for (let period = 1; period <= 8; period += 1) {
    if (text.slice(period) === text.slice(0, -period)) return true;
  }
  return false;
}

const runs =
  '0123456789012345678901234567890 abcdefghijklmnopqrstuvwxyz ABCDEFGHIJKLMNOPQRSTUVWXYZ zyxwvutsrqponmlkjihgfedcba 9876543210';

/** Whether most of a value is an ascending or descending sequence, such as `abcdefghij0123456789`. */
function isCounting(value: string): boolean {
  let counted = 0;
  for (let at = 0; at + 4 <= value.length; ) {
    let length = 4;
    if (!runs.includes(value.slice(at, at + 4))) {
      at += 1;
      continue;
    }
    while (at + length < value.length && runs.includes(value.slice(at, at + length + 1))) length += 1;
    counted += length;
    at += length;
  }
  return counted >= 8 && counted / value.length > 0.65;
}

/** The Shannon entropy, in bits per character. */
export function entropyOf(text: string): number {
  const counts = new Map<string, number>();
  for (const character of text) counts.set(character, (counts.get(character) ?? 0) + 1);
  let bits = 0;
  for (const count of counts.values()) bits -= (count / text.length) * Math.log2(count / text.length);
  return bits;
}

/**
 * Whether a value looks machine-generated, such as `f3Kq9vT2…` or `9c1e04ab…`. Names do not, regardless of their
 * length: `colorPrimaryBgHover2`, `auth/invalid-refresh-token`, `DATABASE_PASSWORD`.
 */
export function isRandom(value: string): boolean {
  if (value.length < 16 || !/\d/.test(value) || !/[A-Za-z]/.test(value)) return false;
  if (entropyOf(value) < (/^[0-9a-f-]+$/i.test(value) ? 2.8 : 3.2)) return false;
  return !isWording(value);
}

/** Whether a value consists of words and small numbers, joined as in names. */
export function isWording(value: string): boolean {
  const parts = value
    .replace(/([a-z])([A-Z])/g, '$1 $2')
    .split(/[^A-Za-z0-9]+/)
    .flatMap((part) => part.split(/(?<=[A-Za-z])(?=\d)|(?<=\d)(?=[A-Za-z])/))
    .flatMap((part) => part.split(' '))
    .filter(Boolean);
  const letters = parts.filter((part) => /^[A-Za-z]+$/.test(part));
  const wordLetters = letters.filter(isWord).reduce((sum, word) => sum + word.length, 0);
  const all = parts.reduce((sum, part) => sum + part.length, 0);
  return wordLetters / Math.max(all, 1) >= 0.7;
}

/** A word has a single case apart from its first letter, at least one vowel, and at most four consonants in a row. */
const isWord = (part: string): boolean =>
  part.length >= 3 &&
  (/^[A-Z]?[a-z]+$/.test(part) || /^[A-Z]+$/.test(part)) &&
  /[aeiouy]/i.test(part) &&
  !/[bcdfghjklmnpqrstvwxz]{5}/i.test(part);
