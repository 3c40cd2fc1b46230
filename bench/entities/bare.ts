// The best bare program for the same change: Fastify and pg, with the product's last two statements as named prepared
// statements, and without credentials, rules or validation. With BENCH_CREDENTIAL it causes the same background work as
// the product: it wakes the worker, and its events name the credential that made the change, so writes are counted.
import { randomUUID } from 'node:crypto';
import Fastify from 'fastify';
import pg from 'pg';
import { eventsTopic } from '../../server/src/kit/background/events/event-bus.ts';
import { openWakeUps } from '../../server/src/kit/background/workers/wake.ts';

const credential_id = process.env.BENCH_CREDENTIAL ?? null;
const wake =
  credential_id === null
    ? undefined
    : openWakeUps(process.env.REDIS_URL ?? 'redis://127.0.0.1:6379', process.env.REDIS_PREFIX ?? '');

const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL, max: 16 });
const server = Fastify({ logger: false });

const find = `select id, data, created_by, created_by_id, created_date, updated_date, is_sample, version
  from entity_records where app_id = $1 and id = $2 and entity_name = $3 and deleted_date is null`;
const save = `with changed as (
    update entity_records set data = $4, updated_date = $5, version = version + 1
    where app_id = $1 and id = $2 and version = $3 and deleted_date is null
    returning id)
  insert into events (id, name, payload, occurred_at)
  select $6::uuid, $7::text, $8::jsonb, $9::timestamptz from changed returning id`;

interface Params {
  app_id: string;
  entity: string;
  id: string;
}

server.put('/api/apps/:app_id/entities/:entity/:id', async (request) => {
  const { app_id, entity, id } = request.params as Params;
  const { rows } = await pool.query({ name: 'find', text: find, values: [app_id, id, entity] });
  const { data, version, ...automatic } = rows[0];
  const now = new Date();
  const merged = { ...data, ...(request.body as object) };
  const record = { ...automatic, updated_date: now, ...merged };
  const payload = {
    workspace_id: process.env.BENCH_WORKSPACE,
    app_id,
    entity_name: entity,
    entity_id: id,
    data: record,
    old_data: { ...automatic, ...data },
    changed_fields: Object.keys(request.body as object),
    actor: credential_id && { id: process.env.BENCH_USER, email: process.env.BENCH_EMAIL },
    credential_id,
    depth: 0,
    payload_too_large: false,
  };
  const values = [app_id, id, version, merged, now, randomUUID(), 'entity.updated', JSON.stringify(payload), now];
  await pool.query({ name: 'save', text: save, values });
  wake?.notify(eventsTopic);
  return record;
});

await server.listen({ port: 0, host: '127.0.0.1' });
const address = server.server.address();
console.log(`listening ${typeof address === 'object' ? address?.port : ''}`);
process.on('SIGTERM', () => process.exit(0));
