// Tests byte budgets on a dedicated route: declared and undeclared lengths, the budgets of a caller and of a whole
// workspace, and bytes that a handler counts.
import { request } from 'node:http';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { startWorld } from '../../../../test/support/world.ts';
import { body } from '../../../kit/http/shapes.ts';
import { writeCredentials } from '../credentials.ts';
import { appData } from '../guards/app-data.ts';
import { type ByteBudget, type Limit, perMinute } from '../limits.ts';
import { route } from '../route.ts';

const limit = (quota: number, per: Limit['per']): Limit => ({
  quota,
  windowSeconds: 60,
  per,
  group: 'haul_bytes',
  scaledBy: 'plan',
});
const haulBytes: ByteBudget = [limit(1_000, 'caller'), limit(2_500, 'whole workspace')];
let handled = 0;

const world = await startWorld({
  routes: (routes) => [
    ...routes,
    route({
      name: 'haul',
      method: 'POST',
      path: '/api/apps/{app_id}/haul',
      summary: 'Takes a load',
      credentials: { ...writeCredentials, appUser: true },
      access: appData(),
      limit: perMinute(100, 'caller'),
      bytes: haulBytes,
      body: body({ load: z.string(), work: z.number().optional() }),
      audits: 'nothing',
      answers: { 200: z.unknown() },
      handle: ({ body, countBytes }) => {
        handled += 1;
        if (body.work !== undefined) void countBytes(body.work);
        return {};
      },
    }),
  ],
});
const owner = await world.person('owner@example.com');

async function newPlace(plan: 'free' | 'pro' = 'free') {
  const workspace = await world.workspace(owner, plan);
  const app = await world.appOf(owner, workspace, { public_settings: 'public_without_login' });
  const member = async () =>
    world.token(await world.member(workspace, 'editor', `${crypto.randomUUID()}@example.com`), workspace);
  const haul = (as: string | undefined, bytes: number, work?: number) =>
    world.call('POST', `/api/apps/${app.id}/haul`, { as, body: fill(bytes, work) });
  return { app, member, haul };
}

/** A body of exactly this many bytes. */
const fill = (bytes: number, work?: number) => {
  const empty = JSON.stringify({ load: '', work });
  return Buffer.from(JSON.stringify({ load: 'x'.repeat(bytes - empty.length), work }));
};

describe('a byte budget', () => {
  it('lets a caller send up to its bytes, then refuses with 429 and says that it is bytes', async () => {
    const { haul, member } = await newPlace();
    const as = await member();
    expect((await haul(as, 600)).status).toBe(200);
    expect((await haul(as, 400)).status).toBe(200);
    const before = handled;
    const refused = await haul(as, 50);
    expect(refused).toMatchObject({
      status: 429,
      body: { code: 'rate_limited', limit: 1_000, window_seconds: 60, retry_safe: true },
    });
    expect(refused.body.detail).toContain('bytes');
    expect(refused.headers['ratelimit-policy']).toBe('"haul_bytes";q=1000;w=60;qu="content-bytes"');
    expect(refused.headers.ratelimit).toMatch(/^"haul_bytes";r=0;t=\d+$/);
    expect(Number(refused.headers['retry-after'])).toBeGreaterThanOrEqual(1);
    expect(handled).toBe(before);
  });

  it('is multiplied by the factor of the plan', async () => {
    const { haul, member } = await newPlace('pro');
    const as = await member();
    expect((await haul(as, 3_000)).status).toBe(200);
    expect((await haul(as, 50)).body.limit).toBe(3_000);
  });

  it('of a workspace is shared by its callers, app users included', async () => {
    const { haul, member, app } = await newPlace();
    const user = await world.appUserToken(app, await world.appUser(app, 'ann@customers.example'));
    for (const as of [await member(), await member(), user]) expect((await haul(as, 800)).status).toBe(200);
    expect(await haul(await member(), 800)).toMatchObject({ status: 429, body: { limit: 2_500 } });
  });

  it('of a workspace does not count callers without a credential, who are counted by their address', async () => {
    const { haul, member } = await newPlace();
    expect((await haul(undefined, 900)).status).toBe(200);
    expect(await haul(undefined, 900)).toMatchObject({ status: 429, body: { limit: 1_000 } });
    for (let n = 0; n < 2; n += 1) expect((await haul(await member(), 1_000)).status).toBe(200);
  });

  it('counts bytes of work, and refuses the next request', async () => {
    const { haul, member } = await newPlace();
    const as = await member();
    expect((await haul(as, 50, 5_000)).status).toBe(200);
    expect((await haul(as, 50)).status).toBe(429);
  });

  it('counts a body whose length is not declared once it was read, before it is handled', async () => {
    const { app, member } = await newPlace();
    const as = await member();
    const send = (bytes: number) => sendInChunks(`${world.url}/api/apps/${app.id}/haul`, as, fill(bytes));
    expect(await send(900)).toBe(200);
    const before = handled;
    expect(await send(900)).toBe(429);
    expect(handled).toBe(before);
  });
});

function sendInChunks(url: string, token: string, sent: Buffer): Promise<number | undefined> {
  const { promise, resolve, reject } = Promise.withResolvers<number | undefined>();
  const headers = {
    authorization: `Bearer ${token}`,
    'content-type': 'application/json',
    'transfer-encoding': 'chunked',
  };
  const sending = request(url, { method: 'POST', headers }, (answer) => {
    answer.resume().on('end', () => resolve(answer.statusCode));
  });
  sending.on('error', reject);
  sending.write(sent.subarray(0, 100));
  sending.end(sent.subarray(100));
  return promise;
}
