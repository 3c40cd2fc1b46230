// Open connections. For at most 60 s, a connection is reused by the same owner for the same origin and vetted
// address. Owners never share connections.
import { createSecureContext, getCACertificates } from 'node:tls';
import { Pool } from 'undici';
import { dial } from './dial.ts';
import type { Target } from './verdicts.ts';

export interface ConnectionOptions {
  /** Certificates (PEM) to trust in addition to Node's own. */
  readonly extraCa?: string;
  /** The timeout for TCP and TLS together. */
  readonly connectTimeoutMs?: number;
}

export interface Connections {
  poolFor(owner: string, target: Target, address: string): Pool;
  close(): Promise<void>;
}

const poolOptions = {
  connections: 16,
  clientTtl: 60_000,
  keepAliveMaxTimeout: 60_000,
  // Used if the server sends no Keep-Alive timeout. It is short, because a request fails if the server has just closed
  // the connection.
  keepAliveTimeout: 4_000,
  maxHeaderSize: 16_384,
  // Disabled, because every request has its own timeout for the whole exchange.
  headersTimeout: 0,
  bodyTimeout: 0,
  allowH2: false,
};

export function openConnections({ extraCa, connectTimeoutMs = 3_000 }: ConnectionOptions): Connections {
  const ca = [...getCACertificates('default'), ...(extraCa === undefined ? [] : [extraCa])];
  const tlsContext = createSecureContext({ ca, minVersion: 'TLSv1.2' });
  const pools = new Map<string, Pool>();

  function openPool(key: string, { origin, host, port }: Target, address: string): Pool {
    const secureContext = origin.startsWith('https:') ? tlsContext : undefined;
    const dialOptions = { address, port, host, secureContext, timeoutMs: connectTimeoutMs };
    const pool = new Pool(origin, {
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
    pools.set(key, pool);
    return pool.on('disconnect', removeIfEmpty).on('connectionError', removeIfEmpty);
  }

  return {
    poolFor(owner, target, address) {
      // The owner comes last, because it may contain a space, unlike addresses and origins.
      const key = `${address} ${target.origin} ${owner}`;
      return pools.get(key) ?? openPool(key, target, address);
    },
    async close() {
      const open = [...pools.values()];
      pools.clear();
      await Promise.all(open.map((pool) => pool.destroy()));
    },
  };
}
