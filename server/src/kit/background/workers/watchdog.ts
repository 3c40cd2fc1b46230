// Runs as a thread of its own: ends the process when its main thread has been stuck for too long. A job that never lets
// go would otherwise keep a core busy for ever, in a process that has lost its slot and cannot notice.
import { writeSync } from 'node:fs';
import { setInterval } from 'node:timers/promises';
import { workerData } from 'node:worker_threads';

const { beats, patienceMs } = workerData as { beats: Int32Array; patienceMs: number };
const lookMs = patienceMs / 8;

let seen = -1;
let unchanged = 0;
for await (const _ of setInterval(lookMs)) {
  // Counted in looks, not by the clock: while the whole process is frozen, this thread is too.
  const beat = Atomics.load(beats, 0);
  unchanged = beat === seen ? unchanged + 1 : 0;
  seen = beat;
  if (unchanged < 8) continue;
  writeSync(2, `${JSON.stringify({ level: 60, msg: `stuck for ${patienceMs} ms: ended`, pid: process.pid })}\n`);
  process.kill(process.pid, 'SIGKILL');
}
