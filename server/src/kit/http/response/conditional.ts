// Parses the request headers for conditional requests, ranges and encodings (RFC 9110, 12.5.3, 13 and 14).

/** Whether `If-None-Match` lists the tag. `W/` makes no difference (RFC 9110, 13.1.2). */
export function hasTag(header: string | string[] | undefined, etag: string): boolean {
  if (header === undefined) return false;
  const withoutWeak = (tag: string) => tag.trim().replace(/^W\//, '');
  const listed = String(header).split(',').map(withoutWeak);
  return listed.includes('*') || listed.includes(withoutWeak(etag));
}

/** Both bounds are inclusive. */
export interface Range {
  readonly start: number;
  readonly end: number;
}

/**
 * Parses a `Range` header such as `bytes=0-99`, `bytes=100-` or `bytes=-100`. Undefined if the header must be ignored,
 * because it has a different unit, several ranges, or no range at all.
 */
export function parseRange(header: string | undefined, size: number): Range | 'unsatisfiable' | undefined {
  const [, first, last] = /^bytes=[ \t]*(\d{0,15})-(\d{0,15})[ \t]*$/i.exec(header ?? '') ?? [];
  if (first === undefined || last === undefined || (first === '' && last === '')) return undefined;
  if (first === '') {
    const length = Math.min(Number(last), size);
    return length === 0 ? 'unsatisfiable' : { start: size - length, end: size - 1 };
  }
  const start = Number(first);
  const end = last === '' ? size - 1 : Math.min(Number(last), size - 1);
  if (last !== '' && Number(last) < start) return undefined; // malformed
  return start >= size ? 'unsatisfiable' : { start, end };
}

export type Encoding = 'br' | 'gzip';

/**
 * Lists the encodings that the client accepts, ordered by the client's preference and then by compression ratio. `q=0`
 * excludes an encoding.
 */
export function listEncodings(header: string | string[] | undefined): readonly Encoding[] {
  if (header === undefined) return none;
  const text = String(header);
  if (isUsual.test(text)) return text.includes('br') ? both : gzipOnly;
  const weights = new Map<string, number>();
  for (const part of text.toLowerCase().split(',')) {
    const [name = '', ...parameters] = part.split(';').map((piece) => piece.trim());
    const weight = Number(parameters.find((parameter) => parameter.startsWith('q='))?.slice(2) ?? 1);
    weights.set(name, Number.isNaN(weight) ? 1 : weight);
  }
  const weightOf = (name: Encoding): number => weights.get(name) ?? weights.get('*') ?? 0;
  return both.filter((name) => weightOf(name) > 0).sort((one, other) => weightOf(other) - weightOf(one));
}

const both: readonly Encoding[] = ['br', 'gzip'];
const gzipOnly: readonly Encoding[] = ['gzip'];
const none: readonly Encoding[] = [];
/** The value that browsers send, recognised to avoid parsing it for every request. */
const isUsual = /^gzip, deflate(, br(, zstd)?)?$/;
