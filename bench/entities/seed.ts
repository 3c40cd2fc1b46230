// The measurement's data: apps with two entities, one with rules and one without, and records generated in the
// database.
import type pg from 'pg';
import { digestValue } from '../../server/src/features/entities/schemas/keys.ts';

export const ruled = 'Task';
export const free = 'Note';
const owners = 1_000;

const properties = {
  title: { type: 'string', maxLength: 200 },
  state: { type: 'string', enum: ['draft', 'open', 'done'] },
  owner: { type: 'string' },
  cost: { type: 'number', minimum: 0 },
};
const admins = { user_condition: { role: 'admin' } };

export const schemas = [
  {
    name: ruled,
    type: 'object',
    properties: { ...properties, cost: { ...properties.cost, rls: { write: admins } } },
    rls: {
      read: { 'data.owner': '{{user.email}}' },
      update: { created_by: '{{user.email}}' },
      create: true,
      delete: admins,
    },
  },
  { name: free, type: 'object', properties },
];

/** Adds records `from` to `to` to both entities. Record n belongs to app n mod (number of apps). */
export async function grow(client: pg.Client, apps: readonly string[], email: string, from: number, to: number) {
  for (const entity of [ruled, free]) {
    for (let start = from; start < to; start += 500_000) {
      const end = Math.min(to, start + 500_000) - 1;
      await client.query(
        `insert into entity_records (app_id, id, entity_name, data, created_by, created_by_id, created_date, updated_date)
         select ($1::uuid[])[n % $2 + 1], idOf(n, $3), $3, jsonb_build_object('title', 'record ' || n, 'state', 'open',
             'owner', case when (n / $2) % $4 = 0 then $5 else 'person' || (n / $2) % $4 || '@example.com' end, 'cost', n % 100),
           $5, $6, timestamptz '2026-01-01' + n * interval '1 ms', timestamptz '2026-01-01' + n * interval '1 ms'
         from generate_series($7::bigint, $8::bigint) n`.replaceAll('idOf(n, $3)', idOf(entity)),
        [apps, apps.length, entity, owners, email, '00000000-0000-7000-8000-000000000000', start, end],
      );
    }
  }
}

// The two entities' record ids differ in one digit. Requests use the first entity's ids.
const idOf = (entity: string): string =>
  `('00000000-0000-7000-${entity === ruled ? '8' : '9'}000-' || lpad(to_hex(n), 12, '0'))::uuid`;

/** Inserts the entity keys that the rule needs for the added records. */
export async function addKeys(client: pg.Client, key: string, email: string, from: number, to: number): Promise<void> {
  await client.query(`create temp table if not exists digests (owner text primary key, value bytea)`);
  const all = [email, ...Array.from({ length: owners - 1 }, (_, n) => `person${n + 1}@example.com`)];
  await client.query('insert into digests select * from unnest($1::text[], $2::bytea[]) on conflict do nothing', [
    all,
    all.map((owner) => digestValue(owner)),
  ]);
  await client.query(
    `insert into entity_keys (app_id, entity_name, key, value, created_date, record_id, is_unique)
     select r.app_id, r.entity_name, $1, d.value, r.created_date, r.id, false
     from entity_records r join digests d on d.owner = r.data->>'owner'
     where r.entity_name = $2 and r.created_date >= timestamptz '2026-01-01' + $3 * interval '1 ms'
       and r.created_date < timestamptz '2026-01-01' + $4 * interval '1 ms'`,
    [key, ruled, from, to],
  );
}
