// What the soak's workers and the soak itself share.
export const table = 'soak_jobs';
export const redisUrl = 'redis://127.0.0.1:6379';

/** Over all workers. */
export const limits = { perOwner: 4, perKey: 10 };
