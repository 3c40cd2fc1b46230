// One worker of the drill. It prints which slots it took and recovered, one JSON line each.

import { openWakeUps } from '../../server/src/kit/background/workers/wake.ts';
import { runDrillWorker } from '../lib/worker.ts';
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
