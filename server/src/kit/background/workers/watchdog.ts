// Runs as a second thread, and kills the process when its main thread has been stuck for too long. Otherwise, code that
// never yields would occupy a core forever, in a process that can't notice that it has lost its slot.
import { writeSync } from 'node:fs';
import { setInterval } from 'node:timers/promises';
import { workerData } from 'node:worker_threads';

const { beats, timeoutMs } = workerData as { beats: Int32Array; timeoutMs: number };
const maxMissedBeats = 8;

let lastBeat = -1;
let missedBeats = 0;
for await (const _ of setInterval(timeoutMs / maxMissedBeats)) {
  // Counts intervals instead of reading the clock, because this thread stops too while the whole process is frozen.
  const beat = Atomics.load(beats, 0);
  missedBeats = beat === lastBeat ? missedBeats + 1 : 0;
  lastBeat = beat;
  if (missedBeats < maxMissedBeats) continue;
  const msg = `main thread stuck for ${timeoutMs} ms: process killed`;
  writeSync(2, `${JSON.stringify({ level: 60, msg, pid: process.pid })}\n`);
  process.kill(process.pid, 'SIGKILL');
}
