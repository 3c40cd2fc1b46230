// Canaries: the texts of credentials are sent everywhere a caller could put them, and must turn up nowhere: not in the
// log, not in an error's body, not in any table.
import { sql } from 'kysely';
import { expect, it } from 'vitest';
import type { CallOptions } from '../support/client.ts';
import { startWorld } from '../support/world.ts';

const world = await startWorld({ environment: { METRICS_TOKEN: 'canary-metrics-token' } });
const owner = await world.person('owner@example.com');
const workspace = await world.workspace(owner);
const personal = { user_id: owner.id, permission: 'full_access' } as const;
const app = await world.appOf(owner, workspace);
const canaries = [
  (await world.credential({ ...personal, kind: 'personal_token', workspace_id: workspace })).token,
  await world.appUserToken(app, await world.appUser(app, 'user@customers.example')),
  (await world.credential({ ...personal, kind: 'personal_key', workspace_id: null })).token,
  (await world.credential({ ...personal, kind: 'session', workspace_id: null })).token,
  (
    await world.credential({
      kind: 'workspace_key',
      user_id: null,
      workspace_id: workspace,
      permission: 'full_access',
      scopes: ['apps:read'],
    })
  ).token,
  'canary-metrics-token',
];

const told: string[] = [];
for (const route of world.app.routes) {
  for (const canary of canaries) {
    const path = route.path.replace(/\{\w+\}/g, canary);
    const sent: CallOptions[] = [
      { headers: { authorization: `Bearer ${canary}` } },
      { headers: { authorization: `Basic ${canary}`, api_key: canary, cookie: `plinth_session=${canary}` } },
      { headers: { api_key: canary, 'x-request-id': `${canary}!` } },
      { headers: { cookie: `plinth_session=${canary}`, 'idempotency-key': canary } },
      {
        headers: { authorization: `Bearer ${canary}` },
        body: { password: canary, setup_token: canary, reset_token: canary },
      },
      { headers: { authorization: `Bearer ${canary}` }, body: `{"${canary}` },
    ];
    for (const each of sent) {
      const got = await world.call(route.method, `${path}?token=${canary}`, each);
      if (got.status >= 400) told.push(got.text);
    }
  }
}
// A failure inside an operation is logged with its error: that line must not carry the request either.
await world.db.schema.alterTable('folders').renameTo('folders_gone').execute();
await world.call('GET', `/api/app-folders/tree?token=${canaries[0]}`, { as: canaries[0] });
await world.db.schema.alterTable('folders_gone').renameTo('folders').execute();

const without = (places: string) => {
  for (const canary of canaries)
    expect(places.includes(canary), `a credential was found in this text: ${places.slice(0, 200)}`).toBe(false);
};

it('finds no credential in the log, which did log every request and the failure', () => {
  expect(world.logLines.length).toBeGreaterThan(told.length);
  expect(world.logLines.some((line) => line.includes('"msg":"request failed"'))).toBe(true);
  without(world.logLines.join('\n'));
});

it('finds no credential in any error’s body', () => {
  expect(told.length).toBeGreaterThan(100);
  without(told.join('\n'));
});

it('finds no credential in any table', async () => {
  const tables = await world.db.introspection.getTables();
  let cells = 0;
  for (const { name, schema } of tables) {
    const table = sql.id(schema as string, name);
    const { rows } = await sql<{ row: string }>`select t::text as row from ${table} t`.execute(world.db);
    for (const { row } of rows) {
      cells += 1;
      without(row);
    }
  }
  expect(cells).toBeGreaterThan(5);
});
