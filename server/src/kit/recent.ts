// Owns doing things less often: sharing the result of a costly read between callers, and not repeating a report.

/**
 * Returns the result of a `read` that began at most `maxAgeMs` ago. One read runs at a time, and whoever asks meanwhile waits
 * for it. A read that failed is not kept, and a result that is not `isGood` for at most 5 seconds.
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

/** Calls `report` at most once in this time. Other calls do nothing. */
export function atMostOncePer<Args extends readonly unknown[]>(ms: number, report: (...args: Args) => void) {
  let reportedAt = -ms;
  return (...args: Args): void => {
    const now = performance.now();
    if (now - reportedAt < ms) return;
    reportedAt = now;
    report(...args);
  };
}
