// Finds deliveries that a receiver did not get. Copy `receive` into your receiver, or run this file (Node 24):
//   PLINTH_TOKEN=… node missing.ts https://plinth.example.com/api/agents/AGENT/webhooks/WEBHOOK < NUMBERS
// NUMBERS: every X-Service-Sequence that was received, one per line. Prints one line per missing delivery: number,
// status in the log (`forgotten`: older than the log keeps), delivery id. Exit code 0: nothing is missing, or only
// deliveries that are still being sent. 1: something is missing.
import { setTimeout as sleep } from 'node:timers/promises';

/** What a receiver stores: every number up to `upTo` was received, and those in `beyond`. */
export interface Received {
  upTo: number;
  readonly beyond: Set<number>;
}

/** Adds a number. Numbers arrive in any order, some twice. Add `forgotten` numbers too, so the gap closes. */
export function receive(received: Received, sequence: number): Received {
  if (sequence > received.upTo) received.beyond.add(sequence);
  while (received.beyond.delete(received.upTo + 1)) received.upTo += 1;
  return received;
}

interface Delivery {
  readonly sequence: number;
  readonly status: string;
  readonly id: string;
}

interface Page {
  readonly items: Delivery[];
  readonly next_cursor: string;
  readonly has_more: boolean;
}

/** The log has every number once, without gaps. Returns a line for each number that the receiver does not have. */
export async function listMissing(webhook: string, token: string, { upTo, beyond }: Received): Promise<string[]> {
  const lines: string[] = [];
  let next = upTo + 1;
  for await (const { sequence, status, id } of logAfter(webhook, token, upTo)) {
    for (; next < sequence; next += 1) if (!beyond.has(next)) lines.push(`${next} forgotten`);
    if (!beyond.has(sequence)) lines.push(`${sequence} ${status} ${id}`);
    next = sequence + 1;
  }
  return lines;
}

async function* logAfter(webhook: string, token: string, after: number): AsyncGenerator<Delivery> {
  for (let cursor = ''; ; ) {
    const url = `${webhook}/deliveries?limit=100&after_seq=${after}${cursor && `&cursor=${encodeURIComponent(cursor)}`}`;
    const response = await fetch(url, { headers: { authorization: `Bearer ${token}` } });
    if (response.status === 429) {
      await sleep(Number(response.headers.get('retry-after')) * 1000);
      continue;
    }
    if (!response.ok) throw new Error(`can't read the delivery log: ${response.status} ${await response.text()}`);
    const { items, next_cursor, has_more } = (await response.json()) as Page;
    yield* items;
    if (!has_more) return;
    cursor = next_cursor;
  }
}

if (import.meta.main) {
  const received: Received = { upTo: 0, beyond: new Set() };
  const numbers = (await process.stdin.toArray()).join('').split(/\s+/).filter(Boolean);
  for (const number of numbers) receive(received, Number(number));
  const lines = await listMissing(process.argv[2] ?? '', process.env.PLINTH_TOKEN ?? '', received);
  for (const line of lines) console.log(line);
  process.exitCode = lines.every((line) => / (pending|delivering) /.test(line)) ? 0 : 1;
}
