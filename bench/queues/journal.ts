// The record that a worker keeps outside any database: which jobs it started, when, and how often. Every worker's
// job consists of calling `recordStart`. The measurement requests the journal over the process's channel.

export type Order =
  /** Clears the recorded starts, and expects the jobs with these numbers. */
  | { readonly kind: 'expect'; readonly first: number; readonly count: number }
  | { readonly kind: 'read' }
  /** Resumes or pauses the worker, while its process keeps running. */
  | { readonly kind: 'resume' }
  | { readonly kind: 'pause' };

export type Answer = { readonly kind: 'done' } | { readonly kind: 'all started' } | Journal;

export interface Journal {
  readonly kind: 'journal';
  /** The number of expected jobs that have been started. */
  readonly started: number;
  /** The number of times that a job was started again. */
  readonly repeated: number;
  /** The number of times that an unexpected job was started. */
  readonly unexpected: number;
  /** Each expected job's first start time, in milliseconds since 1970, ordered by job number. */
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
    /** Handles orders. Must be called once the worker is ready. */
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
