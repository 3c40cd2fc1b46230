// A worker for the events measurement. Its listener only reports when it was called.

import { runDrillWorker } from '../../harness/worker.ts';
import { createListeners, eventBus } from '../../server/src/kit/background/events/event-bus.ts';
import { openWakeUps } from '../../server/src/kit/background/workers/wake.ts';
import type { AnyDb } from '../../server/src/kit/db/database.ts';

const { BENCH_URL: url = '', BENCH_REDIS_URL: redis = '', BENCH_PREFIX: prefix = '' } = process.env;
const wake = openWakeUps(redis, prefix);
const bus = eventBus<{ 'bench.published': { n: number } }, AnyDb>(wake, (_event, error) => console.error(error));
const { listenAfterCommit } = createListeners<{ 'bench.published': { n: number } }, AnyDb>();
bus.listen([
  listenAfterCommit('bench.published', async (_db, events) => {
    const at = performance.timeOrigin + performance.now();
    process.stdout.write(`${JSON.stringify({ at, handled: events.map((event) => event.payload.n) })}\n`);
  }),
]);
await runDrillWorker({ url, slots: 1, wake, work: { dispatch: bus.dispatch, knownEvents: () => bus.known } });
process.stdout.write('{"working":true}\n');
