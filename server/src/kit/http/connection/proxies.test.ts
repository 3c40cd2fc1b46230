// Tests the warning about forwarding headers from an address that is not a trusted proxy.
import { describe, expect, it } from 'vitest';
import { startWorld, type World } from '../../../../test/support/world.ts';

const direct = await startWorld();
const behindProxy = await startWorld({ environment: { TRUSTED_PROXIES: '10.0.0.0/8, loopback' } });

const callForwarded = async (world: World) => {
  for (const name of ['x-forwarded-for', 'forwarded', 'x-forwarded-for'])
    expect((await world.call('GET', '/healthz', { headers: { [name]: '192.0.2.1' } })).status).toBe(200);
};
const warnings = (world: World) => world.logLines.filter((line) => line.includes('forwarding headers ignored'));

describe('forwarding headers', () => {
  it('of an address that is no trusted proxy cause one warning a minute, with the address', async () => {
    expect((await direct.call('GET', '/healthz')).status).toBe(200);
    expect(warnings(direct)).toHaveLength(0);
    await callForwarded(direct);
    expect(warnings(direct)).toHaveLength(1);
    expect(JSON.parse(warnings(direct)[0] ?? '')).toMatchObject({ address: '127.0.0.1' });
  });

  it('of a trusted proxy cause none', async () => {
    await callForwarded(behindProxy);
    expect(warnings(behindProxy)).toHaveLength(0);
  });
});
