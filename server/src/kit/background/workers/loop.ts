// Owns a loop in a worker: turn after turn, with a rest between, until it is stopped.
import type { WakeableSleep } from './wake.ts';

export interface Loop {
  /** Lets the turn under way end. */
  stop(): Promise<void>;
}

/** `turn` gives how long there is nothing to do, and must not throw. */
export function runLoop(rest: WakeableSleep, turn: () => Promise<number>): Loop {
  const stopping = new AbortController();
  const loop = async () => {
    while (!stopping.signal.aborted) {
      const idleMs = await turn();
      if (idleMs > 0) await rest.sleep(idleMs, stopping.signal);
    }
  };
  const looping = loop();
  return {
    async stop() {
      stopping.abort();
      await looping;
    },
  };
}
