// Tests how an app's users sign in, sign up and use links, through the API and a real mail server
// (docs/api/app-users.md).
import { afterAll, describe, expect, it } from 'vitest';
import { startMailSandbox } from '../../../../sandbox/src/smtp.ts';
import { startWorld } from '../../../test/support/world.ts';
import type { AppRow } from '../../core/auth/proofs.ts';
import { hashPassword } from '../../core/identity/passwords.ts';
import { newId } from '../../kit/ids.ts';

const mail = await startMailSandbox();
afterAll(() => mail.close());
// Trusting a proxy lets each test choose its own IP address.
const world = await startWorld({ environment: { SMTP_URL: mail.smtpUrl, TRUSTED_PROXIES: '127.0.0.1' } });
await world.startWorker();
const owner = await world.person('owner@example.com');
const workspace = await world.workspace(owner);
await world.db.updateTable('workspaces').set({ rate_multiplier: 1000 }).where('id', '=', workspace).execute();
const manager = await world.token(owner, workspace);
const password = 'a long enough password';
const origin = 'https://shop.example';
const hourMs = 60 * 60 * 1000;

interface Settings {
  readonly sign_up?: 'closed' | 'invited' | 'open';
  readonly methods?: { readonly password?: boolean; readonly link?: boolean };
}

/** An app whose pages are at `origin`. */
async function createApp(settings: Settings = {}, more: Parameters<typeof world.appOf>[2] = {}): Promise<AppRow> {
  const app = await world.appOf(owner, workspace, { name: 'Shop', ...more });
  await world.db
    .updateTable('apps')
    .set({ public_origins: [origin] })
    .where('id', '=', app.id)
    .execute();
  if (Object.keys(settings).length > 0) expect((await set(app, settings)).status).toBe(200);
  return { ...app, public_origins: [origin] };
}

let addresses = 0;
const freshAddress = () => `198.51.${Math.floor(++addresses / 250)}.${addresses % 250}`;
const post = (app: Pick<AppRow, 'id'>, path: string, body: object, ip = freshAddress()) =>
  world.call('POST', `/api/apps/${app.id}/auth/${path}`, { body, headers: { 'x-forwarded-for': ip } });
const signIn = (app: AppRow, email: string, attempted = password, ip?: string) =>
  post(app, 'sign-in', { email, password: attempted }, ip);
const signUp = (app: AppRow, email: string, more: object = {}, ip?: string) =>
  post(app, 'sign-up', { email, password, ...more }, ip);
const requestLink = (app: AppRow, email: string, ip?: string) => post(app, 'link', { email }, ip);
const useLink = (app: AppRow, link_token: string, more: object = {}, ip?: string) =>
  post(app, 'link/use', { link_token, ...more }, ip);
const set = (app: AppRow, body: object, as = manager) =>
  world.call('PATCH', `/api/apps/${app.id}/auth/settings`, { as, body });
const as = (app: AppRow, token: string, path: string, method = 'POST') =>
  world.call(method, `/api/apps/${app.id}/auth/${path}`, { as: token });
const me = (app: AppRow, token: string) => as(app, token, 'me', 'GET');

const mailsTo = (email: string) => mail.inbox.filter(({ to }) => to.includes(email));
const tokenIn = (text: string) => /#plinth_link=([\w-]+)/.exec(text)?.[1] ?? '';

/** Waits for the `count`-th e-mail to this address, and returns the token from its link. */
async function linkTo(email: string, count = 1): Promise<string> {
  await expect.poll(() => mailsTo(email).length).toBeGreaterThanOrEqual(count);
  return tokenIn(mailsTo(email)[count - 1]?.text ?? '');
}

/** Waits until no e-mail is queued. An address that has received nothing by then will not receive anything. */
const allMailsSent = () =>
  expect
    .poll(() => world.db.selectFrom('app_user_links').where('due_at', 'is not', null).select('id').execute())
    .toEqual([]);

/** Adds a user with a password. */
async function addUser(app: AppRow, email: string): Promise<{ id: string; email: string }> {
  const user = await world.appUser(app, email);
  const row = { app_user_id: user.id, app_id: app.id, hash: await hashPassword(password, { ip: '127.0.0.1' }) };
  await world.db
    .insertInto('app_user_passwords')
    .values({ ...row, updated_date: new Date() })
    .execute();
  return user;
}

const withoutId = ({ request_id: _, ...body }: Record<string, unknown>) => body;
const entriesOf = async (app: AppRow) => {
  const got = await world.call('GET', `/api/workspace/audit-log?app_id=${app.id}&limit=100`, { as: manager });
  return got.body.items.reverse() as { type: string; actor: object; target: object; after: unknown; before: unknown }[];
};

describe('signInAppUser', () => {
  it('returns a token for the data of this app, and what the user may know of themselves', async () => {
    const app = await createApp();
    const user = await addUser(app, 'ann@customers.example');
    await world.db
      .updateTable('app_users')
      .set({ data: JSON.stringify({ note: 'difficult' }) })
      .where('id', '=', user.id)
      .execute();
    const before = Date.now();
    const { status, body, text } = await signIn(app, ' ANN@customers.example ');
    expect([status, body]).toEqual([
      200,
      {
        token: expect.stringMatching(/^plu_[0-9A-Za-z]{40}$/),
        expires_at: expect.any(String),
        user: {
          id: user.id,
          email: user.email,
          full_name: '',
          role: 'user',
          has_password: true,
          created_date: expect.any(String),
        },
      },
    ]);
    expect(text).not.toContain('difficult');
    expect(Math.round((Date.parse(body.expires_at) - before) / 60_000)).toBe(60);
    expect((await me(app, body.token)).body).toEqual(body.user);
    const elsewhere = await createApp();
    expect(await me(elsewhere, body.token)).toMatchObject({ status: 404, body: { code: 'app_not_found' } });
  });

  it('begins another sign-in each time; the first stays valid', async () => {
    const app = await createApp();
    const user = await addUser(app, 'twice@customers.example');
    const first = await signIn(app, user.email);
    await world.resetRateLimits(); // avoids the limit of one attempt per 5 seconds
    const second = await signIn(app, user.email);
    expect(second.status).toBe(200);
    expect(second.body.token).not.toBe(first.body.token);
    for (const { body } of [first, second]) expect((await me(app, body.token)).status).toBe(200);
  });

  it('returns a token that is valid for as long as requested, up to a day', async () => {
    const app = await createApp();
    await addUser(app, 'long@customers.example');
    const lasting = (expires_in_seconds: number) =>
      post(app, 'sign-in', { email: 'long@customers.example', password, expires_in_seconds });
    const got = await lasting(86_400);
    expect(Math.round((Date.parse(got.body.expires_at) - Date.now()) / hourMs)).toBe(24);
    expect((await lasting(86_401)).status).toBe(422);
  });

  it('answers the same for a wrong password, an unknown address and a user without a password', async () => {
    const app = await createApp();
    await addUser(app, 'bob@customers.example');
    await world.appUser(app, 'nopassword@customers.example');
    const other = await createApp({ methods: { password: false } });
    await addUser(other, 'bob@customers.example');
    const answers = [
      await signIn(app, 'bob@customers.example', 'wrong password'),
      await signIn(app, 'nobody@customers.example'),
      await signIn(app, 'not an address'),
      await signIn(app, 'nopassword@customers.example'),
      await signIn(other, 'bob@customers.example'), // this app's users can't sign in with a password
    ];
    for (const { status, body } of answers) {
      expect([status, withoutId(body)]).toEqual([
        401,
        expect.objectContaining({
          code: 'sign_in_failed',
          detail: 'The e-mail address or password is wrong. Check both, or request a link by e-mail.',
        }),
      ]);
    }
  });

  it('takes as long for an unknown address as for a wrong password', async () => {
    const app = await createApp();
    await addUser(app, 'time@customers.example');
    const measure = async (email: string) => {
      const start = performance.now();
      expect((await signIn(app, email, 'wrong password')).status).toBe(401);
      return performance.now() - start;
    };
    const pairs: [number, number][] = [];
    for (let n = 0; n < 5; n += 1) {
      await world.resetRateLimits();
      pairs.push([await measure('time@customers.example'), await measure(`unknown${n}@customers.example`)]);
    }
    // Without hashing, a response would take a tenth of the time. A busy machine can double the time.
    const fastest = (of: 0 | 1) => Math.min(...pairs.map((pair) => pair[of]));
    expect(fastest(1)).toBeGreaterThan(fastest(0) / 4);
    expect(fastest(1)).toBeLessThan(fastest(0) * 4);
  });

  it('refuses an IP address after five failures, and any second attempt within five seconds', async () => {
    const app = await createApp();
    await addUser(app, 'guess@customers.example');
    await world.app.counters.add(`app-sign-in:${app.id}:guess@customers.example:192.0.2.77`, 900, 5);
    const closed = await signIn(app, 'guess@customers.example', password, '192.0.2.77');
    expect(closed).toMatchObject({ status: 429, body: { code: 'rate_limited', limit: 5, window_seconds: 900 } });
    expect((await signIn(app, 'guess@customers.example')).status).toBe(200);
    const tooSoon = await signIn(app, 'guess@customers.example');
    expect(tooSoon).toMatchObject({ status: 429, body: { limit: 1, window_seconds: 5 } });
    const other = await createApp(); // the same address is a separate account in this app
    await addUser(other, 'guess@customers.example');
    expect((await signIn(other, 'guess@customers.example')).status).toBe(200);
  });

  it('lets a user in where a user of the app has signed in before, however often strangers try elsewhere', async () => {
    const app = await createApp();
    await addUser(app, 'calm@customers.example');
    await addUser(app, 'colleague@customers.example');
    expect((await signIn(app, 'colleague@customers.example', password, '192.0.2.80')).status).toBe(200);
    const strangers = await Promise.all(
      Array.from({ length: 8 }, () => signIn(app, 'calm@customers.example', 'a guess')),
    );
    expect(strangers.map(({ status }) => status).sort()).toEqual([401, ...Array(7).fill(429)]);
    expect((await signIn(app, 'calm@customers.example', password, '192.0.2.80')).status).toBe(200);
  });

  it('keeps the ten latest addresses of a user, and forgets them after 90 days', async () => {
    const app = await createApp();
    const user = await addUser(app, 'mover@customers.example');
    for (let n = 0; n < 12; n += 1) {
      await world.resetRateLimits();
      expect((await signIn(app, user.email, password, `192.0.2.${100 + n}`)).status).toBe(200);
    }
    const kept = world.db.selectFrom('app_user_addresses').where('app_user_id', '=', user.id).select('used_at');
    expect(await kept.execute()).toHaveLength(10);
    const sweep = world.app.background.jobs.find((job) => job.name === 'remove old app user addresses');
    await sweep?.run(world.app.database.db, new Date(Date.now() + 91 * 24 * hourMs));
    expect(await kept.execute()).toEqual([]);
  });

  it('answers 404 at an app that is unknown, in the trash, or in a deleted workspace', async () => {
    const trashed = await createApp();
    await world.db.updateTable('apps').set({ deleted_date: new Date() }).where('id', '=', trashed.id).execute();
    const place = await world.workspace(owner);
    const lost = await world.appOf(owner, place);
    await world.db.updateTable('workspaces').set({ deleted_date: new Date() }).where('id', '=', place).execute();
    const bodies = {
      'sign-in': { email: 'a@b.example', password },
      'sign-up': { email: 'a@b.example', password },
      link: { email: 'a@b.example' },
      'link/use': { link_token: 'x' },
    };
    for (const [path, body] of Object.entries(bodies))
      for (const app of [trashed, lost, { id: newId() }, { id: 'nonsense' }])
        expect(await post(app, path, body)).toMatchObject({ status: 404, body: { code: 'app_not_found' } });
  });

  it('writes at most sixty failures a minute to the audit log', async () => {
    const app = await createApp();
    await world.app.counters.add(`app-sign-in-failures:${app.id}`, 60, 59);
    await signIn(app, 'one@customers.example');
    await signIn(app, 'two@customers.example');
    const entries = await entriesOf(app);
    expect(entries.map(({ type, target }) => ({ type, target }))).toEqual([
      { type: 'app_user.sign_in_failed', target: { kind: 'app_user', id: 'one@customers.example' } },
    ]);
  });
});

describe('signUpAppUser', () => {
  it('creates the user and stores the password when the link is used, not before', async () => {
    const app = await createApp({ sign_up: 'open' });
    expect((await signUp(app, 'New@Customers.example', { full_name: 'New' })).body).toEqual({ success: true });
    const link = await linkTo('new@customers.example');
    const [sent] = mailsTo('new@customers.example');
    expect(sent?.subject).toBe('Confirm your e-mail address for Shop');
    expect(sent?.text).toContain(`${origin}/#plinth_link=${link}`);
    const users = world.db.selectFrom('app_users').where('app_id', '=', app.id).select(['email', 'full_name', 'role']);
    expect(await users.execute()).toEqual([]);
    expect((await signIn(app, 'new@customers.example')).status).toBe(401);
    const used = await useLink(app, link);
    expect(used).toMatchObject({
      status: 200,
      body: { user: { email: 'new@customers.example', full_name: 'New', role: 'user', has_password: true } },
    });
    expect((await me(app, used.body.token)).status).toBe(200);
    await world.resetRateLimits();
    expect((await signIn(app, 'new@customers.example')).status).toBe(200);
    expect(await useLink(app, link)).toMatchObject({ status: 410, body: { code: 'link_expired' } });
    expect((await entriesOf(app)).map(({ type, actor }) => ({ type, actor })).slice(1)).toEqual([
      { type: 'app_user.sign_in_failed', actor: { kind: 'anonymous', id: null, email: null } },
      ...['app_user.signed_up', 'app_user.password_set', 'app_user.signed_in', 'app_user.signed_in'].map((type) => ({
        type,
        actor: { kind: 'app_user', id: used.body.user.id, email: 'new@customers.example' },
      })),
    ]);
  });

  it('answers the same, and sends nothing, where nobody can sign up', async () => {
    const closed = await createApp();
    const invited = await createApp({ sign_up: 'invited' });
    const hidden = await createApp({ sign_up: 'open' }, { public_settings: 'private_with_login' });
    const ours = await createApp({ sign_up: 'open' }, { public_settings: 'workspace_with_login' });
    const off = await createApp({ sign_up: 'open', methods: { password: false, link: false } });
    await world.appUser(closed, 'existing@closed.example');
    await addUser(off, 'existing@off.example');
    const tried: [AppRow, string][] = [
      [closed, 'stranger@closed.example'],
      [closed, 'existing@closed.example'],
      [invited, 'stranger@invited.example'],
      [hidden, 'stranger@hidden.example'],
      [ours, 'stranger@ours.example'],
      [off, 'existing@off.example'],
    ];
    for (const [app, email] of tried)
      expect(await signUp(app, email)).toMatchObject({ status: 200, body: { success: true } });
    await allMailsSent();
    for (const [, email] of tried) expect(mailsTo(email)).toEqual([]);
  });

  it('lets people whom a manager has created set a password where they signed up, if they are invited', async () => {
    const app = await createApp({ sign_up: 'open' }, { public_settings: 'private_with_login' });
    const user = await world.appUser(app, 'invited@customers.example', { role: 'admin', full_name: 'Ina' });
    await signUp(app, user.email, { full_name: 'Somebody' }, '192.0.2.20');
    const link = await linkTo(user.email);
    expect(mailsTo(user.email)[0]?.text).toContain('over the same internet connection');
    const used = await useLink(app, link, {}, '192.0.2.20');
    expect(used.body.user).toMatchObject({ id: user.id, full_name: 'Ina', role: 'admin', has_password: true });
    expect((await signIn(app, user.email)).status).toBe(200);
  });

  it('stores no password of an invited person if the link is used elsewhere: a stranger may have signed up', async () => {
    const app = await createApp({ sign_up: 'invited' });
    const strict = await createApp({ sign_up: 'invited', methods: { link: false } });
    for (const [of, email] of [
      [app, 'expected@customers.example'] as const,
      [strict, 'expected@strict.example'] as const,
    ]) {
      await world.appUser(of, email);
      await signUp(of, email, { password: 'the password of a stranger' });
    }
    const used = await useLink(app, await linkTo('expected@customers.example'));
    expect(used).toMatchObject({ status: 200, body: { user: { has_password: false } } });
    const link = await linkTo('expected@strict.example');
    expect(await useLink(strict, link)).toMatchObject({ status: 422, body: { detail: [{ type: 'missing' }] } });
    expect((await useLink(strict, link, { password })).body.user.has_password).toBe(true);
    for (const [of, email] of [
      [app, 'expected@customers.example'] as const,
      [strict, 'expected@strict.example'] as const,
    ]) {
      await world.resetRateLimits();
      expect((await signIn(of, email, 'the password of a stranger')).status).toBe(401);
    }
  });

  it.each([
    ['open', 'who has never signed in'],
    ['open', 'who signs in with links'],
    ['invited', 'who signs in with links'],
  ] as const)('at an app that is %s never sets the password of a user %s', async (sign_up, who) => {
    const app = await createApp({ sign_up });
    const email = `${who.replaceAll(' ', '-')}@${sign_up}.example`;
    const user = await world.appUser(app, email);
    const usesLinks = who === 'who signs in with links';
    if (usesLinks) {
      await requestLink(app, email);
      expect((await useLink(app, await linkTo(email))).status).toBe(200);
    }
    const mails = mailsTo(email).length;
    // This holds even for requests from the same IP address, which many people may share.
    await signUp(app, email, { password: 'the password of a stranger' }, '192.0.2.21');
    const link = await linkTo(email, mails + 1);
    expect(mailsTo(email).at(-1)?.text).toContain("you already have an account. Your account hasn't changed");
    const used = await useLink(app, link, {}, '192.0.2.21');
    expect(used.body.user).toMatchObject({ id: user.id, has_password: false });
    expect((await signIn(app, email, 'the password of a stranger')).status).toBe(401);
  });

  it('does not change the password of a user who has one', async () => {
    const app = await createApp({ sign_up: 'open' });
    const user = await addUser(app, 'twice@customers.example');
    await signUp(app, user.email, { password: 'the password of a stranger' });
    const link = await linkTo(user.email);
    expect(mailsTo(user.email)[0]?.text).toContain('you already have an account');
    expect((await useLink(app, link)).body.user).toMatchObject({ id: user.id, has_password: true });
    expect((await signIn(app, user.email, 'the password of a stranger')).status).toBe(401);
    await world.resetRateLimits();
    expect((await signIn(app, user.email)).status).toBe(200);
  });

  it('stores neither password if two people sign up with one address, whichever link is used', async () => {
    const app = await createApp({ sign_up: 'open' });
    await signUp(app, 'victim@customers.example', { password: 'the password of an attacker' });
    await signUp(app, 'victim@customers.example');
    const link = await linkTo('victim@customers.example');
    const used = await useLink(app, link);
    expect(used).toMatchObject({ status: 200, body: { user: { has_password: false } } });
    expect(await useLink(app, await linkTo('victim@customers.example', 2))).toMatchObject({ status: 410 });
    for (const attempted of ['the password of an attacker', password]) {
      await world.resetRateLimits();
      expect((await signIn(app, 'victim@customers.example', attempted)).status).toBe(401);
    }
  });

  it('stores the password of the link that is used if one person signs up twice', async () => {
    const app = await createApp({ sign_up: 'open' });
    const email = 'again@customers.example';
    await signUp(app, email, { password: 'my first password' }, '192.0.2.10');
    await signUp(app, email, { password: 'my second password' }, '192.0.2.10');
    await linkTo(email, 2);
    const links = mailsTo(email).map(({ text }) => tokenIn(text));
    expect((await useLink(app, links[1] ?? '')).body.user.has_password).toBe(true);
    const outcomes = [];
    for (const attempted of ['my first password', 'my second password']) {
      await world.resetRateLimits();
      outcomes.push((await signIn(app, email, attempted)).status);
    }
    expect(outcomes.sort()).toEqual([200, 401]);
  });

  it('mails ten confirmations an hour to one mailbox, and 500 a day for a workspace on the free plan', async () => {
    const place = await world.workspace(owner);
    await world.db.updateTable('workspaces').set({ plan: 'free' }).where('id', '=', place).execute();
    const app = await world.appOf(owner, place, { name: 'Small shop' });
    const change = { public_origins: [origin] };
    await world.db.updateTable('apps').set(change).where('id', '=', app.id).execute();
    await set(app, { sign_up: 'open' }, await world.token(owner, place));
    await world.app.counters.add('app-mail:sign_up:ten@customers.example', 3600, 9);
    const eleventh = await createApp({ sign_up: 'open' });
    await signUp(app, 'ten@customers.example');
    await allMailsSent();
    await signUp(eleventh, 'ten@customers.example');
    await allMailsSent();
    expect(mailsTo('ten@customers.example')).toHaveLength(1);
    await world.app.counters.add(`app-sign-up-mails:w:${place}`, 86_400, 498);
    await signUp(app, 'today@customers.example');
    await allMailsSent();
    await signUp(app, 'tomorrow@customers.example');
    await allMailsSent();
    expect([mailsTo('today@customers.example'), mailsTo('tomorrow@customers.example')]).toMatchObject([[{}], []]);
  });

  it('mails nothing of the name of an app that would be a link or another line', async () => {
    const app = await createApp({ sign_up: 'open' }, { name: 'Win\nat\u202E https://evil.example/x' });
    await signUp(app, 'stranger@names.example');
    await linkTo('stranger@names.example');
    const [sent] = mailsTo('stranger@names.example');
    expect(sent?.subject).toBe('Confirm your e-mail address for Win at https evil example x');
    expect(sent?.text).not.toContain('evil.example');
  });

  it('ends if sign-up is closed before the link is used', async () => {
    const app = await createApp({ sign_up: 'open' });
    await signUp(app, 'late@customers.example');
    const link = await linkTo('late@customers.example');
    await set(app, { sign_up: 'closed' });
    expect(await useLink(app, link)).toMatchObject({ status: 410, body: { code: 'link_expired' } });
  });

  it('refuses common and short passwords, and malformed addresses', async () => {
    const app = await createApp({ sign_up: 'open' });
    const faults = async (body: object) => (await post(app, 'sign-up', body)).body.detail[0];
    expect(await faults({ email: 'a@b.example', password: '123456qwerty' })).toMatchObject({ type: 'value_error' });
    expect(await faults({ email: 'a@b.example', password: 'short' })).toMatchObject({ type: 'string_too_short' });
    expect(await faults({ email: 'nobody', password })).toMatchObject({ loc: ['body', 'email'] });
  });
});

describe('requestAppUserLink', () => {
  it('sends a link that signs in once, and answers the same for an unknown address', async () => {
    const app = await createApp();
    const user = await world.appUser(app, 'link@customers.example');
    const answers = [await requestLink(app, 'LINK@customers.example'), await requestLink(app, 'who@customers.example')];
    expect(answers.map(({ status, body, headers }) => ({ status, body, warning: headers['x-warning'] }))).toEqual(
      Array(2).fill({ status: 200, body: { success: true }, warning: undefined }),
    );
    const link = await linkTo(user.email);
    expect(mailsTo(user.email)[0]?.subject).toBe('Sign in to Shop');
    const used = await Promise.all([useLink(app, link), useLink(app, link), useLink(app, link)]);
    expect(used.map(({ status }) => status).sort()).toEqual([200, 410, 410]);
    await allMailsSent();
    expect(mailsTo('who@customers.example')).toEqual([]);
  });

  it('sends three mails an hour to one mailbox for each app, ten for all apps of a workspace, and no more', async () => {
    const app = await createApp();
    await world.appUser(app, 'flood@customers.example');
    await world.appUser(app, 'flood+tag@customers.example');
    for (const email of ['flood@customers.example', 'flood+tag@customers.example', 'flood@customers.example'])
      expect((await requestLink(app, email)).status).toBe(200);
    await allMailsSent();
    expect((await requestLink(app, 'flood@customers.example')).body).toEqual({ success: true });
    const other = await createApp();
    await world.appUser(other, 'flood@customers.example');
    expect((await requestLink(other, 'flood@customers.example')).status).toBe(200);
    await allMailsSent();
    await world.app.counters.add(`app-mail:sign_in:w:${workspace}:flood@customers.example`, 3600, 6);
    const third = await createApp();
    await world.appUser(third, 'flood@customers.example');
    await requestLink(third, 'flood@customers.example');
    await allMailsSent();
    expect(mailsTo('flood@customers.example')).toHaveLength(3);
    expect(mailsTo('flood+tag@customers.example')).toHaveLength(1);
  });

  it('sends a user their link however often strangers signed up or asked where they got no mail', async () => {
    const app = await createApp();
    const other = await createApp();
    for (let n = 0; n < 12; n += 1) expect((await requestLink(other, 'calm@links.example')).status).toBe(200);
    for (let n = 0; n < 4; n += 1) await signUp(app, 'calm@links.example'); // sign-up is closed in this app
    for (let n = 0; n < 4; n += 1) await requestLink(app, 'calm@links.example'); // not a user of this app yet
    await allMailsSent();
    const user = await world.appUser(app, 'calm@links.example');
    await set(app, { sign_up: 'open' });
    for (let n = 0; n < 4; n += 1) await signUp(app, user.email);
    await allMailsSent();
    expect(mailsTo(user.email)).toHaveLength(3);
    await requestLink(app, user.email);
    expect((await useLink(app, await linkTo(user.email, 4))).body.user.id).toBe(user.id);
  });

  it('refuses a client that asks for more than sixty mails an hour', async () => {
    const app = await createApp();
    await world.app.counters.add('app-mail-client:192.0.2.90', 3600, 60);
    const refused = { status: 429, body: { code: 'rate_limited', limit: 60, window_seconds: 3600 } };
    expect(await requestLink(app, 'a@customers.example', '192.0.2.90')).toMatchObject(refused);
    expect(await signUp(app, 'a@customers.example', {}, '192.0.2.90')).toMatchObject(refused);
    expect((await requestLink(app, 'a@customers.example')).status).toBe(200);
  });

  it('sends nothing, and says so, if links lead nowhere', async () => {
    const app = await world.appOf(owner, workspace);
    await world.appUser(app, 'nowhere@customers.example');
    for (const got of [
      await requestLink(app, 'nowhere@customers.example'),
      await requestLink(app, 'unknown@customers.example'),
      await signUp(app, 'nowhere@customers.example'),
    ])
      expect(got).toMatchObject({ status: 200, headers: { 'x-warning': 'link_mail_off' } });
    const queued = world.db.selectFrom('app_user_links').where('app_id', '=', app.id).select('id');
    expect(await queued.execute()).toEqual([]);
  });

  it('sends a mail again if the mail server refused it, and only the last link works', async () => {
    const app = await createApp();
    const user = await world.appUser(app, 'retry@customers.example');
    mail.behave('refusing');
    await requestLink(app, user.email);
    await expect.poll(() => world.logLines.some((line) => line.includes('mail not sent'))).toBe(true);
    const refused = world.db.selectFrom('app_user_links').where('app_id', '=', app.id).select('hash');
    const before = await refused.executeTakeFirstOrThrow();
    mail.behave('well');
    const link = await linkTo(user.email);
    expect((await refused.executeTakeFirstOrThrow()).hash).not.toEqual(before.hash);
    const counted = await world.app.counters.add(`app-mail:sign_in:${app.id}:${user.email}`, 3600, 0);
    expect(counted.count).toBe(1);
    expect((await useLink(app, link)).status).toBe(200);
  });

  it('sends nothing about an app that is in the trash by then', async () => {
    const app = await createApp();
    const user = await world.appUser(app, 'trash@customers.example');
    const held = {
      id: newId(),
      app_id: app.id,
      email: user.email,
      purpose: 'sign_in',
      created_date: new Date(),
    } as const;
    await world.db.updateTable('apps').set({ deleted_date: new Date() }).where('id', '=', app.id).execute();
    await world.db
      .insertInto('app_user_links')
      .values({ ...held, due_at: new Date() })
      .execute();
    await allMailsSent();
    expect(mailsTo(user.email)).toEqual([]);
  });
});

describe('useAppUserLink', () => {
  it('sets a password, which ends other sign-ins and links; tokens of the app server stay valid', async () => {
    const app = await createApp();
    const user = await addUser(app, 'reset@customers.example');
    const old = (await signIn(app, user.email)).body.token;
    const minted = await world.appUserToken(app, user);
    await requestLink(app, user.email);
    await requestLink(app, user.email);
    await linkTo(user.email, 2);
    const [first, second] = mailsTo(user.email).map(({ text }) => tokenIn(text));
    const used = await useLink(app, first ?? '', { password: 'another long password' });
    expect(used.status).toBe(200);
    expect((await me(app, used.body.token)).status).toBe(200);
    expect(await me(app, old)).toMatchObject({ status: 401, body: { code: 'credentials_invalid' } });
    expect((await me(app, minted)).status).toBe(200);
    expect((await useLink(app, second ?? '')).status).toBe(410);
    await world.resetRateLimits();
    expect((await signIn(app, user.email)).status).toBe(401);
    await world.resetRateLimits();
    expect((await signIn(app, user.email, 'another long password')).status).toBe(200);
  });

  it('without a password ends other links, and keeps other sign-ins', async () => {
    const app = await createApp();
    const user = await addUser(app, 'second@customers.example');
    const old = (await signIn(app, user.email)).body.token;
    await requestLink(app, user.email);
    await requestLink(app, user.email);
    await linkTo(user.email, 2);
    const [first, second] = mailsTo(user.email).map(({ text }) => tokenIn(text));
    expect((await useLink(app, second ?? '')).status).toBe(200);
    expect((await useLink(app, first ?? '')).status).toBe(410);
    expect((await me(app, old)).status).toBe(200);
  });

  it('requires a password where links do not sign in by themselves, and the link stays valid until it is sent', async () => {
    const app = await createApp({ methods: { link: false } });
    const user = await world.appUser(app, 'only@customers.example');
    await requestLink(app, user.email);
    const link = await linkTo(user.email);
    expect(mailsTo(user.email)[0]?.subject).toBe('Set a password for Shop');
    const missing = [{ loc: ['body', 'password'], msg: 'is required', type: 'missing' }];
    expect(await useLink(app, link)).toMatchObject({ status: 422, body: { detail: missing } });
    expect((await useLink(app, link, { password })).body.user).toMatchObject({ id: user.id, has_password: true });
  });

  it('refuses a link after an hour, at another app, and once sign-in is off', async () => {
    const app = await createApp();
    const other = await createApp();
    const user = await world.appUser(app, 'hour@customers.example');
    await world.appUser(other, 'hour@customers.example');
    await requestLink(app, user.email);
    const link = await linkTo(user.email);
    const expired = { status: 410, body: { code: 'link_expired' } };
    expect(await useLink(other, link)).toMatchObject(expired);
    expect(await useLink(app, 'unknown')).toMatchObject(expired);
    await set(app, { methods: { password: false, link: false } });
    expect(await useLink(app, link)).toMatchObject(expired);
    await set(app, { methods: { link: true } });
    world.clock.aheadMs = hourMs + 60_000;
    expect(await useLink(app, link)).toMatchObject(expired);
    world.clock.aheadMs = 0;
    expect((await useLink(app, link)).status).toBe(200);
  });

  it('refuses links that were sent before the app went to the trash, also after it is restored', async () => {
    const app = await createApp();
    const user = await world.appUser(app, 'back@customers.example');
    await requestLink(app, user.email);
    const link = await linkTo(user.email);
    await world.call('DELETE', `/api/apps/${app.id}`, { as: manager });
    expect((await useLink(app, link)).status).toBe(404);
    await world.call('POST', `/api/apps/${app.id}/restore`, { as: manager });
    expect((await useLink(app, link)).status).toBe(410);
  });

  it('removes old links and requests after two hours', async () => {
    const app = await createApp({ sign_up: 'open' });
    await signUp(app, 'gone@customers.example');
    await linkTo('gone@customers.example');
    await allMailsSent();
    const rows = world.db.selectFrom('app_user_links').where('app_id', '=', app.id).select('id');
    const sweep = world.app.background.jobs.find((job) => job.name === 'remove old app user links');
    await sweep?.run(world.app.database.db, new Date(Date.now() + 1.9 * hourMs));
    expect(await rows.execute()).toHaveLength(1);
    await sweep?.run(world.app.database.db, new Date(Date.now() + 2.1 * hourMs));
    expect(await rows.execute()).toEqual([]);
  });
});

describe('a signed-in user', () => {
  it('gets a new token, and the old one ends after a minute', async () => {
    const app = await createApp();
    const user = await addUser(app, 'renew@customers.example');
    const first = (await signIn(app, user.email)).body;
    world.clock.aheadMs = hourMs / 2;
    const renewed = await as(app, first.token, 'renew');
    expect(renewed).toMatchObject({ status: 200, body: { user: first.user } });
    expect(Math.round((Date.parse(renewed.body.expires_at) - Date.parse(first.expires_at)) / 60_000)).toBe(30);
    world.clock.aheadMs = hourMs / 2 + 61_000;
    expect(await me(app, first.token)).toMatchObject({ status: 401, body: { code: 'credentials_expired' } });
    world.clock.aheadMs = 1.4 * hourMs;
    expect((await me(app, renewed.body.token)).status).toBe(200);
    world.clock.aheadMs = 1.6 * hourMs;
    expect(await as(app, renewed.body.token, 'renew')).toMatchObject({
      status: 401,
      body: { code: 'credentials_expired' },
    });
    world.clock.aheadMs = 0;
  });

  it('can renew a token for 30 days, then must sign in again', async () => {
    const app = await createApp();
    const user = await addUser(app, 'month@customers.example');
    const dayLong = { email: user.email, password, expires_in_seconds: 86_400 };
    let { token, expires_at } = (await post(app, 'sign-in', dayLong)).body;
    const began = Date.now();
    for (let day = 1; day <= 30; day += 1) {
      world.clock.aheadMs = day * 23 * hourMs;
      ({ token, expires_at } = (await as(app, token, 'renew')).body);
    }
    expect(Math.round((Date.parse(expires_at) - began) / hourMs)).toBe(30 * 23 + 24);
    world.clock.aheadMs = 713 * hourMs;
    const last = (await as(app, token, 'renew')).body;
    expect(Math.round((Date.parse(last.expires_at) - began) / hourMs)).toBe(720);
    world.clock.aheadMs = 720 * hourMs + 60_000;
    expect((await me(app, last.token)).body.code).toBe('credentials_expired');
    world.clock.aheadMs = 0;
  });

  it('does not prolong a token of the app server by renewing it', async () => {
    const app = await createApp();
    const user = await world.appUser(app, 'minted@customers.example');
    const path = `/api/apps/${app.id}/users/${user.id}/tokens`;
    const minted = (await world.call('POST', path, { as: manager, body: { expires_in_seconds: 600 } })).body;
    world.clock.aheadMs = 300_000;
    const renewed = await as(app, minted.token, 'renew');
    expect(renewed.body.expires_at).toBe(minted.expires_at);
    expect(renewed.body.user.has_password).toBe(false);
    expect((await me(app, minted.token)).status).toBe(401);
    world.clock.aheadMs = 0;
  });

  it('signs out: the token ends, others stay', async () => {
    const app = await createApp();
    const user = await addUser(app, 'leave@customers.example');
    const [here, there] = [(await signIn(app, user.email)).body.token, await world.appUserToken(app, user)];
    expect((await as(app, here, 'sign-out')).body).toEqual({ success: true });
    expect((await me(app, here)).status).toBe(401);
    expect((await me(app, there)).status).toBe(200);
    expect((await entriesOf(app)).at(-1)).toMatchObject({
      type: 'app_user.signed_out',
      actor: { kind: 'app_user', id: user.id },
    });
  });

  it('stays signed in if the answer to a renewal is lost', async () => {
    const app = await createApp();
    const user = await addUser(app, 'lost@customers.example');
    const { token } = (await signIn(app, user.email)).body;
    world.clock.aheadMs = hourMs / 2;
    const lost = (await as(app, token, 'renew')).body;
    world.clock.aheadMs = hourMs / 2 + 50_000;
    const again = await as(app, token, 'renew');
    expect(again.status).toBe(200);
    expect(Math.round((Date.parse(again.body.expires_at) - Date.parse(lost.expires_at)) / 1000)).toBe(50);
    world.clock.aheadMs = hourMs / 2 + 61_000; // a second renewal does not extend the old token's life
    expect((await as(app, token, 'renew')).body.code).toBe('credentials_expired');
    world.clock.aheadMs = 1.4 * hourMs;
    expect((await me(app, again.body.token)).status).toBe(200);
    world.clock.aheadMs = 0;
  });

  it('keeps a token that is renewed no longer than it was valid', async () => {
    const app = await createApp();
    const user = await addUser(app, 'brief@customers.example');
    const { token } = (await post(app, 'sign-in', { email: user.email, password, expires_in_seconds: 90 })).body;
    world.clock.aheadMs = 80_000;
    const renewed = (await as(app, token, 'renew')).body;
    world.clock.aheadMs = 95_000;
    expect((await me(app, token)).body.code).toBe('credentials_expired');
    expect((await me(app, renewed.token)).status).toBe(200);
    world.clock.aheadMs = 0;
  });

  it('ends the old and new tokens of the sign-in by signing out, and no other sign-in', async () => {
    const app = await createApp();
    const user = await addUser(app, 'whole@customers.example');
    const { token } = (await signIn(app, user.email)).body;
    await world.resetRateLimits();
    const elsewhere = (await signIn(app, user.email)).body.token;
    const renewed = await Promise.all([as(app, token, 'renew'), as(app, token, 'renew')]);
    const tokens = [token, ...renewed.map(({ body }) => body.token)];
    for (const each of tokens) expect((await me(app, each)).status).toBe(200);
    expect((await as(app, renewed[0].body.token, 'sign-out')).status).toBe(200);
    for (const each of tokens) expect((await me(app, each)).body.code).toBe('credentials_invalid');
    expect((await me(app, elsewhere)).status).toBe(200);
  });
});

describe('a manager', () => {
  it('who changes the e-mail address ends password, links and sign-ins; not the tokens of the app server', async () => {
    const app = await createApp();
    const user = await addUser(app, 'before@customers.example');
    const signedIn = (await signIn(app, user.email)).body.token;
    const minted = await world.appUserToken(app, user);
    await requestLink(app, user.email);
    const link = await linkTo(user.email);
    const change = (body: object) => world.call('PATCH', `/api/apps/${app.id}/users/${user.id}`, { as: manager, body });
    await change({ full_name: 'Bea' });
    expect((await me(app, signedIn)).status).toBe(200);
    await change({ email: 'after@customers.example' });
    expect((await me(app, signedIn)).status).toBe(401);
    expect((await me(app, minted)).body).toMatchObject({ email: 'after@customers.example', has_password: false });
    expect((await useLink(app, link)).status).toBe(410);
    await world.resetRateLimits();
    expect((await signIn(app, 'after@customers.example')).status).toBe(401);
  });

  it('who deletes a user ends everything', async () => {
    const app = await createApp();
    const user = await addUser(app, 'deleted@customers.example');
    const { token } = (await signIn(app, user.email)).body;
    await requestLink(app, user.email);
    const link = await linkTo(user.email);
    await world.call('DELETE', `/api/apps/${app.id}/users/${user.id}`, { as: manager });
    expect((await me(app, token)).status).toBe(401);
    expect((await useLink(app, link)).status).toBe(410);
    await world.resetRateLimits();
    expect((await signIn(app, user.email)).status).toBe(401);
  });

  it('reads and changes the settings; what is not sent keeps its value', async () => {
    const app = await createApp();
    const read = async () => (await world.call('GET', `/api/apps/${app.id}/auth/settings`, { as: manager })).body;
    const first = {
      sign_up: 'closed',
      sign_up_in_effect: 'closed',
      methods: { password: true, link: true },
      link_origin: origin,
    };
    expect(await read()).toEqual(first);
    const opened = await set(app, { sign_up: 'open' });
    expect(opened.body).toEqual({ ...first, sign_up: 'open', sign_up_in_effect: 'open' });
    const changed = await set(app, { methods: { link: false } });
    expect(changed.body).toEqual({ ...opened.body, methods: { password: true, link: false } });
    expect((await set(app, { methods: {}, sign_up: 'open' })).headers['x-changed']).toBe('false');
    expect(await read()).toEqual(changed.body);
    await world.call('PUT', `/api/apps/${app.id}`, {
      as: manager,
      body: { public_settings: 'private_with_login', public_origins: [] },
    });
    expect(await read()).toEqual({ ...changed.body, sign_up_in_effect: 'invited', link_origin: null });
    expect((await set(app, { sign_up: 'everybody' })).status).toBe(422);
    expect((await set(app, { signup: 'open' })).body.detail[0]).toMatchObject({ type: 'extra_forbidden' });
    const entries = await entriesOf(app);
    expect(entries.filter(({ type }) => type === 'app.auth_settings_changed')).toHaveLength(2);
    expect(entries.find(({ type }) => type === 'app.auth_settings_changed')).toMatchObject({
      before: { sign_up: 'closed', methods: { password: true, link: true } },
      after: { sign_up: 'open', methods: { password: true, link: true } },
    });
  });
});

describe('web pages', () => {
  const from = (page: string) => ({ origin: page, 'x-forwarded-for': freshAddress() });
  const allowed = (got: { headers: Readonly<Record<string, string | undefined>> }) =>
    got.headers['access-control-allow-origin'];

  it("of the app's origins may sign users in and read every answer; those of others may not", async () => {
    const app = await createApp();
    await addUser(app, 'page@customers.example');
    const path = `/api/apps/${app.id}/auth`;
    const body = { email: 'page@customers.example', password };
    const preflight = await world.call('OPTIONS', `${path}/sign-in`, {
      headers: { ...from(origin), 'access-control-request-method': 'POST' },
    });
    expect(preflight).toMatchObject({ status: 204, headers: { 'access-control-allow-methods': 'POST' } });
    expect(allowed(preflight)).toBe(origin);
    const got = await world.call('POST', `${path}/sign-in`, { body, headers: from(origin) });
    expect([got.status, allowed(got)]).toEqual([200, origin]);
    const again = await world.call('POST', `${path}/sign-in`, { body: { email: 'x' }, headers: from(origin) });
    expect([again.status, allowed(again)]).toEqual([422, origin]);
    const self = await world.call('GET', `${path}/me`, { as: got.body.token, headers: from(origin) });
    expect([self.status, allowed(self)]).toEqual([200, origin]);
    const strange = await world.call('GET', `${path}/me`, {
      as: got.body.token,
      headers: from('https://evil.example'),
    });
    expect([strange.status, allowed(strange)]).toEqual([200, undefined]);
  });

  it.each(['https://evil.example', 'null'])('of %s can send nothing, also without a preflight', async (page) => {
    const app = await createApp({ sign_up: 'open' });
    const user = await world.appUser(app, `page@${page.replace(/\W+/g, '-')}.example`);
    const bodies = {
      'sign-in': { email: user.email, password },
      'sign-up': { email: user.email, password },
      link: { email: user.email },
      'link/use': { link_token: 'x' },
    };
    for (const [path, body] of Object.entries(bodies)) {
      const call = { body, headers: from(page) };
      const got = await world.call('POST', `/api/apps/${app.id}/auth/${path}`, call);
      expect(got).toMatchObject({ status: 403, body: { code: 'origin_not_allowed' } });
      expect(allowed(got)).toBeUndefined();
    }
    const queued = world.db.selectFrom('app_user_links').where('app_id', '=', app.id).select('id');
    expect(await queued.execute()).toEqual([]);
    const unknown = await world.call('POST', `/api/apps/${newId()}/auth/link`, {
      body: bodies.link,
      headers: from(page),
    });
    expect(unknown.status).toBe(404);
  });

  it('may not change the settings', async () => {
    const app = await createApp();
    const path = `/api/apps/${app.id}/auth/settings`;
    const preflight = await world.call('OPTIONS', path, {
      headers: { ...from(origin), 'access-control-request-method': 'PATCH' },
    });
    expect(preflight.status).toBe(405);
    const got = await world.call('GET', path, { as: manager, headers: from(origin) });
    expect(allowed(got)).toBeUndefined();
  });
});

it('no password, hash or link is in the answers, the audit log or the log of the process', async () => {
  const app = await createApp({ sign_up: 'open' });
  const secret = 'correct horse battery staple';
  await signUp(app, 'secret@customers.example', { password: secret });
  const link = await linkTo('secret@customers.example');
  const { text } = await useLink(app, link);
  const { hash } = await world.db
    .selectFrom('app_user_passwords')
    .where('app_id', '=', app.id)
    .select('hash')
    .executeTakeFirstOrThrow();
  expect(hash).toMatch(/^argon2id\$/);
  const seen = [text, JSON.stringify(await entriesOf(app)), ...world.logLines].join('\n');
  for (const each of [secret, link, hash]) expect(seen).not.toContain(each);
});
