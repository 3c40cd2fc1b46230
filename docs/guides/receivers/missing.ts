// Which deliveries did this receiver not get? Copy `receive` into your receiver, or run it (Node 24):
//   PLINTH_TOKEN=… node missing.ts https://plinth.example.com/api/agents/AGENT/webhooks/WEBHOOK < NUMBERS
// NUMBERS: each X-Service-Sequence that came, one a line. Prints what is lacking, a line each: number, status in the log
// (`forgotten`: older than it keeps), id of the delivery. Exit code 0: nothing, or only what is on its way. 1: something.
import { setTimeout as sleep } from 'node:timers/promises';

/** What a receiver keeps: every number up to `upTo` came, and those in `beyond`. */
export interface Received {
  upTo: number;
  readonly beyond: Set<number>;
}

/** Notes a number. They come in any order, and some twice. Note those that are `forgotten` too, once you know of them. */
export function receive(received: Received, sequence: number): Received {
  if (sequence > received.upTo) received.beyond.add(sequence);
  while (received.beyond.delete(received.upTo + 1)) received.upTo += 1;
  return received;
}

interface Logged {
  readonly sequence: number;
  readonly status: string;
  readonly id: string;
}

interface Page {
  readonly items: Logged[];
  readonly next_cursor: string;
  readonly has_more: boolean;
}

/** The log has every number once, without a gap: what it has and the receiver has not is what is lacking. */
export async function lacking(webhook: string, token: string, { upTo, beyond }: Received): Promise<string[]> {
  const lines: string[] = [];
  let next = upTo + 1;
  for await (const { sequence, status, id } of logAfter(webhook, token, upTo)) {
    for (; next < sequence; next += 1) if (!beyond.has(next)) lines.push(`${next} forgotten`);
    if (!beyond.has(sequence)) lines.push(`${sequence} ${status} ${id}`);
    next = sequence + 1;
  }
  return lines;
}

async function* logAfter(webhook: string, token: string, after: number): AsyncGenerator<Logged> {
  for (let cursor = ''; ; ) {
    const url = `${webhook}/deliveries?limit=100&after_seq=${after}${cursor && `&cursor=${encodeURIComponent(cursor)}`}`;
    const answer = await fetch(url, { headers: { authorization: `Bearer ${token}` } });
    if (answer.status === 429) {
      await sleep(Number(answer.headers.get('retry-after')) * 1000);
      continue;
    }
    if (!answer.ok) throw new Error(`the log could not be read: ${answer.status} ${await answer.text()}`);
    const { items, next_cursor, has_more } = (await answer.json()) as Page;
    yield* items;
    if (!has_more) return;
    cursor = next_cursor;
  }
}

if (import.meta.main) {
  const received: Received = { upTo: 0, beyond: new Set() };
  const numbers = (await process.stdin.toArray()).join('').split(/\s+/).filter(Boolean);
  for (const number of numbers) receive(received, Number(number));
  const lines = await lacking(process.argv[2] ?? '', process.env.PLINTH_TOKEN ?? '', received);
  for (const line of lines) console.log(line);
  process.exitCode = lines.every((line) => / (pending|delivering) /.test(line)) ? 0 : 1;
}
