// Owns what a worker of this measurement records outside of any database: which jobs it started, when, and how often. Every worker
// calls `recordStart` as the work of a job. The measurement asks for the journal over the channel to the process.

export type Order =
  /** Forget what was recorded, and expect the jobs with these numbers. */
  | { readonly kind: 'expect'; readonly first: number; readonly count: number }
  | { readonly kind: 'read' }
  /** Work, or stop working, while the process stays. */
  | { readonly kind: 'resume' }
  | { readonly kind: 'pause' };

export type Answer = { readonly kind: 'done' } | { readonly kind: 'all started' } | Journal;

export interface Journal {
  readonly kind: 'journal';
  /** How many of the expected jobs were started. */
  readonly started: number;
  /** How many starts were of a job that had been started before. */
  readonly repeated: number;
  /** How many starts were of a job that was not expected. */
  readonly unexpected: number;
  /** When each expected job was first started, in milliseconds since 1970; in the order of their numbers. */
  readonly startedAt: readonly number[];
}

export interface Pausing {
  resume(): Promise<unknown>;
  pause(): Promise<unknown>;
}

export const clockMs = (): number => performance.timeOrigin + performance.now();

export function openJournal() {
  let first = 0;
  let startedAt = new Float64Array(0);
  let started = 0;
  let repeated = 0;
  let unexpected = 0;
  const send = (answer: Answer) => process.send?.(answer);
  process.on('disconnect', () => process.exit(0)); // the measurement has ended
  return {
    recordStart(number: number): void {
      const index = number - first;
      if (startedAt[index] === undefined) unexpected += 1;
      else if (startedAt[index] > 0) repeated += 1;
      else {
        startedAt[index] = clockMs();
        started += 1;
        if (started === startedAt.length) send({ kind: 'all started' });
      }
    },
    /** Follows orders. Call it once the worker is ready. */
    serve(worker?: Pausing): void {
      process.on('message', async (order: Order) => {
        if (order.kind === 'read')
          return send({ kind: 'journal', started, repeated, unexpected, startedAt: [...startedAt] });
        if (order.kind === 'expect') {
          first = order.first;
          startedAt = new Float64Array(order.count);
          started = repeated = unexpected = 0;
        } else await worker?.[order.kind]();
        send({ kind: 'done' });
      });
      send({ kind: 'done' });
    },
  };
}
