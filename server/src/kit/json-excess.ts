// The limits on JSON from untrusted sources. They are checked before parsing, because JSON that exceeds them is
// costly to parse.
const defaultMaxDepth = 64;
// Reading, checking and storing a value takes a microsecond or two, even if it is tiny.
const defaultMaxValues = 150_000;

const shortLength = 32;

const quote = 0x22;
const backslash = 0x5c;
const [opening, closing, comma, string] = [1, 2, 3, 4];
/** The kind of each byte outside strings. 0 means that the byte is irrelevant. */
const kinds = new Uint8Array(256);
for (const character of '[{') kinds[character.charCodeAt(0)] = opening;
for (const character of ']}') kinds[character.charCodeAt(0)] = closing;
kinds[0x2c] = comma;
kinds[quote] = string;

/** Finds where the JSON first exceeds a limit. Values are counted by their separators. */
export function findJsonExcess(
  bytes: Buffer,
  maxValues = defaultMaxValues,
  maxDepth = defaultMaxDepth,
): { readonly offset: number; readonly problem: string } | undefined {
  const tooMany = (offset: number) => ({ offset, problem: `must have at most ${maxValues} values` });
  if (maxValues < 1) return tooMany(0);
  let [depth, values] = [0, 1];
  const findLongStringEnd = createStringScanner(bytes);
  for (let offset = 0; offset < bytes.length; offset += 1) {
    const kind = kinds[bytes[offset] as number];
    if (kind === 0) continue;
    if (kind === string) {
      offset = findStringEnd(bytes, offset + 1) ?? findLongStringEnd(offset + 1);
      continue;
    }
    if (kind === closing) depth -= 1;
    else {
      values += 1;
      if (kind === opening) depth += 1;
      if (depth > maxDepth) return { offset, problem: `is nested deeper than ${maxDepth} levels` };
      if (values > maxValues) return tooMany(offset);
    }
  }
  return undefined;
}

/** Returns the offset of the quote that ends a short string, or undefined if the string is long. */
function findStringEnd(bytes: Buffer, start: number): number | undefined {
  const limit = Math.min(bytes.length, start + shortLength);
  for (let offset = start; offset < limit; offset += 1) {
    const byte = bytes[offset];
    if (byte === quote) return offset;
    if (byte === backslash) offset += 1;
  }
  return undefined;
}

/**
 * Returns a function that finds the quote that ends a long string. Searching for the next quote and backslash is ten
 * times as fast as checking each byte. Search results are reused, so no byte is searched twice.
 */
function createStringScanner(bytes: Buffer): (start: number) => number {
  let [nextQuote, nextBackslash] = [-1, -1];
  const search = (byte: number, from: number) => {
    const found = bytes.indexOf(byte, from);
    return found < 0 ? bytes.length : found;
  };
  return (start) => {
    for (let offset = start; offset < bytes.length; ) {
      if (nextQuote < offset) nextQuote = search(quote, offset);
      if (nextBackslash < offset) nextBackslash = search(backslash, offset);
      if (nextQuote < nextBackslash) return nextQuote;
      offset = nextBackslash + 2; // every quote before the end of the string is escaped
    }
    return bytes.length;
  };
}
