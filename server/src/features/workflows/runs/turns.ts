// Owns turns at rows that many runs change at the same time: the credits of a workspace, the counters of a workflow. Runs that
// waited for such a row in the database would each hold a connection meanwhile, and soon all that the worker has.
import { createFairGate } from '../../../kit/fair-gate.ts';

/** Does the work when it is the turn of this run: one at a time for the same id. */
export type TakeTurn = <Result>(id: string, work: () => Promise<Result>) => Promise<Result>;

/** Fewer than a worker has connections, so that others always find one. */
const atOnce = 8;
/** More than a worker runs at once, and longer than it may run one. */
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
