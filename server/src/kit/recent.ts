// Helpers that avoid repeated work, by sharing a costly read's result between callers and by throttling reports.

/**
 * Returns a function that returns the result of a `read` started at most `maxAgeMs` ago. Only one read runs at a time,
 * and concurrent callers share it. Failed reads are not kept. Results that are not `isGood` are kept for at most 5
 * seconds.
 */
export function shareRecent<Result>(
  maxAgeMs: number,
  read: () => Promise<Result>,
  isGood: (result: Result) => boolean = () => true,
): () => Promise<Result> {
  let reading: Promise<Result> | undefined;
  let isRunning = false;
  let startedAt = 0;
  let keptMs = maxAgeMs;
  return () => {
    if (reading !== undefined && (isRunning || performance.now() - startedAt < keptMs)) return reading;
    startedAt = performance.now();
    isRunning = true;
    const latest = read();
    reading = latest;
    latest.then(
      (result) => {
        isRunning = false;
        keptMs = isGood(result) ? maxAgeMs : Math.min(maxAgeMs, 5_000);
      },
      () => {
        isRunning = false;
        reading = undefined;
      },
    );
    return latest;
  };
}

/** Calls `report` at most once per interval. Other calls do nothing. */
export function atMostOncePer<Args extends readonly unknown[]>(ms: number, report: (...args: Args) => void) {
  let reportedAt = -ms;
  return (...args: Args): void => {
    const now = performance.now();
    if (now - reportedAt < ms) return;
    reportedAt = now;
    report(...args);
  };
}
