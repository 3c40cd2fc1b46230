// Measures how soon a delivery begins after its event has been committed, compared with two bare programs, and how much
// CPU time it takes.
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import { cpuMs, usedSince } from '../../harness/cpu.ts';
import { median, quantile, rounded } from '../../harness/statistics.ts';
import { ratioOf, runBlocks, summarizeBlocks } from '../lib/blocks.ts';
import type { Committed, SenderOrder } from './bare-sender.ts';
import { type Agent, agentCount, type Environment, publishMessage, webhooksPerAgent } from './environment.ts';

const nowMs = () => performance.timeOrigin + performance.now();

/** Returns the milliseconds from the end of each event's commit to the first byte at the receiver. */
export async function timeDeliveries(
  environment: Environment,
  agents: readonly Agent[],
  rate: number,
  seconds: number,
): Promise<number[]> {
  const committed = await publishAtRate(environment, { rate, seconds }, (n) =>
    publishMessage(environment, agents[n % agents.length] as Agent),
  );
  const { rows } = await sql<{
    id: string;
    message_id: string;
  }>`select id, payload->'data'->'message'->>'id' as message_id
    from events where payload->'data'->'message'->>'id' = any(${[...committed.keys()]})`.execute(
    environment.app.database.db,
  );
  return waitsOf(environment, Object.fromEntries(rows.map((row) => [row.id, committed.get(row.message_id) as number])));
}

async function timeFair(environment: Environment, order: SenderOrder): Promise<number[]> {
  const committed = await publishAtRate(environment, order, async (n) => {
    const [id] = await environment.fairEvents.publish([n % agentCount]);
    return id as string;
  });
  return waitsOf(environment, Object.fromEntries(committed));
}

/** Publishes from this process. Returns the commit times, keyed by the ids that `publish` returned. */
async function publishAtRate(
  { receiver }: Environment,
  { rate, seconds }: SenderOrder,
  publish: (n: number) => Promise<string>,
): Promise<Map<string, number>> {
  await receiver.request('reset');
  const committed = new Map<string, number>();
  const published: Promise<unknown>[] = [];
  const startedAt = performance.now();
  for (let n = 0; n < rate * seconds; n += 1) {
    await sleep(Math.max(0, startedAt + (n * 1000) / rate - performance.now()));
    published.push(publish(n).then((id) => committed.set(id, nowMs())));
  }
  await Promise.all(published);
  return committed;
}

async function timeBare(environment: Environment, order: SenderOrder): Promise<number[]> {
  await environment.receiver.request('reset');
  environment.bareSender.send(order);
  const [committed] = (await once(environment.bareSender, 'message')) as [Committed];
  return waitsOf(environment, committed);
}

async function waitsOf({ receiver }: Environment, committed: Committed): Promise<number[]> {
  const events = Object.entries(committed);
  for (const until = performance.now() + 30_000; performance.now() < until; await sleep(50)) {
    const { at } = await receiver.request('all');
    if (events.every(([id]) => at[id] !== undefined)) return events.map(([id, time]) => (at[id] as number) - time);
  }
  throw new Error('not every event was delivered');
}

interface Block {
  readonly p50: number;
  readonly p95: number;
  readonly p99: number;
  /** The sending process's CPU time per event. `postgresMs` is PostgreSQL's. */
  readonly senderMs: number;
  readonly postgresMs: number;
}

async function measureBlock(
  { postgres, receiver }: Environment,
  senderPid: number,
  events: number,
  run: () => Promise<number[]>,
): Promise<Block> {
  await sleep(300); // until the previous block's remaining work is done
  const before = new Map([senderPid, ...postgres.pids()].map((pid) => [pid, cpuMs(pid)]));
  const waits = await run();
  await receiver.until(events * webhooksPerAgent);
  await sleep(100); // until the outcomes, which follow the requests, are recorded
  return {
    p50: median(waits),
    p95: quantile(waits, 0.95),
    p99: quantile(waits, 0.99),
    senderMs: usedSince([senderPid], before) / events,
    postgresMs: usedSince(postgres.pids(), before) / events,
  };
}

export interface LatencyOptions {
  readonly rate: number;
  readonly seconds: number;
  readonly blocks: number;
}

export async function measureLatency(
  environment: Environment,
  { rate, seconds, blocks }: LatencyOptions,
  progress: (line: string) => void,
) {
  const { worker, bareSender, fairSender, agents } = environment;
  const events = rate * seconds;
  const sides = {
    bare: { child: bareSender, run: () => timeBare(environment, { rate, seconds }) },
    fair: { child: fairSender, run: () => timeFair(environment, { rate, seconds }) },
    plinth: { child: worker, run: () => timeDeliveries(environment, agents, rate, seconds) },
  };
  const measured = await runBlocks(
    sides,
    ({ child, run }) => measureBlock(environment, child.pid as number, events, run),
    {
      what: `${rate} events/s`,
      count: blocks,
      describe: ({ p50, p95 }) => `p50 ${rounded(p50)} ms, p95 ${rounded(p95)} ms`,
      progress,
    },
  );
  const ratio = (base: Block[], field: keyof Block) => rounded(ratioOf(measured.plinth, base, field));
  return {
    p50_ratio: ratio(measured.bare, 'p50'),
    p99_ratio: ratio(measured.bare, 'p99'),
    p50_ratio_to_fair: ratio(measured.fair, 'p50'),
    p95_ratio_to_fair: ratio(measured.fair, 'p95'),
    sender_cpu_ratio_to_fair: ratio(measured.fair, 'senderMs'),
    postgres_cpu_ratio_to_fair: ratio(measured.fair, 'postgresMs'),
    ...summarizeBlocks(measured, {
      p50_ms: ['p50', 2],
      p95_ms: ['p95', 2],
      p99_ms: ['p99', 2],
      sender_cpu_ms_per_event: ['senderMs', 2],
      postgres_cpu_ms_per_event: ['postgresMs', 2],
    }),
  };
}

/** Runs all sides until their code is compiled, because a process is slower in its first seconds. */
export async function warmUp(environment: Environment): Promise<void> {
  await timeBare(environment, { rate: 400, seconds: 2 });
  await timeFair(environment, { rate: 400, seconds: 2 });
  await timeDeliveries(environment, environment.agents, 200, 1);
}
