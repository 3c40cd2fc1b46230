// Owns how long tests wait for what. Tests of Plinth itself shorten some of it.

export interface TestTimes {
  /** For a browser, once a worker has claimed the run. */
  readonly browserMs: number;
  /** From the first browser to the end. */
  readonly runMs: number;
  /** In the queue. */
  readonly queueMs: number;
  /** How long cancelExecution waits for the end. */
  readonly cancelWaitMs: number;
  /** How long deleteFlow waits for the browser to be closed, and after which time it is killed. */
  readonly deleteWaitMs: number;
  readonly killAfterMs: number;
  /** How long a check may take to hold. */
  readonly checkMs: number;
  /** Between two renewals of a lease, and after which silence the worker closes its browser itself. */
  readonly renewMs: number;
  readonly silenceMs: number;
}

export const usualTimes: TestTimes = {
  browserMs: 2 * 60_000,
  runMs: 15 * 60_000,
  queueMs: 60 * 60_000,
  cancelWaitMs: 5_000,
  deleteWaitMs: 15_000,
  killAfterMs: 10_000,
  checkMs: 5_000,
  renewMs: 10_000,
  silenceMs: 25_000,
};
