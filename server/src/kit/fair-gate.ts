// A gate that limits how many callers are inside at a time, in total and per owner. The others wait. When a caller
// leaves, the next caller enters. Owners take turns, so one owner's queue does not delay the other owners. In a grouped
// gate, groups of owners take turns as well.

/** Leaves the gate and lets the next caller in. A second call does nothing. */
export type Leave = () => void;

/** Thrown when too many of the owner's callers are waiting, or when a caller has waited too long. */
export class GateClosed extends Error {}

export interface FairGate {
  /** Enters immediately if there is a free place. Otherwise, returns a promise that resolves on entering. */
  enter(owner: string): Leave | Promise<Leave>;
}

export interface GateLimits {
  readonly inAll: number;
  readonly perOwner: number;
  readonly maxWaitingOfOwner: number;
  readonly maxWaitMs: number;
}

type Start = (leave: Leave) => void;

export function createFairGate({ inAll, perOwner, maxWaitingOfOwner, maxWaitMs }: GateLimits): FairGate {
  let inside = 0;
  const insideByOwner = new Map<string, number>();
  /** Waiting callers by owner, in order of arrival. The first owner has the next turn. */
  const waiting = new Map<string, Set<Start>>();

  const hasPlace = (owner: string): boolean => inside < inAll && (insideByOwner.get(owner) ?? 0) < perOwner;

  function count(owner: string, by: 1 | -1): void {
    inside += by;
    const ofOwner = (insideByOwner.get(owner) ?? 0) + by;
    if (ofOwner === 0) insideByOwner.delete(owner);
    else insideByOwner.set(owner, ofOwner);
  }

  function letIn(owner: string): Leave {
    count(owner, 1);
    let hasLeft = false;
    return () => {
      if (hasLeft) return;
      hasLeft = true;
      count(owner, -1);
      if (waiting.size > 0) letNextIn();
    };
  }

  function letNextIn(): void {
    for (const [owner, starts] of waiting) {
      if (inside >= inAll) return;
      const [start] = starts;
      if (start === undefined || !hasPlace(owner)) continue;
      stopWaiting(owner, starts, start);
      start(letIn(owner));
    }
  }

  function stopWaiting(owner: string, starts: Set<Start>, start: Start): void {
    starts.delete(start);
    waiting.delete(owner);
    if (starts.size > 0) waiting.set(owner, starts); // moves the owner to the end of the queue
  }

  function wait(owner: string): Promise<Leave> {
    const starts = waiting.get(owner) ?? new Set();
    if (starts.size >= maxWaitingOfOwner) throw new GateClosed();
    waiting.set(owner, starts);
    const { promise, resolve, reject } = Promise.withResolvers<Leave>();
    const start = (leave: Leave) => {
      clearTimeout(timer);
      resolve(leave);
    };
    const timer = setTimeout(() => {
      stopWaiting(owner, starts, start);
      reject(new GateClosed());
    }, maxWaitMs);
    starts.add(start);
    return promise;
  }

  return { enter: (owner) => (hasPlace(owner) ? letIn(owner) : wait(owner)) };
}

export interface GroupedGate {
  enter(group: string, owner: string): Promise<Leave>;
}

/**
 * Groups take turns, and so do the owners within a group, so a group with many owners gets no more turns than a group
 * with one owner. At most one caller per group is inside at a time.
 */
export function createGroupedGate(limits: GateLimits): GroupedGate {
  const groups = createFairGate({ ...limits, perOwner: 1 });
  const gates = new Map<string, { readonly owners: FairGate; present: number }>();

  function come(group: string): FairGate {
    const gate = gates.get(group) ?? { owners: createFairGate({ ...limits, inAll: 1 }), present: 0 };
    gates.set(group, gate);
    gate.present += 1;
    return gate.owners;
  }

  function go(group: string): void {
    const gate = gates.get(group);
    if (gate === undefined) return;
    gate.present -= 1;
    if (gate.present === 0) gates.delete(group);
  }

  return {
    async enter(group, owner) {
      const leaves: Leave[] = [() => go(group)];
      const leave = () => {
        for (const each of leaves.splice(0).reverse()) each();
      };
      try {
        leaves.push(await come(group).enter(owner));
        leaves.push(await groups.enter(group));
        return leave;
      } catch (error) {
        leave();
        throw error;
      }
    },
  };
}
