// Owns open connections: reused per owner, origin and vetted address, never between owners, for 60 s at most
// (contract §4.5).
import { createSecureContext, getCACertificates } from 'node:tls';
import { Pool } from 'undici';
import { bareHost } from './address.ts';
import { dial } from './dial.ts';
import { portOf } from './url.ts';

export interface ConnectionOptions {
  /** Certificates (PEM) trusted beside those Node trusts. */
  readonly extraCa?: string;
  /** For TCP and TLS together. */
  readonly connectMs?: number;
}

export interface Connections {
  to(owner: string, url: URL, address: string): Pool;
  close(): Promise<void>;
}

const limits = {
  connections: 16,
  clientTtl: 60_000,
  keepAliveMaxTimeout: 60_000,
  // Short where the other side names none: a connection it has just closed fails the next request.
  keepAliveTimeout: 4_000,
  maxHeaderSize: 16_384,
  // The total time-out of a request stands for these.
  headersTimeout: 0,
  bodyTimeout: 0,
  allowH2: false,
};

export function openConnections({ extraCa, connectMs = 3_000 }: ConnectionOptions): Connections {
  const ca = [...getCACertificates('default'), ...(extraCa === undefined ? [] : [extraCa])];
  const context = createSecureContext({ ca, minVersion: 'TLSv1.2' });
  const pools = new Map<string, Pool>();

  function openPool(key: string, url: URL, address: string): Pool {
    const secure = url.protocol === 'https:' ? context : undefined;
    const line = { address, port: portOf(url), host: bareHost(url), secure, timeoutMs: connectMs };
    const pool = new Pool(url.origin, {
      ...limits,
      connect: (_options, callback) =>
        void dial(line).then(
          (socket) => callback(null, socket),
          (error) => callback(error, null),
        ),
    });
    const forgetEmpty = () => {
      if (pool.stats.connected > 0 || pool.stats.size > 0 || pools.get(key) !== pool) return;
      pools.delete(key);
      void pool.close();
    };
    return pool.on('disconnect', forgetEmpty).on('connectionError', forgetEmpty);
  }

  return {
    to(owner, url, address) {
      const key = JSON.stringify([owner, url.origin, address]);
      const pool = pools.get(key) ?? openPool(key, url, address);
      pools.set(key, pool);
      return pool;
    },
    async close() {
      const open = [...pools.values()];
      pools.clear();
      await Promise.all(open.map((pool) => pool.destroy()));
    },
  };
}
