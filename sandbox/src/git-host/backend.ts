// Serves git over HTTP by forwarding requests to `git http-backend`.
import { spawn } from 'node:child_process';
import type { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import { gitEnvironment } from './repositories.ts';

export interface BackendRequest {
  readonly root: string;
  /** A path such as `/owner/name.git/info/refs`. */
  readonly path: string;
  readonly query: string;
  readonly request: IncomingMessage;
  readonly body: Buffer | Readable;
}

export interface BackendAnswer {
  readonly status: number;
  readonly headers: Record<string, string>;
  /** The response body in chunks, as git writes them. */
  readonly parts: AsyncIterable<Buffer>;
}

export async function runBackend({ root, path, query, request, body }: BackendRequest): Promise<BackendAnswer> {
  const { headers, method = 'GET' } = request;
  const child = spawn('git', ['http-backend'], {
    env: {
      ...gitEnvironment,
      GIT_PROJECT_ROOT: root,
      GIT_HTTP_EXPORT_ALL: '1',
      PATH_INFO: path,
      QUERY_STRING: query,
      REQUEST_METHOD: method,
      REMOTE_USER: 'sandbox',
      REMOTE_ADDR: '127.0.0.1',
      CONTENT_TYPE: headers['content-type'] ?? '',
      GIT_PROTOCOL: String(headers['git-protocol'] ?? ''),
      HTTP_CONTENT_ENCODING: headers['content-encoding'] ?? '',
    },
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  child.stdin.on('error', () => {}); // git may respond before it has read the whole body
  if (Buffer.isBuffer(body)) child.stdin.end(body);
  else body.pipe(child.stdin);

  const output = (child.stdout as AsyncIterable<Buffer>)[Symbol.asyncIterator]();
  let start = Buffer.alloc(0);
  while (!start.includes('\r\n\r\n')) {
    const { value, done } = await output.next();
    if (done) throw new Error('git http-backend gave no answer');
    start = Buffer.concat([start, value]);
  }
  const end = start.indexOf('\r\n\r\n');
  const lines = start.subarray(0, end).toString('latin1').split('\r\n');
  const fields = Object.fromEntries(
    lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()]),
  );
  const { status = '200', ...rest } = fields;
  async function* readParts() {
    yield start.subarray(end + 4);
    for (;;) {
      const { value, done } = await output.next();
      if (done) return;
      yield value;
    }
  }
  return { status: Number.parseInt(status, 10), headers: rest, parts: readParts() };
}
