// The timeouts for tests. Plinth's own tests shorten some of them.

export interface TestTimes {
  /** The maximum time to get a browser after the run has been claimed. */
  readonly browserMs: number;
  /** The maximum time from when the run first has a browser until it ends. */
  readonly runMs: number;
  /** The maximum time in the queue. */
  readonly queueMs: number;
  /** How long cancelExecution waits for the run to end. */
  readonly cancelWaitMs: number;
  /** How long deleteFlow waits for the browser to close, and after what time the browser is killed. */
  readonly deleteWaitMs: number;
  readonly killAfterMs: number;
  /** How long a check may take to become true. */
  readonly checkMs: number;
  /**
   * The interval between lease renewals, and how long a worker may go without a renewal before it closes its own
   * browser.
   */
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
