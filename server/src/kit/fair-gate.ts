// Owns a gate that lets so many in at a time, and so many of each owner. The others wait; whoever leaves lets in the next,
// and owners take turns, so that the queue of one does not delay another. In a grouped gate, groups of owners take turns too.

/** Lets the next one in. A second call does nothing. */
export type Leave = () => void;

/** Too many of the owner wait, or one has waited for too long. */
export class GateClosed extends Error {}

export interface FairGate {
  /** Returns at once if there is a place, or a promise of one. */
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
  /** By owner, in the order of their arrival. The owner whose turn is next comes first. */
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
    if (starts.size > 0) waiting.set(owner, starts); // behind the other owners
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
 * Groups take turns, and within a group its owners do: a group of many owners waits no less than one of a single owner. One of
 * each group is inside at a time.
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
