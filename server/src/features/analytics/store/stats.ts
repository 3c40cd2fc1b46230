// The statements that count users. Whole seconds, minutes, hours and days are summed from analytics_user_counts.
// Only users who were last seen in the same second as a limit are examined individually.
import { prepared } from '../../../kit/db/database.ts';
import type { Db } from '../../../tables.ts';
import type { Grain, SplitRange } from '../time-range.ts';

type Values = readonly [
  app_id: string,
  grains: readonly Grain[],
  firsts: readonly number[],
  ends: readonly number[],
  edge_buckets: readonly number[],
  edge_froms: readonly Date[],
  edge_tos: readonly Date[],
];

const sumBuckets = `(select coalesce(sum(c.users), 0) from unnest($2::text[], $3::bigint[], $4::bigint[]) r (grain, first, "end")
   cross join lateral (select sum(users) as users from analytics_user_counts
     where app_id = $1 and grain = r.grain and bucket >= r.first and bucket < r."end") c)`;

const countEdges = (bucket: string, time: string) =>
  `(select coalesce(sum(u.users), 0) from unnest($5::bigint[], $6::timestamptz[], $7::timestamptz[]) e (bucket, "from", "to")
   cross join lateral (select count(*) as users from analytics_users
     where app_id = $1 and ${bucket} = e.bucket and ${time} >= e."from" and ${time} < e."to") u)`;

const countByEvent = prepared<{ users: number }, Values>(
  'count users by last event',
  `select ${sumBuckets} + ${countEdges('event_second', 'last_event_at')} as users`,
);

const countByHeartbeat = prepared<{ users: number }, Values>(
  'count users by last heartbeat',
  `select ${sumBuckets} + ${countEdges('heartbeat_second', 'last_heartbeat_at')} as users`,
);

/** Counts the app's users who were last seen in the range, by an event or by a heartbeat. */
export async function countUsersSeen(
  db: Db,
  app_id: string,
  by: 'event' | 'heartbeat',
  { buckets, edges }: SplitRange,
): Promise<number> {
  const count = by === 'event' ? countByEvent : countByHeartbeat;
  const rows = await count(
    db,
    app_id,
    buckets.map(({ grain }) => grain),
    buckets.map(({ first }) => first),
    buckets.map(({ end }) => end),
    edges.map(({ bucket }) => bucket),
    edges.map(({ from }) => new Date(from)),
    edges.map(({ to }) => new Date(to)),
  );
  return rows[0]?.users ?? 0;
}
