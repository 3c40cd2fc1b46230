// The drill's receiver, in its own process, which is never killed. The path determines the response:
// `/TOKEN/CALL/500-cut-200` responds with 500 to the first idempotency key, cuts the connection for the second, and
// responds with 200 from the third on. A request repeated with the same key gets the same response.
import { createHash } from 'node:crypto';
import { type ReceivedRequest as Request, startWebhookEndpoint } from '../../sandbox/src/webhook-endpoint.ts';
import { openJournal } from '../lib/journal-file.ts';
import type { ListenOptions } from '../lib/receiver-process.ts';

export type Answer = '200' | '500' | '503' | 'cut' | 'slow';

/** One request. `key` is its idempotency key, and `nth` is the key's position among the call's keys, starting at 1. */
export interface CallLine {
  readonly at: number;
  readonly token: string;
  readonly call: string;
  readonly key: string;
  readonly nth: number;
  readonly sha256: string;
  readonly answer: Answer;
  /** The earliest time at which the response can have been sent. */
  readonly answered_at: number;
}

const slowMs = 1_200;

const keysOfCalls = new Map<string, string[]>();

function toLine({ path, headers, body, at }: Request): CallLine {
  const [, token = '', call = '', answers = ''] = path.split('/');
  const key = String(headers['idempotency-key']);
  const keys = keysOfCalls.get(`${token}/${call}`) ?? [];
  keysOfCalls.set(`${token}/${call}`, keys);
  if (!keys.includes(key)) keys.push(key);
  const nth = keys.indexOf(key) + 1;
  const script = answers.split('-') as Answer[];
  const answer = script[Math.min(nth, script.length) - 1] as Answer;
  const answered_at = at + (answer === 'slow' ? slowMs : 0);
  const sha256 = createHash('sha256').update(body).digest('hex');
  return { at, token, call, key, nth, sha256, answer, answered_at };
}

async function listen({ journal, addresses: [address = ''], certificate }: ListenOptions): Promise<void> {
  const write = openJournal<CallLine>(journal);
  const endpoint = await startWebhookEndpoint({ address, certificate, onRequest: () => {} });
  endpoint.respond = (request) => {
    const line = toLine(request);
    write(line);
    if (line.answer === 'cut') return 'cut';
    const isTaken = line.answer === '200' || line.answer === 'slow';
    const headers = { 'content-type': 'application/json' };
    const body = JSON.stringify({ taken: isTaken });
    return {
      status: isTaken ? 200 : Number(line.answer),
      headers,
      body,
      afterMs: line.answered_at - line.at,
    };
  };
  process.send?.({ port: endpoint.port });
}

process.on('message', (command: { listen: ListenOptions }) => void listen(command.listen));
process.on('disconnect', () => process.exit(0));
