// Tests signatures against independent values: the published Standard Webhooks test vector, and plain HMAC.
import { createHmac, randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { createSecrets } from '../../kit/secrets.ts';
import { createSigner, newSecret, overlapMs, secretLocation } from './signing.ts';

const secrets = createSecrets([{ id: 'one', key: randomBytes(32) }]);
const signer = createSigner(secrets);
const now = new Date(1614265330 * 1000);
const day = 24 * 60 * 60 * 1000;
const unsigned = { id: 'webhook', secret: null, previous_secret: null, previous_secret_expires_at: null };
const signed = (secret: string) => ({ ...unsigned, secret: secrets.seal(secret, secretLocation('webhook', 'secret')) });
const rotated = (secret: string, previous: string, previous_secret_expires_at: Date) => ({
  ...signed(secret),
  previous_secret: secrets.seal(previous, secretLocation('webhook', 'previous_secret')),
  previous_secret_expires_at,
});
const standard = (secret: string, text: string) =>
  `v1,${createHmac('sha256', Buffer.from(secret.slice('whsec_'.length), 'base64'))
    .update(text)
    .digest('base64')}`;

describe('signatures', () => {
  it('match the test vector that Standard Webhooks publishes', () => {
    const webhook = signed('whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw');
    const headers = signer.headersFor(webhook, 'msg_p5jXN8AQM9LWM0D4loKWxJek', '{"test": 2432232314}', now);
    expect(headers).toMatchObject({
      'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
      'webhook-timestamp': '1614265330',
      'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
    });
  });

  it.each(['{"plain":1}', '{"text":"grüße 💥"}', ''])(
    'X-Service-Signature is the hex HMAC of the raw body %j under the whole secret',
    (body) => {
      const secret = newSecret();
      const headers = signer.headersFor(signed(secret), 'id', body, now);
      expect(headers['x-service-signature']).toBe(createHmac('sha256', secret).update(body, 'utf8').digest('hex'));
    },
  );

  it('are absent for an unsigned webhook; id and timestamp are sent all the same', () => {
    expect(signer.headersFor(unsigned, 'id', 'body', now)).toEqual({
      'webhook-id': 'id',
      'webhook-timestamp': '1614265330',
    });
  });

  it.each([
    ['two right after a rotation, the new one first', 0, 2],
    ['two until the last moment of the day', day - 1, 2],
    ['one when the day has passed', day, 1],
  ])('are %s', (_rule, laterMs, count) => {
    const [secret, previous] = [newSecret(), newSecret()];
    const at = new Date(now.getTime() + laterMs);
    const headers = signer.headersFor(rotated(secret, previous, new Date(now.getTime() + overlapMs)), 'id', 'body', at);
    const text = `id.${Math.floor(at.getTime() / 1000)}.body`;
    expect(headers['webhook-signature']?.split(' ')).toEqual(
      [standard(secret, text), standard(previous, text)].slice(0, count),
    );
    expect(headers['x-service-signature']).toBe(createHmac('sha256', secret).update('body').digest('hex'));
  });
});

describe('secrets', () => {
  it('are `whsec_` followed by 32 random bytes in base64, never the same twice', () => {
    const made = Array.from({ length: 100 }, newSecret);
    for (const secret of made) expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    expect(new Set(made).size).toBe(100);
  });

  it("can't be decrypted in another row or column", () => {
    const webhook = signed(newSecret());
    expect(() => createSigner(secrets).headersFor({ ...webhook, id: 'another' }, 'id', 'body', now)).toThrow();
    const moved = {
      ...webhook,
      previous_secret: webhook.secret,
      previous_secret_expires_at: new Date(now.getTime() + 1),
    };
    expect(() => createSigner(secrets).headersFor(moved, 'id', 'body', now)).toThrow();
  });
});
