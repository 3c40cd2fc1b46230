// Takes turns at rows that many runs change concurrently, such as a workspace's credits and a workflow's
// counters. If runs waited for these rows in the database, each run would hold a connection, and the worker would soon
// have none left.
import { createFairGate } from '../../../kit/fair-gate.ts';

/** Does the work when it is this run's turn. Work for the same id runs one at a time. */
export type TakeTurn = <Result>(id: string, work: () => Promise<Result>) => Promise<Result>;

/** Fewer than a worker's connections, so other work can always get a connection. */
const atOnce = 8;
/** More than a worker's concurrent runs, and longer than any claim lasts. */
const limits = { maxWaitingOfOwner: 1_000, maxWaitMs: 10 * 60_000 };

export function createTurns(): TakeTurn {
  const gate = createFairGate({ inAll: atOnce, perOwner: 1, ...limits });
  return async (id, work) => {
    const leave = await gate.enter(id);
    try {
      return await work();
    } finally {
      leave();
    }
  };
}
