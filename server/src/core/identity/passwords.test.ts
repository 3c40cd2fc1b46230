// Tests that hashing passwords is bounded, and that addresses take turns.
import { describe, expect, it } from 'vitest';
import { hashPassword, isMatchingPassword } from './passwords.ts';

const stored = 'argon2id$8$1$1$yx4DhFnXzWB_dGvybc8nSA$GfoX8bE0mbS7rgfhW5SZX2oUBxfBQ7fyXwvLQP9UpeI'; // cheap to check

describe('hashing passwords', () => {
  it('is refused with 503 while sixty others of the address wait, with no effect on other addresses', async () => {
    const tries = Array.from({ length: 70 }, () => isMatchingPassword('a', stored, '192.0.2.1'));
    const elsewhere = isMatchingPassword('a', stored, '192.0.2.2');
    const settled = await Promise.allSettled(tries);
    const refused = settled.flatMap((tried) => (tried.status === 'rejected' ? tried.reason : []));
    expect(refused).toHaveLength(9);
    expect(refused[0]).toMatchObject({ status: 503, code: 'service_unavailable', headers: { 'retry-after': '5' } });
    expect(await elsewhere).toBe(false);
    expect(await isMatchingPassword('correct', await hashPassword('correct', '192.0.2.1'), '192.0.2.1')).toBe(true);
  });

  it('serves another address before the queue of the first', async () => {
    const ended: string[] = [];
    const tryFrom = (client: string) => isMatchingPassword('a', stored, client).then(() => ended.push(client));
    const tries = [...Array.from({ length: 10 }, () => tryFrom('192.0.2.3')), tryFrom('192.0.2.4')];
    await Promise.all(tries);
    expect(ended.indexOf('192.0.2.4')).toBeLessThan(3);
  });
});
