// The best bare program for the same read: Fastify, pg, and one named prepared statement. With BENCH_PIPELINED, all
// requests share two connections that pipeline their statements. Otherwise each request takes a connection from a pool.
import Fastify from 'fastify';
import pg from 'pg';

const connectionString = process.env.DATABASE_URL;
const text = `select a.id, a.name, a.slug, a.app_type, a.workspace_id, a.owner_id, o.email as owner_email, a.user_description,
  a.logo_url, a.visibility, a.public_settings, a.public_origins, a.hide_authorship, a.revision, a.created_date, a.updated_date,
  a.deleted_date from apps a join users o on o.id = a.owner_id where a.id = $1`;

type Query = (query: pg.QueryConfig) => Promise<pg.QueryResult>;

async function openPipelined(): Promise<Query> {
  const clients = [1, 2].map(() => new pg.Client({ connectionString, pipeline: true }));
  await Promise.all(clients.map((client) => client.connect()));
  let next = 0;
  return (query) => {
    const client = clients[next++ % clients.length] as pg.Client;
    sendInOneWrite(client);
    return client.query(query);
  };
}

/** Sends all data from one event loop turn in a single write. */
function sendInOneWrite(client: pg.Client): void {
  const { stream } = client.connection;
  if (stream.writableCorked > 0) return;
  stream.cork();
  process.nextTick(() => stream.uncork());
}

function openPool(): Query {
  const pool = new pg.Pool({ connectionString, max: 16 });
  return (query) => pool.query(query);
}

const query = process.env.BENCH_PIPELINED === undefined ? openPool() : await openPipelined();
const server = Fastify({ logger: false });

server.get('/api/apps/:app_id', async (request) => {
  const { app_id } = request.params as { app_id: string };
  const { rows } = await query({ name: 'app', text, values: [app_id] });
  return rows[0];
});

await server.listen({ port: 0, host: '127.0.0.1' });
const address = server.server.address();
console.log(`listening ${typeof address === 'object' ? address?.port : ''}`);
process.on('SIGTERM', () => process.exit(0));
