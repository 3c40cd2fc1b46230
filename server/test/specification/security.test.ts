// Tests what the specification says about security scans and ignored findings.
import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type OsvRecord, startAdvisories } from '../../../sandbox/src/advisories/server.ts';
import type { AppRow } from '../../src/core/auth/proofs.ts';
import { newId } from '../../src/kit/ids.ts';
import { publishFiles, putFiles } from '../support/published.ts';
import { startWorld } from '../support/world.ts';
import { expectOk, personalKey, text, time, workspaceKey } from './support.ts';

const advisories = await startAdvisories();
afterAll(() => advisories.close());
// Serves published apps on a known port, because the server's own port is known only once it is running.
const front = createServer((socket) => {
  const server = connect(Number(new URL(world.url).port), '127.0.0.1');
  socket.pipe(server).pipe(socket);
  for (const end of [socket, server]) end.on('error', () => socket.destroy());
}).listen(0, '127.0.0.1');
await once(front, 'listening');
afterAll(() => front.close());
const world = await startWorld({
  environment: {
    BASE_URL: `http://127.0.0.1:${(front.address() as AddressInfo).port}`,
    ADVISORIES_URL: advisories.url,
    OUTBOUND_ALLOW: 'http://127.0.0.0/8',
  },
});
const owner = await world.person('owner@example.com');
const workspace = await world.workspace(owner);
const token = await world.token(owner, workspace);
beforeEach(() => world.resetRateLimits());

const at = ({ id }: Pick<AppRow, 'id'>, path = '') => `/api/apps/${id}/security/scan${path}`;
const readAs = (app: Pick<AppRow, 'id'>, sent: object) => world.call('GET', at(app), sent);
const read = async (app: AppRow) => expectOk(await readAs(app, { as: token }));
const start = async (app: AppRow) => expectOk(await world.call('POST', at(app), { as: token }));
const ignore = async (app: AppRow, fingerprint: string) =>
  expectOk(await world.call('POST', at(app, '/ignore'), { as: token, body: { fingerprint } }));
const restore = (app: AppRow, fingerprint: string) =>
  world.call('DELETE', at(app, `/ignore/${encodeURIComponent(fingerprint)}`), { as: token });
const settle = async (app: AppRow) => {
  await expect.poll(async () => (await read(app)).status).not.toMatch(/pending|scanning/);
  return read(app);
};
const scan = async (app: AppRow) => {
  await start(app);
  return settle(app);
};
/** Scans again while a busy machine kept a scan from reading everything. */
async function scanFully(app: AppRow) {
  const settleFully = async () => {
    await settle(app);
    const isPartial = String((await readAs(app, { as: token })).headers['x-scan-coverage']).includes('partial');
    if (isPartial) await start(app);
    return isPartial;
  };
  await expect.poll(settleFully).toBe(false);
  return read(app);
}
const set = async (app: AppRow, body: object) =>
  expectOk(await world.call('PATCH', `/api/apps/${app.id}/security/settings`, { as: token, body }));

// Assembled here, so scanners do not report it in this repository.
const secret = ['sk', 'live', '51HqT9eKb2WmXzR7vPdN4cYgA'].join('_');
const lockfile = JSON.stringify({
  lockfileVersion: 3,
  packages: { '': { dependencies: { lodash: '4.17.20' } }, 'node_modules/lodash': { version: '4.17.20' } },
});
const advisory: OsvRecord = {
  id: 'GHSA-aaaa-bbbb-0001',
  modified: '2026-11-16T09:00:00Z',
  summary: 'Prototype pollution',
  affected: [
    {
      package: { ecosystem: 'npm', name: 'lodash' },
      ranges: [{ type: 'SEMVER', events: [{ introduced: '0' }, { fixed: '4.17.21' }] }],
    },
  ],
};
const search = `import { db } from './db.ts';
Deno.serve(async (request) => {
  const name = new URL(request.url).searchParams.get('name');
  const rows = await db.query('select * from people where name = ' + name);
  return Response.json(rows);
});
`;

/** Creates an app with a finding in each group. */
async function newFaultyApp(): Promise<AppRow> {
  const app = await world.appOf(owner, workspace, { public_settings: 'public_without_login' });
  const schema = { name: 'Order', properties: { email: { type: 'string' } }, rls: { read: true, create: true } };
  expectOk(await world.call('PUT', `/api/apps/${app.id}/entity-schemas/Order`, { as: token, body: schema }));
  await set(app, { static_code_enabled: true });
  await publishFiles(
    world,
    app,
    {
      'dist/index.html': '<!doctype html><title>Shop</title>',
      'src/pay.ts': `export const client = createClient('${secret}');\n`,
      'functions/search.ts': search,
      'package-lock.json': lockfile,
    },
    token,
  );
  return app;
}
/** Creates an app with one secret in its code. */
async function newApp(): Promise<AppRow> {
  const app = await world.appOf(owner, workspace);
  await putFiles(world, app, { 'src/pay.ts': `export const client = createClient('${secret}');\n` }, token);
  return app;
}

const waiting = await newApp();
await start(waiting);
const crashing = await newApp();
await start(crashing);
await world.db.updateTable('security_scans').set({ crash_count: 2 }).where('app_id', '=', crashing.id).execute();
const whileNoWorkerRuns = await read(waiting);
advisories.add(advisory);
const faulty = await newFaultyApp();
beforeAll(async () => {
  await world.startWorker();
  await start(faulty);
});
const groups = [
  'rls_recommendations',
  'hardcoded_secrets',
  'backend_functions',
  'dependency_vulnerabilities',
  'static_code_findings',
  'header_recommendations',
];

describe('What the service does', () => {
  it("Through it a caller can read an app's security scan and restore an ignored finding", async () => {
    const app = await newApp();
    const [finding] = (await scan(app)).result.hardcoded_secrets;
    await ignore(app, finding.fingerprint);
    expect((await read(app)).ignored_fingerprints).toEqual([finding.fingerprint]);
    expect(expectOk(await restore(app, finding.fingerprint))).toEqual({ status: 'ok' });
    expect((await read(app)).ignored_fingerprints).toEqual([]);
  });
});

describe('Resources and their fields: Security scan', () => {
  it('status: string; up_to_date, out_of_date, none, pending, scanning, scan_failed', async () => {
    const app = await newApp();
    expect((await read(app)).status).toBe('none');
    expect(whileNoWorkerRuns.status).toBe('pending');
    expect((await settle(crashing)).status).toBe('scan_failed');
    expect((await scan(app)).status).toBe('up_to_date');
    await putFiles(world, app, { 'src/other.ts': 'export {};\n' }, token);
    expect((await read(app)).status).toBe('out_of_date');
    await world.db.updateTable('security_scans').set({ state: 'scanning' }).where('app_id', '=', app.id).execute();
    expect((await read(app)).status).toBe('scanning');
  });

  it('result: object or null; see below', async () => {
    expect((await settle(faulty)).result).toEqual(expect.any(Object));
    expect((await read(await newApp())).result).toBeNull();
  });

  it('static_code_enabled: boolean; whether code-reading analysis is on for the app', async () => {
    const app = await newApp();
    expect((await read(app)).static_code_enabled).toBe(false);
    await set(app, { static_code_enabled: true });
    expect((await read(app)).static_code_enabled).toBe(true);
  });

  it('ignored_fingerprints: array of string; fingerprints of ignored findings (named as part of this response)', async () => {
    const app = await newApp();
    expect((await read(app)).ignored_fingerprints).toEqual([]);
    await ignore(app, 'one');
    await ignore(app, 'two');
    expect((await read(app)).ignored_fingerprints.sort()).toEqual(['one', 'two']);
  });

  it('result fields: analysis_summary (string), rls_recommendations, hardcoded_secrets, backend_functions, dependency_vulnerabilities, static_code_findings, header_recommendations (each an array), core_integration_recommendation (string), scanned_at (date-time)', async () => {
    const { result } = await settle(faulty);
    expect(Object.keys(result).sort()).toEqual(
      [...groups, 'analysis_summary', 'core_integration_recommendation', 'scanned_at'].sort(),
    );
    expect(result).toMatchObject({ analysis_summary: text, core_integration_recommendation: text, scanned_at: time });
    for (const group of groups) expect(result[group]).toEqual(expect.any(Array));
  });

  it("Meaning of groups: rls_recommendations = entities whose row-level security is too open; hardcoded_secrets and backend_functions = the app's own code and functions; dependency_vulnerabilities = npm packages; static_code_findings = from reading code; header_recommendations = HTTP headers of the published app", async () => {
    const { result } = await scanFully(faulty);
    expect(result.rls_recommendations).toMatchObject([{ entity_name: 'Order' }]);
    expect(JSON.stringify(result.hardcoded_secrets)).toContain('src/pay.ts');
    expect(JSON.stringify(result.backend_functions)).toContain('search');
    expect(JSON.stringify(result.dependency_vulnerabilities)).toContain('lodash');
    expect(JSON.stringify(result.static_code_findings)).toContain('functions/search.ts');
    expect(result.header_recommendations.length).toBeGreaterThan(0);
  });
});

describe('States and transitions: Security scan', () => {
  it('up_to_date, app changes: out_of_date; result becomes a stale snapshot', async () => {
    const app = await newApp();
    const before = await scan(app);
    expect(before.status).toBe('up_to_date');
    await putFiles(world, app, { 'src/pay.ts': 'export {};\n' }, token);
    expect(await read(app)).toEqual({ ...before, status: 'out_of_date' });
  });

  it('pending (queued) and scanning (running) both settle on their own and can carry an earlier result', async () => {
    expect((await settle(waiting)).status).toBe('up_to_date');
    const app = await newApp();
    const { result } = await scan(app);
    await putFiles(world, app, { 'src/more.ts': 'export {};\n' }, token);
    expect(await start(app)).toMatchObject({ status: 'pending', result });
    expect((await settle(app)).status).toBe('up_to_date');
  });

  it('scan_failed means the last scan died', async () => {
    expect((await settle(crashing)).status).toBe('scan_failed');
    expect((await scan(crashing)).status).toBe('up_to_date');
  });
});

describe('States and transitions: Ignored finding', () => {
  it('Restoring removes the fingerprint from ignored_fingerprints; the finding itself always stayed in the result', async () => {
    const app = await newApp();
    const { result } = await scan(app);
    const { fingerprint } = result.hardcoded_secrets[0];
    await ignore(app, fingerprint);
    expect(await read(app)).toMatchObject({ ignored_fingerprints: [fingerprint], result });
    expectOk(await restore(app, fingerprint));
    expect(await read(app)).toMatchObject({ ignored_fingerprints: [], result });
  });
});

describe('Endpoints: GET /api/apps/{app_id}/security/scan', () => {
  it('Returns the latest scan (see Security scan)', async () => {
    const app = await newApp();
    const first = await scan(app);
    await putFiles(world, app, { 'src/a.ts': 'export {};\n' }, token);
    const second = await scan(app);
    expect(second.result.hardcoded_secrets).toEqual([]);
    expect(Date.parse(second.result.scanned_at)).toBeGreaterThan(Date.parse(first.result.scanned_at));
    expect(await read(app)).toEqual(second);
  });

  it('Read status before result; they are independent', async () => {
    const app = await newApp();
    const { result } = await scan(app);
    await world.db.updateTable('security_scans').set({ state: 'failed' }).where('app_id', '=', app.id).execute();
    expect(await read(app)).toMatchObject({ status: 'scan_failed', result });
  });

  it('Never starts a scan', async () => {
    const app = await newApp();
    for (let reads = 0; reads < 3; reads += 1) expect(await read(app)).toMatchObject({ status: 'none', result: null });
  });

  it('result is null on none, and on out_of_date when the last scan came from a different scanner version', async () => {
    expect(await read(await newApp())).toMatchObject({ status: 'none', result: null });
    const app = await newApp();
    await scan(app);
    await world.db.updateTable('security_results').set({ scanner_version: 0 }).where('app_id', '=', app.id).execute();
    expect(await read(app)).toMatchObject({ status: 'out_of_date', result: null });
  });

  it('static_code_findings is an empty list unless static_code_enabled is true; dependency_vulnerabilities is empty for a caller outside that rollout; an empty group is not evidence of nothing to find', async () => {
    const app = await newFaultyApp();
    await set(app, { static_code_enabled: false });
    expect(await scan(app)).toMatchObject({ static_code_enabled: false, result: { static_code_findings: [] } });
    const setRollout = (dependency_scan: boolean) =>
      world.db
        .updateTable('workspaces')
        .set({ features: JSON.stringify({ dependency_scan }) })
        .where('id', '=', workspace)
        .execute();
    expect((await read(app)).result.dependency_vulnerabilities).not.toEqual([]);
    await setRollout(false);
    expect((await read(app)).result.dependency_vulnerabilities).toEqual([]);
    await setRollout(true);
  });

  it('Poll while status is pending or scanning', async () => {
    const app = await newApp();
    expect((await start(app)).status).toBe('pending');
    await expect.poll(async () => (await read(app)).status).toBe('up_to_date');
  });

  it('On out_of_date the findings are a previous snapshot; run a new scan before acting', async () => {
    const app = await newApp();
    const { result } = await scan(app);
    await putFiles(world, app, { 'src/pay.ts': 'export {};\n' }, token);
    expect(await read(app)).toMatchObject({ status: 'out_of_date', result });
    const fresh = await scan(app);
    expect(fresh).toMatchObject({ status: 'up_to_date', result: { hardcoded_secrets: [] } });
  });
});

describe('Endpoints: DELETE /api/apps/{app_id}/security/scan/ignore/{fingerprint}', () => {
  it('Restores an ignored finding', async () => {
    const app = await newApp();
    await ignore(app, 'kept');
    await ignore(app, 'restored');
    expectOk(await restore(app, 'restored'));
    expect((await read(app)).ignored_fingerprints).toEqual(['kept']);
  });

  it('fingerprint is a string of 1 to 128 characters', async () => {
    const app = await newApp();
    for (const fingerprint of ['x', 'x'.repeat(128), 'a b/c?d#e%', '指紋', '..'.repeat(2)]) {
      await ignore(app, fingerprint);
      expect(expectOk(await restore(app, fingerprint))).toEqual({ status: 'ok' });
      expect((await read(app)).ignored_fingerprints).toEqual([]);
    }
    expect((await restore(app, 'x'.repeat(129))).status).toBe(422);
  });

  it('Response 200: {status} with value ok, also when the fingerprint was not ignored (nothing changes)', async () => {
    const app = await newApp();
    expect(expectOk(await restore(app, 'never-ignored'))).toEqual({ status: 'ok' });
    expect((await read(app)).ignored_fingerprints).toEqual([]);
  });
});

describe('Errors', () => {
  it('Security scan, assets without campaign_id: 401, 403; credential problems (these and 200 are the only statuses)', async () => {
    const stranger = await world.person('stranger@example.com');
    const foreign = await world.token(stranger, await world.workspace(stranger));
    const unscoped = await world.credential({
      kind: 'workspace_key',
      user_id: null,
      workspace_id: workspace,
      permission: 'full_access',
      scopes: ['apps:read'],
    });
    const readAssets = (app: Pick<AppRow, 'id'>, sent: object) =>
      world.call('GET', `/api/apps/${app.id}/ads-platform/assets`, sent);
    const key = await workspaceKey(world, workspace);
    for (const [id, sent, status, assets] of [
      [faulty.id, { as: token }, 200],
      [faulty.id, { headers: await personalKey(world, owner) }, 200],
      [faulty.id, { headers: await personalKey(world, owner, 'read_only') }, 200],
      [faulty.id, { as: key }, 200, 403], // workspace keys can't use advertising
      [faulty.id, {}, 401],
      [faulty.id, { as: 'invalid' }, 401],
      [faulty.id, { as: foreign }, 403],
      [faulty.id, { as: unscoped.token }, 403],
      [newId(), { as: token }, 403],
      ['malformed', { as: token }, 403],
    ] as const) {
      expect((await readAs({ id }, sent)).status).toBe(status);
      expect((await readAssets({ id }, sent)).status).toBe(assets ?? status);
    }
    const together = Array.from({ length: 200 }, () => [readAs, readAssets])
      .flat()
      .map(async (send) => (await send(faulty, { as: token })).status);
    expect(new Set(await Promise.all(together))).toEqual(new Set([200]));
  });
});
