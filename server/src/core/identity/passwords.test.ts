import { describe, expect, it } from 'vitest';
import { hashPassword, isMatchingPassword } from './passwords.ts';

describe('hashing passwords', () => {
  it('is refused with 503 while a hundred others wait, and works again afterwards', async () => {
    const tries = await Promise.allSettled(Array.from({ length: 110 }, () => isMatchingPassword('a', undefined)));
    const refused = tries.flatMap((tried) => (tried.status === 'rejected' ? tried.reason : []));
    expect(refused).toHaveLength(9);
    expect(refused[0]).toMatchObject({ status: 503, code: 'service_unavailable', headers: { 'retry-after': '5' } });
    expect(await isMatchingPassword('correct', await hashPassword('correct'))).toBe(true);
  }, 60_000);
});
