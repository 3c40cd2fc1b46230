// The fair baseline: a bare program that does the minimum that any webhook sender must do. Its process is separate from
// the publisher's and is woken by a hint over Redis. It sends only after one statement has numbered each webhook's
// deliveries, inserted them and marked the events, and has been committed to disk. There are no limits, retries or
// tenants.
import pg from 'pg';
import { openWakeUps } from '../../server/src/kit/background/workers/wake.ts';
import { type BareWebhook, readWebhooks, sendBare } from './bare-client.ts';
import { fairTopic } from './fair-events.ts';

const connectionString = process.env.DATABASE_URL;
const batchSize = 100;
/** Polling is needed because a hint may be lost. */
const pollMs = 2_000;

const dispatcher = new pg.Client({ connectionString });
// As in Plinth, a PostgreSQL crash may lose outcomes. The deliveries are then sent again.
const outcomes = new pg.Client({ connectionString, pipeline: true, options: '-c synchronous_commit=off' });

const fanOut = {
  name: 'fan out',
  text: `with batch as (
      select id, owner, body from fair.events where fanned_out_at is null order by id limit ${batchSize} for update
    ), counted as (
      select w.id, count(*) as events from batch b join fair.webhooks w on w.owner = b.owner group by w.id
    ), numbered as (
      update fair.sequences s set last = s.last + c.events from counted c where s.webhook_id = c.id
      returning s.webhook_id, s.last - c.events as before
    ), inserted as (
      insert into fair.deliveries (id, event_id, webhook_id, sequence)
      select gen_random_uuid(), b.id, w.id, n.before + row_number() over (partition by w.id order by b.id)
      from batch b join fair.webhooks w on w.owner = b.owner join numbered n on n.webhook_id = w.id
      returning id, event_id, webhook_id, sequence
    ), marked as (
      update fair.events e set fanned_out_at = clock_timestamp() from batch b where e.id = b.id
    )
    select i.id as delivery_id, i.event_id, i.sequence, b.body, w.id, w.target_url, w.secret
    from inserted i join batch b on b.id = i.event_id join fair.webhooks w on w.id = i.webhook_id`,
};
const complete = {
  name: 'complete',
  text: 'update fair.deliveries set delivered_at = clock_timestamp() where id = any($1)',
};

type Delivery = Pick<BareWebhook, 'id' | 'target_url' | 'secret'> & {
  readonly delivery_id: string;
  readonly event_id: string;
  readonly sequence: string;
  readonly body: string;
};

async function setUp(): Promise<void> {
  await Promise.all([dispatcher.connect(), outcomes.connect()]);
  await dispatcher.query(`create schema fair;
    create table fair.webhooks (id uuid primary key, owner integer not null, target_url text not null, secret text not null);
    create index on fair.webhooks (owner);
    create table fair.sequences (webhook_id uuid primary key, last bigint not null) with (fillfactor = 50);
    create table fair.events (id uuid primary key, owner integer not null, body text not null, fanned_out_at timestamptz);
    create index on fair.events (id) where fanned_out_at is null;
    create table fair.deliveries (id uuid primary key, event_id uuid not null, webhook_id uuid not null, sequence bigint not null,
      delivered_at timestamptz, unique (webhook_id, sequence)) with (fillfactor = 70)`);
  for (const [owner, webhooks] of readWebhooks().entries())
    for (const { id, target_url, secret } of webhooks) {
      await dispatcher.query('insert into fair.webhooks values ($1, $2, $3, $4)', [id, owner, target_url, secret]);
      await dispatcher.query('insert into fair.sequences values ($1, 0)', [id]);
    }
}

async function deliver(deliveries: readonly Delivery[]): Promise<void> {
  await Promise.all(deliveries.map((each) => sendBare(each, each.delivery_id, each.body, each.sequence)));
  await outcomes.query({ ...complete, values: [deliveries.map(({ delivery_id }) => delivery_id)] });
}

let isRunning = false;
let isHinted = false;

/** Runs one statement at a time. The next statement takes all events published while this one was being committed. */
async function fanOutHinted(): Promise<void> {
  isHinted = true;
  if (isRunning) return;
  isRunning = true;
  while (isHinted) {
    isHinted = false;
    const { rows } = await dispatcher.query<Delivery>(fanOut);
    const byEvent = Map.groupBy(rows, ({ event_id }) => event_id);
    for (const deliveries of byEvent.values()) void deliver(deliveries);
    if (byEvent.size === batchSize) isHinted = true;
  }
  isRunning = false;
}

await setUp();
openWakeUps(process.env.REDIS_URL ?? '', process.env.REDIS_PREFIX ?? '').listen(fairTopic, () => void fanOutHinted());
setInterval(() => void fanOutHinted(), pollMs);
process.on('disconnect', () => process.exit(0));
process.send?.('ready');
