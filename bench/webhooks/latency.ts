// Measures how soon after the commit of its event a delivery begins, against the bare sender, and what that costs in CPU time.
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import { cpuMs, usedSince } from '../lib/cpu.ts';
import { median, quantile, rounded } from '../lib/statistics.ts';
import type { Committed, SenderOrder } from './bare-sender.ts';
import { type Agent, type Environment, publishMessage, webhooksPerAgent } from './environment.ts';

const nowMs = () => performance.timeOrigin + performance.now();

/** Returns, for each event, the milliseconds from the end of the commit to the first byte at the receiver. */
export async function timeDeliveries(
  environment: Environment,
  agents: readonly Agent[],
  rate: number,
  seconds: number,
): Promise<number[]> {
  await environment.receiver.request('reset');
  const committed = new Map<string, number>();
  const published: Promise<unknown>[] = [];
  const startedAt = performance.now();
  for (let n = 0; n < rate * seconds; n += 1) {
    await sleep(Math.max(0, startedAt + (n * 1000) / rate - performance.now()));
    const agent = agents[n % agents.length] as Agent;
    published.push(publishMessage(environment, agent).then((message_id) => committed.set(message_id, nowMs())));
  }
  await Promise.all(published);
  const { rows } = await sql<{
    id: string;
    message_id: string;
  }>`select id, payload->'data'->'message'->>'id' as message_id
    from events where payload->'data'->'message'->>'id' = any(${[...committed.keys()]})`.execute(
    environment.app.database.db,
  );
  return waitsOf(environment, Object.fromEntries(rows.map((row) => [row.id, committed.get(row.message_id) as number])));
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
  readonly p99: number;
  /** CPU time per event: of the process that sends, and of PostgreSQL. */
  readonly senderMs: number;
  readonly postgresMs: number;
}

async function measureBlock(
  { postgres, receiver }: Environment,
  senderPid: number,
  events: number,
  run: () => Promise<number[]>,
): Promise<Block> {
  await sleep(300); // until what the block before left to do is done
  const before = new Map([senderPid, ...postgres.pids()].map((pid) => [pid, cpuMs(pid)]));
  const waits = await run();
  await receiver.until(events * webhooksPerAgent);
  await sleep(100); // outcomes are recorded after the request
  return {
    p50: median(waits),
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
  const { worker, bareSender, agents } = environment;
  const events = rate * seconds;
  const measured: { bare: Block; plinth: Block }[] = [];
  for (let block = 1; block <= blocks; block += 1) {
    const bare = await measureBlock(environment, bareSender.pid as number, events, () =>
      timeBare(environment, { rate, seconds }),
    );
    const plinth = await measureBlock(environment, worker.pid as number, events, () =>
      timeDeliveries(environment, agents, rate, seconds),
    );
    measured.push({ bare, plinth });
    progress(`${rate} events/s, block ${block} of ${blocks}: plinth ${describe(plinth)}, bare ${describe(bare)}`);
  }
  const ratio = (of: keyof Block) => rounded(median(measured.map(({ plinth, bare }) => plinth[of] / bare[of])));
  return {
    p50_ratio: ratio('p50'),
    p99_ratio: ratio('p99'),
    plinth: summarize(measured.map(({ plinth }) => plinth)),
    bare: summarize(measured.map(({ bare }) => bare)),
  };
}

const describe = ({ p50, p99 }: Block): string => `p50 ${rounded(p50)} ms, p99 ${rounded(p99)} ms`;

function summarize(blocks: readonly Block[]) {
  const of = (name: keyof Block) => rounded(median(blocks.map((block) => block[name])));
  return {
    p50_ms: of('p50'),
    p99_ms: of('p99'),
    sender_cpu_ms_per_event: of('senderMs'),
    postgres_cpu_ms_per_event: of('postgresMs'),
  };
}

/** Runs both sides until they are compiled: the first seconds of a process are slower. */
export async function warmUp(environment: Environment): Promise<void> {
  await timeBare(environment, { rate: 400, seconds: 2 });
  await timeDeliveries(environment, environment.agents, 200, 1);
}
