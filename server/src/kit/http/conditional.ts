// Owns what a client says that it has and wants of a file: entity tags, ranges and encodings (RFC 9110, 12.5.3, 13 and 14).

/** Whether `If-None-Match` lists the tag. `W/` makes no difference (RFC 9110, 13.1.2). */
export function hasTag(header: string | string[] | undefined, etag: string): boolean {
  if (header === undefined) return false;
  const withoutWeak = (tag: string) => tag.trim().replace(/^W\//, '');
  const listed = String(header).split(',').map(withoutWeak);
  return listed.includes('*') || listed.includes(withoutWeak(etag));
}

/** Both inclusive. */
export interface Range {
  readonly start: number;
  readonly end: number;
}

/**
 * The part of a file that `Range` names: `bytes=0-99`, `bytes=100-` or `bytes=-100`. Undefined if the header is to be ignored:
 * another unit, several ranges, or no range at all.
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

/** The encodings that the client accepts: those that it prefers first, then the better ones. One with `q=0` is refused. */
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
/** What browsers send: no need to parse it at every request. */
const isUsual = /^gzip, deflate(, br(, zstd)?)?$/;
