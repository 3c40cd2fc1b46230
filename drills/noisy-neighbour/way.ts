// The definition of an attack, called a way.
import type { HostileWorkspace } from './seed.ts';

/** The kind of credential that the attacker uses. Anonymous callers come from many addresses. */
export type Attacker = 'member' | 'admin' | 'app user' | 'anonymous';

export interface HostileRequest {
  readonly method: string;
  readonly path: string;
  readonly body?: Buffer | string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Replaces the attacker's own credential. */
  readonly token?: string;
}

/**
 * A connection's behaviour:
 * - `requests`: sends a request, reads the response, and sends the next request
 * - `pipelined`: sends and reads 16 requests at a time
 * - `slow body`: sends a request's head, then one byte of its body per second
 * - `slow reader`: sends requests and reads one byte of the responses per second
 * - `idle`: sends nothing
 * - `held`: sends a request and keeps the connection open, regardless of the response
 */
export type Manner = 'requests' | 'pipelined' | 'slow body' | 'slow reader' | 'idle' | 'held';

export interface Way {
  readonly name: string;
  readonly by: Attacker;
  readonly manner: Manner;
  readonly connections: number;
  /** The number of addresses that anonymous callers use. Defaults to 200. */
  readonly addresses?: number;
  /** The outcomes (a status, or `open`) of which at least one must occur. Otherwise the attack missed its target. */
  readonly reaches: readonly string[];
  /** Whether the attack is included in a quick run. */
  readonly quick?: true;
  request(workspace: HostileWorkspace, n: number): HostileRequest;
}

/** Returns the list's nth item, starting over at the end. */
export function pick<Item>(items: readonly Item[], n: number): Item {
  const item = items[n % items.length];
  if (item === undefined) throw new Error('nothing to pick from');
  return item;
}
