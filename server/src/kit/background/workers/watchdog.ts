// Runs as a second thread: kills the process when its main thread has been stuck for too long. Work that never yields
// would otherwise keep a core busy for ever, in a process that has lost its slot and cannot notice.
import { writeSync } from 'node:fs';
import { setInterval } from 'node:timers/promises';
import { workerData } from 'node:worker_threads';

const { beats, timeoutMs } = workerData as { beats: Int32Array; timeoutMs: number };
const maxMissedBeats = 8;

let lastBeat = -1;
let missedBeats = 0;
for await (const _ of setInterval(timeoutMs / maxMissedBeats)) {
  // Counted in intervals, not by the clock: while the whole process is frozen, this thread is too.
  const beat = Atomics.load(beats, 0);
  missedBeats = beat === lastBeat ? missedBeats + 1 : 0;
  lastBeat = beat;
  if (missedBeats < maxMissedBeats) continue;
  const msg = `main thread stuck for ${timeoutMs} ms: process killed`;
  writeSync(2, `${JSON.stringify({ level: 60, msg, pid: process.pid })}\n`);
  process.kill(process.pid, 'SIGKILL');
}
