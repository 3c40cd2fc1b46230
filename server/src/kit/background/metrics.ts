// The background work metrics: how much work is due, how old it is, how much has failed, and which slots are held.
// They are read from the database, so any process can serve them.
import { sql } from 'kysely';
import { type AnyDb, prepared, readWithTimeLimit } from '../db/database.ts';
import { oldestWaitingEvent } from './events/dispatch.ts';
import { type Queue, type QueueDepth, readQueueDepth } from './queues/queue.ts';
import { readEach, readLimitMs } from './queues/read-each.ts';
import { defaultLeaseMs } from './workers/slots.ts';

export interface QueueMetrics extends QueueDepth {
  readonly queue: string;
}

export interface BackgroundMetrics {
  /** One entry per queue table, and one named `events` for events that have not yet been dispatched. */
  readonly queues: readonly QueueMetrics[];
  /** The queues that could not be read in time, and are missing in `queues`. */
  readonly unreadable: readonly string[];
  readonly slots: readonly { state: 'held' | 'silent' | 'free' }[];
}

/** Fails if the database can't be reached. */
export async function queueMetrics(db: AnyDb, queues: readonly Pick<Queue, 'name'>[]): Promise<BackgroundMetrics> {
  const names = ['events', ...queues.map(({ name }) => name)];
  const depths = await readEach(db, names, async (db, name) =>
    name === 'events' ? readEventMetrics(db) : { queue: name, ...(await readQueueDepth(db, { name })) },
  );
  return {
    queues: depths.filter((depth) => depth !== undefined),
    unreadable: names.filter((_, n) => depths[n] === undefined),
    slots: await readSlotMetrics(db),
  };
}

async function readEventMetrics(db: AnyDb): Promise<QueueMetrics> {
  const { rows } = await sql<QueueMetrics>`/* service */ select 'events' as queue, count(*)::int as due, 0 as running,
      count(*) filter (where failures > 0)::int as failed,
      coalesce(extract(epoch from clock_timestamp() - min(occurred_at) filter (where failures = 0)), 0)::float
        as "oldestSeconds"
    from events where dispatched_at is null and retry_at is null
      or dispatched_at is null and retry_at is not null`.execute(db); // each condition has its own index
  return rows[0] as QueueMetrics;
}

async function readSlotMetrics(db: AnyDb): Promise<BackgroundMetrics['slots']> {
  const { rows } = await sql<BackgroundMetrics['slots'][number]>`select
      case when recovered_epoch = epoch then 'free'
        when heartbeat_at < clock_timestamp() - ${defaultLeaseMs} * interval '1 ms' then 'silent'
        else 'held' end as state
    from worker_slots where epoch > 0`.execute(db);
  return rows;
}

const readWorkerSeen = prepared<{ is_seen: boolean }, []>(
  'read whether a worker was seen',
  `select exists (select from worker_slots where heartbeat_at > clock_timestamp() - interval '30 seconds') as is_seen`,
);

/**
 * Whether a worker has sent a heartbeat in the last 30 seconds. A running worker always has, because it sends a
 * heartbeat every few seconds.
 */
export const isWorkerSeen = async (db: AnyDb): Promise<boolean> => (await readWorkerSeen(db))[0]?.is_seen === true;

/**
 * Returns how long the oldest due work has waited. The cost depends on the number of workspaces with waiting events, not
 * on the number of events. Fails if the work can't be read within a second.
 */
export async function readQueueLag(db: AnyDb, queues: readonly Pick<Queue, 'name'>[]): Promise<number> {
  const oldest = [
    sql.raw(oldestWaitingEvent),
    ...queues.map(
      ({ name }) => sql`(select due_at from ${sql.table(name)} where claimed_slot is null
        and due_at <= statement_timestamp() order by due_at limit 1)`,
    ),
  ];
  const query = sql<{ seconds: number }>`/* service */ select
      coalesce(extract(epoch from statement_timestamp() - least(${sql.join(oldest)})), 0)::float as seconds`;
  const rows = await readWithTimeLimit(db, readLimitMs, query.compile(db));
  return rows[0]?.seconds ?? 0;
}

const readHeartbeat = prepared<{ heartbeat_at: Date | null }, []>(
  'read the latest heartbeat',
  'select max(heartbeat_at) as heartbeat_at from worker_slots',
);

/** Returns the latest heartbeat of any worker, or null if none has run yet. */
export const readLatestHeartbeat = async (db: AnyDb): Promise<Date | null> =>
  (await readHeartbeat(db))[0]?.heartbeat_at ?? null;
