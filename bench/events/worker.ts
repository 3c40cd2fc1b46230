// The worker of the events bench: a listener that only counts, and says when it was called.
import { systemClock } from '../../server/src/kit/clock.ts';
import { type AnyDb, openDatabase } from '../../server/src/kit/db/database.ts';
import { eventBus, listenersOf } from '../../server/src/kit/later/events.ts';
import { holdSlot } from '../../server/src/kit/later/slots.ts';
import { openWake } from '../../server/src/kit/later/wake.ts';
import { work } from '../../server/src/kit/later/worker.ts';
import { openWorkflows } from '../../server/src/kit/later/workflows.ts';

const { BENCH_URL: url = '', BENCH_REDIS_URL: redis = '', BENCH_PREFIX: prefix = '' } = process.env;
const slot = await holdSlot({ url, slots: 1 }, new AbortController().signal);
if (slot === undefined) process.exit(1);
void slot.lost.then(() => process.exit(1));
const { db, pool } = openDatabase({ url, poolSize: 4, applicationName: slot.sessionName });
const wake = openWake(redis, prefix);
const bus = eventBus<{ 'bench.told': { n: number } }, AnyDb>(wake, (_event, error) => console.error(error));
const { after } = listenersOf<{ 'bench.told': { n: number } }, AnyDb>();
bus.listen([
  after('bench.told', async (_db, events) => {
    const at = performance.timeOrigin + performance.now();
    process.stdout.write(`${JSON.stringify({ at, heard: events.map((event) => event.payload.n) })}\n`);
  }),
]);
await work({ queues: [], workflows: [], jobs: [], dispatch: bus.dispatch }, slot, {
  url,
  db,
  clock: systemClock,
  wake,
  engine: openWorkflows(pool, url),
  onError: (what, error) => console.error(what, error),
});
process.stdout.write('{"working":true}\n');
