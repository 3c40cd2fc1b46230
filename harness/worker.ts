// A drill's worker process. It acquires a slot, works until SIGTERM, and exits if it loses the slot.

import { acquireSlot } from '../server/src/kit/background/workers/slots.ts';
import type { WakeUps } from '../server/src/kit/background/workers/wake.ts';
import { type BackgroundWork, startWorker, type WorkerDeps } from '../server/src/kit/background/workers/worker.ts';
import { systemClock } from '../server/src/kit/clock.ts';
import { openDatabase } from '../server/src/kit/db/database.ts';

export interface DrillWorker {
  readonly url: string;
  readonly slots: number;
  readonly wake: WakeUps;
  readonly work: Partial<BackgroundWork>;
  readonly onRecovered?: WorkerDeps['onRecovered'];
  readonly fullLookEveryMs?: WorkerDeps['fullLookEveryMs'];
}

/** Returns the slot's number. */
export async function runDrillWorker({
  url,
  slots,
  wake,
  work,
  onRecovered,
  fullLookEveryMs,
}: DrillWorker): Promise<number> {
  const stop = new AbortController();
  process.once('SIGTERM', () => stop.abort());
  const slot = await acquireSlot({ url, slots }, stop.signal);
  if (slot === undefined) process.exit(0);
  void slot.lost.then(() => process.exit(1));
  const { db } = openDatabase({ url, poolSize: 10, applicationName: slot.sessionName });
  const nothing: BackgroundWork = {
    queues: [],
    jobs: [],
    dispatch: async () => 0,
    knownEvents: () => ({ position: undefined, nextMs: undefined }),
  };
  const working = await startWorker({ ...nothing, ...work }, slot, {
    db,
    wake,
    clock: systemClock,
    onError: (what, error) => console.error(what, String(error).slice(0, 200)),
    ...(onRecovered && { onRecovered }),
    ...(fullLookEveryMs !== undefined && { fullLookEveryMs }),
  });
  const end = async () => {
    await working.stop();
    process.exit(0);
  };
  if (stop.signal.aborted) await end();
  stop.signal.addEventListener('abort', () => void end());
  return slot.slot;
}
