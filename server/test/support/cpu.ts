// Measures CPU time, for tests that limit it.

/**
 * Returns the lowest of three times, because a thread that shares its core with others needs more time for the same
 * work.
 */
export function measureLeastCpuMs(work: () => unknown): number {
  const times = Array.from({ length: 3 }, () => {
    const startedAt = process.threadCpuUsage();
    work();
    const { user, system } = process.threadCpuUsage(startedAt);
    return (user + system) / 1_000;
  });
  return Math.min(...times);
}
