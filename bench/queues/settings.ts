// The settings that all workers of this measurement share, and the ones of each that were chosen for it.

/** How many jobs a worker may have in progress at once. */
export const concurrency = 256;

/** How many connections a worker has: what `runDrillWorker` opens, and the default of the others. */
export const connections = 10;

/** The name of the queue, task or workflow. */
export const jobName = 'bench_jobs';

/** The version of the application that DBOS binds its workflows to. */
export const dbosVersion = 'bench';
