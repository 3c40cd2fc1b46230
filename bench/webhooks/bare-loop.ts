// The baseline for the backlog: a loop that only signs and sends bodies, with the same concurrency per owner. With
// `client: 'plinth'` it uses Plinth's own client, so the difference is the cost of the queue. `'by name'` does the
// same, but sends to a name instead of an address. `'undici'` also omits the checks of addresses, headers and limits.
import { Resolver } from 'node:dns/promises';
import { sendAttempt } from '../../server/src/features/webhooks/attempt.ts';
import { newId } from '../../server/src/kit/ids.ts';
import { parseAllowList } from '../../server/src/kit/outbound/address.ts';
import { openOutbound } from '../../server/src/kit/outbound/outbound.ts';
import { type BareWebhook, readWebhooks, receiverName, sendBare, signer } from './bare-client.ts';

export interface LoopOrder {
  readonly client: 'plinth' | 'by name' | 'undici';
  /** The number of concurrent requests per owner. `each` is the number of requests per webhook. */
  readonly atOnce: number;
  readonly each: number;
  readonly body: string;
}

function openDns(): Resolver {
  const resolver = new Resolver({ timeout: 600, tries: 4 });
  resolver.setServers([process.env.BENCH_DNS ?? '']);
  return resolver;
}

const deps = { outbound: openOutbound({ allow: parseAllowList('127.20.0.0/16'), dns: openDns }), signer };
const owners = readWebhooks();
const byName = (webhook: BareWebhook): BareWebhook => ({
  ...webhook,
  target_url: webhook.target_url.replace('127.20.0.1', receiverName),
});

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
        if (client === 'undici') await sendBare(webhook, newId(), body);
        else await sendByPlinth(client === 'by name' ? byName(webhook) : webhook, newId(), left, body);
      }
    });
  });
  await Promise.all(loops);
  process.send?.('done');
});
process.on('disconnect', () => process.exit(0));
