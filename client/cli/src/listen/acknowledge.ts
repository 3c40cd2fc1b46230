// Acknowledges deliveries to the server, at most once a second. What counts is the number that is stored on this machine:
// an acknowledgement that fails is made up for by the next one.

export interface Acknowledger {
  /** All deliveries up to this number have been received. */
  note(sequence: number): void;
  /** Acknowledges what has not been, before the program ends. */
  flush(): Promise<void>;
}

const everyMs = 1000;

export function createAcknowledger(ack: (sequence: number) => PromiseLike<unknown>): Acknowledger {
  let received = 0;
  let acknowledged = 0;
  let timer: NodeJS.Timeout | undefined;
  async function flush(): Promise<void> {
    clearTimeout(timer);
    timer = undefined;
    const upTo = received;
    if (upTo === acknowledged) return;
    try {
      await ack(upTo);
      acknowledged = Math.max(acknowledged, upTo);
    } catch {
      // The stream, which is open meanwhile, says why.
    }
  }
  return {
    note(sequence) {
      received = sequence;
      timer ??= setTimeout(() => void flush(), everyMs);
    },
    flush,
  };
}
