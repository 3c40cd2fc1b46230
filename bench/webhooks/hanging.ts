// Measures a healthy webhook on its own, and alongside webhooks whose endpoints never respond.
import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import { median, quantile, rounded } from '../../harness/statistics.ts';
import { type Environment, publishMessages } from './environment.ts';
import { timeDeliveries } from './latency.ts';

const hangingWebhooks = 20;

export interface HangingOptions {
  /** The number of events queued for each hanging webhook. */
  readonly backlog: number;
  readonly rounds: number;
  readonly blocks: number;
}

/** Alternates between the healthy webhook on its own and alongside hanging webhooks whose backlog is due. */
export async function measureBesideHanging(
  environment: Environment,
  { backlog, rounds, blocks }: HangingOptions,
  progress: (line: string) => void,
) {
  const { db } = environment.app.database;
  const healthy = await environment.agentWith(['/healthy']);
  const hanging = await environment.agentWith(Array.from({ length: hangingWebhooks }, (_, n) => `/hang/${n}`));
  const ofHanging = sql`webhook_id in (select id from webhooks where app_id = ${hanging.id})`;
  const isWaiting = sql`${ofHanging} and claimed_slot is null and due_at is not null`;
  const park = () =>
    sql`update webhook_deliveries set due_at = clock_timestamp() + interval '1 day' where ${isWaiting}`.execute(db);
  const release = () => sql`update webhook_deliveries set due_at = clock_timestamp() where ${isWaiting}`.execute(db);
  const isRunning = async () =>
    (await sql`select 1 from webhook_deliveries where ${ofHanging} and claimed_slot is not null limit 1`.execute(db))
      .rows.length > 0;
  const countQueued = async () =>
    (await sql<{ n: number }>`select count(*)::int as n from webhook_deliveries where ${ofHanging}`.execute(db)).rows[0]
      ?.n ?? 0;
  // Keeps the hanging webhooks on. Timeouts would turn them off within a minute.
  const keepOn = () => sql`update webhooks set consecutive_failures = 0 where app_id = ${hanging.id}`.execute(db);
  // While the webhooks are off, their deliveries are stored but not sent.
  await sql`update webhooks set disabled_at = now() where app_id = ${hanging.id}`.execute(db);
  await publishMessages(environment, [hanging], backlog);
  while ((await countQueued()) < backlog * hangingWebhooks) await sleep(200);
  await sql`update webhook_deliveries set status = 'pending', due_at = now() + interval '1 day' where ${ofHanging}`.execute(
    db,
  );
  await sql`update webhooks set disabled_at = null where app_id = ${hanging.id}`.execute(db);
  const measureBlocks = async () => {
    const p95s: number[] = [];
    for (let n = 0; n < blocks / rounds; n += 1)
      p95s.push(quantile(await timeDeliveries(environment, [healthy], 50, 1), 0.95));
    return p95s;
  };
  const p95s = { alone: [] as number[], beside: [] as number[] };
  for (let round = 1; round <= rounds; round += 1) {
    await park();
    while (await isRunning()) await sleep(100);
    await park();
    const alone = await measureBlocks();
    await keepOn();
    await release();
    await sleep(500);
    const beside = await measureBlocks();
    p95s.alone.push(...alone);
    p95s.beside.push(...beside);
    progress(
      `healthy p95, round ${round} of ${rounds}: alone ${rounded(median(alone))} ms, beside ${rounded(median(beside))} ms`,
    );
  }
  return {
    p95_alone_ms: rounded(median(p95s.alone)),
    p95_beside_ms: rounded(median(p95s.beside)),
    hanging_backlog: backlog * hangingWebhooks,
  };
}
