// The drill's receiver, in its own process, which is never killed. It has HTTPS endpoints with one address per agent,
// verifies signatures, keeps the journal, and misbehaves on command.
import { createHash, createHmac } from 'node:crypto';
import {
  type ReceivedRequest as Request,
  startWebhookEndpoint,
  type WebhookEndpoint,
} from '../../sandbox/src/webhook-endpoint.ts';
import { openJournal } from '../lib/journal-file.ts';
import type { ListenOptions } from '../lib/receiver-process.ts';
import { type Answer, keyOf, type ReceivedLine } from './journal.ts';

export type ReceiverCommand =
  | { readonly listen: ListenOptions }
  /** Each path's secret. */
  | { readonly secrets: Readonly<Record<string, string>> }
  | { readonly address: string; readonly answer: Answer };

const endpoints = new Map<string, WebhookEndpoint>();
let secrets: Readonly<Record<string, string>> = {};
let write: (line: ReceivedLine) => void;

const respondWith = (answer: Answer) => (request: Request) => {
  write(receivedLine(request, answer));
  return typeof answer === 'number' ? { status: answer } : answer;
};

function receivedLine({ path, headers, body, at }: Request, answer: Answer): ReceivedLine {
  const { id, type, data } = JSON.parse(body);
  return {
    at,
    webhook: path,
    delivery: String(headers['x-service-delivery']),
    sequence: Number(headers['x-service-sequence']),
    event: id,
    key: keyOf(type, data.message.content),
    sha256: createHash('sha256').update(body).digest('hex'),
    signed: isSigned(secrets[path] ?? '', headers, body),
    answer,
  };
}

/** Checks both kinds of signatures. */
function isSigned(secret: string, headers: Request['headers'], body: string): boolean {
  const { 'webhook-id': id, 'webhook-timestamp': timestamp } = headers;
  const key = Buffer.from(secret.replace('whsec_', ''), 'base64');
  const standard = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64');
  return (
    id === headers['x-service-delivery'] &&
    headers['webhook-signature'] === `v1,${standard}` &&
    headers['x-service-signature'] === createHmac('sha256', secret).update(body).digest('hex')
  );
}

async function listen({ journal, addresses, certificate }: ListenOptions): Promise<void> {
  write = openJournal<ReceivedLine>(journal);
  let port = 0;
  for (const address of addresses) {
    const endpoint = await startWebhookEndpoint({ address, port, certificate, onRequest: () => {} });
    port = endpoint.port;
    endpoint.respond = respondWith(200);
    endpoints.set(address, endpoint);
  }
  process.send?.({ port });
}

process.on('message', (order: ReceiverCommand) => {
  if ('listen' in order) void listen(order.listen);
  else if ('secrets' in order) secrets = order.secrets;
  else (endpoints.get(order.address) as WebhookEndpoint).respond = respondWith(order.answer);
});
process.on('disconnect', () => process.exit(0));
