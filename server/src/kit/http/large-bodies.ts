// Owns how many large bodies are received and worked on at a time: one per owner, and a few in all, because each takes many
// times its size in memory until it is answered. The others are not read yet: they wait with their senders.

export const largeBodyBytes = 256 * 1024;
const maxAtOnce = 4;
const maxWaitingOfOwner = 50;
const maxWaitMs = 15_000;

/** Lets the next one in. A second call does nothing. */
type Leave = () => void;

/** Too many large bodies of the owner wait, or one has waited for too long. Nothing was read. */
export class TooManyLargeBodies extends Error {}

export interface LargeBodies {
  enter(owner: string): Promise<Leave>;
}

export function createLargeBodies(): LargeBodies {
  const inside = new Set<string>();
  /** By owner, in the order of their arrival. The owner who has waited longest for a turn comes first. */
  const waiting = new Map<string, Set<(leave: Leave) => void>>();

  function admit(owner: string): Leave {
    inside.add(owner);
    let hasLeft = false;
    return () => {
      if (hasLeft) return;
      hasLeft = true;
      inside.delete(owner);
      admitNext();
    };
  }

  function admitNext(): void {
    for (const [owner, starts] of waiting) {
      if (inside.size >= maxAtOnce) return;
      if (inside.has(owner)) continue;
      const [start] = starts;
      if (start === undefined) continue;
      stopWaiting(owner, starts, start);
      start(admit(owner));
    }
  }

  function stopWaiting(owner: string, starts: Set<(leave: Leave) => void>, start: (leave: Leave) => void): void {
    starts.delete(start);
    waiting.delete(owner);
    if (starts.size > 0) waiting.set(owner, starts); // behind the other owners
  }

  return {
    async enter(owner) {
      if (inside.size < maxAtOnce && !inside.has(owner)) return admit(owner);
      const starts = waiting.get(owner) ?? new Set();
      if (starts.size >= maxWaitingOfOwner) throw new TooManyLargeBodies();
      waiting.set(owner, starts);
      const { promise, resolve, reject } = Promise.withResolvers<Leave>();
      const start = (leave: Leave) => {
        clearTimeout(timer);
        resolve(leave);
      };
      const timer = setTimeout(() => {
        stopWaiting(owner, starts, start);
        reject(new TooManyLargeBodies());
      }, maxWaitMs);
      starts.add(start);
      return promise;
    },
  };
}
