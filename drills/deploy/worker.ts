// A worker in the deploy drill that runs one release's queue code. DRILL_RELEASE is 1 or 2.

import { runDrillWorker } from '../../harness/worker.ts';
import { openWakeUps } from '../../server/src/kit/background/workers/wake.ts';
import { openJournal } from '../lib/journal-file.ts';
import { createQueue, type Release, type RunLine } from './work.ts';

const { DRILL_URL: url = '', DRILL_RELEASE = '1', DRILL_JOURNAL: journal = '' } = process.env;
const release: Release = DRILL_RELEASE === '2' ? '2' : '1';
const queue = createQueue(release, openJournal<RunLine>(journal));
const wake = openWakeUps('redis://127.0.0.1:6379', `deploy:${new URL(url).port}:`);
await runDrillWorker({ url, slots: 3, wake, work: { queues: [queue] } });
process.stdout.write(`working ${release}\n`);
