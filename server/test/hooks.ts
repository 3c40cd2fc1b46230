// Owns a world with endpoints outside: names under outside.test lead to 127.20.0.1, which stands for the public net.
import { afterAll } from 'vitest';
import { makeAuthority } from '../../sandbox/src/certificates.ts';
import { type HookSandbox, startHookSandbox } from '../../sandbox/src/hooks.ts';
import { startWorld, type World, type WorldOptions } from './world.ts';

export const outside = '127.20.0.1';

export interface HookWorld {
  readonly world: World;
  readonly endpoint: HookSandbox;
  /** An address of the endpoint. */
  url(path?: string, host?: string): string;
}

export async function startHookWorld(options: WorldOptions = {}): Promise<HookWorld> {
  const authority = await makeAuthority();
  const certificate = await authority.issue('DNS:*.outside.test', `IP:${outside}`);
  const endpoint = await startHookSandbox({ address: outside, certificate });
  const world = await startWorld({
    ...options,
    extraCa: authority.ca,
    environment: { OUTBOUND_ALLOW: '127.20.0.0/16', ...options.environment },
    zone: (name, type) => {
      if (name === 'broken.outside.test') return { code: 2 };
      if (name === 'inner.outside.test') return type === 'A' ? { addresses: ['10.0.0.1'] } : {};
      if (name === 'gone.outside.test' || !name.endsWith('.outside.test')) return { code: 3 };
      return type === 'A' ? { addresses: [outside] } : {};
    },
  });
  afterAll(async () => {
    await endpoint.close();
    await authority.close();
  });
  return {
    world,
    endpoint,
    url: (path = '/', host = 'hook') => `https://${host}.outside.test:${endpoint.port}${path}`,
  };
}
