// A worker's loops: each calls a function repeatedly, with sleeps in between, until it is stopped.
import type { WakeableSleep } from './wake.ts';

export interface Loop {
  /** Stops the loop and waits for any call in progress. */
  stop(): Promise<void>;
}

/** `runOnce` returns how long to sleep before the next call. It must not throw. */
export function runLoop(idle: WakeableSleep, runOnce: () => Promise<number>): Loop {
  const stopping = new AbortController();
  const loop = async () => {
    while (!stopping.signal.aborted) {
      const idleMs = await runOnce();
      if (idleMs > 0) await idle.sleep(idleMs, stopping.signal);
    }
  };
  const finished = loop();
  return {
    async stop() {
      stopping.abort();
      await finished;
    },
  };
}
