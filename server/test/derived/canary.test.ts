// Checks that credentials do not leak. They are sent in every part of a request where a caller could put them, and then
// searched for in the log, in error responses and in all tables.
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
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

const errorBodies: string[] = [];
for (const route of world.app.routes) {
  for (const canary of canaries) {
    await world.resetRateLimits(); // six unknown credentials per minute delay an address's responses
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
      if (got.status >= 400) errorBodies.push(got.text);
    }
  }
}
// Causes an unexpected error, whose log line must not contain the request either.
await world.db.schema.alterTable('folders').renameTo('folders_renamed').execute();
await world.call('GET', `/api/app-folders/tree?token=${canaries[0]}`, { as: canaries[0] });
await world.db.schema.alterTable('folders_renamed').renameTo('folders').execute();

const expectNoCredential = (text: string) => {
  for (const canary of canaries)
    expect(text.includes(canary), `a credential was found in this text: ${text.slice(0, 200)}`).toBe(false);
};

describe('a credential that was sent anywhere in a request', () => {
  it('is in no line of the log, which has every request and the error', () => {
    expect(world.logLines.length).toBeGreaterThan(errorBodies.length);
    expect(world.logLines.some((line) => line.includes('"msg":"request failed"'))).toBe(true);
    expectNoCredential(world.logLines.join('\n'));
  });

  it('is in no error answer', () => {
    expect(errorBodies.length).toBeGreaterThan(100);
    expectNoCredential(errorBodies.join('\n'));
  });

  it('is in no table', async () => {
    const tables = await world.db.introspection.getTables();
    let rowCount = 0;
    for (const { name, schema } of tables) {
      const table = sql.id(schema as string, name);
      const { rows } = await sql<{ row: string }>`select t::text as row from ${table} t`.execute(world.db);
      for (const { row } of rows) {
        rowCount += 1;
        expectNoCredential(row);
      }
    }
    expect(rowCount).toBeGreaterThan(5);
  });
});
