// Tests refreshing tokens against a real authorization server: by the queue and on use, in many concurrent processes, and
// while the service, a process or a master key fails or changes. The service's own journal shows its actions.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { sql } from 'kysely';
import { beforeEach, describe, expect, it } from 'vitest';
import { startMailSandbox } from '../../../../../sandbox/src/smtp.ts';
import { startConnectorScene } from '../../../../test/support/connections.ts';
import { createTokenDeps } from '../../../../test/support/token-deps.ts';
import { releaseClaims } from '../../../kit/background/queues/complete.ts';
import type { Queue } from '../../../kit/background/queues/queue.ts';
import { openDatabase } from '../../../kit/db/database.ts';
import { createSecrets } from '../../../kit/secrets.ts';
import type { Tables } from '../../../tables.ts';
import { openTokens } from '../sealed.ts';
import { createTokens } from './index.ts';
import { refreshTokens } from './refresh.ts';
import { findById } from './store/refreshes.ts';

const mail = await startMailSandbox();
const scene = await startConnectorScene({ environment: { SMTP_URL: mail.smtpUrl } });
const { world, sandbox, tokens, deps, connect, newApp, find, refreshDue, runJob } = scene;
const { db } = world.app.database;
const minuteMs = 60_000;

beforeEach(() => {
  world.clock.aheadMs = 0;
  sandbox.behave('well');
});

const ahead = (minutes: number) => {
  world.clock.aheadMs = minutes * minuteMs;
};
const makeDue = (id: string) =>
  sql`update connections set next_refresh_at = now() - interval '1 minute' where id = ${id}`.execute(world.db);
const openOf = async (id: string) => openTokens(deps.secrets, await find(id));
const requestOn = (app: { workspace_id: string; id: string }, integration_type: string, path = '/me') =>
  tokens.send(db, app, {
    integration_type,
    method: 'GET',
    path,
    timeoutMs: 5_000,
    maxBodyBytes: 65_536,
    signal: new AbortController().signal,
  });
/** The service's journal entries since the mark. */
const journalSince = (mark: number, connector: string) =>
  sandbox.journal.slice(mark).flatMap((entry) => (entry.connector === connector ? [entry] : []));
const countIssued = (mark: number, connector: string) =>
  journalSince(mark, connector).filter(({ event, grant }) => event === 'issued' && grant === 'refresh_token').length;

describe('the refresh queue', () => {
  it('replaces both tokens 5 minutes before they expire, and not earlier', async () => {
    const id = await connect(await newApp(), 'slack');
    const before = await openOf(id);
    ahead(54);
    await refreshDue();
    expect(await openOf(id)).toEqual(before);
    ahead(56);
    const mark = sandbox.journal.length;
    await refreshDue();
    expect(countIssued(mark, 'slack')).toBe(1);
    const after = await openOf(id);
    expect(after?.accessToken).not.toBe(before?.accessToken);
    expect(after?.refreshToken).not.toBe(before?.refreshToken);
    const row = await find(id);
    expect(row).toMatchObject({ status: 'active', refresh_attempts: 0, refresh_started_at: null, last_error: null });
    expect(row.next_refresh_at?.getTime()).toBeGreaterThan(world.clock.now().getTime() + 50 * minuteMs);
  });

  it('keeps to what the connection says, whatever changes it while a worker has claimed the row', async () => {
    const id = await connect(await newApp(), 'slack');
    const readDue = async () =>
      (await sql<{ due_at: Date | null }>`select due_at from connection_refreshes where id = ${id}`.execute(world.db))
        .rows[0]?.due_at;
    expect(await readDue()).toEqual((await find(id)).next_refresh_at);
    ahead(56);
    sandbox.behave('hold', 'slack');
    const mark = sandbox.journal.length;
    const refreshing = refreshDue();
    await expect.poll(() => countIssued(mark, 'slack')).toBe(1);
    const reconnected = new Date(Date.now() + 600 * minuteMs);
    await sql`update connections set next_refresh_at = ${reconnected}, refresh_started_at = null where id = ${id}`.execute(
      world.db,
    );
    sandbox.behave('well', 'slack');
    await refreshing;
    expect(await readDue()).toEqual(reconnected);
    await sql`update connections set next_refresh_at = null where id = ${id}`.execute(world.db);
    expect(await readDue()).toBeNull();
  });

  it('repeats what a crashed worker has claimed as soon as no other process may be refreshing the tokens', async () => {
    const id = await connect(await newApp(), 'slack');
    const [queue] = tokens.queues;
    const startedAt = new Date();
    await sql`update connection_refreshes set claimed_slot = 77, claimed_epoch = 1, due_at = now() where id = ${id}`.execute(
      world.db,
    );
    await sql`update connections set refresh_started_at = ${startedAt},
      next_refresh_at = ${new Date(startedAt.getTime() + minuteMs)} where id = ${id}`.execute(world.db);
    expect(await releaseClaims(db, queue as Queue)).toBe(1);
    const { rows } = await sql`select due_at, crash_count from connection_refreshes where id = ${id}`.execute(world.db);
    expect(rows).toEqual([{ due_at: (await find(id)).next_refresh_at, crash_count: 1 }]);
  });

  it('refreshes the tokens of other services while one does not answer', async () => {
    const silent = await Promise.all(Array.from({ length: 9 }, async () => connect(await newApp(), 'dropbox')));
    const other = await connect(await newApp(), 'zoom');
    const before = await openOf(other);
    sandbox.behave('hold', 'dropbox');
    ahead(56);
    await sql`update connection_refreshes set due_at = due_at - interval '1 hour' where id = any(${silent}::uuid[])`.execute(
      world.db,
    );
    const refreshing = refreshDue();
    await expect.poll(async () => (await openOf(other))?.accessToken).not.toBe(before?.accessToken);
    const { rows } = await sql`select from connection_refreshes
      where id = any(${silent}::uuid[]) and claimed_slot is not null`.execute(world.db);
    expect(rows).toHaveLength(8);
    sandbox.behave('well', 'dropbox');
    await refreshing;
  });

  it('leaves alone the connections of an app in the trash', async () => {
    const app = await newApp();
    const id = await connect(app, 'slack');
    await world.db.updateTable('apps').set({ deleted_date: new Date() }).where('id', '=', app.id).execute();
    ahead(56);
    const mark = sandbox.journal.length;
    await refreshDue();
    expect(journalSince(mark, 'slack')).toEqual([]);
    expect((await find(id)).status).toBe('active');
  });
});

describe('one refresh at a time', () => {
  it('is made by ten processes that all want it, and all of them then use its tokens', async () => {
    const app = await newApp();
    const id = await connect(app, 'airtable');
    ahead(61); // the old token has expired
    const mark = sandbox.journal.length;
    const processes = Array.from({ length: 10 }, () => {
      const database = openDatabase<Tables>({ url: world.config.DATABASE_URL, poolSize: 2 });
      const own = createTokenDeps(world.config.MASTER_KEYS, world.clock, sandbox.url);
      return { database, own, tokens: createTokens(own) };
    });
    const results = await Promise.all(
      processes.map(({ database, tokens }) =>
        tokens.send(database.db, app, {
          integration_type: 'airtable',
          method: 'GET',
          path: '/me',
          timeoutMs: 20_000,
          maxBodyBytes: 65_536,
          signal: new AbortController().signal,
        }),
      ),
    );
    await Promise.all(processes.flatMap(({ database, own }) => [database.close(), own.close()]));
    for (const result of results) expect(result).toMatchObject({ kind: 'sent', outcome: { status: 200 } });
    expect(countIssued(mark, 'airtable')).toBe(1);
    expect(journalSince(mark, 'airtable').filter(({ event }) => event === 'refused')).toEqual([]);
    expect((await find(id)).status).toBe('active');
  });

  it('is not repeated by a process that has seen the tokens which it replaced', async () => {
    const id = await connect(await newApp(), 'slack');
    const seen = await findById(db, await find(id));
    if (seen === undefined) throw new Error('no connection');
    ahead(56);
    expect(await refreshTokens(db, deps, seen)).toEqual({ kind: 'refreshed' });
    expect(await refreshTokens(db, deps, seen)).toEqual({ kind: 'not_needed' });
  });
});

describe('a service that fails', () => {
  it.each([
    ['down', 'refresh_unavailable'],
    ['silent', 'refresh_unanswered'],
    ['garbage', 'refresh_unanswered'],
  ] as const)('leaves the connection as it was if it is %s, and is asked again later', async (how, last_error) => {
    const app = await newApp();
    const id = await connect(app, 'dropbox');
    const before = await openOf(id);
    ahead(56);
    sandbox.behave(how, 'dropbox');
    await refreshDue();
    expect(await openOf(id)).toEqual(before);
    const row = await find(id);
    expect(row).toMatchObject({ status: 'active', refresh_attempts: 1, last_error });
    expect(row.next_refresh_at?.getTime()).toBeGreaterThan(world.clock.now().getTime() + 50_000);
    sandbox.behave('well', 'dropbox');
    // The old token is still valid.
    expect(await requestOn(app, 'dropbox')).toMatchObject({ kind: 'sent', outcome: { status: 200 } });
    ahead(57.1);
    await refreshDue();
    expect(await find(id)).toMatchObject({ status: 'active', refresh_attempts: 0, last_error: null });
    expect((await openOf(id))?.accessToken).not.toBe(before?.accessToken);
  });

  it('is asked after 1 minute and when the token expires, and then only when the connection is used', async () => {
    const app = await newApp();
    const id = await connect(app, 'linear');
    sandbox.behave('down', 'linear');
    const attempts = [];
    for (let minutes = 54; minutes <= 130; minutes += 1) {
      ahead(minutes);
      const mark = sandbox.journal.length;
      await refreshDue();
      if (journalSince(mark, 'linear').length > 0) attempts.push(minutes);
    }
    expect(attempts).toEqual([55, 56, 60]);
    expect(await requestOn(app, 'linear')).toEqual({ kind: 'unusable', reason: 'unavailable' });
    expect((await find(id)).status).toBe('active');
    sandbox.behave('well', 'linear');
    ahead(132);
    expect(await requestOn(app, 'linear')).toMatchObject({ kind: 'sent', outcome: { status: 200 } });
  });

  it('that applied a refresh without answering makes the connection expire at the next one', async () => {
    const id = await connect(await newApp(), 'zoom');
    ahead(56);
    sandbox.behave('drop', 'zoom');
    await refreshDue();
    expect(await find(id)).toMatchObject({ status: 'active', last_error: 'refresh_unanswered' });
    // An outage in the meantime does not settle the unknown outcome.
    sandbox.behave('down', 'zoom');
    ahead(58);
    await refreshDue();
    sandbox.behave('well', 'zoom');
    ahead(64);
    await refreshDue();
    const row = await find(id);
    expect(row).toMatchObject({ status: 'expired', last_error: 'refresh_interrupted', refresh_token_sealed: null });
  });
});

describe('a process that is killed', () => {
  it('between the answer of the service and its commit leaves a connection that expires at the next refresh, with a mail', async () => {
    const app = await newApp();
    const id = await connect(app, 'hubspot');
    await makeDue(id);
    const before = await openOf(id);
    sandbox.behave('hold', 'hubspot');
    const child = fork(new URL('../../../../test/support/refresh-process.ts', import.meta.url), {
      silent: true,
    });
    child.send({
      databaseUrl: world.config.DATABASE_URL,
      sandboxUrl: sandbox.url,
      workspace_id: scene.workspace,
      id,
      masterKeys: world.config.MASTER_KEYS.map(({ id, key }) => ({ id, key: key.toString('base64') })),
    });
    const has = (event: string) => () =>
      sandbox.journal.some((e) => e.connector === 'hubspot' && e.event === event && e.grant === 'refresh_token');
    await expect.poll(has('issued')).toBe(true);
    // Before the response arrives, the row already records that the refresh token was sent.
    expect((await find(id)).refresh_started_at).not.toBeNull();
    child.kill('SIGSTOP');
    sandbox.behave('well', 'hubspot');
    await expect.poll(has('answered')).toBe(true);
    child.kill('SIGKILL');
    await once(child, 'exit');
    expect(await openOf(id)).toEqual(before);
    expect(await find(id)).toMatchObject({ status: 'active' });

    ahead(2);
    await refreshDue();
    expect(await find(id)).toMatchObject({ status: 'expired', last_error: 'refresh_interrupted' });
    const warnings = await world.db.selectFrom('app_warnings').where('app_id', '=', app.id).selectAll().execute();
    expect(warnings.map(({ email }) => email).sort()).toEqual(['editor@example.com', 'owner@example.com']);
    expect(warnings[0]).toMatchObject({ subject: 'The connection to HubSpot has expired' });
    expect(await requestOn(app, 'hubspot')).toEqual({ kind: 'unusable', reason: 'expired' });
  });
});

describe('an access token without a refresh token', () => {
  const endDue = () => runJob('end expired connections');
  const withoutRefreshToken = async (app: Awaited<ReturnType<typeof newApp>>) => {
    const id = await connect(app, 'discord');
    await sql`update connections set next_refresh_at = null, refresh_token_sealed = null where id = ${id}`.execute(
      world.db,
    );
    return id;
  };

  it('is used until it expires, and then the connection expires, with an audit entry and mails', async () => {
    const app = await newApp();
    const id = await withoutRefreshToken(app);
    ahead(59);
    await endDue();
    expect(await requestOn(app, 'discord')).toMatchObject({ kind: 'sent', outcome: { status: 200 } });
    ahead(61);
    // The token is unusable even before the job has run.
    expect(await requestOn(app, 'discord')).toEqual({ kind: 'unusable', reason: 'expired' });
    await endDue();
    expect(await find(id)).toMatchObject({
      status: 'expired',
      last_error: 'access_expired',
      access_token_sealed: null,
      expires_at: null,
    });
    const { rows } = await sql<{ entry: object }>`select entry from audit_pending where entry->'target'->>'id' = ${id}
      union all select entry from audit_entries where entry->'target'->>'id' = ${id}`.execute(world.db);
    expect(rows.map(({ entry }) => entry)).toMatchObject([
      { type: 'connection.expired', after: { last_error: 'access_expired' } },
    ]);
    const warnings = await world.db.selectFrom('app_warnings').where('app_id', '=', app.id).selectAll().execute();
    expect(warnings).toHaveLength(2);
    expect(warnings[0]).toMatchObject({ subject: 'The connection to Discord has expired' });
    expect(await endDue()).toBe(0);
  });
});

describe('a service that answers 401 although the token is new', () => {
  it('is asked for new tokens once a minute at most', async () => {
    const app = await newApp();
    await connect(app, 'linkedin');
    const mark = sandbox.journal.length;
    const ask = () => requestOn(app, 'linkedin', '/status/401');
    for (let times = 0; times < 3; times += 1) expect(await ask()).toMatchObject({ outcome: { status: 401 } });
    expect(countIssued(mark, 'linkedin')).toBe(0);
    ahead(2);
    for (let times = 0; times < 3; times += 1) expect(await ask()).toMatchObject({ outcome: { status: 401 } });
    expect(countIssued(mark, 'linkedin')).toBe(1);
  });
});

it('sends nothing if there is no time left', async () => {
  const app = await newApp();
  await connect(app, 'slack');
  const mark = sandbox.journal.length;
  const { signal } = new AbortController();
  const late = {
    integration_type: 'slack',
    method: 'GET',
    path: '/me',
    timeoutMs: 0,
    maxBodyBytes: 1_000,
    signal,
  } as const;
  expect(await tokens.send(db, app, late)).toMatchObject({ outcome: { kind: 'timeout', sent: false } });
  expect(journalSince(mark, 'slack')).toEqual([]);
});

describe('a database that fails while tokens are stored', () => {
  it('is asked again until they are', async () => {
    const id = await connect(await newApp(), 'box');
    const before = await openOf(id);
    await sql`create function refuse_tokens() returns trigger language plpgsql as
      $$ begin raise exception 'no space left on device'; end $$`.execute(world.db);
    await sql`create trigger refuse_tokens before update on connections for each row
      when (old.access_token_sealed is distinct from new.access_token_sealed) execute function refuse_tokens()`.execute(
      world.db,
    );
    ahead(56);
    const mark = sandbox.journal.length;
    const refreshing = refreshDue();
    await expect.poll(() => journalSince(mark, 'box').map(({ event }) => event)).toContain('answered');
    await sql`drop function refuse_tokens cascade`.execute(world.db);
    await refreshing;
    expect((await openOf(id))?.accessToken).not.toBe(before?.accessToken);
    expect(countIssued(mark, 'box')).toBe(1);
  });
});

describe('a refresh that is refused', () => {
  it('makes the connection expire, with an audit entry and mails to its user and the owner of the app', async () => {
    const app = await newApp();
    const id = await connect(app, 'asana');
    sandbox.withdraw('asana');
    await makeDue(id); // uses the database's clock, like the mail queue
    await refreshDue();
    expect(await find(id)).toMatchObject({
      status: 'expired',
      last_error: 'invalid_grant',
      access_token_sealed: null,
      refresh_token_sealed: null,
      next_refresh_at: null,
    });
    const { rows } = await sql<{ entry: { type: string; after: object } }>`select entry from audit_pending
      where entry->'target'->>'id' = ${id} union all select entry from audit_entries where entry->'target'->>'id' = ${id}`.execute(
      world.db,
    );
    expect(rows[0]?.entry).toMatchObject({ type: 'connection.expired', after: { last_error: 'invalid_grant' } });
    await world.startWorker();
    await expect
      .poll(() => mail.inbox.filter(({ subject }) => subject.includes('Asana')).map(({ to }) => to))
      .toHaveLength(2);
    expect(mail.inbox.map(({ text }) => text).join('')).toContain('reconnect Asana');
  });

  it('for another reason than the grant leaves the connection as it was', async () => {
    const id = await connect(await newApp(), 'calendly');
    const other = createTokenDeps(world.config.MASTER_KEYS, world.clock, sandbox.url, 1_000);
    const seen = await findById(db, await find(id));
    const wrongSecret = {
      ...other,
      endpoints: {
        clientFor: (...given: Parameters<typeof other.endpoints.clientFor>) => {
          const client = other.endpoints.clientFor(...given);
          return client && { ...client, clientSecret: 'wrong' };
        },
      },
    };
    ahead(56);
    if (seen === undefined) throw new Error('no connection');
    expect(await refreshTokens(db, wrongSecret, seen)).toEqual({ kind: 'failed' });
    expect(await find(id)).toMatchObject({ status: 'active', last_error: 'refresh_refused' });
    await other.close();
  });
});

describe('a connection that is ended while it is refreshed', () => {
  it('stays ended, and what the service issued meanwhile is revoked', async () => {
    const id = await connect(await newApp(), 'gitlab');
    ahead(56);
    sandbox.behave('hold', 'gitlab');
    const mark = sandbox.journal.length;
    const refreshing = refreshDue();
    await expect.poll(() => countIssued(mark, 'gitlab')).toBe(1);
    await sql`update connections set status = 'disconnected', access_token_sealed = null, refresh_token_sealed = null,
      expires_at = null, next_refresh_at = null, refresh_started_at = null where id = ${id}`.execute(world.db);
    sandbox.behave('well', 'gitlab');
    await refreshing;
    expect(await find(id)).toMatchObject({ status: 'disconnected', access_token_sealed: null });
    expect(journalSince(mark, 'gitlab').map(({ event }) => event)).toContain('revoked');
  });
});

describe('the master key', () => {
  it('may be replaced while connections are used: secrets move to the new one, and nothing fails', async () => {
    const app = await newApp();
    const id = await connect(app, 'notion');
    const before = await openOf(id);
    const added = { id: 'added', key: Buffer.alloc(32, 7) };
    const rotated = createTokenDeps(world.config.MASTER_KEYS, world.clock, sandbox.url, 1_000);
    const bothKeys = {
      ...rotated,
      secrets: createSecrets([added, ...world.config.MASTER_KEYS]),
      masterKeyId: added.id,
    };
    const after = createTokens(bothKeys);
    const rewrap = after.jobs.find(({ name }) => name === 'rewrap connection secrets');
    const used = Array.from({ length: 20 }, () => requestOn(app, 'notion'));
    expect(await rewrap?.run(db, world.clock.now())).toBeGreaterThan(0);
    for (const result of await Promise.all(used)) expect(result).toMatchObject({ outcome: { status: 200 } });
    const row = await find(id);
    expect(row.access_token_sealed).toMatch(/^v1\.added\./);
    expect(row.refresh_token_sealed).toMatch(/^v1\.added\./);
    expect(openTokens(createSecrets([added]), row)).toEqual(before);
    expect(await rewrap?.run(db, world.clock.now())).toBe(0);
    // Runs the job with this file's World key, which the next tests use.
    await runJob('rewrap connection secrets').catch(() => {});
    await rotated.close();
  });
});

describe('revoking', () => {
  it('withdraws both tokens at the service', async () => {
    const app = await newApp();
    const id = await connect(app, 'googledrive');
    const row = await find(id);
    const mark = sandbox.journal.length;
    expect(await tokens.revoke(row as never)).toBe('revoked');
    expect(journalSince(mark, 'googledrive').filter(({ event }) => event === 'revoked')).toHaveLength(2);
    ahead(2); // a token is not refreshed in its first minute
    expect(await requestOn(app, 'googledrive')).toEqual({ kind: 'unusable', reason: 'expired' });
  });

  it('fails without an error if the service is down, and does nothing where it has no way', async () => {
    const down = await find(await connect(await newApp(), 'googledrive'));
    sandbox.behave('down', 'googledrive');
    expect(await tokens.revoke(down as never)).toBe('failed');
    const unreadable = { ...down, access_token_sealed: 'unreadable' };
    expect(await tokens.revoke(unreadable as never)).toBe('failed');
    const none = await find(await connect(await newApp(), 'airtable'));
    expect(await tokens.revoke(none as never)).toBe('nothing');
  });
});
