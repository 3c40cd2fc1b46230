// Sends events to a server, and measures a block: its rate, and the CPU time of the server and of PostgreSQL per event.
import { preciseCpuMs, usedSince } from '../../harness/cpu.ts';
import type { BenchDatabase } from '../../harness/services.ts';
import { type BenchEvent, batchSize } from './events.ts';

const requestsAtOnce = 8;

export interface Target {
  readonly origin: string;
  readonly token: string;
}

/** The processes whose CPU time is measured. */
export interface Measured {
  readonly apiPid: number;
  readonly listBackends: BenchDatabase['backends'];
}

export interface Block {
  readonly perSecond: number;
  /** CPU time per event, in µs. */
  readonly apiUs: number;
  readonly postgresUs: number;
}

/** `run` returns its duration in ms. PostgreSQL's figure is the CPU time of the processes that serve connections. */
export async function measureBlock(
  { apiPid, listBackends }: Measured,
  events: number,
  run: () => Promise<number>,
): Promise<Block> {
  const before = new Map([apiPid, ...(await listBackends())].map((pid) => [pid, preciseCpuMs(pid)]));
  const ms = await run();
  const usedUs = (pids: readonly number[]) => (usedSince(pids, before, preciseCpuMs) * 1000) / events;
  return {
    perSecond: (events * 1000) / ms,
    apiUs: usedUs([apiPid]),
    postgresUs: usedUs(await listBackends()),
  };
}

/** Sends each batch as a request, alternating between the apps. Returns the duration in ms. */
export async function sendAll(
  target: Target,
  app_ids: readonly string[],
  batches: readonly BenchEvent[][],
): Promise<number> {
  const requests = batches
    .map((events, n) => ({ app_id: app_ids[n % app_ids.length] ?? '', body: JSON.stringify({ events }) }))
    .values();
  const startedAt = performance.now();
  await atOnce(async () => {
    for (const { app_id, body } of requests) await send(target, app_id, body);
  });
  return performance.now() - startedAt;
}

export async function send({ origin, token }: Target, app_id: string, body: string): Promise<void> {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const answer = await fetch(`${origin}/api/apps/${app_id}/analytics/track/batch`, { method: 'POST', headers, body });
  const text = await answer.text();
  if (answer.status !== 200 || !text.includes(`"accepted":${batchSize},`)) throw new Error(`${answer.status} ${text}`);
}

export const atOnce = (work: () => Promise<void>) => Promise.all(Array.from({ length: requestsAtOnce }, work));
