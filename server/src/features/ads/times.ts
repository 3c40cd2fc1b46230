// The intervals and time limits for ad platform calls. A drill uses shorter ones.

export interface AdsTimes {
  /** The interval between reads while a request's outcome is unknown. */
  readonly reconcileMs: number;
  /** The time limit for a request, counted from when it is recorded as sent. After that, it has ended on our side. */
  readonly requestMs: number;
  /** The number of reads that must find nothing before a request is known to have had no effect. */
  readonly emptyReads: number;
  /** A launch enables its campaign only within this time, because no one expects it to start spending much later. */
  readonly enableWithinMs: number;
  /** The total time that a launch may spend fetching images, while other launches wait their turn. */
  readonly imagesMs: number;
  /** How long a caller waits for a launch or a change to end. */
  readonly callerWaitMs: number;
  /** How long a campaign's status is watched after an unanswered request, which may still arrive. */
  readonly watchMs: number;
  /**
   * The delays before a worker resends a change that was certainly not sent. After the last one, `reconcileMs` applies.
   */
  readonly resendMs: readonly number[];
  /** How long a caller waits for a live read. */
  readonly liveReadMs: number;
  /** How long a caller waits for each of a report's sources. */
  readonly reportMs: number;
  /** How often an account's campaigns are compared with the platform, with and without an enabled campaign. */
  readonly enabledStatusMs: number;
  readonly otherStatusMs: number;
  /** The delay before the next comparison if the platform did not respond. */
  readonly syncRetryMs: number;
  /** How often tracking is verified while a campaign is waiting for it. */
  readonly trackingMs: number;
}

const minute = 60_000;

export const defaultTimes: AdsTimes = {
  reconcileMs: 15_000,
  requestMs: 30_000,
  emptyReads: 3,
  enableWithinMs: 15 * minute,
  imagesMs: 25_000,
  callerWaitMs: 45_000,
  watchMs: minute,
  resendMs: [1_000, 2_000, 4_000],
  liveReadMs: 5_000,
  reportMs: 15_000,
  enabledStatusMs: 15 * minute,
  otherStatusMs: 60 * minute,
  syncRetryMs: minute,
  trackingMs: 15 * minute,
};
