// A checked page's only network: a proxy on loopback that serves the page's own files and blocks all other
// addresses.
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';

export interface PageFile {
  readonly content: Buffer;
  readonly contentType: string;
  /** The file's `Content-Security-Policy` header. */
  readonly policy?: string | undefined;
}

/**
 * Finds the file that the page's own origin serves at a path. Paths have the form that browsers send, such as `/`,
 * `/assets/app.js` or `/my%20picture.png`.
 */
export type FindFile = (path: string) => Promise<PageFile | undefined>;

export interface FailedRequest {
  /** The path with its query. */
  readonly url: string;
  /** The status, such as `404`. */
  readonly reason: string;
}

export interface PageServer {
  readonly port: number;
  /**
   * A random name that other processes on this machine can't guess, so they can't read the files. Reports show it as
   * `app.invalid`.
   */
  readonly host: string;
  readonly failedRequests: readonly FailedRequest[];
  /** When the last request arrived or was answered, as a `performance.now()` time. */
  readonly lastActivityMs: number;
  /** Rejects if `files` throws, with the same error. */
  readonly failed: Promise<never>;
  close(): void;
}

const maxRequests = 1_000;
const maxConnections = 64;
const maxFailedRequests = 20;
const maxUrlLength = 300;
const refusal = 'HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\nConnection: close\r\n\r\n';

export async function startPageServer(files: FindFile): Promise<PageServer> {
  const host = `app-${randomBytes(8).toString('hex')}.invalid`;
  const failedRequests: FailedRequest[] = [];
  const { promise: failed, reject: fail } = Promise.withResolvers<never>();
  failed.catch(() => {}); // may be rejected after the check has ended
  let [requests, lastActivityMs] = [0, performance.now()];

  const server = createServer(async (request, response) => {
    // Limited, because a page that sends requests in a loop would keep this process busy.
    requests += 1;
    if (requests > maxRequests) return request.socket.destroy();
    lastActivityMs = performance.now();
    const url = toOwnUrl(request, host);
    if (url === undefined) return send(response, 403);
    const status = await answer(request, response, url, files).catch((error) => {
      fail(error);
      return send(response, 500);
    });
    lastActivityMs = performance.now();
    const isFault = status >= 400 && url.pathname !== '/favicon.ico'; // requested by browsers, not by pages
    if (isFault && failedRequests.length < maxFailedRequests)
      failedRequests.push({ url: (url.pathname + url.search).slice(0, maxUrlLength), reason: String(status) });
  });
  server.maxConnections = maxConnections;
  const refuse = (_: IncomingMessage, socket: Socket) => {
    socket.on('error', () => {});
    socket.end(refusal);
  };
  server.on('connect', refuse).on('upgrade', refuse);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    host,
    failedRequests,
    failed,
    get lastActivityMs() {
      return lastActivityMs;
    },
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}

/** Browsers send proxies the whole URL. Returns undefined if the URL is not on the page's own origin. */
function toOwnUrl({ url = '' }: IncomingMessage, host: string): URL | undefined {
  return url.startsWith(`http://${host}/`) && URL.canParse(url) ? new URL(url) : undefined;
}

async function answer(
  { method }: IncomingMessage,
  response: ServerResponse,
  { pathname }: URL,
  files: FindFile,
): Promise<number> {
  if (method !== 'GET' && method !== 'HEAD') return send(response, 405);
  const file = await files(pathname);
  if (file === undefined) return send(response, 404);
  response.setHeader('content-type', file.contentType);
  response.setHeader('content-length', file.content.length);
  if (file.policy !== undefined) response.setHeader('content-security-policy', withoutUpgrade(file.policy));
  return send(response, 200, method === 'HEAD' ? undefined : file.content);
}

/**
 * Published pages are served over https, but this server is not. With this directive, the page could not load its
 * files.
 */
const withoutUpgrade = (policy: string): string => policy.replaceAll(/\bupgrade-insecure-requests\b/gi, '');

function send(response: ServerResponse, status: number, content?: Buffer): number {
  response.statusCode = status;
  response.setHeader('cache-control', 'no-store');
  response.end(content);
  return status;
}
