// The settings for PostgreSQL, the workers that share it, and Redis.
import { parseQueueChoice } from '../kit/background/workers/queue-choice.ts';
import { optional, setting, text, url, wholeNumber } from './setting.ts';

export const databaseSettings = {
  DATABASE_URL: setting(
    'PostgreSQL 15 or newer. The only system of record.',
    'postgres://postgres@127.0.0.1:5432/plinth',
    url('postgres:', 'postgresql:'),
  ),
  MIGRATE_DATABASE_URL: optional(
    'The same database with the role that owns its tables, for `plinth migrate` only. The role of `DATABASE_URL` is then granted what it needs and no more: docs/operate/install.md#two-database-roles. If unset, `plinth migrate` uses `DATABASE_URL`.',
    url('postgres:', 'postgresql:'),
  ),
  DATABASE_POOL_SIZE: setting(
    'Maximum number of PostgreSQL connections per process. An API process opens four more: two for lookups, and two for sign-in and health checks. A worker opens one more, for its slot.',
    '16',
    wholeNumber(1, 500),
  ),
  WORKER_SLOTS: setting(
    'How many workers run at the same time; must be the same for all. Additional workers wait and take over when one exits.',
    '32',
    wholeNumber(1, 1_000),
  ),
  WORKER_QUEUES: setting(
    'The queues that a worker runs: `all`, names separated by commas (only these), or names that each begin with a minus (all except these). Some worker must run each queue: docs/operate/install.md#workers-for-files-of-strangers.',
    'all',
    parseQueueChoice,
  ),
  WORKER_METRICS_PORT: optional(
    'Port on which a worker serves `GET /metrics` (requires `METRICS_TOKEN`) and `GET /healthz`. If unset, it listens on no port.',
    wholeNumber(0, 65_535),
  ),
  REDIS_URL: setting(
    'Redis 7 or Valkey 8, for rate limits, sign-in throttling and wake-ups. It holds no data that must survive a restart.',
    'redis://127.0.0.1:6379',
    url('redis:', 'rediss:'),
  ),
  REDIS_PREFIX: setting('Prefix of every Redis key, so installations can share a server.', 'plinth:', text),
};
