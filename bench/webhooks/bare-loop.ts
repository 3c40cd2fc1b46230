// The baseline of the backlog: a loop that signs and sends bodies, with the same concurrency per owner, and does nothing else.
// With `client: 'plinth'` it sends by Plinth's own client, so that the difference is the cost of the queue; with
// `client: 'undici'` it also leaves out the checks of addresses, headers and limits.
import { sendAttempt } from '../../server/src/features/webhooks/attempt.ts';
import { newId } from '../../server/src/kit/ids.ts';
import { parseAllowList } from '../../server/src/kit/outbound/address.ts';
import { openOutbound } from '../../server/src/kit/outbound/outbound.ts';
import { type BareWebhook, readWebhooks, sendBare, signer } from './bare-client.ts';

export interface LoopOrder {
  readonly client: 'plinth' | 'undici';
  /** Concurrent requests per owner, and requests per webhook. */
  readonly atOnce: number;
  readonly each: number;
  readonly body: string;
}

const deps = { outbound: openOutbound({ allow: parseAllowList('127.20.0.0/16') }), signer };
const owners = readWebhooks();

async function sendByPlinth(webhook: BareWebhook, delivery_id: string, sequence: number, body: string): Promise<void> {
  const request = { delivery_id, event_type: 'message.created', sequence, attempt: 1, body };
  const { ok } = await sendAttempt(deps, webhook, request, new Date());
  if (!ok) throw new Error('the endpoint did not accept the request');
}

process.on('message', async ({ client, atOnce, each, body }: LoopOrder) => {
  const loops = owners.flatMap((webhooks) => {
    let left = each * webhooks.length;
    return Array.from({ length: atOnce }, async () => {
      while (left > 0) {
        left -= 1;
        const webhook = webhooks[left % webhooks.length] as BareWebhook;
        if (client === 'plinth') await sendByPlinth(webhook, newId(), left, body);
        else await sendBare(webhook, newId(), body);
      }
    });
  });
  await Promise.all(loops);
  process.send?.('done');
});
process.on('disconnect', () => process.exit(0));
