// Responds to a request for a file: with 200, 206, 304 or 416, in full or in part, compressed or not. The length
// is always declared, and nothing is sent before the first piece of the content is available, so a client can tell
// whether it has received the complete file. Failures on the server's side are thrown, even in the middle of a body.
import { once } from 'node:events';
import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import {
  type Encoding,
  hasTag,
  listEncodings,
  parseRange,
  type Range,
} from '../../../kit/http/response/conditional.ts';
import type { ContentType } from './content-types.ts';
import { type Content, pieceBytes } from './contents.ts';

export interface ServedFile {
  readonly content: Content;
  readonly type: ContentType;
  readonly cacheControl: string;
  /** Additional headers. */
  readonly headers: OutgoingHttpHeaders;
}

/** A client that reads nothing for this long is disconnected. */
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
    return send({
      request,
      response,
      status: 206,
      headers: identity,
      content,
      range,
      contentRange: `bytes ${start}-${end}/${content.size}`,
    });
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
  return send({
    request,
    response,
    status: 200,
    headers: identity,
    content,
    range: { start: 0, end: content.size - 1 },
  });
}

const toTag = (sha256: string, encoding?: Encoding): string =>
  encoding === undefined ? `"${sha256}"` : `"${sha256}-${encoding}"`;

/** Finds the ETag of a version that the client has cached, in an encoding that it accepts. */
function findKnownTag(header: string | undefined, sha256: string, encodings: readonly Encoding[]): string | undefined {
  if (header === undefined) return undefined;
  const tags = [...encodings.map((encoding) => toTag(sha256, encoding)), toTag(sha256)];
  return tags.find((tag) => hasTag(header, tag));
}

/** If there is an `If-Range` header, it must match the uncompressed content's ETag. Dates never match. */
const isRangeWanted = ({ method, headers }: IncomingMessage, { sha256 }: Content): boolean =>
  method === 'GET' && headers.range !== undefined && (headers['if-range'] ?? toTag(sha256)) === toTag(sha256);

async function send({
  request,
  response,
  status,
  headers,
  content,
  range,
  contentRange,
}: {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly status: number;
  readonly headers: OutgoingHttpHeaders;
  readonly content: Content;
  readonly range: Range;
  readonly contentRange?: string;
}): Promise<void> {
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

/** Resolves when more data can be sent. Destroys the response if the client has disconnected or stopped reading. */
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

/** Sends a `content-length` with every status except 304. */
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
/** Shorter bodies fit into the operating system's buffers. */
const stallableBytes = 64 * 1024;
