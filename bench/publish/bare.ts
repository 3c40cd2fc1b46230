// The best bare program for the same file: Fastify sends a buffer from memory with the relevant headers.
import { createHash } from 'node:crypto';
import Fastify from 'fastify';

const content = Buffer.from(process.env.BENCH_CONTENT ?? '');
const headers = {
  'content-type': 'text/javascript; charset=utf-8',
  etag: `"${createHash('sha256').update(content).digest('hex')}"`,
  'cache-control': 'no-cache',
  vary: 'Accept-Encoding',
  'accept-ranges': 'bytes',
  'x-content-type-options': 'nosniff',
};
const server = Fastify({ logger: false });
server.get('/app.js', (_request, reply) => {
  reply.headers(headers).send(content);
});

await server.listen({ port: 0, host: '127.0.0.1' });
const address = server.server.address();
console.log(`listening ${typeof address === 'object' ? address?.port : ''}`);
process.on('SIGTERM', () => process.exit(0));
