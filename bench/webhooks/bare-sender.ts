// The lowest baseline for the latency: a bare program that commits events and then delivers them itself. It inserts an
// event, and after the commit it claims the event's deliveries in one statement, signs them and sends them. Statements
// are pipelined, so none waits for another. There are no sequence numbers, limits, retries or tenants.
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { newId } from '../../server/src/kit/ids.ts';
import { type BareWebhook, readWebhooks, sendBare } from './bare-client.ts';
import { bodyOf } from './message.ts';

export interface SenderOrder {
  /** The number of events per second. */
  readonly rate: number;
  readonly seconds: number;
}

/** Each event's commit time, by event id. */
export type Committed = Readonly<Record<string, number>>;

const connectionString = process.env.DATABASE_URL;
const now = () => performance.timeOrigin + performance.now();
const owners = readWebhooks();

// Commits wait for the disk, so each has its own connection. PostgreSQL flushes several connections' commits together.
const commits = new pg.Pool({ connectionString, max: 8 });
// As in Plinth, a PostgreSQL crash may lose claims and outcomes. The deliveries are then sent again.
const queue = new pg.Client({ connectionString, pipeline: true, options: '-c synchronous_commit=off' });

const insert = { name: 'insert', text: 'insert into bare.events (id, owner, body) values ($1, $2, $3)' };
const claim = {
  name: 'claim',
  text: `with claimed as (
      insert into bare.deliveries (id, event_id, webhook_id)
      select gen_random_uuid(), e.id, w.id from bare.events e join bare.webhooks w on w.owner = e.owner where e.id = $1
      returning id, webhook_id)
    select c.id as delivery_id, w.id, w.target_url, w.secret from claimed c join bare.webhooks w on w.id = c.webhook_id`,
};
const complete = {
  name: 'complete',
  text: 'update bare.deliveries set delivered_at = clock_timestamp() where id = any($1)',
};

async function setUp(): Promise<void> {
  await queue.connect();
  await queue.query(`create schema bare;
    create table bare.webhooks (id uuid primary key, owner integer not null, target_url text not null, secret text not null);
    create index on bare.webhooks (owner);
    create table bare.events (id uuid primary key, owner integer not null, body text not null);
    create table bare.deliveries (id uuid primary key, event_id uuid not null, webhook_id uuid not null, delivered_at timestamptz)
      with (fillfactor = 70)`);
  for (const [owner, webhooks] of owners.entries())
    for (const { id, target_url, secret } of webhooks)
      await queue.query('insert into bare.webhooks values ($1, $2, $3, $4)', [id, owner, target_url, secret]);
}

async function publish(owner: number): Promise<[id: string, committedAt: number]> {
  const id = newId();
  const body = bodyOf(id, id);
  await commits.query({ ...insert, values: [id, owner, body] });
  const committedAt = now();
  await deliver(id, body);
  return [id, committedAt];
}

type Claimed = Pick<BareWebhook, 'id' | 'target_url' | 'secret'> & { readonly delivery_id: string };

async function deliver(event_id: string, body: string): Promise<void> {
  const { rows } = await queue.query<Claimed>({ ...claim, values: [event_id] });
  await Promise.all(rows.map((row) => sendBare(row, row.delivery_id, body)));
  await queue.query({ ...complete, values: [rows.map((row) => row.delivery_id)] });
}

const ready = setUp();

process.on('message', async ({ rate, seconds }: SenderOrder) => {
  await ready;
  const published: Promise<[string, number]>[] = [];
  const startedAt = performance.now();
  for (let n = 0; n < rate * seconds; n += 1) {
    await sleep(Math.max(0, startedAt + (n * 1000) / rate - performance.now()));
    published.push(publish(n % owners.length));
  }
  process.send?.(Object.fromEntries(await Promise.all(published)) satisfies Committed);
});
process.on('disconnect', () => process.exit(0));
