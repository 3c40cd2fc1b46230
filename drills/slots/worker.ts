// A worker in the drill. It prints the slots that it acquired and recovered, as one JSON line each.

import { runDrillWorker } from '../../harness/worker.ts';
import { openWakeUps } from '../../server/src/kit/background/workers/wake.ts';
import { jobs } from './work.ts';

const { DRILL_URL: url = '', DRILL_SLOTS: slots = '3', REDIS_URL = 'redis://127.0.0.1:6379' } = process.env;
const say = (line: object) => process.stdout.write(`${JSON.stringify(line)}\n`);

const slot = await runDrillWorker({
  url,
  slots: Number(slots),
  wake: openWakeUps(REDIS_URL, `drill:${new URL(url).port}:`),
  work: { queues: [jobs] },
  onRecovered: (recovered) => say({ recovered }),
});
say({ working: slot });
