// An endpoint that receives webhooks over HTTP or HTTPS on loopback. It responds as configured and records every
// request.
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { Certificate } from './certificates.ts';

export interface ReceivedRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  readonly at: number;
  /** The client's port, which is the same for all requests on a connection. */
  readonly from: number | undefined;
}

export interface EndpointResponse {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
  readonly afterMs?: number;
  /** The response is sent once this resolves. */
  readonly until?: Promise<unknown>;
}

/** Decides how to handle a request: respond, never respond, or close the connection. */
export type Responder = (request: ReceivedRequest) => EndpointResponse | 'silence' | 'cut';

export interface WebhookEndpoint {
  readonly port: number;
  readonly received: readonly ReceivedRequest[];
  /** Can be reassigned to change the responses. */
  respond: Responder;
  close(): Promise<void>;
}

export interface WebhookEndpointOptions {
  readonly address: string;
  readonly port?: number;
  /** Undefined means plain HTTP. */
  readonly certificate?: Certificate;
  /** Called for each request before the response is sent. If set, `received` stays empty. */
  readonly onRequest?: (request: ReceivedRequest) => void;
}

export async function startWebhookEndpoint({
  address,
  port = 0,
  certificate,
  onRequest,
}: WebhookEndpointOptions): Promise<WebhookEndpoint> {
  const received: ReceivedRequest[] = [];
  const listen = async (request: IncomingMessage, response: ServerResponse) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks).toString('utf8');
    const { method = '', url: path = '', headers, socket } = request;
    const entry: ReceivedRequest = { method, path, headers, body, at: Date.now(), from: socket.remotePort };
    if (onRequest === undefined) received.push(entry);
    else onRequest(entry);
    const answer = sandbox.respond(entry);
    if (answer === 'silence') return;
    if (answer === 'cut') return void request.socket.destroy();
    await answer.until;
    setTimeout(
      () => response.writeHead(answer.status ?? 200, answer.headers).end(answer.body ?? ''),
      answer.afterMs ?? 0,
    );
  };
  const handleRequest = (request: IncomingMessage, response: ServerResponse) =>
    void listen(request, response).catch(() => response.destroy());
  const server =
    certificate === undefined ? createServer(handleRequest) : createSecureServer({ ...certificate }, handleRequest);
  server.keepAliveTimeout = 60_000;
  server.listen(port, address);
  await once(server, 'listening');
  const sandbox: WebhookEndpoint = {
    port: (server.address() as AddressInfo).port,
    received,
    respond: () => ({}),
    async close() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
  return sandbox;
}
