// Which queues a worker runs (`WORKER_QUEUES`), so work that needs other rights or another machine can have workers of
// its own.
import type { Queue } from '../queues/queue.ts';

export interface QueueChoice {
  readonly names: readonly string[];
  /** Whether the worker runs all queues except these. */
  readonly isExcept: boolean;
}

/** Parses `a,b` (only these queues), `-a,-b` (all except these), and `all`. */
export function parseQueueChoice(value: string): QueueChoice {
  const words = value.split(',').map((word) => word.trim());
  if (value === 'all') return { names: [], isExcept: true };
  const isExcept = words.every((word) => word.startsWith('-'));
  const names = words.map((word) => (isExcept ? word.slice(1) : word));
  if (names.some((name) => !/^[a-z_]+$/.test(name)))
    throw new Error('must be `all`, names of queues, or names that each begin with a minus');
  return { names, isExcept };
}

/** Returns the chosen queues, and the names that no queue has. */
export function chooseQueues(
  queues: readonly Queue[],
  { names, isExcept }: QueueChoice,
): { readonly chosen: Queue[]; readonly unknown: string[] } {
  const known = new Set(queues.map(({ name }) => name));
  return {
    chosen: queues.filter(({ name }) => names.includes(name) !== isExcept),
    unknown: names.filter((name) => !known.has(name)),
  };
}
