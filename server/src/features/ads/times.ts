// Owns how long advertising waits for the ad platform, and how often it asks. A drill runs with shorter times.

export interface AdsTimes {
  /** How often the platform is read while the outcome of a request is not known. */
  readonly reconcileMs: number;
  /** A request is not sent later than this after it was recorded as sent, and has ended here by then. */
  readonly requestMs: number;
  /** After how many reads that find nothing a request is known to have had no effect. */
  readonly emptyReads: number;
  /** A campaign is enabled only within this time of the launch: nobody expects it to begin to spend much later. */
  readonly enableWithinMs: number;
  /** How long a launch fetches its images, all of them together: others wait for their turn meanwhile. */
  readonly imagesMs: number;
  /** How long a caller waits for the end of a launch or a change. */
  readonly callerWaitMs: number;
  /** How long the status of a campaign is compared after a request without an answer, which may still arrive. */
  readonly watchMs: number;
  /** How long a worker waits before it sends a change again that was certainly not sent; then `reconcileMs`. */
  readonly resendMs: readonly number[];
  /** How long a caller waits for a live read. */
  readonly liveReadMs: number;
  /** How long a caller waits for each source of a report. */
  readonly reportMs: number;
  /** How often the campaigns of an account are compared with the platform: if one is enabled, and otherwise. */
  readonly enabledStatusMs: number;
  readonly otherStatusMs: number;
  /** How soon they are compared again if the platform did not answer. */
  readonly syncRetryMs: number;
  /** How often tracking is verified while a campaign waits for it. */
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
