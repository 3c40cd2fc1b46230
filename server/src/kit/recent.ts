// Owns doing things less often: sharing the result of a costly read between callers, and not repeating a report.

/**
 * Returns the result of a `read` that began at most `maxAgeMs` ago. One read runs at a time, and whoever asks meanwhile waits
 * for it. A read that failed is not kept.
 */
export function shareRecent<Result>(maxAgeMs: number, read: () => Promise<Result>): () => Promise<Result> {
  let reading: Promise<Result> | undefined;
  let isRunning = false;
  let startedAt = 0;
  return () => {
    if (reading !== undefined && (isRunning || performance.now() - startedAt < maxAgeMs)) return reading;
    startedAt = performance.now();
    isRunning = true;
    const latest = read();
    reading = latest;
    latest.then(
      () => {
        isRunning = false;
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
