// A receiver that loses nothing. It stores a delivery before it answers, stores repeats once, and says which numbers are
// missing. Run it (Node 24) and continue from there:
//   WEBHOOK_SECRET=whsec_… node receive.ts PORT FILE        FILE: one line per delivery, `NUMBER ID BODY`
import { fsyncSync, ftruncateSync, openSync, readFileSync, writeSync } from 'node:fs';
import { createServer, type IncomingMessage } from 'node:http';
import { type Received, receive } from './missing.ts';
import { verify } from './verify.ts';

const [port = '3000', file = 'deliveries.txt'] = process.argv.slice(2);
const secret = process.env.WEBHOOK_SECRET ?? '';
const received: Received = { upTo: 0, beyond: new Set() };
const ids = new Set<string>();

const log = openSync(file, 'a+');
const stored = readFileSync(file);
// A crash can cut off the last line. It was not answered, so the delivery comes again.
ftruncateSync(log, stored.lastIndexOf('\n') + 1);
for (const line of stored.toString().split('\n').slice(0, -1)) remember(line);

const server = createServer(async (request, response) => {
  const body = Buffer.concat(await request.toArray());
  const refused = verify(secret, (name) => header(request, name), body, Date.now());
  if (refused === undefined) store(request, body);
  else console.error(`refused: ${refused}`);
  response.writeHead(refused === undefined ? 204 : 400).end();
});
server.listen(Number(port), '127.0.0.1', () => console.log(`listening on http://127.0.0.1:${port}`));

const header = ({ headers }: IncomingMessage, name: string): string => String(headers[name] ?? '');

/** The delivery is on the disk before it is answered. Do the work afterwards, from the file. */
function store(request: IncomingMessage, body: Buffer) {
  const id = header(request, 'webhook-id'); // signed, unlike X-Service-Delivery
  if (ids.has(id)) return console.log(`repeated: ${id}`);
  const line = `${header(request, 'x-service-sequence') || '-'} ${id} ${body.toString()}`;
  writeSync(log, `${line}\n`);
  fsyncSync(log);
  remember(line);
  const waiting = received.beyond.size === 0 ? '' : `, waiting for ${received.upTo + 1}`;
  console.log(`${header(request, 'x-service-event')} ${line.split(' ')[0]}${waiting}`);
}

/** The sample that `test` sends has no number. */
function remember(line: string) {
  const [number, id] = line.split(' ');
  if (id) ids.add(id);
  if (id && number !== '-') receive(received, Number(number));
}
