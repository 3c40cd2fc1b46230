// The bare programs' client. It signs like Plinth, and sends with undici alone over persistent connections.
import { Pool } from 'undici';
import { createSigner, newSecret, secretLocation } from '../../server/src/features/webhooks/signing.ts';
import { newId } from '../../server/src/kit/ids.ts';
import { createSecrets } from '../../server/src/kit/secrets.ts';

const secrets = createSecrets([{ id: 'one', key: Buffer.alloc(32, 1) }]);
export const signer = createSigner(secrets);

/** The receiver's host name, for clients that resolve it. */
export const receiverName = 'hooks.example';

export interface BareWebhook {
  readonly id: string;
  readonly workspace_id: string;
  readonly target_url: string;
  readonly secret: string;
  readonly previous_secret: null;
  readonly previous_secret_expires_at: null;
}

/** Returns each owner's webhooks. */
export function readWebhooks(): BareWebhook[][] {
  const urls: string[] = JSON.parse(process.env.BENCH_URLS ?? '[]');
  const perOwner = Number(process.env.BENCH_PER_OWNER);
  return Array.from({ length: urls.length / perOwner }, (_, owner) => {
    const workspace_id = newId();
    return urls
      .slice(owner * perOwner, (owner + 1) * perOwner)
      .map((target_url) => newWebhook(workspace_id, target_url));
  });
}

function newWebhook(workspace_id: string, target_url: string): BareWebhook {
  const id = newId();
  const secret = secrets.seal(newSecret(), secretLocation(id, 'secret'));
  return { id, workspace_id, target_url, secret, previous_secret: null, previous_secret_expires_at: null };
}

let pool: Pool | undefined; // one pool, because all webhooks have the same origin

export function sendBare(
  webhook: Pick<BareWebhook, 'id' | 'target_url' | 'secret'>,
  delivery_id: string,
  body: string,
  sequence = '1',
): Promise<void> {
  const { origin, pathname } = new URL(webhook.target_url);
  pool ??= new Pool(origin, { connections: 160, keepAliveTimeout: 60_000, allowH2: false });
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const unrotated = { ...webhook, previous_secret: null, previous_secret_expires_at: null };
  const headers = {
    'content-type': 'application/json',
    'user-agent': 'Plinth-Webhooks/1',
    'x-service-event': 'message.created',
    'x-service-delivery': delivery_id,
    'x-service-attempt': '1',
    'x-service-sequence': sequence,
    ...signer.headersFor(unrotated, delivery_id, body, new Date()),
  };
  pool.dispatch(
    { method: 'POST', path: pathname, headers, body },
    {
      onRequestStart() {},
      onResponseStart(_controller, status) {
        if (status !== 200) reject(new Error(`the endpoint answered ${status}`));
      },
      onResponseData() {},
      onResponseEnd: () => resolve(),
      onResponseError: (_controller, error) => reject(error),
    },
  );
  return promise;
}
