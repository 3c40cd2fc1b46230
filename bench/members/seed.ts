// The members list's workspaces, inserted in bulk and identical in every run. During the insertion, triggers are
// disabled and indexes are dropped. The rows are the same as those that the triggers would have written.
import type pg from 'pg';

export interface Crowd {
  readonly size: number;
  readonly workspace_id: string;
  readonly owner_id: string;
}

const idOf = (kind: string, crowd: number) => `0190000${kind}-0000-7000-8000-${String(crowd).padStart(12, '0')}`;

const isOfWords = (index: string) => index.startsWith('member_words');

async function buildIndexes(client: pg.Client, indexes: readonly { text: string }[]): Promise<void> {
  await client.query("set maintenance_work_mem = '1GB'");
  for (const { text } of indexes) await client.query(text);
}

export async function seedCrowds(client: pg.Client, beside: pg.Client, sizes: readonly number[]): Promise<Crowd[]> {
  await client.query('set session_replication_role = replica; set synchronous_commit = off');
  await client.query(syllables);
  const { rows } = await client.query<{ name: string; text: string }>(
    `select c.relname as name, pg_get_indexdef(i.indexrelid) as text from pg_index i join pg_class c on c.oid = i.indexrelid
     where i.indrelid in ('member_directory'::regclass, 'member_words'::regclass) and not i.indisprimary`,
  );
  for (const { name } of rows) await client.query(`drop index ${name}`);
  const crowds = [];
  for (const [nth, size] of sizes.entries()) crowds.push(await seed(client, nth, size));
  // The word index takes as long to build as all other indexes combined, so it is built in parallel with them.
  const [others, words] = [rows.filter(({ name }) => !isOfWords(name)), rows.filter(({ name }) => isOfWords(name))];
  await Promise.all([buildIndexes(client, others), buildIndexes(beside, words)]);
  await client.query('drop function syllable; set session_replication_role = default');
  for (const table of ['users', 'memberships', 'member_directory', 'member_words', 'member_tallies'])
    await client.query(`vacuum analyze ${table}`);
  return crowds;
}

const syllables = `
  create function syllable(n bigint) returns text language sql immutable as $$
    select (array['an','bel','cor','dra','el','fin','gor','hal','is','jen','kos','lum','mar','nov','os','pet','qui','ras',
      'sol','tam','ul','ver','wil','xan','yor','zet','bri','cle','dun','fer'])[1 + (n % 30)::integer] $$`;

async function seed(client: pg.Client, nth: number, size: number): Promise<Crowd> {
  const workspace_id = idOf('1', nth);
  await client.query(
    `insert into workspaces (id, name, plan, rate_multiplier, created_date, updated_date)
     values ($1, 'Crowd', 'enterprise', 1000, now(), now())`,
    [workspace_id],
  );
  // Roles: one owner, 1 % admins, then mostly editors and viewers. A tenth of the members have spent credits this
  // month.
  await client.query(
    `insert into users (id, email, full_name, created_date, updated_date)
     select (substr(md5('m' || $1 || n), 1, 8) || '-' || lpad(to_hex($1::integer), 4, '0') || '-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid,
       first || '.' || last || '.t' || lpad((n % 300)::text, 3, '0') || '.u' || lpad((n % 20000)::text, 5, '0') || '.' || n / 20000 || '.' || $1
         || '@m.example.com',
       case when n % 10 = 0 then '' else initcap(first) || ' ' || initcap(last) end, now(), now()
     from (select n, syllable(h1) || syllable(h1 / 30) as first, syllable(h2) || syllable(h2 / 30) as last
       from (select n, abs(hashint8(n)::bigint) as h1, abs(hashint8(n + 7777777)::bigint) as h2
         from generate_series(1, $2::integer) n) hashes) names`,
    [nth, size],
  );
  await client.query(
    `insert into memberships (workspace_id, user_id, role, created_date, updated_date)
     select $1, id, case when n = 1 then 'owner' when n % 100 = 1 then 'admin' when n % 10 < 5 then 'editor'
         when n % 10 < 9 then 'viewer' else 'guest' end, now(), now()
     from (select id, substr(split_part(email, '.', 4), 2)::integer + 20000 * split_part(email, '.', 5)::integer as n from users where email like '%.' || $2 || '@m.example.com') people`,
    [workspace_id, nth],
  );
  await client.query(
    `insert into member_directory (workspace_id, id, joined, role, access_state, assigned_via, email, full_name, apps_owned,
       agents_owned, even_credits, even_month, odd_credits, odd_month, last_active)
     select e.workspace_id, e.id, e.joined, e.role, e.access_state, e.assigned_via, e.email, e.full_name,
       case when n % 4 = 0 then n % 13 else 0 end, case when n % 5 = 0 then n % 7 else 0 end,
       spent * (1 - month_of(now()) % 2), month_of(now()), spent * (month_of(now()) % 2), month_of(now()),
       case when spent > 0 then now() - make_interval(mins => n % 40000) end
     from (select *, case when n % 10 = 3 then (n % 5000) / 10.0 else 0 end as spent
       from (select *, substr(split_part(email, '.', 4), 2)::integer + 20000 * split_part(email, '.', 5)::integer as n from entries_of_directory where workspace_id = $1) numbered) e`,
    [workspace_id],
  );
  await client.query(
    `insert into member_words select workspace_id, id, place, fold_case(email), fold_case(full_name) from member_directory where workspace_id = $1`,
    [workspace_id],
  );
  await client.query(
    `insert into member_tallies select workspace_id, place, count(*) from member_directory where workspace_id = $1 group by 1, 2`,
    [workspace_id],
  );
  const { rows } = await client.query<{ user_id: string }>(
    "select user_id from memberships where workspace_id = $1 and role = 'owner'",
    [workspace_id],
  );
  return { size, workspace_id, owner_id: rows[0]?.user_id as string };
}
