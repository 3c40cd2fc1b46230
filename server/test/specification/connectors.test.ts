// Tests what the specification says about the fields that a connector needs before a connection is started.
import { describe, expect, it } from 'vitest';
import { startConnectorScene } from '../support/connectors.ts';
import { expectLimit, expectOk, overrideLimits, text } from './support.ts';

const { world, workspace, owner, editor, createApp, connect, start } = await startConnectorScene();
const app = await createApp();
const read = (type: string, as = owner.token, from = app) =>
  world.call('GET', `/api/apps/${from.id}/external-auth/connection-config/${type}`, { as });

describe('What the service does', () => {
  it('Through it a caller can read the fields a connector needs before a connection is started', async () => {
    const { fields } = expectOk(await read('zendesk'));
    expect(fields.map(({ name }: { name: string }) => name)).toEqual(['subdomain']);
    const readOnly = await world.token(owner, workspace, { permission: 'read_only' });
    expectOk(await read('zendesk', readOnly));
  });
});

describe('Resources and their fields: Connector field descriptor', () => {
  it('description, display_name, name, placeholder (strings), required (boolean), validation_error (string), validation_pattern (regular expression string)', async () => {
    const [field] = expectOk(await read('zendesk')).fields;
    expect(field).toEqual({
      description: text,
      display_name: text,
      name: 'subdomain',
      placeholder: text,
      required: true,
      validation_error: text,
      validation_pattern: text,
    });
    const pattern = new RegExp(field.validation_pattern);
    expect(pattern.test('acme-prod')).toBe(true);
    expect(pattern.test('https://acme')).toBe(false);
  });
});

describe('Endpoints: GET /api/apps/{app_id}/external-auth/connection-config/{integration_type}', () => {
  it("Response 200: fields (array of connector field descriptors; empty when the connector needs none) and connection_config (object keyed by field name with the values saved on the app's current connection; empty when no connection)", async () => {
    expect(expectOk(await read('slack'))).toEqual({ fields: [], connection_config: {} });
    expect(expectOk(await read('zendesk')).connection_config).toEqual({});
    const connected = await createApp();
    await connect(connected, owner, { integration_type: 'zendesk', connection_config: { subdomain: 'acme' } });
    const got = expectOk(await read('zendesk', owner.token, connected));
    expect(got.connection_config).toEqual({ subdomain: 'acme' });
    expect(got.fields).toHaveLength(1);
  });

  it('The values are sent as connection_config when a connection is started', async () => {
    const fresh = await createApp();
    const missing = await world.call('POST', `/api/apps/${fresh.id}/external-auth/initiate`, {
      as: owner.token,
      body: { integration_type: 'zendesk' },
    });
    expect(missing.status).toBe(422);
    await start(fresh, owner, { integration_type: 'zendesk', connection_config: { subdomain: 'acme' } });
  });
});

describe('Limits', () => {
  it('Connector fields: 150 requests per minute per caller; some workspaces differ', async () => {
    for (const factor of [null, 2]) {
      await overrideLimits(world, workspace, factor);
      await expectLimit(world, 150 * (factor ?? 1), () => read('zendesk'));
      expectOk(await read('zendesk', editor.token));
    }
    const free = await world.workspace(owner, 'free');
    const own = await world.appOf(owner, free);
    const token = await world.token(owner, free);
    await expectLimit(world, 150, () => read('zendesk', token, own));
  });
});
