// Tests that password hashing is limited, and that client addresses take turns.
import { describe, expect, it } from 'vitest';
import { hashPassword, isMatchingPassword } from './passwords.ts';

const stored = 'argon2id$8$1$1$yx4DhFnXzWB_dGvybc8nSA$GfoX8bE0mbS7rgfhW5SZX2oUBxfBQ7fyXwvLQP9UpeI'; // a cheap hash

describe('hashing passwords', () => {
  it('is refused with 503 while sixty others of the address wait, with no effect on other addresses', async () => {
    const tries = Array.from({ length: 70 }, () => isMatchingPassword('a', stored, { ip: '192.0.2.1' }));
    const elsewhere = isMatchingPassword('a', stored, { ip: '192.0.2.2' });
    const settled = await Promise.allSettled(tries);
    const refused = settled.flatMap((tried) => (tried.status === 'rejected' ? tried.reason : []));
    expect(refused).toHaveLength(9);
    expect(refused[0]).toMatchObject({ status: 503, code: 'service_unavailable', headers: { 'retry-after': '5' } });
    expect(await elsewhere).toBe(false);
    const client = { ip: '192.0.2.1' };
    expect(await isMatchingPassword('correct', await hashPassword('correct', client), client)).toBe(true);
  });

  it('serves another address before the queue of the first', async () => {
    const ended: string[] = [];
    const tryFrom = (ip: string) => isMatchingPassword('a', stored, { ip }).then(() => ended.push(ip));
    const tries = [...Array.from({ length: 10 }, () => tryFrom('192.0.2.3')), tryFrom('192.0.2.4')];
    await Promise.all(tries);
    expect(ended.indexOf('192.0.2.4')).toBeLessThan(3);
  });

  it('serves people, and the users of each app, before the queue of an app that many addresses try', async () => {
    const ended: string[] = [];
    const tryAt = (app_id: string | undefined, ip: string) =>
      isMatchingPassword('a', stored, { ip, ...(app_id && { app_id }) }).then(() => ended.push(app_id ?? 'people'));
    const crowd = Array.from({ length: 30 }, (_, n) => tryAt('busy', `192.0.2.${n}`));
    await Promise.all([...crowd, tryAt('quiet', '192.0.2.1'), tryAt(undefined, '192.0.2.1')]);
    expect(ended.indexOf('quiet')).toBeLessThan(4);
    expect(ended.indexOf('people')).toBeLessThan(4);
  });
});
