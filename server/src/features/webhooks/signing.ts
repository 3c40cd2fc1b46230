// Owns the signing of deliveries (docs/contract.md §4.4): secrets, and the headers that prove where a body comes from.
import { createHmac, createSecretKey, type KeyObject, randomBytes } from 'node:crypto';
import type { Secrets } from '../../kit/secrets.ts';
import type { WebhookRow } from './contract.ts';

const prefix = 'whsec_';

export const newSecret = (): string => prefix + randomBytes(32).toString('base64');

/** How long an old secret still signs beside the new one. */
export const overlapMs = 24 * 60 * 60 * 1000;

type Column = 'secret' | 'previous_secret';

export const secretLocation = (webhook_id: string, column: Column) => ['webhooks', webhook_id, column] as const;

interface Keys {
  /** Of `X-Service-Signature`: the bytes of the whole secret. */
  readonly whole: KeyObject;
  /** Of Standard Webhooks: what the secret's base64 stands for. */
  readonly inner: KeyObject;
}

type Signed = Pick<WebhookRow, 'id' | 'secret' | 'previous_secret' | 'previous_secret_expires_at'>;

export interface Signer {
  /** The headers that sign `body` as the attempt at `now` of a delivery; none for an unsigned webhook. */
  headersFor(webhook: Signed, delivery_id: string, body: string, now: Date): Record<string, string>;
}

const maxCachedKeys = 10_000;

/**
 * Opened keys are kept by their place and sealed text: another secret is another text, so there is nothing to invalidate,
 * and a text copied to another place opens there no more than it would without.
 */
export function signerWith(secrets: Secrets): Signer {
  const opened = new Map<string, Keys>();

  function keysOf(id: string, column: Column, sealed: string): Keys {
    const name = `${id} ${column} ${sealed}`;
    const known = opened.get(name);
    if (known !== undefined) return known;
    const secret = secrets.open(sealed, secretLocation(id, column));
    const keys = {
      whole: createSecretKey(Buffer.from(secret)),
      inner: createSecretKey(Buffer.from(secret.slice(prefix.length), 'base64')),
    };
    if (opened.size >= maxCachedKeys) opened.clear();
    opened.set(name, keys);
    return keys;
  }

  return {
    headersFor({ id, secret, previous_secret, previous_secret_expires_at }, delivery_id, body, now) {
      const timestamp = Math.floor(now.getTime() / 1000).toString();
      const named = { 'webhook-id': delivery_id, 'webhook-timestamp': timestamp };
      if (secret === null) return named;
      const current = keysOf(id, 'secret', secret);
      const signed = `${delivery_id}.${timestamp}.${body}`;
      const signatures = [standard(current, signed)];
      if (previous_secret !== null && previous_secret_expires_at !== null && now < previous_secret_expires_at)
        signatures.push(standard(keysOf(id, 'previous_secret', previous_secret), signed));
      return {
        ...named,
        'x-service-signature': createHmac('sha256', current.whole).update(body).digest('hex'),
        'webhook-signature': signatures.join(' '),
      };
    },
  };
}

const standard = ({ inner }: Keys, signed: string): string =>
  `v1,${createHmac('sha256', inner).update(signed).digest('base64')}`;
