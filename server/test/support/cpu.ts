// Owns measuring how much CPU time work takes, for tests that bound it.

/** The least of three times, because a thread that shares its core with others needs more for the same work. */
export function measureLeastCpuMs(work: () => unknown): number {
  const times = Array.from({ length: 3 }, () => {
    const startedAt = process.threadCpuUsage();
    work();
    const { user, system } = process.threadCpuUsage(startedAt);
    return (user + system) / 1_000;
  });
  return Math.min(...times);
}
