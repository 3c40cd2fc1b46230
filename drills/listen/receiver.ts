// The receiver of the drill, in a process of its own that is never killed. It verifies each delivery,
// writes it to the journal, and only then answers.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { verifyWebhook } from '../../client/sdk/src/webhooks.ts';
import { openJournal } from '../lib/journal-file.ts';

export interface ReceivedLine {
  readonly sequence: number;
  /** The id that is signed. */
  readonly id: string;
  readonly record: string;
  /** Why the delivery was refused. */
  readonly refused?: string;
}

const write = openJournal<ReceivedLine>(process.env.BENCH_JOURNAL ?? '');
let secret = '';
process.on('message', (sent: string) => {
  secret = sent;
});

const server = createServer(async (request, response) => {
  const body = await text(request);
  const sequence = Number(request.headers['x-service-sequence']);
  try {
    const { id, event } = await verifyWebhook({ headers: request.headers, body }, { secret });
    write({ sequence, id, record: 'entity_id' in event ? event.entity_id : '' });
    response.writeHead(204).end();
  } catch (error) {
    write({ sequence, id: '', record: '', refused: String(error) });
    response.writeHead(400).end();
  }
});
server.listen(0, '127.0.0.1', () => process.send?.({ port: (server.address() as AddressInfo).port }));
