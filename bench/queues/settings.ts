// The settings that all workers share, and the settings chosen for each system.

/** The number of jobs that a worker of another system can process concurrently. */
export const concurrency = 256;

/** As many jobs at once as deliveries, the queue with the highest rate. */
export const plinthSettings = {
  concurrency: 1_024,
  perOwner: 32, // the limit for agent replies, the product's highest
  /** Over all workers, as for deliveries and runs. Used by `plinth_with_limits` only. */
  perKey: 64,
};

/** The other systems are configured for throughput, as they recommend. Of the values tried, these were the fastest. */
export const graphileWorkerSettings = {
  concurrentJobs: concurrency,
  localQueue: { size: 4 * concurrency },
  completeJobBatchDelay: 0,
  failJobBatchDelay: 0,
};
export const pgBossWorkers = 4;
export const pgBossSettings = {
  batchSize: concurrency / pgBossWorkers,
  localConcurrency: pgBossWorkers,
  burstWhenBatchFull: true,
  pollingIntervalSeconds: 0.5,
  notifyPollingIntervalSeconds: 0.5,
};

/** The number of connections per worker. `runDrillWorker` opens this many, and it is the other systems' default. */
export const connections = 10;

/** The name of the queue, task or workflow. */
export const jobName = 'bench_jobs';

/** The application version to which DBOS binds its workflows. */
export const dbosVersion = 'bench';
