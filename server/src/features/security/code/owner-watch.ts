// Runs as a second thread of the process that reads code: kills the process when its owner is gone. The main thread can't notice
// while it is busy with a file, and a file can keep it busy for ever.
import { setInterval } from 'node:timers/promises';
import { workerData } from 'node:worker_threads';

const { ownerPid } = workerData as { ownerPid: number };

for await (const _ of setInterval(1_000)) {
  if (process.ppid !== ownerPid) process.kill(process.pid, 'SIGKILL');
}
