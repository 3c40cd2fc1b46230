// Owns the limits on JSON from outside. They are checked before it is parsed, because what they refuse is costly to parse.
const maxDepth = 64;
// Reading, checking and storing a value costs a microsecond or two, however small it is.
const defaultMaxValues = 150_000;

/** Where the JSON exceeds a limit, if it does. Values are counted by what separates them. */
export function findJsonExcess(
  bytes: Buffer,
  maxValues = defaultMaxValues,
): { readonly offset: number; readonly problem: string } | undefined {
  let [depth, values] = [0, 1];
  let inString = false;
  for (let offset = 0; offset < bytes.length; offset += 1) {
    const byte = bytes[offset];
    if (inString) {
      if (byte === 0x5c) offset += 1;
      else if (byte === 0x22) inString = false;
    } else if (byte === 0x22) inString = true;
    else if (byte === 0x2c) values += 1;
    else if (byte === 0x7b || byte === 0x5b) {
      values += 1;
      depth += 1;
      if (depth > maxDepth) return { offset, problem: `is nested deeper than ${maxDepth} levels` };
    } else if (byte === 0x7d || byte === 0x5d) depth -= 1;
    if (values > maxValues) return { offset, problem: `has more than ${maxValues} values` };
  }
  return undefined;
}
