// Tests security scans through the API, with a real worker and the sandbox's advisory database (docs/api/security.md).
import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type OsvRecord, startAdvisories } from '../../../../sandbox/src/advisories/server.ts';
import { listCodeProcesses } from '../../../test/support/code-processes.ts';
import { putFiles } from '../../../test/support/published.ts';
import { startWorld } from '../../../test/support/world.ts';
import type { AppRow } from '../../core/auth/proofs.ts';
import { maxIgnores } from './ignore.ts';

// Hooks run in reverse order, so the world is already closed here.
afterAll(async () => expect(await listCodeProcesses(), 'processes that read code, once the app is closed').toEqual([]));
const advisories = await startAdvisories();
afterAll(() => advisories.close());
/** The address of published apps, forwarded to the server. The server's own port is known only once it is running. */
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
const workspace = await world.workspace(owner, 'business');
const token = await world.token(owner, workspace);
beforeEach(async () => {
  await world.resetRateLimits();
  advisories.setFaults();
});

const at = ({ id }: Pick<AppRow, 'id'>, path = '') => `/api/apps/${id}/security/scan${path}`;
const newApp = (more: object = {}) => world.appOf(owner, workspace, more);
const read = (app: Pick<AppRow, 'id'>, headers: Record<string, string> = {}) =>
  world.call('GET', at(app), { as: token, headers });
const run = (app: Pick<AppRow, 'id'>, query = '') => world.call('POST', at(app, query), { as: token });
const ignore = (app: AppRow, body: object) => world.call('POST', at(app, '/ignore'), { as: token, body });
const restore = (app: AppRow, fingerprint: string) =>
  world.call('DELETE', at(app, `/ignore/${fingerprint}`), { as: token });
const settings = (app: AppRow, body: object) =>
  world.call('PATCH', `/api/apps/${app.id}/security/settings`, { as: token, body });
const put = (app: AppRow, files: Record<string, string>) => putFiles(world, app, files, token);
const putSchema = (app: AppRow, name: string, schema: object) =>
  world.call('PUT', `/api/apps/${app.id}/entity-schemas/${name}`, { as: token, body: { name, ...schema } });

/** Waits until no scan is pending or running. */
async function settle(app: AppRow) {
  await expect.poll(async () => (await read(app)).body.status, { interval: 100 }).not.toMatch(/pending|scanning/);
  return read(app);
}
async function scan(app: AppRow, query = '') {
  expect((await run(app, query)).status).toBe(200);
  return settle(app);
}

// Assembled here, so scanners do not report it in this repository.
const stripeKey = ['sk', 'live', '51HqT9eKb2WmXzR7vPdN4cYgA'].join('_');
const page = (key = stripeKey) => `export const client = createClient('${key}');\n`;
const auditEntries = async (app: AppRow, type: string) => {
  const { body } = await world.call('GET', `/api/workspace/audit-log?type=${type}&limit=100`, { as: token });
  return (body.items as { app_id: string; after: Record<string, unknown> }[]).filter(({ app_id }) => app_id === app.id);
};

describe('before a worker runs', () => {
  it('an app that was never scanned has the status none and no result', async () => {
    const got = await read(await newApp());
    expect(got).toMatchObject({
      status: 200,
      body: { status: 'none', result: null, static_code_enabled: false, ignored_fingerprints: [] },
    });
    expect(got.headers['x-scanner-version']).toBe('2');
    expect(got.headers['x-scan-coverage']).toBeUndefined();
  });

  it('an app that does not exist, or has a malformed id, answers 403', async () => {
    for (const id of ['0198c1f6-0a5c-7d83-b24e-95f1a3c7d06e', 'x'])
      expect(await read({ id })).toMatchObject({ status: 403, body: { code: 'app_access_denied' } });
  });

  it('an app without files and entities cannot be scanned', async () => {
    expect(await run(await newApp())).toMatchObject({ status: 409, body: { code: 'scan_not_available' } });
  });

  it('an unknown language is refused', async () => {
    const app = await newApp();
    await put(app, { 'src/a.ts': page() });
    expect(await run(app, '?language=xx')).toMatchObject({
      status: 422,
      body: { detail: [{ loc: ['query', 'language'], type: 'enum' }] },
    });
  });

  it('a second run while one waits starts nothing', async () => {
    const app = await newApp();
    await put(app, { 'src/a.ts': page() });
    expect((await run(app)).body).toMatchObject({ status: 'pending', result: null });
    const second = await run(app);
    expect(second.body.status).toBe('pending');
    expect(second.headers['x-changed']).toBe('false');
    expect(await auditEntries(app, 'scan.started')).toHaveLength(1);
  });

  it('a scan that crashed two workers fails, with the cause in the audit log', async () => {
    const app = await newApp();
    await put(app, { 'src/a.ts': page() });
    await run(app);
    await world.db.updateTable('security_scans').set({ crash_count: 2 }).where('app_id', '=', app.id).execute();
    crashed = app;
  });
});
let crashed: AppRow | undefined;

describe('with a worker', () => {
  beforeAll(() => world.startWorker());

  it('the scan that crashed two workers has failed', async () => {
    const app = crashed as AppRow;
    expect((await settle(app)).body).toMatchObject({ status: 'scan_failed', result: null });
    const [entry] = await auditEntries(app, 'scan.finished');
    expect(entry?.after).toMatchObject({ outcome: 'failed', cause: expect.stringContaining('crashed twice') });
    expect((await scan(app)).body.status).toBe('up_to_date');
  });

  it('reports a secret without storing it, and says how much was looked at', async () => {
    const app = await newApp();
    await put(app, { 'src/pay.ts': page() });
    const got = await scan(app);
    expect(got.body.status).toBe('up_to_date');
    expect(got.body.result.hardcoded_secrets).toMatchObject([
      { file_path: 'src/pay.ts', line: 1, masked_value: 'sk_l…', reachable_from_browser: true },
    ]);
    expect(got.headers['x-scan-coverage']).toBe(
      'rls=skipped;reason=no_schemas, secrets=ran, functions=skipped;reason=no_files, dependencies=skipped;reason=no_lockfile, static=off, headers=skipped;reason=not_published',
    );
    for (const table of [
      'security_results',
      'security_scans',
      'security_ignores',
      'audit_entries',
      'audit_pending',
    ] as const)
      expect(JSON.stringify(await world.db.selectFrom(table).selectAll().execute())).not.toContain(stripeKey.slice(8));
    expect(got.text).not.toContain(stripeKey.slice(8));
    const [entry] = await auditEntries(app, 'scan.finished');
    expect(entry?.after).toMatchObject({ outcome: 'finished', findings: { secrets: 1 } });
  });

  it('looks for secrets in lock files, too', async () => {
    const app = await newApp();
    await put(app, {
      'yarn.lock': `resolved "https://ci:${['Tq7', 'vX2mK9', 'pLr4'].join('')}@npm.internal-registry.dev/a.tgz"\n`,
    });
    const { body, headers } = await scan(app);
    expect(body.result.hardcoded_secrets).toMatchObject([{ file_path: 'yarn.lock', line: 1 }]);
    expect(headers['x-scan-coverage']).toContain('secrets=ran, functions=skipped;reason=no_files');
  });

  it('writes the summary in the language that was asked for', async () => {
    const app = await newApp();
    await put(app, { 'src/pay.ts': page() });
    expect((await scan(app, '?language=de')).body.result.analysis_summary).toMatch(
      /^Die Prüfung hat 1 Problem gefunden/,
    );
  });

  it('is out of date when files, rules, headers or publishing change, and up to date when they return', async () => {
    const app = await newApp();
    const files = { 'src/a.ts': page(), 'dist/index.html': '<p>Hello</p>' };
    await put(app, files);
    await putSchema(app, 'Order', { properties: { total: { type: 'number' } }, rls: { read: false } });
    await scan(app);
    const statusAfter = async (change: Promise<unknown>) => {
      await change;
      return (await read(app)).body.status;
    };
    expect(await statusAfter(put(app, { ...files, 'src/b.ts': '1' }))).toBe('out_of_date');
    expect((await read(app)).body.result.hardcoded_secrets).toHaveLength(1);
    expect(await statusAfter(put(app, files))).toBe('up_to_date');
    const total = { properties: { total: { type: 'number' } } };
    expect(await statusAfter(putSchema(app, 'Order', { ...total, rls: { read: true } }))).toBe('out_of_date');
    expect(await statusAfter(putSchema(app, 'Order', { ...total, rls: { read: false } }))).toBe('up_to_date');
    expect(await statusAfter(settings(app, { headers: { frame_options: 'DENY' } }))).toBe('out_of_date');
    expect(await statusAfter(settings(app, { headers: { frame_options: null } }))).toBe('up_to_date');
    const publish = world.call('POST', `/api/apps/${app.id}/deploy`, { as: token });
    expect(await statusAfter(publish)).toBe('out_of_date');
    const unpublish = world.call('POST', `/api/apps/${app.id}/unpublish`, { as: token });
    expect(await statusAfter(unpublish)).toBe('up_to_date');
  });

  it('shows no result of another version of the scanner', async () => {
    const app = await newApp();
    await put(app, { 'src/a.ts': page() });
    await scan(app);
    await world.db.updateTable('security_results').set({ scanner_version: 0 }).where('app_id', '=', app.id).execute();
    expect((await read(app)).body).toMatchObject({ status: 'out_of_date', result: null });
    expect((await scan(app)).body.status).toBe('up_to_date');
  });

  it('keeps the earlier result while a scan waits, and when it fails', async () => {
    const app = await newApp();
    await put(app, { 'src/a.ts': page() });
    await scan(app);
    const change = { state: 'failed' } as const;
    await world.db.updateTable('security_scans').set(change).where('app_id', '=', app.id).execute();
    const got = await read(app);
    expect(got.body).toMatchObject({ status: 'scan_failed', result: { hardcoded_secrets: [{ line: 1 }] } });
    const waiting = await run(app);
    expect(waiting.body).toMatchObject({ status: 'pending', result: { hardcoded_secrets: [{ line: 1 }] } });
    await settle(app);
  });

  it('answers with SARIF', async () => {
    const app = await newApp();
    await put(app, { 'src/a.ts': page() });
    await scan(app);
    const got = await read(app, { accept: 'application/sarif+json' });
    expect(got.headers['content-type']).toContain('application/sarif+json');
    const log = JSON.parse(got.text);
    expect(log.runs[0].results).toMatchObject([{ level: 'error', properties: { finding_type: 'hardcoded_secret' } }]);
  });
});

describe('ignored findings', () => {
  it('stay in the result, survive a new file name, and can be restored', async () => {
    const app = await newApp();
    await put(app, { 'src/a.ts': page() });
    const [found] = (await scan(app)).body.result.hardcoded_secrets;
    const { fingerprint } = found;
    expect((await ignore(app, { fingerprint, reason: 'test key' })).body).toEqual({ status: 'ok' });
    expect((await ignore(app, { fingerprint })).headers['x-changed']).toBe('false');
    await put(app, { 'src/renamed.ts': `\n\n${page()}`, 'src/copy.ts': page() });
    const { body } = await scan(app);
    expect(body.ignored_fingerprints).toEqual([fingerprint]);
    const secrets = body.result.hardcoded_secrets as { fingerprint: string; file_path: string }[];
    expect(secrets).toHaveLength(2);
    expect(secrets.filter((secret) => secret.fingerprint === fingerprint)).toHaveLength(1);
    expect((await restore(app, fingerprint)).body).toEqual({ status: 'ok' });
    expect((await read(app)).body.ignored_fingerprints).toEqual([]);
    expect((await restore(app, fingerprint)).headers['x-changed']).toBe('false');
    expect(await auditEntries(app, 'scan.finding_ignored')).toHaveLength(1);
    expect(await auditEntries(app, 'scan.finding_restored')).toHaveLength(1);
  });

  it('may be unknown, and are removed after 180 days of absence', async () => {
    const app = await newApp();
    await put(app, { 'src/a.ts': page() });
    await ignore(app, {
      fingerprint: 'not yet found',
      finding_type: 'hardcoded_secret',
      file_path: 'src/a.ts',
      title: 'A key',
    });
    const { fingerprint } = (await scan(app)).body.result.hardcoded_secrets[0];
    await ignore(app, { fingerprint });
    const job = world.app.background.jobs.find(({ name }) => name === 'remove ignores of absent findings');
    const inDays = (days: number) => new Date(world.clock.now().getTime() + days * 24 * 60 * 60 * 1000);
    expect(await job?.run(world.app.database.db, inDays(179))).toBe(0);
    expect(await job?.run(world.app.database.db, inDays(181))).toBe(1);
    expect((await read(app)).body.ignored_fingerprints).toEqual([fingerprint]);
    const [entry] = await auditEntries(app, 'scan.finding_restored');
    expect(entry?.after).toEqual({ count: 1, absent_days: 180 });
  });

  it('have a limit, a known type and a length', async () => {
    const app = await newApp();
    const rows = Array.from({ length: maxIgnores }, (_, index) => ({
      app_id: app.id,
      workspace_id: workspace,
      fingerprint: `f${index}`,
      created_by: 'ann@example.com',
      created_date: new Date(),
    }));
    await world.db.insertInto('security_ignores').values(rows).execute();
    expect(await ignore(app, { fingerprint: 'one more' })).toMatchObject({
      status: 409,
      body: { code: 'limit_reached', limit: maxIgnores },
    });
    expect(await ignore(app, { fingerprint: 'x', finding_type: 'header' })).toMatchObject({ status: 422 });
    expect(await restore(app, 'x'.repeat(129))).toMatchObject({
      status: 422,
      body: { detail: [{ loc: ['path', 'fingerprint'], type: 'string_too_long' }] },
    });
  });
});

describe('dependencies', () => {
  const lockfile = JSON.stringify({
    lockfileVersion: 3,
    packages: {
      '': { dependencies: { 'left-pad-plus': '^1.0.0' } },
      'node_modules/left-pad-plus': { version: '1.0.1' },
    },
  });
  const advisory = (id: string): OsvRecord => ({
    id,
    modified: '2026-11-16T09:00:00Z',
    summary: 'Runs what it pads',
    affected: [
      {
        package: { name: 'left-pad-plus', ecosystem: 'npm' },
        ranges: [{ type: 'SEMVER', events: [{ introduced: '0' }, { fixed: '1.0.2' }] }],
      },
    ],
  });
  const compare = (days: number) => {
    const job = world.app.background.jobs.find(({ name }) => name === 'compare packages with advisories');
    return job?.run(world.app.database.db, new Date(world.clock.now().getTime() + days * 24 * 60 * 60 * 1000));
  };
  const coverageOf = async (app: AppRow) =>
    /dependencies=([^,]*)/.exec(String((await read(app)).headers['x-scan-coverage']))?.[1];

  it('are compared with new advisories without a scan, and only that group changes', async () => {
    const app = await newApp();
    await put(app, { 'package-lock.json': lockfile, 'src/a.ts': page() });
    const before = (await scan(app)).body;
    expect(before.result.dependency_vulnerabilities).toEqual([]);
    expect(await coverageOf(app)).toBe('ran');
    advisories.add(advisory('GHSA-aaaa-bbbb-0001'));
    expect(await compare(0.5)).toBe(0);
    expect((await read(app)).body).toEqual(before);
    expect(await compare(1.1)).toBeGreaterThan(0);
    const after = (await read(app)).body;
    expect(after.result.dependency_vulnerabilities).toMatchObject([
      { package_name: 'left-pad-plus', installed_version: '1.0.1', fixed_version: '1.0.2', direct: true },
    ]);
    const withoutGroup = ({ dependency_vulnerabilities, analysis_summary, ...rest }: typeof after.result) => rest;
    expect(after.status).toBe('up_to_date');
    expect(withoutGroup(after.result)).toEqual(withoutGroup(before.result));
  });

  it('stay as they are while the database of advisories does not answer', async () => {
    const app = await newApp();
    await put(app, { 'package-lock.json': lockfile });
    advisories.add(advisory('GHSA-aaaa-bbbb-0001'));
    const before = (await scan(app)).body;
    expect(before.result.dependency_vulnerabilities).toHaveLength(1);
    advisories.setFaults({ call: '*', fault: 'error_before' });
    await compare(1.1);
    expect((await read(app)).body).toEqual(before);
  });

  it('are marked as compared before the comparison begins, so one which ends the process is not the next', async () => {
    const app = await newApp();
    await put(app, { 'package-lock.json': lockfile });
    await scan(app);
    const readAt = async () =>
      (
        await world.db
          .selectFrom('security_results')
          .where('app_id', '=', app.id)
          .select('advisories_read_at')
          .executeTakeFirstOrThrow()
      ).advisories_read_at?.getTime();
    const [before, calls] = [await readAt(), advisories.calls.length];
    advisories.setFaults({ call: 'querybatch', fault: 'delay', delay_ms: 1_000 });
    let isEnded = false;
    const comparison = compare(1.1)?.then(() => {
      isEnded = true;
    });
    await expect.poll(() => advisories.calls.length, { interval: 20 }).toBeGreaterThan(calls);
    const after = await readAt();
    expect(isEnded).toBe(false);
    expect(after).toBeGreaterThan(before ?? 0);
    await comparison;
  });

  it('are compared within two hours if the database did not answer the scan', async () => {
    const app = await newApp();
    await put(app, { 'package-lock.json': lockfile });
    advisories.add(advisory('GHSA-aaaa-bbbb-0001'));
    advisories.setFaults({ call: '*', fault: 'error_before' });
    expect((await scan(app)).body.result.dependency_vulnerabilities).toEqual([]);
    expect(await coverageOf(app)).toBe('skipped;reason=offline');
    advisories.setFaults();
    await compare(0.06);
    expect((await read(app)).body.result.dependency_vulnerabilities).toHaveLength(1);
  });

  it('are not looked at, and not shown, if the operator has switched that off', async () => {
    const app = await newApp();
    await put(app, { 'package-lock.json': lockfile });
    advisories.add(advisory('GHSA-aaaa-bbbb-0001'));
    await scan(app);
    const setFeatures = (features: object) =>
      world.db
        .updateTable('workspaces')
        .set({ features: JSON.stringify(features) })
        .where('id', '=', workspace)
        .execute();
    await setFeatures({ dependency_scan: false });
    expect((await read(app)).body.result.dependency_vulnerabilities).toEqual([]);
    expect(await coverageOf(app)).toBe('skipped;reason=rollout');
    await scan(app);
    await setFeatures({});
    expect((await read(app)).body.result.dependency_vulnerabilities).toEqual([]);
    expect(await coverageOf(app)).toBe('skipped;reason=rollout');
  });
});

describe('static code', () => {
  const search = `import { db } from './db.ts';
Deno.serve(async (request) => {
  const name = new URL(request.url).searchParams.get('name');
  const rows = await db.query('select * from people where name = ' + name);
  return Response.json(rows);
});
`;

  it('is read if the settings say so, and hidden while they do not', async () => {
    const app = await newApp();
    await put(app, { 'functions/search.ts': search });
    expect((await scan(app)).body.result.static_code_findings).toEqual([]);
    expect((await settings(app, { static_code_enabled: true })).body.static_code_enabled).toBe(true);
    const { body } = await scan(app);
    expect(body.static_code_enabled).toBe(true);
    expect(body.result.static_code_findings).toMatchObject([{ category: 'injection', line_start: 4 }]);
    await settings(app, { static_code_enabled: false });
    const hidden = await read(app);
    expect(hidden.body).toMatchObject({ status: 'up_to_date', result: { static_code_findings: [] } });
    expect(hidden.headers['x-scan-coverage']).toContain('static=off');
  });

  it('keeps an ignore when the statements around the flagged one change', async () => {
    const app = await newApp();
    await settings(app, { static_code_enabled: true });
    await put(app, { 'functions/search.ts': search });
    const [found] = (await scan(app)).body.result.static_code_findings;
    await ignore(app, { fingerprint: found.fingerprint });
    await put(app, { 'functions/search.ts': search.replace('  return', '  console.log(rows.length);\n  return') });
    const { body } = await scan(app);
    const [now] = body.result.static_code_findings;
    expect(now.fingerprint).not.toBe(found.fingerprint);
    expect(body.ignored_fingerprints).toEqual([now.fingerprint]);
  });
});

describe('headers', () => {
  it('of the published app are judged, and a recommendation can be dismissed until the next scan', async () => {
    const app = await newApp();
    const files = { 'dist/index.html': '<p>Hello</p>' };
    await put(app, files);
    expect((await world.call('POST', `/api/apps/${app.id}/deploy`, { as: token })).status).toBe(200);
    const got = await scan(app);
    expect(got.headers['x-scan-coverage']).toContain('headers=ran');
    const flags = ({ body }: typeof got) =>
      body.result.header_recommendations.map(({ flag }: { flag: string }) => flag);
    expect(flags(got)).toContain('permissions_policy');
    const dismiss = (flag: string) => world.call('DELETE', at(app, `/header-recommendations/${flag}`), { as: token });
    expect(await dismiss('permissions_policy')).toMatchObject({ status: 200, body: { status: 'ok' } });
    expect(flags(await read(app))).not.toContain('permissions_policy');
    for (const flag of ['permissions_policy', 'content_type_options', 'unknown'])
      expect((await dismiss(flag)).headers['x-changed']).toBe('false');
    expect(flags(await scan(app))).toContain('permissions_policy');
    expect(await auditEntries(app, 'scan.header_dismissed')).toHaveLength(1);
  });
});
