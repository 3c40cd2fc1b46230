// Tests accounts through the API: setup, sign-in, passwords, profile, tokens and keys (docs/api/accounts.md).
import { sql } from 'kysely';
import { afterAll, describe, expect, it } from 'vitest';
import { startMailSandbox } from '../../../../sandbox/src/smtp.ts';
import { startSecondApp, startWorld } from '../../../test/support/world.ts';
import { createSetupToken } from '../../core/identity/accounts.ts';
import { newId } from '../../kit/ids.ts';

const mail = await startMailSandbox();
afterAll(() => mail.close());
// Trusting a proxy lets each test choose its own IP address.
const world = await startWorld({ environment: { SMTP_URL: mail.smtpUrl, TRUSTED_PROXIES: '127.0.0.1' } });
await world.startWorker();
const password = 'a long enough password';
const dayMs = 24 * 60 * 60 * 1000;

let address = 0;
const fresh = () => ({ 'x-forwarded-for': `198.51.${Math.floor(++address / 250)}.${address % 250}` });
const post = (path: string, body: object, headers: Record<string, string> = {}) =>
  world.call('POST', path, { body, headers: { ...fresh(), ...headers } });
const signIn = (email: string, attempted = password, headers = {}) =>
  post('/api/auth/sign-in', { email, password: attempted }, headers);
const cookieOf = (got: { headers: Readonly<Record<string, unknown>> }) =>
  String(got.headers['set-cookie']).split(';')[0] as string;

/** The password reset e-mails sent to an address, without e-mails about sign-ins from a new place. */
const resetMailsTo = (email: string) =>
  mail.inbox.filter(({ to, subject }) => to.includes(email) && subject === 'Reset your Plinth password');

// ---- setup is tested first, because it works only once
const setupToken = (await createSetupToken(world.db, world.config.TOKEN_PEPPERS[0], new Date())) as string;
const first = { email: 'First@Example.com', full_name: 'First', password, workspace_name: 'Ours' };
const before = await world.call('GET', '/api/setup');
const wrong = await post('/api/setup', { ...first, setup_token: 'wrong' });
const weak = await post('/api/setup', { ...first, setup_token: setupToken, password: '123456qwerty' });
const racing = await Promise.all([1, 2, 3].map(() => post('/api/setup', { ...first, setup_token: setupToken })));
const done = racing.find((got) => got.status === 200) as (typeof racing)[number];

describe('setUp', () => {
  it('creates the first user as operator and workspace owner once, even if called three times concurrently', async () => {
    expect(before.body).toEqual({ initialised: false });
    expect(racing.map((got) => got.status).sort()).toEqual([200, 409, 409]);
    expect(done.body).toMatchObject({
      user: { email: 'first@example.com', full_name: 'First', is_operator: true },
      workspace: { name: 'Ours', role: 'owner', plan: 'enterprise' },
    });
    expect((await world.call('GET', '/api/setup')).body).toEqual({ initialised: true });
    expect(await post('/api/setup', { ...first, setup_token: setupToken })).toMatchObject({
      status: 409,
      body: { code: 'already_initialised' },
    });
  });

  it('requires the setup token and refuses a common password', () => {
    expect(wrong).toMatchObject({ status: 401, body: { code: 'credentials_invalid' } });
    expect(weak.body.detail).toEqual([
      {
        loc: ['body', 'password'],
        msg: 'is one of the most common passwords; choose a different one',
        type: 'value_error',
      },
    ]);
  });

  it('starts a session with an HttpOnly, SameSite=Lax cookie', async () => {
    expect(done.headers['set-cookie']?.toString()).toMatch(
      /^plinth_session=pls_[0-9A-Za-z]{40}; HttpOnly; SameSite=Lax; Path=\/; Max-Age=2592000$/,
    );
    expect((await world.call('GET', '/api/auth/me', { headers: { cookie: cookieOf(done) } })).status).toBe(200);
    const https = await startSecondApp(world, { environment: { BASE_URL: 'https://plinth.example' } });
    await addPerson('secure@example.com');
    const got = await https.call('POST', '/api/auth/sign-in', {
      body: { email: 'secure@example.com', password },
      headers: fresh(),
    });
    expect(String(got.headers['set-cookie'])).toContain('; Secure');
  });
});

async function addPerson(email: string): Promise<{ id: string; email: string; workspace: string }> {
  const { hashPassword, savePassword } = await import('../../core/identity/passwords.ts');
  const person = await world.person(email);
  await savePassword(world.db, person.id, await hashPassword(password, { ip: '127.0.0.1' }), new Date());
  return { ...person, workspace: await world.workspace(person, 'enterprise') };
}

describe('signIn', () => {
  it('returns the user and their workspaces, and starts a new session each time', async () => {
    const ann = await addPerson('ann@example.com');
    const got = await signIn(' ANN@example.com ');
    expect(got).toMatchObject({
      status: 200,
      body: { user: { id: ann.id }, workspaces: [{ id: ann.workspace, role: 'owner' }] },
    });
    // The browser's existing cookie is replaced, to prevent session fixation.
    await world.resetRateLimits(); // avoids the limit of one attempt per 5 seconds
    const again = await signIn('ann@example.com', password, { cookie: cookieOf(got) });
    expect(cookieOf(again)).not.toBe(cookieOf(got));
  });

  it('answers the same for a wrong password, an unknown e-mail address and a user without a password', async () => {
    await addPerson('bob@example.com');
    await world.person('nopassword@example.com');
    const answers = [
      await signIn('bob@example.com', 'wrong password'),
      await signIn('nobody@example.com'),
      await signIn('nopassword@example.com'),
    ];
    for (const got of answers) {
      const { request_id: _, ...body } = got.body;
      expect([got.status, body]).toEqual([
        401,
        expect.objectContaining({
          code: 'sign_in_failed',
          detail: 'The e-mail address or password is wrong. Check both, or reset the password.',
        }),
      ]);
    }
  });

  it('refuses an IP address after five failures, and any second attempt within five seconds', async () => {
    await addPerson('guess@example.com');
    const from = { 'x-forwarded-for': '192.0.2.77' };
    await world.app.counters.add('sign-in:guess@example.com:192.0.2.77', 900, 5);
    const closed = await signIn('guess@example.com', password, from);
    expect(closed).toMatchObject({ status: 429, body: { code: 'rate_limited', limit: 5, window_seconds: 900 } });
    expect((await signIn('guess@example.com')).status).toBe(200); // other IP addresses are not affected
    const tooSoon = await signIn('guess@example.com');
    expect(tooSoon).toMatchObject({ status: 429, body: { limit: 1, window_seconds: 5 } });
    expect(Number(tooSoon.headers['retry-after'])).toBeLessThanOrEqual(5);
  });

  it('lets a person in where somebody has signed in before, however often strangers try elsewhere', async () => {
    await addPerson('calm@example.com');
    await addPerson('colleague@example.com');
    const office = { 'x-forwarded-for': '192.0.2.80' };
    expect((await signIn('colleague@example.com', password, office)).status).toBe(200);
    // Only one of the eight concurrent guesses is allowed, because the limit is one per five seconds.
    const strangers = await Promise.all(Array.from({ length: 8 }, () => signIn('calm@example.com', 'a guess')));
    expect(strangers.map(({ status }) => status).sort()).toEqual([401, ...Array(7).fill(429)]);
    expect((await signIn('calm@example.com', password, office)).status).toBe(200);
  });

  /**
   * Simulates a recent attempt from elsewhere. It counts for longer than the usual five seconds, because tests may be
   * slow.
   */
  const strangersTry = (email: string) => world.app.counters.add(`sign-in-try:${email}`, 60);

  it('limits guesses at a known address as anywhere, and treats accounts that do not exist alike', async () => {
    await addPerson('known@example.com');
    await addPerson('target@example.com');
    const office = { 'x-forwarded-for': '192.0.2.81' };
    await signIn('known@example.com', password, office);
    for (const email of ['target@example.com', 'ghost@example.com']) {
      await strangersTry(email);
      const guesses = await Promise.all([1, 2, 3].map(() => signIn(email, 'a guess', office)));
      expect(guesses.map(({ status }) => status).sort()).toEqual([401, 429, 429]);
      await world.app.counters.add(`sign-in:${email}:192.0.2.81`, 900, 4);
      expect(await signIn(email, password, office)).toMatchObject({ status: 429, body: { limit: 5 } });
    }
  });

  it('knows the ten latest addresses of a person for 90 days, and IPv6 addresses by their /64', async () => {
    const person = await addPerson('travels@example.com');
    let guest = 0;
    /**
     * Whether attempts from this IP address have their own limit, even when strangers have used up the shared limit.
     */
    const isKnown = async (ip: string) => {
      const email = `nobody${guest++}@example.com`;
      await strangersTry(email);
      return (await signIn(email, password, { 'x-forwarded-for': ip })).status === 401;
    };
    const signInAt = async (ip: string) => {
      await world.resetRateLimits();
      expect((await signIn(person.email, password, { 'x-forwarded-for': ip })).status).toBe(200);
    };
    await signInAt('2001:db8:1:2::3');
    expect(await isKnown('2001:db8:1:2:ffff::1')).toBe(true);
    expect(await isKnown('2001:db8:1:3::3')).toBe(false);
    world.clock.aheadMs = 91 * dayMs;
    expect(await isKnown('2001:db8:1:2::3')).toBe(false);
    const job = world.app.background.jobs.find(({ name }) => name === 'remove old sign-in addresses');
    await job?.run(world.app.database.db, world.clock.now());
    world.clock.aheadMs = 0;
    const kept = () => world.db.selectFrom('sign_in_addresses').where('user_id', '=', person.id).selectAll().execute();
    expect(await kept()).toEqual([]);
    for (let i = 1; i <= 11; i += 1) await signInAt(`192.0.2.${100 + i}`);
    expect(await kept()).toHaveLength(10);
    expect([await isKnown('192.0.2.101'), await isKnown('192.0.2.102'), await isKnown('192.0.2.111')]).toEqual([
      false,
      true,
      true,
    ]);
  });

  it('takes as long for an unknown e-mail address: lower quartiles of 24 attempts each differ by less than 40 %', async () => {
    const people = await Promise.all(Array.from({ length: 24 }, (_, i) => addPerson(`timed${i}@example.com`)));
    const timed = async (email: string) => {
      const startedAt = performance.now();
      expect((await signIn(email, 'not the password')).status).toBe(401);
      return performance.now() - startedAt;
    };
    const [known, unknown]: [number[], number[]] = [[], []];
    for (const [i, person] of people.entries()) {
      known.push(await timed(person.email));
      unknown.push(await timed(`ghost${i}@example.com`));
    }
    // Uses the lower quartile, because other load on the machine can only increase the times.
    const quartile = (all: number[]) => all.sort((a, b) => a - b)[6] as number;
    expect(Math.abs(quartile(known) / quartile(unknown) - 1)).toBeLessThan(0.4);
  });
});

describe('sessions', () => {
  it('end by signing out, after seven days without use, and after thirty days', async () => {
    const person = await addPerson('ends@example.com');
    const session = async () => {
      const { createSession } = await import('../../core/identity/accounts.ts');
      const tokenKeys = { peppers: world.config.TOKEN_PEPPERS, cellCode: world.config.CELL_CODE };
      const visitor = { ip: '192.0.2.1', user_agent: undefined };
      const token = await createSession(
        world.db,
        { tokenKeys, secureCookie: false },
        person.id,
        visitor,
        world.clock.now(),
      );
      return { cookie: `plinth_session=${token}` };
    };
    const me = (headers: { cookie: string }) => world.call('GET', '/api/auth/me', { headers });
    const one = await session();
    expect((await me(one)).status).toBe(200);
    const out = await world.call('POST', '/api/auth/sign-out', { headers: one });
    expect(out).toMatchObject({ status: 200, body: { success: true } });
    expect(String(out.headers['set-cookie'])).toContain('Max-Age=0');
    expect(await me(one)).toMatchObject({ status: 401, body: { code: 'credentials_invalid' } });

    const two = await session();
    world.clock.aheadMs = 6 * dayMs;
    expect((await me(two)).status).toBe(200);
    const lastUse = () =>
      world.db
        .selectFrom('credentials')
        .where('user_id', '=', person.id)
        .where('kind', '=', 'session')
        .select('last_used_at')
        .executeTakeFirstOrThrow();
    await expect
      .poll(async () => (await lastUse()).last_used_at?.getTime() ?? 0)
      .toBeGreaterThan(Date.now() + 5 * dayMs);
    world.clock.aheadMs = 14 * dayMs;
    expect(await me(two)).toMatchObject({ status: 401, body: { code: 'credentials_expired' } });
    world.clock.aheadMs = 0;
    const three = await session();
    await world.db
      .updateTable('credentials')
      .set({ last_used_at: new Date(Date.now() + 29.9 * dayMs) })
      .where('user_id', '=', person.id)
      .execute();
    world.clock.aheadMs = 30.1 * dayMs;
    expect(await me(three)).toMatchObject({ status: 401, body: { code: 'credentials_expired' } });
    world.clock.aheadMs = 0;
  });

  it('remember the last used workspace', async () => {
    const person = await addPerson('moves@example.com');
    const second = await world.workspace(person, 'pro', 'Second');
    const cookie = cookieOf(await signIn('moves@example.com'));
    const where = async (query = '') =>
      (await world.call('POST', `/api/apps${query}`, { headers: { cookie } })).body.workspace_id;
    expect(await where()).toBe(person.workspace);
    expect(await where(`?workspaceId=${second}`)).toBe(second);
    await expect.poll(() => where()).toBe(second);
  });

  it('do not remember a workspace that only a GET named, and note its time', async () => {
    const person = await addPerson('reads@example.com');
    const second = await world.workspace(person, 'pro', 'Second');
    const cookie = cookieOf(await signIn('reads@example.com'));
    const credential = () =>
      world.db
        .selectFrom('credentials')
        .where('user_id', '=', person.id)
        .where('kind', '=', 'session')
        .select(['workspace_id', 'last_used_at'])
        .executeTakeFirstOrThrow();
    world.clock.aheadMs = 2 * 60_000;
    const read = await world.call('GET', `/api/workspace?workspaceId=${second}`, { headers: { cookie } });
    world.clock.aheadMs = 0;
    expect(read.body.id).toBe(second);
    await expect.poll(async () => Number((await credential()).last_used_at)).toBeGreaterThan(Date.now() + 60_000);
    expect((await credential()).workspace_id).toBeNull();
    expect((await world.call('GET', '/api/workspace', { headers: { cookie } })).body.id).toBe(person.workspace);
  });
});

describe('getMe and updateMe', () => {
  it('return the user, the credential and the workspaces; a token sees only its own workspace', async () => {
    const person = await addPerson('me@example.com');
    const other = await world.workspace(person, 'free', 'Other');
    const app = await world.appOf(person, person.workspace);
    const token = await world.token(person, person.workspace, { app_ids: [app.id], permission: 'read_only' });
    const got = await world.call('GET', '/api/auth/me', { as: token });
    expect(got.body).toMatchObject({
      user: { id: person.id, email: person.email, is_operator: false },
      credential: {
        kind: 'personal_token',
        permission: 'read_only',
        app_ids: [app.id],
        workspace_id: person.workspace,
        expires_at: null,
      },
      workspaces: [{ id: person.workspace }],
    });
    const cookie = cookieOf(await signIn(person.email));
    const all = (await world.call('GET', '/api/auth/me', { headers: { cookie } })).body;
    expect(all.workspaces.map((workspace: { id: string }) => workspace.id)).toEqual([person.workspace, other]);
    const renamed = await world.call('PATCH', '/api/auth/me', {
      headers: { cookie },
      body: { full_name: ' New Name ' },
    });
    expect(renamed.body).toMatchObject({ full_name: 'New Name' });
  });
});

describe('passwords', () => {
  it('are changed with the current password; other sessions end, this session and tokens stay valid', async () => {
    const person = await addPerson('change@example.com');
    const token = await world.token(person, person.workspace);
    const other = cookieOf(await signIn(person.email));
    await world.resetRateLimits(); // avoids the limit of one attempt per 5 seconds
    const mine = cookieOf(await signIn(person.email));
    const change = (body: object) => world.call('POST', '/api/auth/password', { headers: { cookie: mine }, body });
    expect(await change({ current_password: 'wrong', new_password: 'another long password' })).toMatchObject({
      status: 401,
      body: { code: 'sign_in_failed' },
    });
    expect(await change({ current_password: password, new_password: 'short' })).toMatchObject({ status: 422 });
    expect(await change({ current_password: password, new_password: 'another long password' })).toMatchObject({
      status: 200,
    });
    const me = (headers: Record<string, string>) => world.call('GET', '/api/auth/me', { headers });
    expect((await me({ cookie: other })).status).toBe(401);
    expect((await me({ cookie: mine })).status).toBe(200);
    expect((await me({ authorization: `Bearer ${token}` })).status).toBe(200);
  });

  it('are changed once, even by three requests at the same time; a repeat changes nothing', async () => {
    const person = await addPerson('change-twice@example.com');
    const headers = { cookie: cookieOf(await signIn(person.email)) };
    const body = { current_password: password, new_password: 'another long password' };
    const change = (more: object = {}) =>
      world.call('POST', '/api/auth/password', { headers, body: { ...body, ...more } });
    const together = await Promise.all([change(), change(), change()]);
    expect(together.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(together.filter(({ headers }) => headers['x-changed'] === 'false')).toHaveLength(2);
    await world.resetRateLimits();
    expect(await change()).toMatchObject({ status: 200, headers: { 'x-changed': 'false' } });
    const same = { current_password: body.new_password };
    expect(await change(same)).toMatchObject({ status: 200, headers: { 'x-changed': 'false' } });
    expect(await change({ new_password: 'yet another password' })).toMatchObject({
      status: 401,
      body: { code: 'sign_in_failed' },
    });
    const { rows } = await sql`
      select entry from (select entry from audit_pending union all select entry from audit_entries) entries
      where entry->>'type' = 'auth.password_changed' and entry->'target'->>'id' = ${person.id}`.execute(world.db);
    expect(rows).toHaveLength(1);
  });

  it('are reset by the link in the mail, once and within an hour', async () => {
    const person = await addPerson('forgot@example.com');
    const session = cookieOf(await signIn(person.email));
    const ask = (email: string) => post('/api/auth/password/forgot', { email });
    expect((await ask(person.email)).body).toEqual({ success: true });
    expect((await ask('nobody@example.com')).body).toEqual({ success: true });
    await expect.poll(() => resetMailsTo(person.email)).toHaveLength(1);
    expect(mail.inbox.some((each) => each.to.includes('nobody@example.com'))).toBe(false);
    const link = /http\S+#(\S+)/.exec(resetMailsTo(person.email)[0]?.text ?? '');
    const reset = (reset_token: string) =>
      post('/api/auth/password/reset', { reset_token, new_password: 'a brand new password' });
    expect(await reset('wrong')).toMatchObject({ status: 410, body: { code: 'reset_link_expired' } });
    const elsewhere = {
      headers: { origin: 'https://evil.example' },
      body: { reset_token: link?.[1], new_password: 'x'.repeat(12) },
    };
    const stolen = await world.call('POST', '/api/auth/password/reset', elsewhere);
    expect(stolen).toMatchObject({ status: 403, body: { code: 'origin_not_allowed' } });
    const done = await reset(link?.[1] ?? '');
    expect(done.body).toEqual({ success: true });
    const me = await world.call('GET', '/api/auth/me', { headers: { cookie: cookieOf(done) } });
    expect(me.body.user.email).toBe(person.email);
    expect(await reset(link?.[1] ?? '')).toMatchObject({ status: 410 });
    expect((await world.call('GET', '/api/auth/me', { headers: { cookie: session } })).status).toBe(401);
    await world.resetRateLimits(); // avoids the limit of one attempt per 5 seconds
    expect((await signIn(person.email, 'a brand new password')).status).toBe(200);
    await ask(person.email);
    await ask(person.email);
    await expect.poll(() => resetMailsTo(person.email)).toHaveLength(3);
    const late = /#(\S+)/.exec(resetMailsTo(person.email).at(-1)?.text ?? '')?.[1] ?? '';
    world.clock.aheadMs = 61 * 60 * 1000;
    expect(await reset(late)).toMatchObject({ status: 410 });
    world.clock.aheadMs = 0;
    // A new password invalidates all other reset links.
    const other = /#(\S+)/.exec(resetMailsTo(person.email).at(-2)?.text ?? '')?.[1] ?? '';
    expect((await reset(late)).status).toBe(200);
    expect((await reset(other)).status).toBe(410);
  });

  it('that are reset prove the e-mail address, and end what somebody else may have created before', async () => {
    const person = await addPerson('unproven@example.com');
    await world.db.updateTable('users').set({ email_verified_at: null }).where('id', '=', person.id).execute();
    const cookie = cookieOf(await signIn(person.email));
    const token = await world.token(person, person.workspace);
    const body = { name: 'Key', scopes: ['apps:read'] };
    const key = (await world.call('POST', '/api/workspace/api-keys', { as: token, body })).body;
    const { token: personalKey } = await world.credential({
      kind: 'personal_key',
      user_id: person.id,
      workspace_id: null,
      permission: 'full_access',
    });
    const me = (headers: Record<string, string>) => world.call('GET', '/api/auth/me', { headers });
    expect((await me({ cookie })).body.user.email_verified).toBe(false);
    await post('/api/auth/password/forgot', { email: person.email });
    await expect.poll(() => mail.inbox.some(({ to }) => to.includes(person.email))).toBe(true);
    const reset_token = /#(\S+)/.exec(resetMailsTo(person.email)[0]?.text ?? '')?.[1] ?? '';
    await post('/api/auth/password/reset', { reset_token, new_password: 'a brand new password' });
    const ended: Record<string, string>[] = [
      { cookie },
      { authorization: `Bearer ${token}` },
      { api_key: personalKey },
    ];
    for (const headers of ended) expect((await me(headers)).status).toBe(401);
    expect((await world.call('GET', '/api/apps', { headers: { api_key: key.token } })).status).toBe(401);
    await world.resetRateLimits();
    const again = await signIn(person.email, 'a brand new password');
    expect(again.body.user.email_verified).toBe(true);
    const log = await world.call('GET', '/api/workspace/audit-log', { headers: { cookie: cookieOf(again) } });
    const entry = log.body.items.find(({ type }: { type: string }) => type === 'token.revoked');
    expect(entry).toMatchObject({ actor: { id: person.id }, target: { kind: 'user', id: person.id } });
    expect(entry.after.revoked).toHaveLength(2); // the token, and the workspace key created with it
  });

  it('a refused reset mail is logged and retried, and the caller sees no difference', async () => {
    const person = await addPerson('refusedmail@example.com');
    mail.behave('refusing');
    expect((await post('/api/auth/password/forgot', { email: person.email })).body).toEqual({ success: true });
    await expect.poll(() => world.logLines.some((line) => line.includes('mail not sent'))).toBe(true);
    expect(mail.inbox.some((each) => each.to.includes(person.email))).toBe(false);
    mail.behave('well');
    await expect.poll(() => resetMailsTo(person.email)).toHaveLength(1);
  });
});

describe('personal access tokens', () => {
  const create = (as: string, body: object, headers = {}) =>
    world.call('POST', '/api/auth/tokens', { as, body, headers });

  it('are shown once: neither lists nor replays contain them', async () => {
    const person = await addPerson('once@example.com');
    const as = await world.token(person, person.workspace);
    const headers = { 'idempotency-key': 'token-1' };
    const created = await create(as, { name: 'CI' }, headers);
    expect(created.body).toMatchObject({
      name: 'CI',
      permission: 'read_only',
      app_ids: null,
      workspace_id: person.workspace,
      last_used_at: null,
    });
    expect(created.body.token).toMatch(/^plp_[0-9A-Za-z]{40}$/);
    expect(new Date(created.body.expires_at).getTime()).toBeCloseTo(Date.now() + 90 * 24 * 60 * 60 * 1000, -5);
    const replay = await create(as, { name: 'CI' }, headers);
    expect(replay.body).toEqual({ ...created.body, token: null });
    expect(replay.headers['x-warning']).toBe('secret_withheld');
    const listed = await world.call('GET', '/api/auth/tokens', { as });
    expect(listed.body[0]).not.toHaveProperty('token');
    expect(listed.text).not.toContain(created.body.token);
    expect((await world.call('GET', '/api/apps', { as: created.body.token })).status).toBe(200);
  });

  it('created with another token have no more rights, expire no later, and are revoked with it', async () => {
    const person = await addPerson('parent@example.com');
    const [inside, outside] = [
      await world.appOf(person, person.workspace),
      await world.appOf(person, person.workspace),
    ];
    const cookie = cookieOf(await signIn(person.email));
    const parent = (
      await world.call('POST', '/api/auth/tokens', {
        headers: { cookie },
        body: { name: 'P', permission: 'full_access', app_ids: [inside.id], expires_in_days: 10 },
      })
    ).body;
    for (const wider of [
      { name: 'x', expires_in_days: 5 },
      { name: 'x', app_ids: [inside.id, outside.id], expires_in_days: 5 },
      { name: 'x', app_ids: [inside.id], expires_in_days: 11 },
      { name: 'x', app_ids: [inside.id], expires_in_days: null },
    ]) {
      expect(await create(parent.token, wider)).toMatchObject({
        status: 403,
        body: { code: 'token_wider_than_parent' },
      });
    }
    const child = (
      await create(parent.token, { name: 'C', permission: 'full_access', app_ids: [inside.id], expires_in_days: 9 })
    ).body;
    const grandchild = (await create(child.token, { name: 'G', app_ids: [inside.id], expires_in_days: 8 })).body;
    const alive = async (token: string) => (await world.call('GET', `/api/apps/${inside.id}`, { as: token })).status;
    expect(await alive(grandchild.token)).toBe(200);
    expect((await world.call('DELETE', `/api/auth/tokens/${parent.id}`, { headers: { cookie } })).body).toEqual({
      success: true,
    });
    expect([await alive(parent.token), await alive(child.token), await alive(grandchild.token)]).toEqual([
      401, 401, 401,
    ]);
  });

  it("can't create a child that survives the revocation of its parent", async () => {
    const person = await addPerson('racing@example.com');
    const owner = await world.token(person, person.workspace);
    for (let round = 0; round < 10; round += 1) {
      const parent = await world.credential({
        kind: 'personal_token',
        user_id: person.id,
        workspace_id: person.workspace,
        permission: 'full_access',
      });
      const [child] = await Promise.all([
        create(parent.token, { name: 'child' }),
        world.call('DELETE', `/api/auth/tokens/${parent.id}`, { as: owner }),
      ]);
      expect([200, 401]).toContain(child.status);
      if (child.status === 200)
        expect((await world.call('GET', '/api/apps', { as: child.body.token })).status).toBe(401);
    }
  });

  it('refuse unknown fields, unknown apps and the fifty-first token', async () => {
    const person = await addPerson('cap@example.com');
    const as = await world.token(person, person.workspace, { name: 'one' });
    expect((await create(as, { name: 'x', permisson: 'full_access' })).body.detail).toEqual([
      { loc: ['body', 'permisson'], msg: 'is not a field of the request body', type: 'extra_forbidden' },
    ]);
    expect(await create(as, { name: 'x', app_ids: [newId()] })).toMatchObject({
      status: 404,
      body: { code: 'app_not_found' },
    });
    for (let created = 1; created < 50; created += 1) await world.token(person, person.workspace);
    expect(await create(as, { name: 'x' })).toMatchObject({ status: 409, body: { code: 'limit_reached', limit: 50 } });
  });

  it('are renamed by their owner only, and revoked by their owner or an admin', async () => {
    const person = await addPerson('rename@example.com');
    const member = await world.member(person.workspace, 'editor', 'renamed-member@example.com');
    const [owner, editor] = [await world.token(person, person.workspace), await world.token(member, person.workspace)];
    const created = (await create(editor, { name: 'Old' })).body;
    const rename = (as: string, id = created.id) =>
      world.call('PATCH', `/api/auth/tokens/${id}`, { as, body: { name: 'New' } });
    expect((await rename(editor)).body).toMatchObject({ id: created.id, name: 'New' });
    expect(await rename(owner)).toMatchObject({ status: 404, body: { code: 'token_not_found' } });
    expect(await rename(editor, 'nonsense')).toMatchObject({ status: 404 });
    expect(
      (await world.call('PATCH', `/api/auth/tokens/${created.id}`, { as: editor, body: {} })).body.detail[0].type,
    ).toBe('missing');
    const all = await world.call('GET', '/api/workspace/tokens', { as: owner });
    expect(all.body.find((each: { id: string }) => each.id === created.id)).toMatchObject({
      owner_email: member.email,
    });
    expect(await world.call('GET', '/api/workspace/tokens', { as: editor })).toMatchObject({
      status: 403,
      body: { code: 'role_required' },
    });
    expect((await world.call('DELETE', `/api/workspace/tokens/${created.id}`, { as: owner })).status).toBe(200);
    expect((await world.call('GET', '/api/apps', { as: created.token })).status).toBe(401);
    expect(await world.call('DELETE', `/api/workspace/tokens/${created.id}`, { as: owner })).toMatchObject({
      status: 404,
      body: { code: 'token_not_found' },
    });
    const limited = await world.token(person, person.workspace, {
      app_ids: [(await world.appOf(person, person.workspace)).id],
    });
    expect(await world.call('DELETE', `/api/workspace/tokens/${created.id}`, { as: limited })).toMatchObject({
      status: 403,
      body: { code: 'token_app_limited' },
    });
  });

  it.each([
    ['GET', '/api/workspace/tokens'],
    ['GET', '/api/workspace/api-keys'],
    ['GET', '/api/workspace/billing'],
    ['POST', '/api/apps'],
    ['POST', '/api/agents'],
  ])('%s %s is refused to a token that is limited to some apps', async (method, path) => {
    const person = await addPerson(`limited-${method}-${path.split('/').at(-1)}@example.com`);
    const limited = await world.token(person, person.workspace, {
      app_ids: [(await world.appOf(person, person.workspace)).id],
    });
    const got = await world.call(method, path, { as: limited, ...(method === 'POST' && { body: { name: 'New' } }) });
    expect(got).toMatchObject({ status: 403, body: { code: 'token_app_limited' } });
    expect((await world.call('POST', '/api/workspace/members/list', { as: limited, body: {} })).status).toBe(200);
  });
});

describe('personal API keys', () => {
  it("are listed and revoked, and can't be created any more", async () => {
    const person = await addPerson('keys@example.com');
    const as = await world.token(person, person.workspace);
    const key = await world.credential({
      kind: 'personal_key',
      name: 'old',
      user_id: person.id,
      workspace_id: null,
      permission: 'full_access',
    });
    expect((await world.call('GET', '/api/auth/api-keys', { as })).body).toMatchObject([
      { id: key.id, name: 'old', last4: key.token.slice(-4) },
    ]);
    expect(await world.call('POST', '/api/auth/api-keys', { as })).toMatchObject({
      status: 410,
      body: { code: 'api_keys_retired' },
    });
    expect((await world.call('DELETE', `/api/auth/api-keys/${key.id}`, { as })).status).toBe(200);
    expect((await world.call('GET', '/api/apps', { headers: { api_key: key.token } })).status).toBe(401);
    expect(await world.call('DELETE', `/api/auth/api-keys/${key.id}`, { as })).toMatchObject({
      status: 404,
      body: { code: 'key_not_found' },
    });
  });
});

it('no table contains a password, a link or a credential in plain text', async () => {
  const { sql } = await import('kysely');
  const texts: string[] = [];
  for (const { name, schema } of await world.db.introspection.getTables()) {
    const table = sql.id(schema as string, name);
    const { rows } = await sql<{ row: string }>`select t::text as row from ${table} t`.execute(world.db);
    texts.push(...rows.map((row) => row.row));
  }
  const dump = texts.join('\n');
  for (const secret of [password, 'a brand new password', setupToken, cookieOf(done).split('=')[1] as string])
    expect(dump).not.toContain(secret);
  expect(dump).not.toMatch(/pl[spkw]_[0-9A-Za-z]{40}/);
  expect(dump).toContain('argon2id$19456$2$1$');
});
