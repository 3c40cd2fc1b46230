// The fault switches of a server of the sandbox: what goes wrong with which kind of call, and how often.

/**
 * `drop_before`: closes the connection without doing anything. `drop_after`: does what was asked, and closes the connection
 * instead of answering. `delay`: waits before it does what was asked, also if nobody waits any more. `duplicate`: does what was asked
 * twice, as a network that repeats a request, and answers the second. `refuse`: answers an error of the caller.
 * `error_before` and `error_after` answer 500, without and with doing what was asked.
 */
export const faultKinds = [
  'drop_before',
  'drop_after',
  'delay',
  'duplicate',
  'refuse',
  'error_before',
  'error_after',
] as const;
export type FaultKind = (typeof faultKinds)[number];

export interface Fault {
  /** The kind of call, or `*`. */
  readonly call: string;
  readonly fault: FaultKind;
  /** Only calls in this account. */
  readonly customer_id?: string;
  /** How many calls it affects. Default: all, until the faults are cleared. */
  readonly times?: number;
  /** How many calls pass before it begins. */
  readonly after?: number;
  readonly delay_ms?: number;
}

/** A fault in one account. */
export type AccountFault = Omit<Fault, 'customer_id'>;

export interface FaultSwitches {
  /** Replaces all faults. */
  set(faults: readonly Fault[]): void;
  /** Replaces the faults of one account. Those of others, and those of every account, stay as they are. */
  setOf(customerId: string, faults: readonly AccountFault[]): void;
  /** The fault of this call, which is counted. */
  take(call: string, customerId?: string): Fault | undefined;
}

export function createFaultSwitches(): FaultSwitches {
  let switches: FaultSwitch[] = [];
  return {
    set(faults) {
      switches = faults.map(toSwitch);
    },
    setOf(customer_id, faults) {
      const others = switches.filter(({ fault }) => fault.customer_id !== customer_id);
      switches = [...others, ...faults.map((fault) => toSwitch({ ...fault, customer_id }))];
    },
    take(call, customerId) {
      const isMeant = (fault: Fault) =>
        (fault.call === call || fault.call === '*') && (fault.customer_id ?? customerId) === customerId;
      const each = switches.find(({ fault, times }) => times > 0 && isMeant(fault));
      if (each === undefined) return undefined;
      if (each.after > 0) {
        each.after -= 1;
        return undefined;
      }
      each.times -= 1;
      return each.fault;
    },
  };
}

interface FaultSwitch {
  readonly fault: Fault;
  after: number;
  times: number;
}

function toSwitch(fault: Fault): FaultSwitch {
  if (!faultKinds.includes(fault.fault)) throw new Error(`fault must be one of ${faultKinds.join(', ')}`);
  return { fault, after: fault.after ?? 0, times: fault.times ?? Number.POSITIVE_INFINITY };
}
