// The best bare program for the same read: Fastify and pg, one named prepared statement, nothing else.
import Fastify from 'fastify';
import pg from 'pg';

const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL, max: 16 });
const server = Fastify({ logger: false });
const text = `select a.id, a.name, a.slug, a.app_type, a.workspace_id, a.owner_id, o.email as owner_email, a.user_description,
  a.logo_url, a.visibility, a.public_settings, a.public_origins, a.hide_authorship, a.revision, a.created_date, a.updated_date,
  a.deleted_date from apps a join users o on o.id = a.owner_id where a.id = $1`;

server.get('/api/apps/:app_id', async (request) => {
  const { app_id } = request.params as { app_id: string };
  const { rows } = await pool.query({ name: 'app', text, values: [app_id] });
  return rows[0];
});

await server.listen({ port: 0, host: '127.0.0.1' });
const address = server.server.address();
console.log(`listening ${typeof address === 'object' ? address?.port : ''}`);
process.on('SIGTERM', () => process.exit(0));
