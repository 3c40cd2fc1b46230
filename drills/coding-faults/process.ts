// A process in the drill: the API or a worker, as the command line starts it. At every session boundary, a worker calls
// the drill, which kills it there or lets it continue.
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

flushCompileCache(); // now, because a killed process cannot write the cache
if (process.argv[2] === 'worker') await worker({ onSessionBoundary });
else await serve(readConfig());
