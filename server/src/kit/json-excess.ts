// Owns the limits on JSON from outside. They are checked before it is parsed, because what they refuse is costly to parse.
const defaultMaxDepth = 64;
// Reading, checking and storing a value costs a microsecond or two, however small it is.
const defaultMaxValues = 150_000;

const quote = 0x22;
const backslash = 0x5c;
const shortLength = 32;

/**
 * Returns the offset of the quote that ends a string. In a short string, byte by byte; in a long one, by searching for the
 * next quote and backslash, which is ten times as fast. What a search found is kept, so no byte is searched twice.
 */
function createStringScanner(bytes: Buffer): (start: number) => number {
  let [nextQuote, nextBackslash] = [-1, -1];
  const search = (byte: number, from: number) => {
    const found = bytes.indexOf(byte, from);
    return found < 0 ? bytes.length : found;
  };
  return (start) => {
    for (let offset = start; offset < bytes.length; offset += 1) {
      const byte = bytes[offset];
      if (byte === backslash) offset += 1;
      else if (byte === quote) return offset;
      else if (offset - start > shortLength) {
        if (nextQuote < offset) nextQuote = search(quote, offset);
        if (nextBackslash < offset) nextBackslash = search(backslash, offset);
        if (nextQuote < nextBackslash) return nextQuote;
        offset = nextBackslash - 1; // every quote before the end of the string is escaped
      }
    }
    return bytes.length;
  };
}

/** Where the JSON exceeds a limit, if it does. Values are counted by what separates them. */
export function findJsonExcess(
  bytes: Buffer,
  maxValues = defaultMaxValues,
  maxDepth = defaultMaxDepth,
): { readonly offset: number; readonly problem: string } | undefined {
  let [depth, values] = [0, 1];
  const findStringEnd = createStringScanner(bytes);
  for (let offset = 0; offset < bytes.length; offset += 1) {
    const byte = bytes[offset];
    if (byte === quote) offset = findStringEnd(offset + 1);
    else if (byte === 0x2c) values += 1;
    else if (byte === 0x7b || byte === 0x5b) {
      values += 1;
      depth += 1;
      if (depth > maxDepth) return { offset, problem: `is nested deeper than ${maxDepth} levels` };
    } else if (byte === 0x7d || byte === 0x5d) depth -= 1;
    if (values > maxValues) return { offset, problem: `must have at most ${maxValues} values` };
  }
  return undefined;
}
