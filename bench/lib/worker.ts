// Owns a worker process of a drill: takes a slot, works in it until told to stop, and ends when it loses it.

import { holdSlot } from '../../server/src/kit/background/workers/slots.ts';
import type { Wake } from '../../server/src/kit/background/workers/wake.ts';
import { type Later, type WorkerParts, work } from '../../server/src/kit/background/workers/worker.ts';
import { openWorkflows } from '../../server/src/kit/background/workflows/workflows.ts';
import { systemClock } from '../../server/src/kit/clock.ts';
import { openDatabase } from '../../server/src/kit/db/database.ts';

export interface Drill {
  readonly url: string;
  readonly slots: number;
  readonly wake: Wake;
  readonly later: Partial<Later>;
  readonly onSettled?: WorkerParts['onSettled'];
}

/** Gives the slot it works in. */
export async function workInDrill({ url, slots, wake, later, onSettled }: Drill): Promise<number> {
  const stop = new AbortController();
  process.once('SIGTERM', () => stop.abort());
  const slot = await holdSlot({ url, slots }, stop.signal);
  if (slot === undefined) process.exit(0);
  void slot.lost.then(() => process.exit(1));
  const { db, pool } = openDatabase({ url, poolSize: 10, applicationName: slot.sessionName });
  const nothing: Later = { queues: [], workflows: [], jobs: [], dispatch: async () => 0 };
  const working = await work({ ...nothing, ...later }, slot, {
    url,
    db,
    wake,
    clock: systemClock,
    engine: openWorkflows(pool, url),
    onError: (what, error) => console.error(what, String(error).slice(0, 200)),
    ...(onSettled && { onSettled }),
  });
  const end = async () => {
    await working.stop();
    process.exit(0);
  };
  if (stop.signal.aborted) await end();
  stop.signal.addEventListener('abort', () => void end());
  return slot.slot;
}
