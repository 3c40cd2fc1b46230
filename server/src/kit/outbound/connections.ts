// Owns open connections: reused by the same owner for the same origin and vetted address, for at most 60 s. Owners never
// share a connection.
import { createSecureContext, getCACertificates } from 'node:tls';
import { Pool } from 'undici';
import { hostOf } from './address.ts';
import { dial } from './dial.ts';
import { portOf } from './url.ts';

export interface ConnectionOptions {
  /** Certificates (PEM) to trust in addition to Node's own. */
  readonly extraCa?: string;
  /** For TCP and TLS together. */
  readonly connectTimeoutMs?: number;
}

export interface Connections {
  poolFor(owner: string, url: URL, address: string): Pool;
  close(): Promise<void>;
}

const poolOptions = {
  connections: 16,
  clientTtl: 60_000,
  keepAliveMaxTimeout: 60_000,
  // Short where the server sends no Keep-Alive timeout: a request on a connection that the server has just closed fails.
  keepAliveTimeout: 4_000,
  maxHeaderSize: 16_384,
  // Off, because every request has its own timeout for the whole exchange.
  headersTimeout: 0,
  bodyTimeout: 0,
  allowH2: false,
};

export function openConnections({ extraCa, connectTimeoutMs = 3_000 }: ConnectionOptions): Connections {
  const ca = [...getCACertificates('default'), ...(extraCa === undefined ? [] : [extraCa])];
  const tlsContext = createSecureContext({ ca, minVersion: 'TLSv1.2' });
  const pools = new Map<string, Pool>();

  function openPool(key: string, url: URL, address: string): Pool {
    const secureContext = url.protocol === 'https:' ? tlsContext : undefined;
    const dialOptions = { address, port: portOf(url), host: hostOf(url), secureContext, timeoutMs: connectTimeoutMs };
    const pool = new Pool(url.origin, {
      ...poolOptions,
      connect: (_options, callback) =>
        void dial(dialOptions).then(
          (socket) => callback(null, socket),
          (error) => callback(error, null),
        ),
    });
    const removeIfEmpty = () => {
      if (pool.stats.connected > 0 || pool.stats.size > 0 || pools.get(key) !== pool) return;
      pools.delete(key);
      void pool.close();
    };
    return pool.on('disconnect', removeIfEmpty).on('connectionError', removeIfEmpty);
  }

  return {
    poolFor(owner, url, address) {
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
