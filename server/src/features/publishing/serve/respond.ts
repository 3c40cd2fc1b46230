// Owns the answer to a request for a file: 200, 206, 304 or 416, whole or in part, compressed or not. The length is stated, and
// nothing is sent before the first piece of the content is there: a file is received complete, or as broken. Whatever fails on our
// side is thrown, also in the middle of a body.
import { once } from 'node:events';
import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { type Encoding, hasTag, listEncodings, parseRange, type Range } from '../../../kit/http/conditional.ts';
import type { ContentType } from './content-types.ts';
import { type Content, pieceBytes } from './contents.ts';

export interface ServedFile {
  readonly content: Content;
  readonly type: ContentType;
  readonly cacheControl: string;
  /** Besides those of the file itself. */
  readonly headers: OutgoingHttpHeaders;
}

/** A reader who takes nothing for so long is cut off. */
const maxStalledMs = 60_000;

export async function respondWithFile(
  request: IncomingMessage,
  response: ServerResponse,
  { content, type, cacheControl, headers: more }: ServedFile,
): Promise<void> {
  const { headers } = request;
  const encodings = type.isCompressible ? listEncodings(headers['accept-encoding']) : [];
  const common = { ...more, vary: 'Accept-Encoding', 'cache-control': cacheControl };
  const known = findKnownTag(headers['if-none-match'], content.sha256, encodings);
  if (known !== undefined) return end(request, response, 304, { ...common, etag: known });

  const identity = { ...common, 'content-type': type.header, etag: toTag(content.sha256), 'accept-ranges': 'bytes' };
  const range = isRangeWanted(request, content) ? parseRange(headers.range, content.size) : undefined;
  if (range === 'unsatisfiable')
    return end(request, response, 416, {
      ...common,
      'cache-control': 'no-store',
      'content-range': `bytes */${content.size}`,
    });
  if (range !== undefined) {
    const { start, end } = range;
    return send(request, response, 206, identity, content, range, `bytes ${start}-${end}/${content.size}`);
  }
  const [encoding] = encodings;
  if (encoding !== undefined) {
    const bytes = content.compress(encoding);
    const compressed = bytes instanceof Promise ? await bytes : bytes;
    if (compressed !== undefined) {
      const etag = toTag(content.sha256, encoding);
      const described = { ...common, 'content-type': type.header, etag, 'content-encoding': encoding };
      return end(request, response, 200, described, compressed);
    }
  }
  return send(request, response, 200, identity, content, { start: 0, end: content.size - 1 });
}

const toTag = (sha256: string, encoding?: Encoding): string =>
  encoding === undefined ? `"${sha256}"` : `"${sha256}-${encoding}"`;

/** The tag of a form that the client has and still accepts. */
function findKnownTag(header: string | undefined, sha256: string, encodings: readonly Encoding[]): string | undefined {
  if (header === undefined) return undefined;
  const tags = [...encodings.map((encoding) => toTag(sha256, encoding)), toTag(sha256)];
  return tags.find((tag) => hasTag(header, tag));
}

/** With `If-Range`, only if the client has a part of this very content, not compressed. Dates are not compared. */
const isRangeWanted = ({ method, headers }: IncomingMessage, { sha256 }: Content): boolean =>
  method === 'GET' && headers.range !== undefined && (headers['if-range'] ?? toTag(sha256)) === toTag(sha256);

async function send(
  request: IncomingMessage,
  response: ServerResponse,
  status: number,
  headers: OutgoingHttpHeaders,
  content: Content,
  range: Range,
  contentRange?: string,
): Promise<void> {
  const described = contentRange === undefined ? headers : { ...headers, 'content-range': contentRange };
  const first = Math.floor(range.start / pieceBytes);
  const last = Math.max(first, Math.floor(range.end / pieceBytes));
  const cut = (piece: Buffer, index: number) =>
    piece.subarray(Math.max(0, range.start - index * pieceBytes), range.end + 1 - index * pieceBytes);
  const read = content.readPiece(first);
  const piece = read instanceof Promise ? await read : read;
  if (first === last) return end(request, response, status, described, cut(piece, first));
  response.writeHead(status, { ...described, 'content-length': range.end + 1 - range.start });
  if (request.method === 'HEAD') return void response.end();
  await write(response, cut(piece, first));
  for (let index = first + 1; index <= last && !response.destroyed; index += 1)
    await write(response, cut(await content.readPiece(index), index));
  response.end();
}

/** Returns when more can be sent. A reader who has left or takes nothing is not waited for: the response is then destroyed. */
async function write(response: ServerResponse, piece: Buffer): Promise<void> {
  if (response.destroyed || response.write(piece)) return;
  const waiting = new AbortController();
  const { signal } = waiting;
  const timer = setTimeout(() => response.destroy(), maxStalledMs);
  try {
    await Promise.race([once(response, 'drain', { signal }), once(response, 'close', { signal })]);
  } catch {
    response.destroy(); // the connection broke
  } finally {
    clearTimeout(timer);
    waiting.abort();
  }
}

/** 204 and 304 have no length, all others do. */
export function end(
  { method }: Pick<IncomingMessage, 'method'>,
  response: ServerResponse,
  status: number,
  headers: OutgoingHttpHeaders,
  body: Buffer = nothing,
): void {
  if (status !== 304) headers['content-length'] = body.length;
  response.writeHead(status, headers);
  if (method === 'HEAD' || status === 304) return void response.end();
  if (body.length > stallableBytes) response.setTimeout(maxStalledMs, () => response.destroy());
  response.end(body);
}

const nothing = Buffer.alloc(0);
/** What is shorter is in the buffers of the operating system at once. */
const stallableBytes = 64 * 1024;
