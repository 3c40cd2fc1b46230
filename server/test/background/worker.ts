// A worker process for tests, whose rows kill it, block it or wait. Usage: `worker.ts URL SLOTS`. Prints its state as
// JSON lines.
import { sql } from 'kysely';
import { type Queue, type QueueRow, retries } from '../../src/kit/background/queues/queue.ts';
import { acquireSlot } from '../../src/kit/background/workers/slots.ts';
import { openWakeUps } from '../../src/kit/background/workers/wake.ts';
import { startWorker } from '../../src/kit/background/workers/worker.ts';
import { systemClock } from '../../src/kit/clock.ts';
import { openDatabase } from '../../src/kit/db/database.ts';

const [url = '', slots = '1'] = process.argv.slice(2);
const leaseMs = 2_000;

const jobs: Queue<QueueRow & { what: string }> = {
  name: 'jobs',
  owner: 'owner_id',
  concurrency: 10,
  perOwner: 10,
  timeoutMs: 60_000,
  retryMs: retries(),
  async run({ what }) {
    if (what === 'kills') process.kill(process.pid, 'SIGKILL');
    if (what === 'spins') for (;;);
    if (what === 'waits') await new Promise((resolve) => setTimeout(resolve, 700));
    return { record: async (db) => void (await sql`insert into effects (what) values (${what})`.execute(db)) };
  },
};

const print = (line: object) => process.stdout.write(`${JSON.stringify(line)}\n`);
const slot = await acquireSlot({ url, slots: Number(slots), leaseMs, pollMs: 100 }, new AbortController().signal);
if (slot === undefined) process.exit(0);
void slot.lost.then((reason) => {
  print({ lost: reason });
  process.exit(1);
});
const { db } = openDatabase({ url, poolSize: 5, applicationName: slot.sessionName });
const knownEvents = () => ({ position: undefined, nextMs: undefined });
const running = await startWorker({ queues: [jobs], jobs: [], dispatch: async () => 0, knownEvents }, slot, {
  db,
  clock: systemClock,
  wake: openWakeUps('redis://127.0.0.1:1', 'none:'),
  leaseMs,
  onError: (what, error) => console.error(what, error),
});
print({ working: slot.slot, epoch: slot.epoch });
process.once('SIGTERM', async () => {
  await running.stop();
  print({ stopped: slot.slot });
  process.exit(0);
});
