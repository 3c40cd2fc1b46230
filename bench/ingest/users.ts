// An app that already has many users, last seen at random times in the last 60 days, most of them recently.
import pg from 'pg';

const chunk = 250_000;

export async function seedUsers(url: string, app_id: string, users: number, progress: (line: string) => void) {
  const client = new pg.Client(url);
  await client.connect();
  await client.query('set session_replication_role = replica'); // no triggers: the users are counted below
  for (let first = 0; first < users; first += chunk) {
    await client.query(
      `insert into analytics_users (app_id, user_id, last_event_at, last_heartbeat_at)
       select $1, 'user-' || n, date_trunc('milliseconds', now() - power(random(), 3) * interval '60 days'), null
       from generate_series($2::integer, $3::integer) n`,
      [app_id, first, Math.min(users, first + chunk) - 1],
    );
    if (first % (chunk * 8) === 0) progress(`${first + chunk} of ${users} users`);
  }
  await client.query(
    `insert into analytics_user_counts (app_id, grain, bucket, users)
     select $1, grain, bucket, sum(users) from (
       select event_second, count(*) as users from analytics_users where app_id = $1 group by 1) m
     cross join lateral (values ('second', event_second), ('minute', event_second / 60), ('hour', event_second / 3600),
       ('day', event_second / 86400)) g (grain, bucket)
     group by 2, 3`,
    [app_id],
  );
  await client.query('vacuum analyze analytics_users');
  await client.query('vacuum analyze analytics_user_counts');
  await client.end();
}
