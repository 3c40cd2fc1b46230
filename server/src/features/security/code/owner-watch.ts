// Runs as a second thread of the code-reading process, and kills the process when its owner exits. The main thread
// can't notice this while it is reading a file, which can keep it busy forever.
import { setInterval } from 'node:timers/promises';
import { workerData } from 'node:worker_threads';

const { ownerPid } = workerData as { ownerPid: number };

for await (const _ of setInterval(1_000)) {
  if (process.ppid !== ownerPid) process.kill(process.pid, 'SIGKILL');
}
