// Tests interrupted responses: which side is at fault, and how they are counted.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { afterAll, describe, expect, it } from 'vitest';
import { visit } from '../../../../test/support/published.ts';
import { createServer, type OtherRequests, type RequestOutcome, type ServerOptions } from '../../../kit/http/server.ts';
import { StorageUnavailable } from '../../../kit/unavailable.ts';
import { type Content, pieceBytes } from './contents.ts';
import { respondWithFile } from './respond.ts';

const piece = Buffer.alloc(pieceBytes, 'x');

/** Content that is larger than a connection's buffers. With `isLost`, the second piece can't be read. */
const pieces = 32;
const toContent = (isLost: boolean): Content => ({
  sha256: 'a'.repeat(64),
  size: pieces * pieceBytes,
  readPiece: async (index) => {
    if (isLost && index === 1) throw new StorageUnavailable(new Error('gone'));
    return piece;
  },
  compress: () => undefined,
});

const failures: unknown[] = [];
const outcomes: RequestOutcome[] = [];
const type = { header: 'image/png', isCompressible: false };
const files: OtherRequests<string> = {
  operation: 'file',
  match: ({ url }) => url,
  async answer(url, request: IncomingMessage, response: ServerResponse) {
    const content = toContent(url === '/lost');
    await respondWithFile(request, response, { content, type, cacheControl: 'no-cache', headers: {} }).catch(
      (error) => {
        failures.push(error);
        throw error;
      },
    );
  },
};
const server = createServer([], {
  otherRequests: files,
  onResponse: (outcome: RequestOutcome) => outcomes.push(outcome),
  isHttps: false,
  trustedProxies: [],
  maxConnectionsPerAddress: 10,
} as unknown as ServerOptions);
const url = await server.listen({ host: '127.0.0.1', port: 0 });
afterAll(() => server.close());

describe('an answer', () => {
  it('that the storage breaks off is our failure: thrown, and counted as 503', async () => {
    await expect(visit(url, 'a.example', '/lost')).rejects.toThrow();
    expect(failures).toEqual([expect.any(StorageUnavailable)]);
    await expect.poll(() => outcomes.map(({ status }) => status)).toEqual([503]);
  });

  it('that the client breaks off is counted as 499, and no failure', async () => {
    failures.length = 0;
    outcomes.length = 0;
    const controller = new AbortController();
    const { body } = await fetch(`${url}/whole`, { signal: controller.signal });
    await body?.getReader().read();
    controller.abort();
    await expect.poll(() => outcomes.map(({ status }) => status)).toEqual([499]);
    expect(failures).toEqual([]);
  });

  it('that is received whole is counted as it was sent', async () => {
    outcomes.length = 0;
    expect((await visit(url, 'a.example', '/whole')).body).toHaveLength(pieces * pieceBytes);
    await expect.poll(() => outcomes.map(({ status }) => status)).toEqual([200]);
  });
});
