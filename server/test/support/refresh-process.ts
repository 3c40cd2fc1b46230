// A separate process that refreshes one connection, for tests that kill it.
import { refreshTokens } from '../../src/features/connectors/tokens/refresh.ts';
import { findById } from '../../src/features/connectors/tokens/store/refreshes.ts';
import { systemClock } from '../../src/kit/clock.ts';
import { openDatabase } from '../../src/kit/db/database.ts';
import type { Tables } from '../../src/tables.ts';
import { createTokenDeps } from './token-deps.ts';

interface Order {
  readonly databaseUrl: string;
  readonly sandboxUrl: string;
  readonly workspace_id: string;
  readonly id: string;
  readonly masterKeys: readonly { id: string; key: string }[];
}

process.once('message', async (message) => {
  const { databaseUrl, sandboxUrl, masterKeys, ...key } = message as Order;
  const { db } = openDatabase<Tables>({ url: databaseUrl, poolSize: 2 });
  const keys = masterKeys.map(({ id, key }) => ({ id, key: Buffer.from(key, 'base64') }));
  const deps = createTokenDeps(keys, systemClock, sandboxUrl);
  const connection = await findById(db, key);
  if (connection === undefined) throw new Error('no connection');
  process.send?.(await refreshTokens(db, deps, connection));
});
