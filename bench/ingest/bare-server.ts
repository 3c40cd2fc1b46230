// A bare program that receives the same requests. It parses the body, copies the rows in one statement, and responds.
// It validates nothing, and stores no ids, users or counts.
import { createServer } from 'node:http';
import { openBare } from './bare.ts';
import { batchSize } from './events.ts';

const programs = Array.from({ length: 4 }, () => openBare(process.env.DATABASE_URL ?? '', 1, batchSize));
let next = 0;

const server = createServer(async (request, response) => {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  const { events } = JSON.parse(Buffer.concat(chunks).toString('utf8'));
  const app_id = /\/apps\/([^/]+)\//.exec(request.url ?? '')?.[1] ?? '';
  next = (next + 1) % programs.length;
  await programs[next]?.copy(app_id, [events]);
  response.setHeader('content-type', 'application/json');
  response.end(JSON.stringify({ accepted: events.length, duplicates: 0, rejected: [] }));
});
server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  console.log(`listening ${typeof address === 'object' ? address?.port : ''}`);
});
process.on('SIGTERM', () => process.exit(0));
