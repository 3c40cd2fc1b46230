// The baseline: a loop that signs and sends bodies with the product's own client, with the same concurrency per endpoint,
// and does nothing else.

import { sendAttempt } from '../../server/src/features/webhooks/attempt.ts';
import { createSigner, newSecret, secretLocation } from '../../server/src/features/webhooks/signing.ts';
import { newId } from '../../server/src/kit/ids.ts';
import { parseAllowList } from '../../server/src/kit/outbound/address.ts';
import { openOutbound } from '../../server/src/kit/outbound/outbound.ts';
import { createSecrets } from '../../server/src/kit/secrets.ts';

export interface Order {
  readonly urls: readonly string[];
  /** Endpoints per owner, concurrent requests per owner, and requests per endpoint. */
  readonly perOwner: number;
  readonly atOnce: number;
  readonly each: number;
  readonly body: string;
}

type Webhook = Parameters<typeof sendAttempt>[1];

const outbound = openOutbound({ allow: parseAllowList('127.20.0.0/16') });
const secrets = createSecrets([{ id: 'one', key: Buffer.alloc(32, 1) }]);
const parts = { outbound, signer: createSigner(secrets) };
const none = { previous_secret: null, previous_secret_expires_at: null };
let owners: Webhook[][] = [];

function ownersOf({ urls, perOwner }: Order): Webhook[][] {
  return Array.from({ length: urls.length / perOwner }, (_, owner) => {
    const workspace_id = newId();
    return urls.slice(owner * perOwner, (owner + 1) * perOwner).map((target_url) => {
      const id = newId();
      return { id, workspace_id, target_url, secret: secrets.seal(newSecret(), secretLocation(id, 'secret')), ...none };
    });
  });
}

process.on('message', async (order: Order) => {
  if (owners.length === 0) owners = ownersOf(order);
  const loops = owners.flatMap((webhooks) => {
    let left = order.each * webhooks.length;
    return Array.from({ length: order.atOnce }, async () => {
      while (left > 0) {
        left -= 1;
        const webhook = webhooks[left % webhooks.length] as Webhook;
        const sending = {
          delivery_id: newId(),
          event_type: 'message.created',
          sequence: left,
          attempt: 1,
          body: order.body,
        };
        const { ok } = await sendAttempt(parts, webhook, sending, new Date());
        if (!ok) throw new Error('the endpoint did not take it');
      }
    });
  });
  await Promise.all(loops);
  process.send?.('done');
});
process.on('disconnect', () => process.exit(0));
