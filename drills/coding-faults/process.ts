// A process of the drill: the API or a worker as the command line starts it. A worker asks the drill at every boundary of a session
// whether it may go on; the drill kills it there, or answers.
import { flushCompileCache } from 'node:module';
import { serve } from '../../server/src/commands/api.ts';
import { worker } from '../../server/src/commands/worker.ts';
import { readConfig } from '../../server/src/config.ts';
import type { Arrival } from './control.ts';
import type { Boundary } from './scripts.ts';

async function onSessionBoundary(boundary: Boundary, session_id: string): Promise<void> {
  const arrival: Arrival = { pid: process.pid, session_id, boundary };
  await fetch(process.env.DRILL_CONTROL as string, { method: 'POST', body: JSON.stringify(arrival) });
}

flushCompileCache(); // a process that is killed writes nothing for those after it
if (process.argv[2] === 'worker') await worker({ onSessionBoundary });
else await serve(readConfig());
