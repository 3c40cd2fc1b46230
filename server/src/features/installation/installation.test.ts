// Tests health checks, metrics, the OpenAPI document, security headers, and responses to unknown paths.
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { startAdPlatform } from '../../../../sandbox/src/ad-platform/server.ts';
import { startSecondApp, startWorld } from '../../../test/support/world.ts';
import { reserve } from '../../core/credits/reservations.ts';
import { newId } from '../../kit/ids.ts';

let migrationReads = 0;
const world = await startWorld({
  environment: { METRICS_TOKEN: 'metrics-token' },
  onStatement: (text) => {
    if (text.includes('from migrations')) migrationReads += 1;
  },
});
const owner = await world.person('owner@example.com');
const token = await world.token(owner, await world.workspace(owner));

/** Returns the result of a check that starts after this call. */
const checkReadiness = async () => {
  await sleep(1_000);
  return world.call('GET', '/readyz');
};

describe('live and ready', () => {
  it('is live', async () => {
    expect(await world.call('GET', '/healthz')).toMatchObject({ status: 200, body: { status: 'ok' } });
  });

  it('is ready with a migrated database', async () => {
    const { status, body } = await world.call('GET', '/readyz');
    expect(status).toBe(200);
    expect(body).toMatchObject({
      status: 'ready',
      checks: { database: 'ok', migrations: 'ok', redis: 'ok', draining: false },
    });
  });

  it('is ready without workers, and says that none was seen', async () => {
    expect(await world.call('GET', '/readyz')).toMatchObject({
      status: 200,
      body: { checks: { workers: 'none_seen' } },
    });
  });

  it('is not ready while a migration is pending, and reports it', async () => {
    await world.db
      .insertInto('migrations' as never)
      .values({ name: 'x', checksum: 'x' } as never)
      .execute();
    expect((await checkReadiness()).status).toBe(200); // a migration from a later release is not an error
    const name = '0003_folders.sql';
    const row = await world.db
      .deleteFrom('migrations' as never)
      .where('name' as never, '=', name as never)
      .returningAll()
      .executeTakeFirstOrThrow();
    expect(await checkReadiness()).toMatchObject({
      status: 503,
      body: { status: 'not_ready', checks: { migrations: 'pending' } },
    });
    await world.db
      .insertInto('migrations' as never)
      .values(row as never)
      .execute();
    expect((await checkReadiness()).status).toBe(200);
  });

  it('is checked once a second at most, however many ask', async () => {
    await sleep(1_000);
    migrationReads = 0;
    const startedAt = performance.now();
    const asked = await Promise.all(Array.from({ length: 200 }, () => world.call('GET', '/readyz')));
    expect(asked.every(({ status }) => status === 200)).toBe(true);
    expect(migrationReads).toBeGreaterThan(0);
    expect(migrationReads).toBeLessThanOrEqual(Math.ceil((performance.now() - startedAt) / 1_000));
  });

  it('is live but not ready without a database, and answers requests with 503', async () => {
    const lost = await startSecondApp(world, { databaseUrl: 'postgres://postgres@127.0.0.1:1/none' });
    expect(await lost.call('GET', '/readyz')).toMatchObject({
      status: 503,
      body: { checks: { database: 'unreachable', migrations: 'unknown', workers: 'unknown' } },
    });
    expect((await lost.call('GET', '/healthz')).status).toBe(200);
    const refused = await lost.call('POST', '/api/apps', { as: token });
    expect(refused).toMatchObject({
      status: 503,
      body: { code: 'service_unavailable', retry_safe: true },
      headers: { 'retry-after': '1' },
    });
  });
});

describe('operations that need a worker', () => {
  /** This installation has no mail server, so responses have an additional warning. */
  const forgot = () => world.call('POST', '/api/auth/password/forgot', { body: { email: 'nobody@example.com' } });
  const startExport = () => world.call('POST', '/api/workspace/export', { as: token });

  it('are those whose work a worker does', () => {
    expect(world.app.routes.flatMap(({ name, needsWorker }) => (needsWorker ? [name] : [])).sort()).toEqual([
      'acceptAsset',
      'createCampaign',
      'deleteAgent',
      'deleteApp',
      'deleteCampaign',
      'deleteWorkspace',
      'forgotPassword',
      'generateAssets',
      'launchCampaign',
      'launchSession',
      'pauseAllCampaigns',
      'pauseCampaign',
      'receiveHook',
      'redeliverAgentDelivery',
      'redeliverAppDelivery',
      'replayAgentWebhook',
      'replayAppWebhook',
      'requestAppUserLink',
      'resumeCampaign',
      'retryQueueRows',
      'runSecurityScan',
      'runWorkflow',
      'sendAgentMessage',
      'sendChatMessage',
      'sendSessionMessage',
      'signUpAppUser',
      'startExecution',
      'startExport',
      'updateCampaign',
    ]);
  });

  it('answer with a warning while no worker was seen, even when they refuse', async () => {
    expect(await forgot()).toMatchObject({ status: 200, headers: { 'x-warning': 'no_worker_seen,reset_mail_off' } });
    expect(await startExport()).toMatchObject({ status: 200, headers: { 'x-warning': 'no_worker_seen' } });
    const exports = await Promise.all(Array.from({ length: 10 }, startExport));
    const refused = exports.find(({ status }) => status === 409);
    expect(refused).toMatchObject({ body: { code: 'limit_reached' }, headers: { 'x-warning': 'no_worker_seen' } });
    expect((await world.call('GET', '/api/info')).headers['x-warning']).toBeUndefined();
  });

  it('answer without it once a worker has run, and with it again when it was silent for 30 seconds', async () => {
    const setHeartbeat = (age: string) =>
      sql`insert into worker_slots (slot, epoch, heartbeat_at) values (0, 1, now() - ${age}::interval)
        on conflict (slot) do update set heartbeat_at = excluded.heartbeat_at`.execute(world.db);
    await setHeartbeat('25 seconds');
    expect((await checkReadiness()).body.checks.workers).toBe('ok');
    expect((await forgot()).headers['x-warning']).toBe('reset_mail_off');
    await setHeartbeat('31 seconds');
    expect(await checkReadiness()).toMatchObject({ status: 200, body: { checks: { workers: 'none_seen' } } });
    expect((await forgot()).headers['x-warning']).toBe('no_worker_seen,reset_mail_off');
    await sql`delete from worker_slots`.execute(world.db);
  });
});

describe('queue lag and worker heartbeat', () => {
  const checks = async () => (await checkReadiness()).body.checks;
  const readMetrics = async () =>
    (await world.call('GET', '/metrics', { headers: { authorization: 'Bearer metrics-token' } })).text;

  it('are reported before any worker has run, with a null heartbeat', async () => {
    await world.db.deleteFrom('workspace_exports').execute(); // other tests started some
    expect(await checks()).toMatchObject({ queue_lag_seconds: 0, worker_heartbeat: null });
    const waiting = {
      id: newId(),
      email: owner.email,
      address_id: newId(),
      created_date: new Date(),
      due_at: new Date(Date.now() - 90_000),
    };
    await world.db.insertInto('reset_mails').values(waiting).execute();
    expect((await checks()).queue_lag_seconds).toBeGreaterThanOrEqual(90);
    expect(await readMetrics()).toMatch(/plinth_queue_oldest_seconds\{queue="reset_mails"\} 9\d\./);
    await world.db.deleteFrom('reset_mails').execute();
  });

  it('are reported with the queues by state while a worker runs', async () => {
    await world.startWorker();
    const { workers, worker_heartbeat, queue_lag_seconds } = await checks();
    expect(workers).toBe('ok');
    expect(Date.now() - Date.parse(worker_heartbeat)).toBeLessThan(10_000);
    expect(queue_lag_seconds).toBe(0);
    const text = await readMetrics();
    expect(text).toMatch(/plinth_worker_slots\{state="held"\} 1/);
    expect(text).toMatch(/plinth_queue_depth\{queue="reset_mails",state="due"\} 0/);
    expect(text).toMatch(/plinth_queue_depth\{queue="events",state="failed"\} 0/);
    world.app.metrics.countFailure('seal audit entries');
    expect(await readMetrics()).toContain('plinth_background_failures_total{what="seal audit entries"} 1');
  });

  it('are unknown where a queue cannot be read in time, but not the heartbeat', async () => {
    expect(await readMetrics()).toContain('plinth_queue_unreadable{queue="reset_mails"} 0\n');
    await world.db.transaction().execute(async (locking) => {
      await sql`lock table reset_mails in access exclusive mode`.execute(locking);
      await expect.poll(async () => (await checks()).queue_lag_seconds).toBeNull();
      expect((await checks()).worker_heartbeat).toEqual(expect.any(String));
      const text = await readMetrics();
      expect(text).toContain('plinth_queue_unreadable{queue="reset_mails"} 1\n');
      expect(text).toContain('plinth_queue_unreadable{queue="audit_pending"} 0\n');
      expect(text).toContain('plinth_queue_unreadable{queue="events"} 0\n');
      expect(text).not.toContain('plinth_queue_depth{queue="reset_mails"');
    });
  });
});

describe('metrics', () => {
  const readMetrics = () => world.app.metrics.render();

  it('show audit entries that are not sealed and how long they wait, and none once they are', async () => {
    const id = newId();
    const entry = { id, occurred_at: new Date(Date.now() - 90_000).toISOString() };
    await world.db.transaction().execute(async (db) => {
      await sql`lock table audit_chains in exclusive mode`.execute(db); // prevents the worker from sealing the chain
      await sql`insert into audit_pending values (${id}, null, ${JSON.stringify(entry)})`.execute(world.db);
      const text = await readMetrics();
      expect(text).toMatch(/^plinth_audit_unsealed_entries [1-9]\d*$/m);
      expect(text).toMatch(/^plinth_audit_unsealed_seconds 9\d\./m);
      await sql`delete from audit_pending where id = ${id}`.execute(world.db);
    });
    await expect
      .poll(readMetrics)
      .toMatch(/^plinth_audit_unsealed_entries 0\n[\s\S]*^plinth_audit_unsealed_seconds 0$/m);
  });

  it('show open reservations of credits, and those beyond their lease', async () => {
    const workspace_id = await world.workspace(owner);
    const spend = { workspace_id, user_id: null, app_id: null, operation: 'test', reference_id: null, amount: 1 };
    await reserve(world.db, { ...spend, leaseMs: 60_000 }, new Date());
    await expect.poll(readMetrics).toMatch(/^plinth_credit_reservations_open 1$/m);
    expect(await readMetrics()).toMatch(/^plinth_credit_reservations_overdue 0$/m);
    await sql`update credit_reservations set expires_at = now() - interval '1 hour',
      workspace_id = workspace_id where state = 'open'`.execute(world.db);
    await expect.poll(readMetrics).toMatch(/^plinth_credit_reservations_open 0$/m); // released by a job
  });

  it('are absent, not 0, if the database does not answer', async () => {
    const lost = await startSecondApp(world, { databaseUrl: 'postgres://postgres@127.0.0.1:1/none' });
    const text = await lost.app.metrics.render();
    expect(text).not.toMatch(/^plinth_(audit|credit|queue_depth|queue_oldest|worker)\w*[ {]/m);
    expect(text).toMatch(/^plinth_redis_connected [01]$/m);
  });

  it('count requests by operation and status', async () => {
    await world.call('GET', '/api/apps', { as: token });
    const { status, text } = await world.call('GET', '/metrics', {
      headers: { authorization: 'Bearer metrics-token' },
    });
    expect(status).toBe(200);
    expect(text).toMatch(/plinth_http_requests_total\{operation="listApps",status="200"\} 1/);
    expect(text).toMatch(/plinth_http_request_duration_seconds_bucket\{le="0.1",operation="listApps"\}/);
  });

  it('are refused without the token', async () => {
    for (const headers of [{}, { authorization: 'Bearer wrong!!' }, { authorization: `Bearer ${token}` }] as Record<
      string,
      string
    >[]) {
      expect(await world.call('GET', '/metrics', { headers })).toMatchObject({
        status: 401,
        body: { code: 'credentials_invalid' },
      });
    }
  });
});

describe('the OpenAPI document', () => {
  it('is OpenAPI 3.1 in JSON and YAML, with every operation', async () => {
    const { body } = await world.call('GET', '/openapi.json');
    expect(body).toMatchObject({ openapi: '3.1.0', info: { version: '1.0.0' } });
    const operations = Object.values(body.paths as Record<string, object>).flatMap((path) => Object.values(path));
    expect(operations.map((operation) => operation.operationId).sort()).toEqual(
      world.app.routes.map((route) => route.name).sort(),
    );
    const yaml = await world.call('GET', '/openapi.yaml');
    expect(yaml.text).toContain('openapi: 3.1.0');
  });

  it('is sent compressed, and not again to a client that has it', async () => {
    const paths = ['/openapi.json', '/openapi.yaml', '/openapi/webhooks.json', '/llms.txt', '/docs/assets/start.js'];
    for (const path of paths) {
      const first = await world.call('GET', path);
      const etag = String(first.headers.etag);
      expect(etag).toMatch(/^W\/"/);
      expect((await world.call('GET', path, { headers: { 'if-none-match': etag } })).status).toBe(304);
      const compressed = await fetch(world.url + path, { headers: { 'accept-encoding': 'gzip' } });
      expect(compressed.headers.get('content-encoding')).toBe('gzip');
      expect(await compressed.text()).toBe(first.text);
    }
  });

  it('exists for each feature, and for language models', async () => {
    const { body } = await world.call('GET', '/openapi/folders.json');
    expect(Object.keys(body.paths)).toContain('/api/app-folders');
    expect(Object.keys(body.paths)).not.toContain('/api/apps');
    expect(await world.call('GET', '/openapi/nothing.json')).toMatchObject({
      status: 404,
      body: { code: 'route_not_found' },
    });
    const { text } = await world.call('GET', '/llms.txt');
    for (const route of world.app.routes) expect(text).toContain(`\`${route.method} ${route.path}\` ${route.name} (`);
  });

  it('server info lists the configured features', async () => {
    expect((await world.call('GET', '/api/info')).body).toEqual({
      name: 'Plinth',
      version: expect.stringMatching(/^\d+\.\d+\.\d+$/),
      api_version: '1.0.0',
      beta: true,
      features: {
        ads: false,
        model: false,
        git: false,
        browser: false,
        mail: false,
        apps_domain: false,
        payments: false,
        connectors: false,
        console: false,
      },
      stand_in_requests: [],
      mail_inbox_url: null,
    });
    const platform = await startAdPlatform();
    const configured = await startSecondApp(world, {
      environment: {
        ADS_PLATFORM_URL: platform.url,
        ADS_PLATFORM_MANAGER_ID: platform.managerId,
        ADS_PLATFORM_CREDENTIALS: platform.credentials,
        MODEL_URL: 'http://127.0.0.1:1/v1',
        MODEL_STAND_IN: 'A task list ; Add a due date;',
        GIT_HOST_URL: 'http://127.0.0.1:1',
        GIT_HOST_CLONE_URL: 'http://127.0.0.1:1',
        BROWSER_EXECUTABLE: '/usr/bin/chromium',
        SMTP_URL: 'smtp://127.0.0.1:1',
        APPS_DOMAIN: 'apps.localhost',
        PAYMENTS_SECRET_KEY: 'sk_test_x',
        CONNECTOR_SLACK_CLIENT_ID: 'client',
        CONNECTOR_SLACK_CLIENT_SECRET: 'secret',
      },
    });
    const info = (await configured.call('GET', '/api/info')).body;
    expect(info.stand_in_requests).toEqual(['A task list', 'Add a due date']);
    expect(info.features).toEqual({
      ads: true,
      model: true,
      git: true,
      browser: true,
      mail: true,
      apps_domain: true,
      payments: true,
      connectors: true,
      console: false,
    });
    await platform.close();
  });

  it('has a version of its own, which the conventions explain beside that of the release', async () => {
    const { version, api_version } = (await world.call('GET', '/api/info')).body;
    expect((await world.call('GET', '/openapi.json')).body.info.version).toBe(api_version);
    const page = readFileSync(new URL('../../../../docs/api/conventions.md', import.meta.url), 'utf8');
    expect(page).toContain(`| version of the API, ${api_version} |`);
    expect(page).toContain(`| release of Plinth, ${version} |`);
  });

  it('is shown on a reference page without inline scripts', async () => {
    const page = await world.call('GET', '/docs');
    expect(page.headers['content-security-policy']).toContain("script-src 'self';");
    for (const [, asset] of page.text.matchAll(/(?:src|href)="(\/docs[^"]+)"/g)) {
      const got = await world.call('GET', asset as string);
      expect(got.status).toBe(200);
      expect(got.headers['content-type']).toMatch(/^text\/(css|javascript)/);
    }
    expect(await world.call('GET', '/docs/assets/package.json')).toMatchObject({
      status: 404,
      body: { code: 'route_not_found' },
    });
  });
});

describe('unknown paths and methods', () => {
  it.each(['/nothing', '/api', '/api/nothing', '/api/apps/', '/healthz/', '/API/apps', '/api/apps/%zz', '//api/apps'])(
    '%s is 404 route_not_found',
    async (path) => {
      const got = await world.call('GET', path, { as: token });
      expect(got).toMatchObject({ status: 404, body: { code: 'route_not_found', title: 'Route not found' } });
      expect(got.body.request_id).toBe(got.headers['x-request-id']);
    },
  );

  it.each(['/api/apps/', '/api/apps//deploy', '/api/apps//nothing', '/api//apps'])(
    'of %s, an empty segment is named, because a variable is probably not set',
    async (path) => {
      const got = await world.call('GET', path, { as: token });
      expect(got).toMatchObject({ status: 404, body: { detail: expect.stringContaining('an empty segment') } });
    },
  );

  it('answers 405 with the methods the path has', async () => {
    expect(await world.call('DELETE', '/api/apps', { as: token })).toMatchObject({
      status: 405,
      body: { code: 'method_not_allowed' },
      headers: { allow: 'GET, HEAD, POST' },
    });
    expect(await world.call('OPTIONS', '/api/apps')).toMatchObject({ status: 405 });
  });
});

describe('errors for a browser', () => {
  const browse = (path: string, method = 'GET') =>
    world.call(method, path, { headers: { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' } });

  it('are pages outside of the API, with the request id and a strict policy', async () => {
    const got = await browse('/nothing');
    expect(got).toMatchObject({ status: 404, headers: { 'content-type': 'text/html; charset=utf-8' } });
    expect(got.headers['content-security-policy']).toMatch(
      /^default-src 'none'; style-src 'sha256-[^']+'; img-src data:; .*frame-ancestors 'none'$/,
    );
    expect(got.text).toContain('Page not found');
    expect(got.text).toContain(String(got.headers['x-request-id']));
  });

  it('are problems inside of the API, for other methods, and for programs', async () => {
    const problem = { headers: { 'content-type': 'application/problem+json' } };
    for (const path of ['/api', '/api/nothing', '/api/apps', '/api/apps/%zz', '/metrics'])
      expect(await browse(path)).toMatchObject(problem);
    expect(await browse('/nothing', 'POST')).toMatchObject(problem);
    expect(await world.call('GET', '/nothing', { headers: { accept: '*/*' } })).toMatchObject(problem);
  });

  it('are pages where a page is refused', async () => {
    let got = await browse('/reset-password');
    for (let i = 0; i < 60 && got.status === 200; i += 1) got = await browse('/reset-password');
    expect(got).toMatchObject({ status: 429, headers: { 'content-type': 'text/html; charset=utf-8' } });
    expect(Number(got.headers['retry-after'])).toBeGreaterThan(0);
    expect(got.text).toContain('Too many requests');
    expect((await world.call('GET', '/reset-password')).body.code).toBe('rate_limited');
    await world.resetRateLimits();
  });
});

describe('request ids', () => {
  it('are adopted if well-formed and replaced otherwise', async () => {
    const sent = (id: string) => world.call('GET', '/healthz', { headers: { 'x-request-id': id } });
    expect((await sent('trace:1.a_b-c')).headers['x-request-id']).toBe('trace:1.a_b-c');
    for (const bad of ['has space', 'x'.repeat(129), ''])
      expect((await sent(bad)).headers['x-request-id']).toMatch(/^[0-9a-f-]{36}$/);
  });
});

/** Sends bytes and returns the complete response. */
function exchangeBytes(sent: string, url = world.url): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const socket = connect(Number(new URL(url).port), '127.0.0.1', () => socket.write(sent));
  let received = '';
  socket.on('data', (chunk) => (received += chunk));
  socket.on('error', reject);
  socket.on('close', () => resolve(received));
  return promise;
}

describe('malformed HTTP', () => {
  const post = 'POST /api/auth/sign-in HTTP/1.1\r\n';

  it.each([
    ['nonsense', 'nonsense\r\n\r\n', 'not valid HTTP'],
    ['two lengths', `${post}Host: x\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\n`, 'not valid HTTP'],
    [
      'a length and chunks',
      `${post}Host: x\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n`,
      'not valid HTTP',
    ],
    ['no Host', 'GET /healthz HTTP/1.1\r\nConnection: close\r\n\r\n', 'Host header'],
    [
      'an unknown expectation',
      `${post}Host: x\r\nExpect: cookies\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}`,
      'Expect header',
    ],
  ])('is refused with a problem: %s', async (_what, sent, reason) => {
    const [head = '', body = ''] = (await exchangeBytes(sent)).split('\r\n\r\n');
    expect(head).toMatch(/^HTTP\/1.1 400 Bad Request\r\n/);
    expect(head.toLowerCase()).toContain('content-type: application/problem+json');
    expect(JSON.parse(body)).toMatchObject({
      code: 'malformed_request',
      status: 400,
      detail: expect.stringContaining(reason),
      request_id: expect.stringMatching(/./),
    });
  });

  it('is refused with a problem: headers that are too large', async () => {
    const got = await exchangeBytes(`GET /healthz HTTP/1.1\r\nHost: x\r\nX: ${'x'.repeat(40_000)}\r\n\r\n`);
    expect(got).toMatch(/^HTTP\/1.1 413 .*"code":"payload_too_large"/s);
  });
});

describe('security headers', () => {
  it('are on every answer: results, refusals, unknown paths, preflights and malformed requests', async () => {
    const app = await world.appOf(owner, await world.workspace(owner));
    const answers = [
      await world.call('GET', '/healthz'),
      await world.call('HEAD', '/api/apps', { as: token }),
      await world.call('GET', '/openapi.yaml'),
      await world.call('GET', '/docs/assets/start.js'),
      await world.call('GET', '/api/apps'), // 401
      await world.call('POST', '/api/apps', { as: token, body: { name: 1 } }), // 422
      await world.call('POST', '/api/apps', { as: token, body: '{', headers: { 'content-type': 'text/plain' } }), // 415
      await world.call('GET', '/nothing'),
      await world.call('DELETE', '/api/apps', { as: token }), // 405
      await world.call('GET', '/api/apps/%zz'), // a path that can't be decoded
      await world.call('OPTIONS', `/api/apps/${app.id}/entities/Task`, { headers: { origin: 'https://a.example' } }),
    ];
    expect(answers.map(({ headers }) => headers['x-content-type-options'])).toEqual(answers.map(() => 'nosniff'));
    expect(answers.filter(({ headers }) => headers['strict-transport-security'])).toEqual([]);
    const caching = answers.map(({ headers }) => headers['cache-control']).filter((value) => value !== 'no-store');
    expect(caching).toEqual(['no-cache', 'public, max-age=3600']); // the document and a reference page asset
    expect(await exchangeBytes('nonsense\r\n\r\n')).toMatch(/^HTTP\/1.1 400 .*x-content-type-options: nosniff\r\n/s);
  });

  it('require https for a year where BASE_URL is https', async () => {
    const secure = await startSecondApp(world, { environment: { BASE_URL: 'https://plinth.example' } });
    const headers = { 'strict-transport-security': 'max-age=31536000', 'x-content-type-options': 'nosniff' };
    expect(await secure.call('GET', '/healthz')).toMatchObject({ status: 200, headers });
    expect(await secure.call('GET', '/nothing')).toMatchObject({ status: 404, headers });
    expect(await exchangeBytes('nonsense\r\n\r\n', secure.url)).toContain(
      'strict-transport-security: max-age=31536000',
    );
  });

  it('refuse frames around every page', async () => {
    const pages = world.app.routes.filter(({ answers }) =>
      Object.values(answers).some((shape) => 'media' in shape && shape.media.startsWith('text/html')),
    );
    const names = [
      'consoleAccountPage',
      'consoleEditorPage',
      'consolePage',
      'deviceLoginPage',
      'invitationPage',
      'joinPage',
      'landingPage',
      'oauthCallback',
      'openConnection',
      'reference',
    ];
    expect(pages.map(({ name }) => name).sort()).toEqual([...names, 'resetPasswordPage', 'sessionPage']);
    for (const { path } of pages) {
      const { headers } = await world.call('GET', path.replaceAll(/\{\w+\}/g, 'x'), {
        headers: { accept: 'text/html' },
      });
      expect(headers['content-security-policy']).toMatch(/^default-src 'none'; .*; frame-ancestors 'none'$/);
    }
  });
});
