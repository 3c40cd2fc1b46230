// One worker of the drill. Says on stdout what it holds, one JSON line each; the drill reads nothing else of it.

import { systemClock } from '../../server/src/kit/clock.ts';
import { openDatabase } from '../../server/src/kit/db/database.ts';
import { holdSlot } from '../../server/src/kit/later/slots.ts';
import { openWake } from '../../server/src/kit/later/wake.ts';
import { work } from '../../server/src/kit/later/worker.ts';
import { openWorkflows, type Workflow } from '../../server/src/kit/later/workflows.ts';
import { jobs, twoSteps } from './work.ts';

const { DRILL_URL: url = '', DRILL_SLOTS: slots = '3', REDIS_URL = 'redis://127.0.0.1:6379' } = process.env;
const say = (line: object) => process.stdout.write(`${JSON.stringify(line)}\n`);

const stop = new AbortController();
process.once('SIGTERM', () => stop.abort());
const slot = await holdSlot({ url, slots: Number(slots) }, stop.signal);
if (slot === undefined) process.exit(0);
void slot.lost.then((reason) => {
  say({ lost: slot.slot, epoch: slot.epoch, reason });
  process.exit(1);
});
const { db, pool } = openDatabase({ url, poolSize: 10, applicationName: slot.sessionName });
const wake = openWake(REDIS_URL, `drill:${new URL(url).port}:`);
const working = await work(
  { queues: [jobs], workflows: [twoSteps as Workflow], jobs: [], dispatch: async () => 0 },
  slot,
  {
    url,
    db,
    engine: openWorkflows(pool, url),
    onSettled: (settled) => say({ settled }),
    clock: systemClock,
    wake,
    onError: (what, error) => console.error(what, String(error).slice(0, 200)),
  },
);
say({ working: slot.slot, epoch: slot.epoch });
stop.signal.addEventListener('abort', async () => {
  await working.stop();
  process.exit(0);
});
