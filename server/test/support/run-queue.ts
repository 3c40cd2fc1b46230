// Runs a queue until nothing in it is due or running, for tests without a worker.
import { sql } from 'kysely';
import { expect } from 'vitest';
import type { Queue } from '../../src/kit/background/queues/queue.ts';
import { runQueue } from '../../src/kit/background/queues/run.ts';
import type { World } from './world.ts';

/** `which` is a queue, or the name of one of the product's. */
export async function runDueRows(world: World, which: string | Queue): Promise<void> {
  const queue = typeof which === 'string' ? world.app.background.queues.find(({ name }) => name === which) : which;
  if (queue === undefined) throw new Error(`there is no queue ${which}`);
  const running = runQueue(queue, {
    db: world.app.database.db,
    clock: world.clock,
    slot: { slot: 1_000, epoch: 1 },
    wake: { listen: () => () => {}, pollMs: () => 100, notify: () => {} },
    onError: (what, error) => world.logLines.push(`${what}: ${String(error)}`),
  });
  const countOpen = async () =>
    (
      await sql`select from ${sql.table(queue.name)} where claimed_slot is not null or due_at <= now()`.execute(
        world.db,
      )
    ).rows.length;
  await expect.poll(countOpen, { timeout: 20_000 }).toBe(0);
  await running.stop(5_000);
}
