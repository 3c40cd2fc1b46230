// The best bare program for the same change: Fastify and pg, the read and the writing statement with its event, both named
// and prepared, nothing else.
import { randomUUID } from 'node:crypto';
import Fastify from 'fastify';
import pg from 'pg';

const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL, max: 16 });
const server = Fastify({ logger: false });
const read = `select id, data, created_by, created_by_id, created_date, updated_date, is_sample, version from entity_records
  where app_id = $1 and id = $2 and entity_name = $3 and deleted_date is null`;
const save = `with changed as (
    update entity_records set data = $4, updated_date = $5, version = version + 1
    where app_id = $1 and id = $2 and version = $3 and deleted_date is null returning id)
  insert into events (id, name, payload, occurred_at)
  select $6::uuid, $7::text, $8::jsonb, $9::timestamptz from changed returning id`;

server.put('/api/apps/:app_id/entities/:entity_name/:entity_id', async (request) => {
  const { app_id, entity_name, entity_id } = request.params as Record<string, string>;
  const { rows } = await pool.query({ name: 'read', text: read, values: [app_id, entity_id, entity_name] });
  const { data: before, version, ...record } = rows[0];
  const now = new Date();
  const data = { ...before, ...(request.body as object) };
  const event = JSON.stringify({
    entity_id,
    entity_name,
    app_id,
    data: { ...record, ...data },
    old_data: { ...record, ...before },
  });
  const values = [app_id, entity_id, version, JSON.stringify(data), now, randomUUID(), 'entity.updated', event, now];
  await pool.query({ name: 'save', text: save, values });
  return { ...record, ...data, updated_date: now };
});

await server.listen({ port: 0, host: '127.0.0.1' });
const address = server.server.address();
console.log(`listening ${typeof address === 'object' ? address?.port : ''}`);
process.on('SIGTERM', () => process.exit(0));
