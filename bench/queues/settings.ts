// The settings that all workers share, and the settings chosen for each system.

/** The number of jobs that a worker can process concurrently. */
export const concurrency = 256;

/** The number of connections per worker. `runDrillWorker` opens this many, and it is the other systems' default. */
export const connections = 10;

/** The name of the queue, task or workflow. */
export const jobName = 'bench_jobs';

/** The application version to which DBOS binds its workflows. */
export const dbosVersion = 'bench';
