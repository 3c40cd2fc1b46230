// Tests that a 500 reports correctly whether the request can be repeated (docs/api/conventions.md#errors).
import { expect, it } from 'vitest';
import type { CallOptions } from '../../../../test/support/client.ts';
import { startWorld } from '../../../../test/support/world.ts';
import { newId } from '../../ids.ts';

const failing = ['listApps', 'createApp', 'updateApp', 'trackEvents', 'createRecord', 'updateRecord', 'deleteRecords'];
const fail = () => {
  throw new Error('a bug');
};
const world = await startWorld({
  routes: (routes) => routes.map((route) => (failing.includes(route.name) ? { ...route, handle: fail } : route)),
});
const owner = await world.person('owner@example.com');
const workspace = await world.workspace(owner);
const as = await world.token(owner, workspace);
const app = await world.appOf(owner, workspace, { public_settings: 'public_without_login' });
await world.call('PUT', `/api/apps/${app.id}/entity-schemas/Task`, {
  as,
  body: { name: 'Task', rls: { create: true } },
});
const headers = { 'idempotency-key': 'order-1' };

const expectRetrySafe = async (retry_safe: boolean, method: string, path: string, sent: CallOptions) =>
  expect(await world.call(method, path, sent)).toMatchObject({
    status: 500,
    body: { code: 'internal_error', retry_safe },
  });

it('a GET that failed may be repeated', () => expectRetrySafe(true, 'GET', '/api/apps', { as }));

it('a POST that failed may be repeated with a key that its operation honours', async () => {
  await expectRetrySafe(true, 'POST', '/api/apps', { as, headers });
  await expectRetrySafe(false, 'POST', '/api/apps', { as });
});

it('a PUT or DELETE that failed may be repeated without a key only if that has no further effect', async () => {
  const path = `/api/apps/${app.id}`;
  await expectRetrySafe(true, 'PUT', path, { as, body: { name: 'Shop' } });
  const record = `${path}/entities/Task/${newId()}`;
  await expectRetrySafe(false, 'PUT', record, { as, body: {} });
  await expectRetrySafe(true, 'PUT', record, { as, body: {}, headers });
  await expectRetrySafe(false, 'DELETE', `${path}/entities/Task`, { as, body: { all: true } });
  await expectRetrySafe(true, 'DELETE', `${path}/entities/Task`, { as, body: { all: true }, headers });
});

it('a key that is ignored makes no request repeatable', async () => {
  const event = { event_name: 'order_placed' };
  await expectRetrySafe(false, 'POST', `/api/apps/${app.id}/analytics/track/batch`, {
    as,
    headers,
    body: { events: [event] },
  });
  const path = `/api/apps/${app.id}/entities/Task`;
  await expectRetrySafe(true, 'POST', path, { as, headers, body: {} });
  await expectRetrySafe(false, 'POST', path, { headers, body: {} }); // an anonymous caller
});
