// Owns what a way of attacking is made of.
import type { HostileWorkspace } from './seed.ts';

/** With whose credentials. Anonymous callers come from many addresses. */
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
 * What a connection does:
 * - `requests`: sends a request, reads the answer, sends the next
 * - `pipelined`: the same with 16 requests at a time
 * - `slow body`: sends the head of a request, then a byte of its body per second
 * - `slow reader`: sends a request and reads a byte of the answer per second
 * - `idle`: sends nothing
 * - `held`: sends a request and keeps the connection open, whatever is answered
 */
export type Manner = 'requests' | 'pipelined' | 'slow body' | 'slow reader' | 'idle' | 'held';

export interface Way {
  readonly name: string;
  readonly by: Attacker;
  readonly manner: Manner;
  readonly connections: number;
  /** At least one of these outcomes is observed, or the way has missed its target: a status, or `open`. */
  readonly reaches: readonly string[];
  /** Also in a quick run. */
  readonly quick?: true;
  request(workspace: HostileWorkspace, n: number): HostileRequest;
}

/** The nth of a list, beginning again at its end. */
export function pick<Item>(items: readonly Item[], n: number): Item {
  const item = items[n % items.length];
  if (item === undefined) throw new Error('nothing to pick from');
  return item;
}
