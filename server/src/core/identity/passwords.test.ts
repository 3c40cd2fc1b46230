// Tests that hashing passwords is bounded.
import { describe, expect, it } from 'vitest';
import { hashPassword, isMatchingPassword } from './passwords.ts';

describe('hashing passwords', () => {
  it('is refused with 503 while a hundred others wait, and works again afterwards', async () => {
    const stored = 'argon2id$8$1$1$yx4DhFnXzWB_dGvybc8nSA$GfoX8bE0mbS7rgfhW5SZX2oUBxfBQ7fyXwvLQP9UpeI'; // cheap to check
    const tries = await Promise.allSettled(Array.from({ length: 110 }, () => isMatchingPassword('a', stored)));
    const refused = tries.flatMap((tried) => (tried.status === 'rejected' ? tried.reason : []));
    expect(refused).toHaveLength(9);
    expect(refused[0]).toMatchObject({ status: 503, code: 'service_unavailable', headers: { 'retry-after': '5' } });
    expect(await isMatchingPassword('correct', await hashPassword('correct'))).toBe(true);
  });
});
