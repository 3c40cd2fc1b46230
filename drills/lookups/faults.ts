// The drill's faults. They lock tables that lookups read for longer than the statement timeout, so statements
// fail, and close the connections that lookups share.
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import type { Environment } from './environment.ts';

const pauseMs = 1_200;
const lockMs = 600; // longer than the statement timeout of 500 ms

export function causeFaults({ client }: Environment) {
  let isRunning = true;
  const caused = { statements_failed: 0, connections_closed: 0 };

  async function lockTable(): Promise<void> {
    const locker = new pg.Client({
      host: client.host,
      port: client.port,
      user: client.user,
      database: client.database,
    });
    await locker.connect();
    await locker.query('begin; lock table app_shares in access exclusive mode');
    await sleep(lockMs);
    await locker.query('rollback');
    await locker.end();
    caused.statements_failed += 1;
  }

  /** Only the connections that lookups share run statements that begin like this. */
  async function closeConnection(): Promise<void> {
    const { rowCount } = await client.query(
      `select pg_terminate_backend(pid) from (
         select pid from pg_stat_activity where query like '/* lookup */ select (%' and pid <> pg_backend_pid() limit 1) one`,
    );
    caused.connections_closed += rowCount ?? 0;
  }

  const causing = (async () => {
    for (let n = 0; isRunning; n += 1) {
      await sleep(pauseMs);
      if (isRunning) await (n % 3 === 2 ? lockTable() : closeConnection());
    }
  })();
  return {
    async stop() {
      isRunning = false;
      await causing;
      return caused;
    },
  };
}
