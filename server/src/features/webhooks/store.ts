// Owns the queries over webhooks, the bodies they are told, and their deliveries.
import { type RawBuilder, type Selectable, sql } from 'kysely';
import type { AppAccess } from '../../core/auth/proofs.ts';
import { prepared } from '../../kit/db/database.ts';
import type { Position } from '../../kit/http/cursor.ts';
import { idOrNull, minIdAt } from '../../kit/ids.ts';
import type { Db, Tables } from '../../tables.ts';
import {
  type DeliveryQuery,
  type DeliveryRow,
  type Replay,
  type Scope,
  type WebhookRow,
  webhookEvents,
} from './contract.ts';
import type { HealthUpdate } from './health.ts';

type Place = Pick<WebhookRow, 'workspace_id' | 'id'>;

// ---- webhooks

const webhooks = (db: Db, { app }: AppAccess, scope: Scope) =>
  db
    .selectFrom('webhooks')
    .where('workspace_id', '=', app.workspace_id)
    .where('app_id', '=', app.id)
    .where('scope', '=', scope)
    .selectAll()
    .$castTo<WebhookRow>();

export const listWebhooks = (db: Db, access: AppAccess, scope: Scope) =>
  webhooks(db, access, scope).orderBy('id', 'desc').execute();

export const findWebhook = (db: Db, access: AppAccess, scope: Scope, id: string) =>
  webhooks(db, access, scope).where('id', '=', idOrNull(id)).executeTakeFirst();

export async function insertWebhook(db: Db, row: WebhookRow): Promise<void> {
  await db
    .insertInto('webhooks')
    .values({ ...row, last_error: null })
    .execute();
  await db.insertInto('webhook_sequences').values({ workspace_id: row.workspace_id, webhook_id: row.id }).execute();
}

const rowOf = (db: Db, { workspace_id, id }: Place) =>
  db.selectFrom('webhooks').where('workspace_id', '=', workspace_id).where('id', '=', id);

/** Held until the transaction ends: whoever changes it, or notes an attempt, waits. */
export const holdWebhook = (db: Db, webhook: Place) =>
  rowOf(db, webhook).selectAll().forNoKeyUpdate().$castTo<WebhookRow>().executeTakeFirst();

type Change = Partial<Omit<WebhookRow, 'workspace_id' | 'id' | 'app_id' | 'scope' | 'created_date' | 'last_error'>>;

export const saveWebhook = (db: Db, { workspace_id, id }: Place, change: Change) =>
  db
    .updateTable('webhooks')
    .set(change)
    .where('workspace_id', '=', workspace_id)
    .where('id', '=', id)
    .returningAll()
    .$castTo<WebhookRow>()
    .executeTakeFirstOrThrow();

export async function removeWebhook(db: Db, { workspace_id, id }: Place): Promise<void> {
  await db.deleteFrom('webhooks').where('workspace_id', '=', workspace_id).where('id', '=', id).execute();
}

// ---- from events to deliveries

export type Subscriber = Pick<
  WebhookRow,
  'workspace_id' | 'id' | 'app_id' | 'events' | 'entity_names' | 'target_url' | 'disabled_at' | 'created_date'
>;

const subscribed = prepared<Subscriber, [readonly string[]]>(
  'list subscribed webhooks',
  `/* service */ select workspace_id, id, app_id, events, entity_names, target_url, disabled_at, created_date
   from webhooks where app_id = any($1::uuid[]) order by app_id, id`,
);

export const listSubscribed = (db: Db, app_ids: readonly string[]): Promise<Subscriber[]> => subscribed(db, app_ids);

const takeNumbers = prepared<{ webhook_id: string; first: number }, [readonly string[], readonly number[]]>(
  'take sequence numbers',
  `/* service */ update webhook_sequences s set last_sequence = s.last_sequence + taken.count
   from unnest($1::uuid[], $2::int[]) taken(webhook_id, count) where s.webhook_id = taken.webhook_id
   returning s.webhook_id, s.last_sequence - taken.count + 1 as first`,
);

/** The first number of each webhook's deliveries in this batch. One dispatcher at a time: nobody else takes any. */
export async function takeSequences(db: Db, wanted: ReadonlyMap<string, readonly unknown[]>) {
  const counts = [...wanted.values()].map((pairs) => pairs.length);
  const rows = await takeNumbers(db, [...wanted.keys()], counts);
  return new Map(rows.map((row) => [row.webhook_id, row.first]));
}

const insertBodyRows = prepared<object, [readonly string[], readonly string[], readonly string[]]>(
  'insert webhook bodies',
  `insert into webhook_bodies (workspace_id, event_id, body)
   select * from unnest($1::uuid[], $2::uuid[], $3::text[])`,
);

export const insertBodies = (
  db: Db,
  bodies: readonly { readonly workspace_id: string; readonly event_id: string; readonly body: string }[],
) =>
  insertBodyRows(
    db,
    bodies.map((row) => row.workspace_id),
    bodies.map((row) => row.event_id),
    bodies.map((row) => row.body),
  );

export interface NewDelivery {
  readonly id: string;
  readonly webhook: Subscriber;
  readonly event: { readonly id: string; readonly name: string };
  readonly sequence: number;
  readonly concurrency_key: string;
}

const insertDeliveryRows = prepared<object, [Date, string]>(
  'insert webhook deliveries',
  `insert into webhook_deliveries
     (id, workspace_id, webhook_id, event_id, event_type, sequence, concurrency_key, status, created_date, due_at)
   select d.id, d.workspace_id, d.webhook_id, d.event_id, d.event_type, d.sequence, d.concurrency_key,
     case when d.is_off then 'missed' else 'pending' end, $1, case when d.is_off then null else clock_timestamp() end
   from json_to_recordset($2::json) as d(id uuid, workspace_id uuid, webhook_id uuid, event_id uuid, event_type text,
     sequence bigint, concurrency_key text, is_off boolean)`,
);

/** To a webhook that is off they are numbered and kept all the same, as missed: it can ask for them later. */
export const insertDeliveries = (db: Db, deliveries: readonly NewDelivery[], now: Date) =>
  insertDeliveryRows(
    db,
    now,
    JSON.stringify(
      deliveries.map(({ id, webhook, event, sequence, concurrency_key }) => ({
        id,
        workspace_id: webhook.workspace_id,
        webhook_id: webhook.id,
        event_id: event.id,
        event_type: event.name,
        sequence,
        concurrency_key,
        is_off: webhook.disabled_at !== null,
      })),
    ),
  );

// ---- attempts

/** What an attempt needs of the webhook. `app_deleted`: its app is in the trash. */
export type Target = Pick<
  WebhookRow,
  'workspace_id' | 'id' | 'target_url' | 'secret' | 'previous_secret' | 'previous_secret_expires_at' | 'disabled_at'
> & { readonly app_deleted: boolean };

const targets = prepared<Target, [readonly string[]]>(
  'list targets of deliveries',
  `/* service */ select w.workspace_id, w.id, w.target_url, w.secret, w.previous_secret, w.previous_secret_expires_at, w.disabled_at,
     a.deleted_date is not null as app_deleted
   from webhooks w join apps a on a.workspace_id = w.workspace_id and a.id = w.app_id where w.id = any($1::uuid[])`,
);
const bodies = prepared<{ event_id: string; body: string }, [readonly string[]]>(
  'list bodies of deliveries',
  '/* service */ select event_id, body from webhook_bodies where event_id = any($1::uuid[])',
);

export async function listTargets(db: Db, ids: readonly string[]): Promise<Map<string, Target>> {
  return new Map((await targets(db, ids)).map((row) => [row.id, row]));
}

export async function listBodies(db: Db, event_ids: readonly string[]): Promise<Map<string, string>> {
  return new Map((await bodies(db, event_ids)).map((row) => [row.event_id, row.body]));
}

/** In one order, so that two workers do not wait for each other. */
const holdStandings = prepared<WebhookRow, [readonly string[]]>(
  'hold standings of webhooks',
  '/* service */ select * from webhooks where id = any($1::uuid[]) order by id for no key update',
);

export const holdWebhooks = (db: Db, ids: readonly string[]): Promise<WebhookRow[]> => holdStandings(db, ids);

const saveStandingRows = prepared<object, [string]>(
  'save standings of webhooks',
  `/* service */ update webhooks w set last_trigger_time = s.last_trigger_time, last_error = s.last_error,
     consecutive_failures = s.consecutive_failures, disabled_at = s.disabled_at,
     resync_pending = w.resync_pending or (w.disabled_at is null and s.disabled_at is not null)
   from json_to_recordset($1::json) as s(id uuid, last_trigger_time timestamptz, last_error jsonb,
     consecutive_failures integer, disabled_at timestamptz) where w.id = s.id`,
);

export const saveStandings = (db: Db, standings: readonly (HealthUpdate & { readonly id: string })[]) =>
  saveStandingRows(db, JSON.stringify(standings));

const batch = 5_000;

/**
 * What waits for a webhook that is off waits until it is on again. What runs is held when it ends. The next few thousand
 * only: the rest when they come due, or by the job that settles webhooks. False when there are no more.
 */
export async function holdDeliveries(db: Db, webhook_ids: readonly string[]): Promise<boolean> {
  const { numAffectedRows } = await sql`/* service */ update webhook_deliveries set status = 'held', due_at = null
    where id in (
      select id from webhook_deliveries where webhook_id = any(${webhook_ids}::uuid[]) and due_at is not null
        and claimed_slot is null order by due_at limit ${batch})
      and due_at is not null and claimed_slot is null`.execute(db);
  return Number(numAffectedRows ?? 0) === batch;
}

// What once arrived has arrived, whatever became of sending it again.
const overAs = (status: 'failed' | 'expired') =>
  sql`case when delivered_at is null then ${status} else 'delivered' end`;

export async function failDelivery(db: Db, id: string): Promise<void> {
  await sql`/* service */ update webhook_deliveries set status = ${overAs('failed')} where id = ${id}`.execute(db);
}

export interface Warning {
  readonly id: string;
  readonly workspace_id: string;
  readonly webhook_id: string;
  readonly email: string;
  readonly consecutive_failures: number;
}

export async function insertWarnings(db: Db, warnings: readonly Warning[], now: Date): Promise<void> {
  if (warnings.length === 0) return;
  await db
    .insertInto('webhook_warnings')
    .values(warnings.map((warning) => ({ ...warning, created_date: now, due_at: now })))
    .execute();
}

// ---- the log

const log = (db: Db, { workspace_id, id }: Place) =>
  db.selectFrom('webhook_deliveries').where('workspace_id', '=', workspace_id).where('webhook_id', '=', id);

const isRunning = sql<boolean>`claimed_slot is not null`;

const listed = [
  'id',
  'workspace_id',
  'webhook_id',
  'event_id',
  'event_type',
  'sequence',
  'status',
  'attempts_made',
  'last_status_code',
  'created_date',
  'delivered_at',
  'due_at',
  'claimed_slot',
] as const;

/** The first number made at this time or later. Numbers are in the order of time, so it is found by halving. */
async function firstSince(db: Db, webhook: Place, time: Date): Promise<number> {
  const { low, high } = await log(db, webhook)
    .select((is) => [is.fn.min('sequence').as('low'), is.fn.max('sequence').as('high')])
    .executeTakeFirstOrThrow();
  let [from, to] = [low ?? 1, (high ?? 0) + 1];
  while (from < to) {
    const middle = Math.floor((from + to) / 2);
    const row = await log(db, webhook).where('sequence', '=', middle).select('created_date').executeTakeFirst();
    if (row === undefined || row.created_date < time) from = middle + 1;
    else to = middle;
  }
  return from;
}

export async function listDeliveries(db: Db, webhook: WebhookRow, query: DeliveryQuery, after: Position | undefined) {
  const ascending = query.after_seq !== undefined;
  if (query.event_type !== undefined && !webhookEvents[webhook.scope].some((name) => name === query.event_type))
    return [];
  let rows = log(db, webhook)
    .select(listed)
    .orderBy('sequence', ascending ? 'asc' : 'desc')
    .limit(query.limit + 1);
  if (query.status === 'delivering')
    rows = rows.where('id', 'in', log(db, webhook).where(isRunning).select('id').offset(0));
  else if (query.status === 'pending')
    rows = rows.where('due_at', 'is not', null).where('claimed_slot', 'is', null); // what waits has an index of its own
  else if (query.status !== undefined) rows = rows.where('status', '=', query.status).where((is) => is.not(isRunning));
  if (query.event_type !== undefined) rows = rows.where('event_type', '=', query.event_type);
  if (query.after_seq !== undefined) rows = rows.where('sequence', '>', query.after_seq);
  if (query.before_seq !== undefined) rows = rows.where('sequence', '<', query.before_seq);
  if (query.from !== undefined) rows = rows.where('sequence', '>=', await firstSince(db, webhook, query.from));
  if (query.to !== undefined)
    rows = rows.where('sequence', '<', await firstSince(db, webhook, new Date(query.to.getTime() + 1)));
  if (after !== undefined) rows = rows.where('sequence', ascending ? '>' : '<', Number(after[0]));
  return rows.$castTo<Omit<DeliveryRow, 'attempts'>>().execute();
}

export const findDelivery = (db: Db, { webhook }: { webhook: Place }, id: string) =>
  log(db, webhook).where('id', '=', idOrNull(id)).selectAll().$castTo<DeliveryRow>().executeTakeFirst();

export const getBody = (db: Db, { workspace_id, event_id }: DeliveryRow) =>
  db
    .selectFrom('webhook_bodies')
    .where('workspace_id', '=', workspace_id)
    .where('event_id', '=', event_id)
    .select('body')
    .executeTakeFirstOrThrow();

export async function countOpen(db: Db, webhook: Place, status: 'held' | 'missed', since: Date): Promise<number> {
  const { count } = await log(db, webhook)
    .where('status', '=', status)
    .where('created_date', '>=', since)
    .select((is) => is.fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow();
  return count;
}

/**
 * The next few thousand held deliveries go on in their order; those made before `oldest` are too old to be sent unasked.
 * False when there are no more.
 */
export async function resumeHeld(db: Db, { workspace_id, id }: Place, oldest: Date): Promise<boolean> {
  const { numAffectedRows } = await sql`update webhook_deliveries d
    set status = case when held.created_date >= ${oldest} then 'pending' else ${overAs('expired')} end,
      due_at = case when held.created_date >= ${oldest}
        then statement_timestamp() + held.place * interval '1 microsecond' end
    from (select id, created_date, row_number() over (order by sequence) as place from (
        select id, created_date, sequence from webhook_deliveries
        where workspace_id = ${workspace_id} and webhook_id = ${id} and status = 'held'
        order by sequence limit ${batch}) next) held
    where d.workspace_id = ${workspace_id} and d.id = held.id`.execute(db);
  return Number(numAffectedRows ?? 0) === batch;
}

const unsettledOnes = prepared<WebhookRow, []>(
  'hold an resync_pending webhook',
  '/* service */ select * from webhooks where resync_pending order by id limit 1 for no key update skip locked',
);

/** A webhook whose deliveries are still to be held or sent on their way, held until the transaction ends. */
export const holdUnsettled = async (db: Db): Promise<WebhookRow | undefined> => (await unsettledOnes(db))[0];

/** An attempt before all others, outside of the schedule, which goes on after it. False while one is running. */
export async function queueNow(db: Db, { workspace_id, webhook_id, id }: DeliveryRow): Promise<boolean> {
  const { rows } = await sql`update webhook_deliveries set status = 'pending', kind = 'manual', failed_at = null,
      resume_at = case when due_at is null then null when kind = 'manual' then resume_at else due_at end,
      due_at = least(clock_timestamp(), (select min(due_at) - interval '1 ms' from webhook_deliveries first
        where workspace_id = ${workspace_id} and first.webhook_id = ${webhook_id} and first.claimed_slot is null
          and first.due_at is not null))
    where workspace_id = ${workspace_id} and id = ${id} and claimed_slot is null returning 1`.execute(db);
  return rows.length > 0;
}

/** Queues again what is over and was asked for, one after the other from `from` on; gives their places in the sequence. */
export async function queueReplay(
  db: Db,
  webhook: Place,
  asked: Replay,
  from: Date,
  everyMs: number,
): Promise<number[]> {
  const { workspace_id, id } = webhook;
  const { statuses = ['failed', 'missed'], limit = 1_000 } = asked;
  const bounds: RawBuilder<unknown>[] = [];
  if (asked.from !== undefined) bounds.push(sql`and sequence >= ${await firstSince(db, webhook, asked.from)}`);
  if (asked.to !== undefined)
    bounds.push(sql`and sequence < ${await firstSince(db, webhook, new Date(asked.to.getTime() + 1))}`);
  if (asked.after_seq !== undefined) bounds.push(sql`and sequence > ${asked.after_seq}`);
  if (asked.to_seq !== undefined) bounds.push(sql`and sequence <= ${asked.to_seq}`);
  const { rows } = await sql<{ sequence: number }>`with chosen as (
      select id, sequence from webhook_deliveries
      where workspace_id = ${workspace_id} and webhook_id = ${id} and status = any(${statuses}::text[])
        and due_at is null and claimed_slot is null ${sql.join(bounds, sql` `)}
      order by sequence limit ${limit} for update),
    placed as (select id, row_number() over (order by sequence) - 1 as place from chosen)
    update webhook_deliveries d set status = 'pending', kind = 'replay', scheduled_attempts = 0, resume_at = null,
      failures = 0, failed_at = null, due_at = ${from}::timestamptz + placed.place * ${everyMs} * interval '1 ms'
    from placed where d.workspace_id = ${workspace_id} and d.id = placed.id returning d.sequence`.execute(db);
  return rows.map((row) => row.sequence).sort((a, b) => a - b);
}

// ---- sweeps

/**
 * Removes the logs of webhooks that are gone, piece by piece; gives how many rows went. What was told goes too, once no
 * webhook of the app is left that may have been told the same.
 */
export async function sweepDeleted(db: Db): Promise<number> {
  const { rows } = await sql<{ webhook_id: string; app_id: string }>`/* service */ select webhook_id, app_id
    from deleted_webhooks order by deleted_date limit 1`.execute(db);
  const [gone] = rows;
  if (gone === undefined) return 0;
  const removed = await sql<{ event_id: string }>`/* service */ delete from webhook_deliveries where id in (
    select id from webhook_deliveries where webhook_id = ${gone.webhook_id} limit ${batch} for update skip locked)
    returning event_id`.execute(db);
  await sql`/* service */ delete from webhook_bodies where event_id = any(${removed.rows.map((row) => row.event_id)}::uuid[])
    and not exists (select 1 from webhooks where app_id = ${gone.app_id})`.execute(db);
  if (removed.rows.length < batch)
    await sql`/* service */ delete from deleted_webhooks where webhook_id = ${gone.webhook_id}
      and not exists (select 1 from webhook_deliveries where webhook_id = ${gone.webhook_id})`.execute(db);
  return removed.rows.length + 1;
}

const dayMs = 24 * 60 * 60 * 1000;
const keptMs = 30 * dayMs;

/** Forgets what is older than 30 days; a body a week later, because its event may have waited to be fanned out. */
export async function forgetOld(db: Db, now: Date): Promise<number> {
  const before = (ms: number) => minIdAt(new Date(now.getTime() - ms));
  const removed = [
    await sql`/* service */ delete from webhook_deliveries where id in (
      select id from webhook_deliveries where id < ${before(keptMs)} order by id limit ${batch})`.execute(db),
    await sql`/* service */ delete from webhook_bodies where event_id in (
      select event_id from webhook_bodies where event_id < ${before(keptMs + 7 * dayMs)} order by event_id limit ${batch})`.execute(
      db,
    ),
    await sql`/* service */ delete from webhook_warnings where id in (
      select id from webhook_warnings where due_at is null and created_date < ${new Date(now.getTime() - keptMs)}
      limit ${batch})`.execute(db),
  ];
  return removed.reduce((sum, { numAffectedRows }) => sum + Number(numAffectedRows ?? 0), 0);
}

export type SealedRow = Pick<Selectable<Tables['webhooks']>, 'workspace_id' | 'id' | 'secret' | 'previous_secret'>;

/** Secrets sealed under another master key. Random: one that cannot be opened does not keep the others. */
export async function listSealedElsewhere(db: Db, keyId: string, limit: number): Promise<SealedRow[]> {
  const current = `v1.${keyId}.`;
  const { rows } = await sql<SealedRow>`/* service */ select workspace_id, id, secret, previous_secret from webhooks
    where (secret is not null and not starts_with(secret, ${current}))
      or (previous_secret is not null and not starts_with(previous_secret, ${current}))
    order by random() limit ${limit}`.execute(db);
  return rows;
}

/** Old secrets whose day is over are kept no longer. */
export async function forgetOldSecrets(db: Db, now: Date): Promise<number> {
  const { numAffectedRows } =
    await sql`/* service */ update webhooks set previous_secret = null, previous_secret_expires_at = null
    where previous_secret_expires_at <= ${now}`.execute(db);
  return Number(numAffectedRows ?? 0);
}

/** Only where it is still the one that was read. */
export async function saveSealed(
  db: Db,
  was: SealedRow,
  secret: string | null,
  previous: string | null,
): Promise<void> {
  await sql`update webhooks set secret = ${secret}, previous_secret = ${previous}
    where workspace_id = ${was.workspace_id} and id = ${was.id}
      and secret is not distinct from ${was.secret} and previous_secret is not distinct from ${was.previous_secret}`.execute(
    db,
  );
}
