// A sandbox server's fault switches: which fault affects which kind of call, and how often.

/**
 * `drop_before` closes the connection without processing the request. `drop_after` processes the request and closes the
 * connection instead of responding. `delay` waits before processing the request, even if the client has given up.
 * `duplicate` processes the request twice, as if the network had repeated it, and sends the second response. `refuse`
 * responds with a client error. `error_before` responds with 500 without processing the request, and `error_after`
 * responds with 500 after processing it.
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
  /** The kind of call, or `*` for all kinds. */
  readonly call: string;
  readonly fault: FaultKind;
  /** Limits the fault to calls in this account. */
  readonly customer_id?: string;
  /** The number of calls that the fault affects. By default, it affects all calls until the faults are cleared. */
  readonly times?: number;
  /** The number of calls that succeed before the fault takes effect. */
  readonly after?: number;
  readonly delay_ms?: number;
}

/** A fault that affects one account. */
export type AccountFault = Omit<Fault, 'customer_id'>;

export interface FaultSwitches {
  /** Replaces all faults. */
  set(faults: readonly Fault[]): void;
  /** Replaces one account's faults. All other faults are kept. */
  setOf(customerId: string, faults: readonly AccountFault[]): void;
  /** Returns the fault for this call, if any, and counts its use. */
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
