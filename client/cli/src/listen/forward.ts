// Sends deliveries to a receiver near this machine, as Plinth would send them to a webhook's URL.
import http from 'node:http';
import https from 'node:https';
import { CommandError } from '../exit.ts';
import type { StreamedDelivery } from './webhook.ts';

/** Sends a delivery once, and returns the status of the answer. Throws if there is none. */
export type Forward = (delivery: Pick<StreamedDelivery, 'headers' | 'body'>) => Promise<number>;

/** As long as a webhook's URL has to answer. */
const answerWithinMs = 10_000;

export function createForward(target: URL): Forward {
  const { Agent, request } = target.protocol === 'https:' ? https : http;
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  return ({ headers, body }) => {
    const { promise, resolve, reject } = Promise.withResolvers<number>();
    const signal = AbortSignal.timeout(answerWithinMs);
    const sent = request(target, {
      method: 'POST',
      agent,
      signal,
      headers: { ...headers, 'content-length': Buffer.byteLength(body) },
    });
    sent.once('response', (response) => {
      response.resume();
      response.once('end', () => resolve(response.statusCode ?? 0));
      response.once('error', reject);
    });
    sent.once('error', (error) => reject(signal.aborted ? new Error('no answer in 10 seconds') : error));
    sent.end(body);
    return promise;
  };
}

/** `localhost:3000/hook` is enough. */
export function parseTarget(text: string): URL {
  const address = /^https?:\/\//.test(text) ? text : `http://${text}`;
  if (!URL.canParse(address))
    throw new CommandError('--forward-to must be an address, such as http://localhost:3000/hook.');
  return new URL(address);
}
