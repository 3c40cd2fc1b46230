// Tests browser sessions through the API: listing and ending them, and the e-mail about a sign-in from a new place
// (docs/api/accounts.md#sessions).
import { sql } from 'kysely';
import { afterAll, describe, expect, it } from 'vitest';
import { startMailSandbox } from '../../../../sandbox/src/smtp.ts';
import { startSecondApp, startWorld, type World } from '../../../test/support/world.ts';
import { hashPassword, savePassword } from '../../core/identity/passwords.ts';

const mail = await startMailSandbox();
afterAll(() => mail.close());
// Trusting a proxy lets each test choose its own IP address.
const world = await startWorld({ environment: { SMTP_URL: mail.smtpUrl, TRUSTED_PROXIES: '127.0.0.1' } });
const withoutMail = await startSecondApp(world, { environment: { SMTP_URL: '', TRUSTED_PROXIES: '127.0.0.1' } });
await world.startWorker();

const password = 'a long enough password';
const hash = await hashPassword(password, { ip: '127.0.0.1' });
const dayMs = 24 * 60 * 60 * 1000;
const firefox = 'Mozilla/5.0 (X11; Linux x86_64; rv:143.0) Gecko/20100101 Firefox/143.0';
const safari = 'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 Version/18.5 Safari/605.1.15';

async function addPerson(email: string) {
  const person = await world.person(email);
  await savePassword(world.db, person.id, hash, new Date());
  return person;
}

/** Signs in and returns the session cookie as a request header. */
async function signIn(email: string, ip: string, userAgent = firefox, at: World = world): Promise<{ cookie: string }> {
  await at.resetRateLimits();
  const headers = { 'x-forwarded-for': ip, 'user-agent': userAgent };
  const got = await at.call('POST', '/api/auth/sign-in', { body: { email, password }, headers });
  expect(got.status).toBe(200);
  return { cookie: String(got.headers['set-cookie']).split(';')[0] as string };
}

const list = (headers: { cookie: string }) => world.call('GET', '/api/auth/sessions', { headers });
const end = (headers: { cookie: string }, id: string) => world.call('DELETE', `/api/auth/sessions/${id}`, { headers });
const endOthers = (headers: { cookie: string }) => world.call('DELETE', '/api/auth/sessions', { headers });
const isSignedIn = async (headers: { cookie: string }) =>
  (await world.call('GET', '/api/auth/me', { headers })).status === 200;

async function listAuditEntries(user_id: string, type: string) {
  const { rows } = await sql<{ entry: Record<string, unknown> }>`select entry
    from (select entry from audit_pending union all select entry from audit_entries) entries
    where entry->>'type' = ${type} and entry->'target'->>'id' = ${user_id}`.execute(world.db);
  return rows.map(({ entry }) => entry);
}

describe('listBrowserSessions', () => {
  it('shows where each session of the caller was started, newest first, and which one is in use', async () => {
    const ann = await addPerson('ann@example.com');
    await signIn((await addPerson('other@example.com')).email, '192.0.2.1');
    const first = await signIn(ann.email, '2001:db8:1:2::3', safari);
    const second = await signIn(ann.email, '192.0.2.2');
    const got = await list(second);
    expect(got).toMatchObject({
      status: 200,
      body: [
        { current: true, address: '192.0.2.2', browser: 'Firefox on Linux' },
        { current: false, address: '2001:db8:1:2::/64', browser: 'Safari on macOS' },
      ],
    });
    expect((await list(first)).body.map(({ current }: { current: boolean }) => current)).toEqual([false, true]);
    const { created_date, expires_at } = got.body[0];
    expect(Date.parse(expires_at) - Date.parse(created_date)).toBe(30 * dayMs);
    expect(got.text).not.toContain(second.cookie.split('=')[1]);
  });

  it('leaves out what has expired or was not used for seven days', async () => {
    const bob = await addPerson('bob@example.com');
    await signIn(bob.email, '192.0.2.3');
    const used = await signIn(bob.email, '192.0.2.4');
    const idsOf = async () => (await list(used)).body.length;
    expect(await idsOf()).toBe(2);
    await world.db
      .updateTable('credentials')
      .set({ last_used_at: new Date(Date.now() - 7.1 * dayMs) })
      .where('user_id', '=', bob.id)
      .where('address', '=', '192.0.2.3')
      .execute();
    expect(await idsOf()).toBe(1);
  });

  it('says so when it was cut at 100', async () => {
    const cas = await addPerson('cas@example.com');
    const cookie = await signIn(cas.email, '192.0.2.5');
    expect((await list(cookie)).headers['x-truncated']).toBeUndefined();
    await Promise.all(Array.from({ length: 100 }, () => world.session(cas)));
    const got = await list(cookie);
    expect(got.body).toHaveLength(100);
    expect(got.headers['x-truncated']).toBe('true');
  });
});

describe('endBrowserSession', () => {
  it('ends one session at once, and leaves an audit entry', async () => {
    const dan = await addPerson('dan@example.com');
    const [lost, mine] = [await signIn(dan.email, '192.0.2.6'), await signIn(dan.email, '192.0.2.7')];
    const [, { id }] = (await list(mine)).body;
    expect(await end(mine, id)).toMatchObject({ status: 200, body: { success: true } });
    expect([await isSignedIn(lost), await isSignedIn(mine)]).toEqual([false, true]);
    expect(await end(mine, id)).toMatchObject({ status: 404, body: { code: 'session_not_found' } });
    expect(await listAuditEntries(dan.id, 'auth.session_ended')).toMatchObject([{ after: { sessions: [id] } }]);
  });

  it('ends no session of another person, and no token', async () => {
    const eve = await addPerson('eve@example.com');
    const fay = await addPerson('fay@example.com');
    const [hers, other] = [await signIn(eve.email, '192.0.2.8'), await signIn(fay.email, '192.0.2.9')];
    const [{ id }] = (await list(other)).body;
    expect((await end(hers, id)).status).toBe(404);
    expect(await isSignedIn(other)).toBe(true);
    const workspace = await world.workspace(eve);
    const token = await world.token(eve, workspace);
    const credential = (await world.call('GET', '/api/auth/me', { as: token })).body.credential;
    expect((await end(hers, credential.id)).status).toBe(404);
  });

  it('signs out if it is the session of the request', async () => {
    const cookie = await signIn((await addPerson('gus@example.com')).email, '192.0.2.10');
    const [{ id }] = (await list(cookie)).body;
    const got = await end(cookie, id);
    expect(String(got.headers['set-cookie'])).toContain('Max-Age=0');
    expect(await isSignedIn(cookie)).toBe(false);
  });
});

describe('endOtherBrowserSessions', () => {
  it('ends all sessions of the caller except for the one of the request', async () => {
    const hal = await addPerson('hal@example.com');
    const others = [await signIn(hal.email, '192.0.2.11'), await signIn(hal.email, '192.0.2.12')];
    const mine = await signIn(hal.email, '192.0.2.13');
    expect(await endOthers(mine)).toMatchObject({ status: 200, body: { ended: 2 } });
    expect(await Promise.all([...others, mine].map(isSignedIn))).toEqual([false, false, true]);
    expect(await endOthers(mine)).toMatchObject({ body: { ended: 0 }, headers: { 'x-changed': 'false' } });
    const [entry, ...more] = await listAuditEntries(hal.id, 'auth.session_ended');
    expect(more).toEqual([]);
    expect((entry as { after: { sessions: string[] } }).after.sessions).toHaveLength(2);
  });
});

describe('a sign-in at a new place', () => {
  const mailsTo = (email: string) => mail.inbox.filter(({ to }) => to.includes(email));
  const countQueued = async (user_id: string) =>
    (await world.db.selectFrom('sign_in_mails').where('user_id', '=', user_id).select('id').execute()).length;

  it('is told by a mail with the time, the address and the browser', async () => {
    const ida = await addPerson('ida@example.com');
    await signIn(ida.email, '192.0.2.20');
    await signIn(ida.email, '2001:db8:9:9:1::1', safari);
    await expect.poll(() => mailsTo(ida.email)).toHaveLength(1);
    const [sent] = mailsTo(ida.email);
    expect(sent?.subject).toBe('New sign-in to your Plinth account');
    expect(sent?.text).toMatch(/^Time: \d{4}-\d\d-\d\d \d\d:\d\d UTC$/m);
    expect(sent?.text).toContain('Address: 2001:db8:9:9::/64\nBrowser: Safari on macOS\n');
    expect(sent?.text).toContain(`${world.config.BASE_URL}/#forgot-password`);
    expect(sent?.text).toContain(`${world.config.BASE_URL}/#sessions`);
  });

  it('is new if the address or the browser is, but not at the first sign-in of the account', async () => {
    const jan = await addPerson('jan@example.com');
    const counts: number[] = [];
    for (const [ip, userAgent] of [
      ['192.0.2.21', firefox], // the first sign-in
      ['192.0.2.21', firefox.replaceAll('143', '144')], // a browser update
      ['192.0.2.21', safari],
      ['2001:db8:7:7::1', safari],
      ['2001:db8:7:7:ffff::1', safari], // the same /64
      ['192.0.2.21', safari],
    ] as const) {
      await signIn(jan.email, ip, userAgent);
      counts.push(await countQueued(jan.id));
    }
    expect(counts).toEqual([0, 0, 1, 2, 2, 2]);
  });

  it('is new again after 90 days, even if the person did not sign in meanwhile', async () => {
    const kim = await addPerson('kim@example.com');
    await signIn(kim.email, '192.0.2.22');
    world.clock.aheadMs = 91 * dayMs;
    const job = world.app.background.jobs.find(({ name }) => name === 'remove old sign-in addresses');
    await job?.run(world.app.database.db, world.clock.now());
    await signIn(kim.email, '192.0.2.22');
    world.clock.aheadMs = 0;
    expect(await countQueued(kim.id)).toBe(1);
  });

  it('is not new at an address that was recorded before browsers were', async () => {
    const lea = await addPerson('lea@example.com');
    await signIn(lea.email, '192.0.2.23');
    await world.db.updateTable('sign_in_addresses').set({ browser: '' }).where('user_id', '=', lea.id).execute();
    await signIn(lea.email, '192.0.2.23', safari);
    expect(await countQueued(lea.id)).toBe(0);
  });

  it('sends five mails a day at most', async () => {
    const max = await addPerson('max@example.com');
    for (let i = 0; i < 8; i += 1) await signIn(max.email, `192.0.2.${30 + i}`);
    expect(await countQueued(max.id)).toBe(5);
    world.clock.aheadMs = dayMs + 60_000;
    await signIn(max.email, '192.0.2.50');
    world.clock.aheadMs = 0;
    expect(await countQueued(max.id)).toBe(6);
  });

  it('sends no mail to an address that is not proven, and none where mail is not configured', async () => {
    const ned = await addPerson('ned@example.com');
    await world.db.updateTable('users').set({ email_verified_at: null }).where('id', '=', ned.id).execute();
    const ola = await addPerson('ola@example.com');
    for (const ip of ['192.0.2.51', '192.0.2.52']) {
      await signIn(ned.email, ip);
      await signIn(ola.email, ip, firefox, withoutMail);
    }
    expect([await countQueued(ned.id), await countQueued(ola.id)]).toEqual([0, 0]);
  });

  it('keeps its mail in the queue until the mail server accepts it, and removes it a day later', async () => {
    const pia = await addPerson('pia@example.com');
    mail.behave('refusing');
    await signIn(pia.email, '192.0.2.53');
    await signIn(pia.email, '192.0.2.54');
    await expect.poll(() => world.logLines.some((line) => line.includes('mail not sent'))).toBe(true);
    mail.behave('well');
    await expect.poll(() => mailsTo(pia.email)).toHaveLength(1);
    const job = world.app.background.jobs.find(({ name }) => name === 'remove old mails');
    await expect
      .poll(async () => {
        await job?.run(world.app.database.db, new Date(Date.now() + dayMs + 60_000));
        return countQueued(pia.id);
      })
      .toBe(0);
  });
});
