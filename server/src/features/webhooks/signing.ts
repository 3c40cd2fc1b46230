// Signs secrets and a delivery's signature headers (docs/api/webhooks.md#signatures).
import { createHmac, createSecretKey, type KeyObject, randomBytes } from 'node:crypto';
import type { Secrets } from '../../kit/secrets.ts';
import type { WebhookRow } from './contract.ts';

const prefix = 'whsec_';

export const newSecret = (): string => prefix + randomBytes(32).toString('base64');

/** How long the previous secret is still used for signing after a rotation. */
export const overlapMs = 24 * 60 * 60 * 1000;

type SecretColumn = 'secret' | 'previous_secret';

export const secretLocation = (webhook_id: string, column: SecretColumn) => ['webhooks', webhook_id, column] as const;

interface SigningKeys {
  /** The key for `X-Service-Signature`: the whole secret as UTF-8, including the `whsec_` prefix. */
  readonly service: KeyObject;
  /** The key for `webhook-signature`: the base64-decoded secret without the `whsec_` prefix. */
  readonly standard: KeyObject;
}

type SigningColumns = Pick<WebhookRow, 'id' | 'secret' | 'previous_secret' | 'previous_secret_expires_at'>;

export interface Signer {
  /** Returns the headers for an attempt made at `now`. If the webhook has no secret, they contain no signatures. */
  headersFor(webhook: SigningColumns, delivery_id: string, body: string, now: Date): Record<string, string>;
}

const maxCachedKeys = 10_000;

/**
 * Caches opened keys by webhook, column and sealed value. A new secret has a new sealed value, so entries never need to
 * be invalidated. Opening a sealed value that was copied to another row fails, because its location differs.
 */
export function createSigner(secrets: Secrets): Signer {
  const cache = new Map<string, SigningKeys>();

  function keysOf(id: string, column: SecretColumn, sealed: string): SigningKeys {
    const name = `${id} ${column} ${sealed}`;
    const cached = cache.get(name);
    if (cached !== undefined) return cached;
    const secret = secrets.open(sealed, secretLocation(id, column));
    const keys = {
      service: createSecretKey(Buffer.from(secret)),
      standard: createSecretKey(Buffer.from(secret.slice(prefix.length), 'base64')),
    };
    if (cache.size >= maxCachedKeys) cache.clear();
    cache.set(name, keys);
    return keys;
  }

  return {
    headersFor({ id, secret, previous_secret, previous_secret_expires_at }, delivery_id, body, now) {
      const timestamp = Math.floor(now.getTime() / 1000).toString();
      const identity = { 'webhook-id': delivery_id, 'webhook-timestamp': timestamp };
      if (secret === null) return identity;
      const current = keysOf(id, 'secret', secret);
      const content = `${delivery_id}.${timestamp}.${body}`;
      const signatures = [signStandard(current, content)];
      if (previous_secret !== null && previous_secret_expires_at !== null && now < previous_secret_expires_at)
        signatures.push(signStandard(keysOf(id, 'previous_secret', previous_secret), content));
      return {
        ...identity,
        'x-service-signature': createHmac('sha256', current.service).update(body).digest('hex'),
        'webhook-signature': signatures.join(' '),
      };
    },
  };
}

const signStandard = ({ standard }: SigningKeys, content: string): string =>
  `v1,${createHmac('sha256', standard).update(content).digest('base64')}`;
