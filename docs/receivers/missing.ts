// Which deliveries did this receiver not get? Copy `receive` into your receiver, or run it (Node 24):
//   PLINTH_TOKEN=… node missing.ts https://plinth.example.com/api/agents/AGENT/webhooks/WEBHOOK < NUMBERS
// NUMBERS: each X-Service-Sequence that came, one a line. Prints what is lacking, a line each: number, status in the log
// (`forgotten`: older than it keeps), id of the delivery. Exit code 0: nothing, or only what is on its way. 1: something.

/** What a receiver keeps: every number up to `upTo` came, and those in `beyond`. */
export interface Received {
  readonly upTo: number;
  readonly beyond: ReadonlySet<number>;
}

/** Numbers come in any order, and some twice. */
export function receive({ upTo, beyond }: Received, sequence: number): Received {
  if (sequence <= upTo || beyond.has(sequence)) return { upTo, beyond };
  const rest = new Set(beyond).add(sequence);
  let next = upTo;
  while (rest.delete(next + 1)) next += 1;
  return { upTo: next, beyond: rest };
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
    if (!answer.ok) throw new Error(`the log could not be read: ${answer.status} ${await answer.text()}`);
    const { items, next_cursor, has_more } = (await answer.json()) as Page;
    yield* items;
    if (!has_more) return;
    cursor = next_cursor;
  }
}

if (import.meta.main) {
  let received: Received = { upTo: 0, beyond: new Set() };
  const numbers = (await process.stdin.toArray()).join('').split(/\s+/).filter(Boolean);
  for (const number of numbers) received = receive(received, Number(number));
  const lines = await lacking(process.argv[2] ?? '', process.env.PLINTH_TOKEN ?? '', received);
  for (const line of lines) console.log(line);
  process.exitCode = lines.every((line) => / (pending|delivering) /.test(line)) ? 0 : 1;
}
