// Tests invitations through the API: inviting by role or by sharing an app, with and without mail, and accepting an
// invitation (docs/api/members.md#invitations).
import { sql } from 'kysely';
import { afterAll, describe, expect, it } from 'vitest';
import { startMailSandbox } from '../../../../../sandbox/src/smtp.ts';
import type { CallResult } from '../../../../test/support/client.ts';
import { type Person, startSecondApp, startWorld, type World } from '../../../../test/support/world.ts';
import type { Plan } from '../../../core/auth/plans.ts';
import { newId } from '../../../kit/ids.ts';

const mail = await startMailSandbox();
afterAll(() => mail.close());
// All tests use the same IP address. Behind a trusted proxy, each test can set its own address, so none share a rate
// limit.
const world = await startWorld({ environment: { SMTP_URL: mail.smtpUrl, TRUSTED_PROXIES: '127.0.0.1' } });
const withoutMail = await startSecondApp(world, { environment: { SMTP_URL: '', TRUSTED_PROXIES: '127.0.0.1' } });

const password = 'a long enough password';
const dayMs = 86_400_000;

let workspaces = 0;
async function createWorkspace(plan: Plan = 'business') {
  const owner = await world.person(`owner${++workspaces}@example.com`, { full_name: 'Olive Owner' });
  const id = await world.workspace(owner, plan, `Workspace ${workspaces}`);
  await world.db.updateTable('workspaces').set({ rate_multiplier: 1000 }).where('id', '=', id).execute();
  return { id, name: `Workspace ${workspaces}`, owner, as: await world.token(owner, id) };
}

let address = 0;
const newAddress = () => ({ 'x-forwarded-for': `198.51.${Math.floor(++address / 250)}.${address % 250}` });
const newEmail = () => `${newId()}@example.com`;

const invite = (as: string, body: object, headers: Record<string, string> = {}, at: World = world) =>
  at.call('POST', '/api/workspace/invitations/invite', { as, body, headers });
const inviteAll = (as: string, invitations: object[], headers = {}, at: World = world) =>
  at.call('POST', '/api/workspace/invitations/bulk-invite', { as, body: { invitations }, headers });
const resend = (as: string, emails: string[], at: World = world) =>
  at.call('POST', '/api/workspace/invitations/resend', { as, body: { emails } });
const open = (token: string) => world.call('GET', `/api/invitations/${token}`, { headers: newAddress() });
const accept = (token: string, body?: object, headers: Record<string, string> = {}) =>
  world.call('POST', `/api/invitations/${token}/accept`, { body, headers: { ...newAddress(), ...headers } });

const tokenIn = (text: string) => /\/invitations#([\w-]{43})/.exec(text)?.[1] as string;
/** The token in the newest mail to this address. */
const mailedToken = (email: string) => tokenIn(mail.inbox.findLast(({ to }) => to.includes(email))?.text ?? '');
const cookieOf = (got: CallResult) => String(got.headers['set-cookie']).split(';')[0] as string;

async function signedIn(person: Person): Promise<Record<string, string>> {
  const { token } = await world.credential({
    kind: 'session',
    user_id: person.id,
    workspace_id: null,
    permission: 'full_access',
  });
  return { cookie: `plinth_session=${token}` };
}

async function withClockAhead<Result>(ms: number, work: () => Promise<Result>): Promise<Result> {
  world.clock.aheadMs = ms;
  try {
    return await work();
  } finally {
    world.clock.aheadMs = 0;
  }
}

async function listAuditEntries(workspace: string, type: string) {
  const { rows } = await sql<{ entry: Record<string, unknown> }>`select entry from audit_pending
    where workspace_id = ${workspace} and entry->>'type' = ${type} order by id`.execute(world.db);
  return rows.map(({ entry }) => entry);
}

describe('inviteMember', () => {
  it('mails a link that works for 60 days, and stores only its keyed hash', async () => {
    const here = await createWorkspace();
    const email = newEmail();
    const got = await invite(here.as, { email: email.toUpperCase() });
    expect(got).toMatchObject({ status: 200, body: { email, role: 'editor', mail: 'sent' } });
    expect(got.body).not.toHaveProperty('accept_url');
    expect(Date.parse(got.body.expires_at) - Date.now()).toBeGreaterThan(60 * dayMs - 60_000);
    const sent = mail.inbox.findLast(({ to }) => to.includes(email));
    expect(sent?.subject).toBe(`Join ${here.name} on Plinth`);
    expect(sent?.text).toContain(`${here.owner.email} invited you to the workspace “${here.name}” as editor.`);
    expect(sent?.text).toContain(`${world.config.BASE_URL}/invitations#`);
    const { rows } = await sql<{ row: string }>`select i::text as row from invitations i`.execute(world.db);
    expect(rows.some(({ row }) => row.includes(mailedToken(email)))).toBe(false);
    expect((await open(mailedToken(email))).body).toEqual({
      workspace_name: here.name,
      invited_by: here.owner.email,
      app_names: [],
      email,
      role: 'editor',
      expires_at: got.body.expires_at,
      accepted: false,
      needs_account: true,
    });
    expect(await listAuditEntries(here.id, 'invitation.created')).toMatchObject([{ after: { email, role: 'editor' } }]);
  });

  it('mails no link or message that was put into the name of the workspace', async () => {
    const here = await createWorkspace();
    const name = 'URGENT your account is locked. Unlock at https://evil.example/now';
    await world.db.updateTable('workspaces').set({ name }).where('id', '=', here.id).execute();
    const email = newEmail();
    await invite(here.as, { email });
    const sent = mail.inbox.findLast(({ to }) => to.includes(email));
    expect(sent?.subject).toMatch(/^Join URGENT your account is locked\. Unlock at https.*… on Plinth$/);
    expect(`${sent?.subject} ${sent?.text}`).not.toMatch(/evil\.example|https:\/\/evil/);
  });

  it('returns the link if mail is off or the mail server refused the mail', async () => {
    const here = await createWorkspace();
    const off = await invite(here.as, { email: newEmail() }, {}, withoutMail);
    expect(off.body).toMatchObject({ mail: 'off', accept_url: expect.stringContaining('/invitations#') });
    mail.behave('refusing');
    const failed = await invite(here.as, { email: newEmail() });
    mail.behave('well');
    expect(failed.body.mail).toBe('failed');
    for (const { body } of [off, failed]) expect((await open(tokenIn(body.accept_url))).status).toBe(200);
  });

  it('shows nothing of an account elsewhere until the invitation is accepted', async () => {
    const here = await createWorkspace();
    const person = await world.person(newEmail(), { full_name: 'Aaron Elsewhere' });
    const stranger = newEmail();
    const [known, unknown] = [
      await invite(here.as, { email: person.email }),
      await invite(here.as, { email: stranger }),
    ];
    const shape = ({ body }: CallResult) => ({ ...body, id: '', email: '', expires_at: '' });
    expect(shape(known)).toEqual(shape(unknown));
    const textOf = (email: string) =>
      mail.inbox.findLast(({ to }) => to.includes(email))?.text.replace(mailedToken(email), 'TOKEN');
    expect(textOf(person.email)).toBe(textOf(stranger));
    const list = async (body: object) =>
      (await world.call('POST', '/api/workspace/members/list', { as: here.as, body })).body.members;
    const nothing = { user_id: '', full_name: '', status: 'pending' };
    const role = { role: 'viewer' };
    const entry = (email: string) =>
      world.call('PUT', `/api/workspace/members/${email}/role`, { as: here.as, body: role });
    for (const email of [person.email, stranger]) {
      expect(await list({ search: email })).toMatchObject([{ email, ...nothing }]);
      expect((await entry(email)).body).toMatchObject({ email, ...nothing });
    }
    await world.db.updateTable('users').set({ full_name: 'Aaron Renamed' }).where('id', '=', person.id).execute();
    for (const search of ['Elsewhere', 'Renamed']) expect(await list({ search })).toEqual([]);
    const byName = (await list({ sort_by: 'member', sort_dir: 'asc', invite_statuses: ['pending'] })) as Person[];
    expect(byName.map(({ email }) => email)).toEqual([person.email, stranger].sort());
    await accept(mailedToken(person.email), {}, await signedIn(person));
    expect(await list({ search: 'Renamed' })).toMatchObject([{ user_id: person.id, status: 'joined' }]);
  });

  it('mails an address five times a day, over all workspaces, and then says only that no mail was sent', async () => {
    const email = newEmail();
    const outcomes: string[] = [];
    for (let i = 0; i < 5; i += 1) outcomes.push((await invite((await createWorkspace()).as, { email })).body.mail);
    expect(outcomes).toEqual(Array(5).fill('sent'));
    const here = await createWorkspace();
    const capped = await invite(here.as, { email });
    mail.behave('refusing');
    const refused = await invite(here.as, { email: newEmail() });
    mail.behave('well');
    // The response does not reveal whether other workspaces have mailed this address or the mail server rejected the
    // mail.
    expect(Object.keys(capped.body)).toEqual(Object.keys(refused.body));
    expect([capped.body.mail, refused.body.mail]).toEqual(['failed', 'failed']);
    expect((await open(tokenIn(capped.body.accept_url))).status).toBe(200);
    expect((await resend(here.as, [email])).body.resent).toMatchObject([{ mail: 'failed' }]);
    const tagged = email.replace('@', '+tag@'); // the same mailbox
    expect((await invite(here.as, { email: tagged })).body.mail).toBe('failed');
    expect(mail.inbox.filter(({ to }) => to.includes(email))).toHaveLength(5);
  });

  it('refuses more than 100 invitations a day of a workspace or person, scaled by the plan', async () => {
    const here = await createWorkspace('free');
    const useOwnPlan = (id: string) =>
      world.db.updateTable('workspaces').set({ rate_multiplier: null }).where('id', '=', id).execute();
    await useOwnPlan(here.id);
    const many = (count: number) => Array.from({ length: count }, () => ({ email: newEmail() }));
    const replayed = { 'idempotency-key': newId() };
    const fifty = many(50);
    expect((await inviteAll(here.as, fifty, replayed, withoutMail)).status).toBe(200);
    expect((await inviteAll(here.as, fifty, replayed, withoutMail)).headers['idempotent-replayed']).toBe('true');
    expect((await inviteAll(here.as, many(48), {}, withoutMail)).status).toBe(200);
    const refused = await inviteAll(here.as, many(3), {}, withoutMail);
    expect(refused).toMatchObject({ status: 429, body: { code: 'rate_limited', limit: 100, window_seconds: 86_400 } });
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(86_000);
    // Rejected invitations don't count. Sharing an app with an outsider also sends an invitation.
    const app = await world.appOf(here.owner, here.id);
    const share = (email: string) =>
      withoutMail.call('PUT', `/api/apps/${app.id}/shares/${email}`, { as: here.as, body: { role: 'viewer' } });
    const guest = newEmail();
    expect([(await share(guest)).status, (await share(guest)).status, (await share(newEmail())).status]).toEqual([
      200, 200, 200,
    ]);
    expect((await share(newEmail())).status).toBe(429);
    expect((await share(here.owner.email)).status).toBe(200); // members are not invited
    // The same person has no invitations left in other workspaces either, but other people still have all of theirs.
    const second = await world.workspace(here.owner, 'free');
    const asSame = await world.token(here.owner, second);
    expect((await invite(asSame, { email: newEmail() }, {}, withoutMail)).status).toBe(429);
    const other = await createWorkspace('free');
    await useOwnPlan(other.id);
    expect((await invite(other.as, { email: newEmail() }, {}, withoutMail)).status).toBe(200);
    const larger = await world.token(here.owner, await world.workspace(here.owner, 'pro'));
    expect((await invite(larger, { email: newEmail() }, {}, withoutMail)).status).toBe(200);
  });

  it('names the inviter in the mail only by an address that was proven', async () => {
    const here = await createWorkspace();
    await world.db.updateTable('users').set({ email_verified_at: null }).where('id', '=', here.owner.id).execute();
    const email = newEmail();
    await invite(here.as, { email });
    const sent = mail.inbox.findLast(({ to }) => to.includes(email));
    expect(sent?.text).toContain(`An admin invited you to the workspace “${here.name}”`);
    expect(sent?.text).not.toContain(here.owner.email);
  });

  it('refuses members and people with a pending invitation, and replaces an expired invitation', async () => {
    const here = await createWorkspace();
    const email = newEmail();
    expect(await invite(here.as, { email: here.owner.email })).toMatchObject({
      status: 409,
      body: { code: 'member_exists', retry_safe: false },
    });
    await invite(here.as, { email, role: 'viewer' });
    const first = mailedToken(email);
    expect(await invite(here.as, { email })).toMatchObject({ status: 409, body: { code: 'invitation_pending' } });
    await withClockAhead(61 * dayMs, async () => {
      expect(await open(first)).toMatchObject({ status: 410, body: { code: 'invitation_expired' } });
      expect(await accept(first, { full_name: 'X', password })).toMatchObject({ status: 410 });
      expect((await invite(here.as, { email, role: 'editor' })).body).toMatchObject({ role: 'editor', mail: 'sent' });
      expect((await open(mailedToken(email))).status).toBe(200);
      expect((await open(first)).status).toBe(404);
    });
  });

  it('requires a plan with admins for the role admin, and a valid e-mail address', async () => {
    const here = await createWorkspace('pro');
    expect(await invite(here.as, { email: newEmail(), role: 'admin' })).toMatchObject({
      status: 402,
      body: { code: 'plan_required', required_plan: 'business' },
    });
    expect((await invite(here.as, { email: 'nobody' })).body.detail).toMatchObject([{ type: 'email_parsing' }]);
    expect((await invite(here.as, { email: newEmail(), role: 'owner' })).body.detail).toMatchObject([{ type: 'enum' }]);
  });

  it('sends one mail per Idempotency-Key, and the replay reports its outcome', async () => {
    const here = await createWorkspace();
    const email = newEmail();
    const key = { 'idempotency-key': newId() };
    const [first, again] = [await invite(here.as, { email }, key), await invite(here.as, { email }, key)];
    expect(first.body.mail).toBe('sent');
    expect(again.headers['idempotent-replayed']).toBe('true');
    expect(again.headers['x-warning']).toBeUndefined();
    expect(again.body).toEqual(first.body);
    expect(mail.inbox.filter(({ to }) => to.includes(email))).toHaveLength(1);
    const other = { 'idempotency-key': newId() };
    const request = { email: newEmail() };
    const shown = await invite(here.as, request, other, withoutMail);
    const withheld = await invite(here.as, request, other, withoutMail);
    expect(withheld.body).toEqual({ ...shown.body, accept_url: null });
    expect(withheld.headers['x-warning']).toBe('secret_withheld');
  });
});

describe('inviteMembers', () => {
  it('invites everyone who can be invited, and lists the others in failed', async () => {
    const here = await createWorkspace();
    const [a, b, pending] = [newEmail(), newEmail(), newEmail()];
    await invite(here.as, { email: pending });
    const got = await inviteAll(here.as, [
      { email: a },
      { email: here.owner.email },
      { email: b, role: 'admin' },
      { email: pending },
    ]);
    expect(got.status).toBe(200);
    expect(got.body.invited).toMatchObject([
      { email: a, role: 'editor', mail: 'sent' },
      { email: b, role: 'admin', mail: 'sent' },
    ]);
    expect(got.body.failed).toEqual([
      { email: here.owner.email, code: 'member_exists' },
      { email: pending, code: 'invitation_pending' },
    ]);
    expect(await listAuditEntries(here.id, 'invitation.created')).toHaveLength(3);
    expect((await inviteAll(here.as, [{ email: a }])).headers['x-changed']).toBe('false');
  });

  it('invites nobody if the plan does not include a requested role', async () => {
    const here = await createWorkspace('pro');
    const email = newEmail();
    const got = await inviteAll(here.as, [{ email }, { email: newEmail(), role: 'admin' }]);
    expect(got).toMatchObject({
      status: 400,
      body: { code: 'bulk_rejected', errors: [{ error_code: 'plan_required' }] },
    });
    expect((await invite(here.as, { email })).status).toBe(200);
  });

  it('refuses repeated addresses and more than 50 people, and replays without links', async () => {
    const here = await createWorkspace();
    const email = newEmail();
    expect((await inviteAll(here.as, [{ email }, { email }])).body.detail).toMatchObject([{ type: 'duplicate_items' }]);
    const many = Array.from({ length: 51 }, () => ({ email: newEmail() }));
    expect((await inviteAll(here.as, many)).body.detail).toMatchObject([{ type: 'too_long' }]);
    const fifty = many.slice(1);
    const key = { 'idempotency-key': newId() };
    const first = await inviteAll(here.as, fifty, key, withoutMail);
    expect(first.body.invited.every(({ accept_url }: { accept_url: string }) => tokenIn(accept_url))).toBe(true);
    const again = await inviteAll(here.as, fifty, key, withoutMail);
    expect(again.text).not.toContain('/invitations/');
    expect(again.headers['x-warning']).toBe('secret_withheld');
    expect((await inviteAll(here.as, [{ email }], key, withoutMail)).body.code).toBe('idempotency_conflict');
  });

  it('creates one invitation per person when several requests arrive at once', async () => {
    const here = await createWorkspace();
    const emails = [newEmail(), newEmail(), newEmail()];
    const answers = await Promise.all(
      Array.from({ length: 6 }, () =>
        inviteAll(
          here.as,
          emails.map((email) => ({ email })),
        ),
      ),
    );
    const invited = answers.flatMap(({ body }) => body.invited as { email: string }[]).map(({ email }) => email);
    expect(invited.sort()).toEqual([...emails].sort());
    expect(mail.inbox.filter(({ to }) => emails.some((email) => to.includes(email)))).toHaveLength(3);
  });
});

describe('resendInvitation', () => {
  it('sends a new link for 60 days, for pending and expired invitations, and the old link stops working', async () => {
    const here = await createWorkspace();
    const email = newEmail();
    const first = await invite(here.as, { email, role: 'viewer' });
    const old = mailedToken(email);
    await withClockAhead(61 * dayMs, async () => {
      const stranger = newEmail();
      const got = await resend(here.as, [email, here.owner.email, stranger]);
      expect(got).toMatchObject({
        status: 200,
        body: {
          resent: [{ id: first.body.id, email, role: 'viewer', mail: 'sent' }],
          failed: [
            { email: here.owner.email, code: 'member_exists' },
            { email: stranger, code: 'invitation_not_found' },
          ],
        },
      });
      expect(mailedToken(email)).not.toBe(old);
      expect((await open(old)).body.code).toBe('invitation_not_found');
      expect((await open(mailedToken(email))).status).toBe(200);
    });
    expect(await listAuditEntries(here.id, 'invitation.resent')).toHaveLength(1);
    expect((await resend(here.as, [newEmail()])).headers['x-changed']).toBe('false');
    expect((await resend(here.as, [])).status).toBe(422);
  });
});

describe('getInvitation', () => {
  it('answers 404 for a link that was cancelled, never existed, or belongs to a deleted workspace', async () => {
    const here = await createWorkspace();
    const [cancelled, stays] = [newEmail(), newEmail()];
    await inviteAll(here.as, [{ email: cancelled }, { email: stays }]);
    await world.call('DELETE', `/api/workspace/members/${cancelled}`, { as: here.as });
    for (const token of [mailedToken(cancelled), 'x', 'y'.repeat(2000), '%00']) {
      expect(await open(token)).toMatchObject({ status: 404, body: { code: 'invitation_not_found' } });
    }
    await world.db.updateTable('workspaces').set({ deleted_date: new Date() }).where('id', '=', here.id).execute();
    expect((await open(mailedToken(stays))).status).toBe(404);
  });

  it('accepts a link that was created with an older pepper', async () => {
    const here = await createWorkspace();
    const email = newEmail();
    await invite(here.as, { email });
    const newer = `k9:${Buffer.alloc(32, 7).toString('base64')}`;
    const older = world.config.TOKEN_PEPPERS.map(({ id, key }) => `${id}:${key.export().toString('base64')}`).join();
    const rotated = await startSecondApp(world, { environment: { TOKEN_PEPPERS: `${newer},${older}` } });
    expect((await rotated.call('GET', `/api/invitations/${mailedToken(email)}`)).status).toBe(200);
  });
});

describe('acceptInvitation', () => {
  it('creates an account and a session for a new person, who can then sign in', async () => {
    const here = await createWorkspace();
    const email = newEmail();
    await invite(here.as, { email });
    const got = await accept(mailedToken(email), { full_name: ' New Person ', password });
    expect(got).toMatchObject({
      status: 200,
      body: {
        user: { email, full_name: 'New Person', is_operator: false, email_verified: true },
        workspace: { id: here.id, name: here.name, role: 'editor', plan: 'business' },
      },
    });
    const me = await world.call('GET', '/api/auth/me', { headers: { cookie: cookieOf(got) } });
    expect(me.body).toMatchObject({ user: { email }, workspaces: [{ id: here.id, role: 'editor' }] });
    const signIn = await world.call('POST', '/api/auth/sign-in', { body: { email, password }, headers: newAddress() });
    expect(signIn.status).toBe(200);
    expect(await listAuditEntries(here.id, 'invitation.accepted')).toMatchObject([
      { actor: { kind: 'user', email }, after: { email, role: 'editor', new_account: true } },
    ]);
    // Only the same person may repeat the call.
    const again = await accept(mailedToken(email), {}, { cookie: cookieOf(got) });
    expect([again.status, again.headers['x-changed'], again.body]).toEqual([200, 'false', got.body]);
    expect((await accept(mailedToken(email), { full_name: 'Other', password })).status).toBe(403);
  });

  it('requires a name and a valid password from a new person', async () => {
    const here = await createWorkspace();
    const email = newEmail();
    await invite(here.as, { email });
    expect((await accept(mailedToken(email))).body.detail).toEqual([
      { loc: ['body', 'full_name'], msg: 'is required', type: 'missing' },
      { loc: ['body', 'password'], msg: 'is required', type: 'missing' },
    ]);
    expect((await accept(mailedToken(email), { full_name: 'A', password: 'short' })).body.detail).toMatchObject([
      { loc: ['body', 'password'], type: 'string_too_short' },
    ]);
    // The path is resolved before the body is validated.
    expect((await accept('unknown', { password: 1 })).status).toBe(404);
  });

  it('requires a person with an account to be signed in with that account, from our own origin', async () => {
    const here = await createWorkspace();
    const [person, other] = [await world.person(newEmail()), await world.person(newEmail())];
    await invite(here.as, { email: person.email, role: 'viewer' });
    const token = mailedToken(person.email);
    expect((await open(token)).body.needs_account).toBe(false);
    for (const headers of [{}, await signedIn(other), { cookie: 'plinth_session=nonsense' }]) {
      expect(await accept(token, { full_name: 'X', password }, headers)).toMatchObject({
        status: 403,
        body: { code: 'invitation_email_mismatch' },
      });
    }
    const own = await signedIn(person);
    expect(await accept(token, {}, { ...own, origin: 'https://evil.example' })).toMatchObject({
      status: 403,
      body: { code: 'origin_not_allowed' },
    });
    await withClockAhead(8 * dayMs, async () => {
      await world.db
        .updateTable('credentials')
        .set({ last_used_at: new Date() })
        .where('user_id', '=', person.id)
        .execute();
      expect((await accept(token, {}, own)).body.code).toBe('invitation_email_mismatch'); // the idle session expired
    });
    const got = await accept(token, {}, own);
    expect(got).toMatchObject({ status: 200, body: { user: { id: person.id }, workspace: { role: 'viewer' } } });
    expect(got.headers['set-cookie']).toBeUndefined();
    expect((await accept(token, {}, own)).headers['x-changed']).toBe('false');
  });

  it('refuses a signed-in person who is not the invited one', async () => {
    const here = await createWorkspace();
    const email = newEmail();
    await invite(here.as, { email });
    const stranger = await signedIn(await world.person(newEmail()));
    expect((await accept(mailedToken(email), { full_name: 'X', password }, stranger)).body.code).toBe(
      'invitation_email_mismatch',
    );
  });

  it('creates one account when a person accepts twice at once, and for two workspaces at once', async () => {
    const [here, there] = [await createWorkspace(), await createWorkspace()];
    const email = newEmail();
    await invite(here.as, { email });
    const first = mailedToken(email);
    await invite(there.as, { email });
    const body = { full_name: 'Eager', password };
    const answers = await Promise.all([accept(first, body), accept(first, body), accept(mailedToken(email), body)]);
    expect(answers.filter(({ status }) => status === 200).length).toBeGreaterThan(0);
    expect(answers.every(({ status }) => status === 200 || status === 403)).toBe(true);
    const accounts = await world.db.selectFrom('users').select('id').where('email', '=', email).execute();
    expect(accounts).toHaveLength(1);
    expect(answers.filter((got) => got.headers['set-cookie'] !== undefined)).toHaveLength(1);
  });

  it('does not let a removed member back in by their old link', async () => {
    const here = await createWorkspace();
    const email = newEmail();
    await invite(here.as, { email });
    const got = await accept(mailedToken(email), { full_name: 'Gone', password });
    expect((await open(mailedToken(email))).body.accepted).toBe(true);
    await world.call('DELETE', `/api/workspace/members/${email}`, { as: here.as });
    expect((await open(mailedToken(email))).status).toBe(404);
    expect((await accept(mailedToken(email), {}, { cookie: cookieOf(got) })).status).toBe(404);
  });

  it('keeps accepted invitations until their links would have expired', async () => {
    const here = await createWorkspace();
    const email = newEmail();
    await invite(here.as, { email });
    await accept(mailedToken(email), { full_name: 'Kept', password });
    const job = world.app.background.jobs.find(({ name }) => name === 'remove accepted invitations');
    const kept = () => world.db.selectFrom('invitations').select('id').where('workspace_id', '=', here.id).execute();
    await job?.run(world.app.database.db, new Date());
    expect(await kept()).toHaveLength(1);
    await job?.run(world.app.database.db, new Date(Date.now() + 61 * dayMs));
    expect(await kept()).toHaveLength(0);
  });
});

describe('an account that was created with a link that was not mailed', () => {
  /** Acts as an admin who creates an account for someone else's address. */
  async function createUnproven() {
    const here = await createWorkspace();
    const email = newEmail();
    const { body } = await invite(here.as, { email }, {}, withoutMail);
    const joined = await accept(tokenIn(body.accept_url), { full_name: 'Squatter', password });
    const cookie = { cookie: cookieOf(joined) };
    const token = { name: 'T', permission: 'full_access' };
    const { body: created } = await world.call('POST', '/api/auth/tokens', { headers: cookie, body: token });
    return { here, email, joined, cookie, token: created.token as string };
  }
  const me = (headers: Record<string, string>) => world.call('GET', '/api/auth/me', { headers });

  it('has an unproven address, and the link does not tell whether the address has an account', async () => {
    const { email, joined, cookie } = await createUnproven();
    expect(joined.body.user).toMatchObject({ email, email_verified: false });
    expect((await me(cookie)).body.user.email_verified).toBe(false);
    const here = await createWorkspace();
    const previews = [email, newEmail()].map(async (address) => {
      const { body } = await invite(here.as, { email: address }, {}, withoutMail);
      return (await open(tokenIn(body.accept_url))).body.needs_account;
    });
    expect(await Promise.all(previews)).toEqual([null, null]);
  });

  it('passes to whoever accepts an invitation that was mailed, without what was created before', async () => {
    const { email, joined, cookie, token } = await createUnproven();
    const there = await createWorkspace();
    await invite(there.as, { email });
    expect((await open(mailedToken(email))).body.needs_account).toBe(true);
    const owned = await accept(mailedToken(email), { full_name: 'Real Owner', password: 'the password of its owner' });
    expect(owned).toMatchObject({
      status: 200,
      body: { user: { id: joined.body.user.id, full_name: 'Real Owner', email_verified: true } },
    });
    expect((await me({ cookie: cookieOf(owned) })).status).toBe(200);
    expect((await me(cookie)).status).toBe(401);
    expect((await me({ authorization: `Bearer ${token}` })).status).toBe(401);
    const signIn = (attempt: string) =>
      world.call('POST', '/api/auth/sign-in', { body: { email, password: attempt }, headers: newAddress() });
    expect((await signIn(password)).status).toBe(401);
    await world.resetRateLimits();
    expect((await signIn('the password of its owner')).status).toBe(200);
  });

  it('is proven by accepting an invitation that was mailed, and by none that was not', async () => {
    const { email, cookie, token } = await createUnproven();
    const there = await createWorkspace();
    const { body } = await invite(there.as, { email }, {}, withoutMail);
    const link = tokenIn(body.accept_url);
    // Only the signed-in account may accept the invitation, because a link that was not mailed proves nothing.
    expect((await accept(link, { full_name: 'X', password })).body.code).toBe('invitation_email_mismatch');
    expect((await accept(link, {}, cookie)).body.user.email_verified).toBe(false);
    const third = await createWorkspace();
    await invite(third.as, { email });
    expect((await accept(mailedToken(email), {}, cookie)).body.user.email_verified).toBe(true);
    expect((await me({ authorization: `Bearer ${token}` })).status).toBe(200);
  });

  it('is not proven by a mailed link that was replaced by one that was shown', async () => {
    const here = await createWorkspace();
    const email = newEmail();
    await invite(here.as, { email });
    const [{ accept_url }] = (await resend(here.as, [email], withoutMail)).body.resent;
    const joined = await accept(tokenIn(accept_url), { full_name: 'Squatter', password });
    expect(joined.body.user.email_verified).toBe(false);
  });
});

describe('sharing an app with a person outside the workspace', () => {
  const share = (as: string, app: string, email: string, role: string, at: World = world) =>
    at.call('PUT', `/api/apps/${app}/shares/${email}`, { as, body: { role } });
  const unshare = (as: string, app: string, email: string) =>
    world.call('DELETE', `/api/apps/${app}/shares/${email}`, { as });
  const shares = async (as: string, app: string) => (await world.call('GET', `/api/apps/${app}/shares`, { as })).body;

  it('invites them as a guest, who can use the shared apps after accepting and is removed with the last share', async () => {
    const here = await createWorkspace();
    const [app, second, hidden] = [
      await world.appOf(here.owner, here.id, { visibility: 'private' }),
      await world.appOf(here.owner, here.id, { visibility: 'private' }),
      await world.appOf(here.owner, here.id),
    ];
    const email = newEmail();
    const got = await share(here.as, app.id, email, 'editor');
    expect(got).toMatchObject({ status: 200, body: { email, role: 'editor', status: 'invited' } });
    expect(got.headers['x-warning']).toBeUndefined();
    expect((await open(mailedToken(email))).body).toMatchObject({ role: 'guest', needs_account: true });
    expect((await share(here.as, app.id, email, 'editor')).headers['x-changed']).toBe('false');
    await share(here.as, second.id, email, 'viewer');
    expect(mail.inbox.filter(({ to }) => to.includes(email))).toHaveLength(1); // one link is enough
    expect(await shares(here.as, app.id)).toEqual([{ email, role: 'editor', status: 'invited' }]);
    expect(await listAuditEntries(here.id, 'app.shared')).toHaveLength(2);

    const joined = await accept(mailedToken(email), { full_name: 'Guest', password });
    expect(joined.body.workspace.role).toBe('guest');
    expect(await shares(here.as, app.id)).toEqual([{ email, role: 'editor', status: 'joined' }]);
    const cookie = { headers: { cookie: cookieOf(joined) } };
    const reach = async (id: string) => (await world.call('GET', `/api/apps/${id}`, cookie)).status;
    expect([await reach(app.id), await reach(second.id), await reach(hidden.id)]).toEqual([200, 200, 404]);

    expect((await unshare(here.as, app.id, email)).body).toEqual({ success: true });
    expect(await reach(second.id)).toBe(200);
    await unshare(here.as, second.id, email.toUpperCase());
    expect(await reach(second.id)).toBe(404);
    expect((await world.call('GET', '/api/auth/me', cookie)).body.workspaces).toEqual([]);
    expect(await listAuditEntries(here.id, 'member.removed')).toMatchObject([{ before: { email, role: 'guest' } }]);
  });

  it('is for the owner and admins only, if the workspace says so', async () => {
    const here = await createWorkspace();
    const editor = await world.member(here.id, 'editor', newEmail());
    const asEditor = await world.token(editor, here.id);
    const app = await world.appOf(editor, here.id);
    expect((await share(asEditor, app.id, newEmail(), 'viewer')).status).toBe(200);
    const change = { as: here.as, body: { guest_invitations: 'admins' } };
    expect((await world.call('PATCH', '/api/workspace', change)).body).toMatchObject(change.body);
    const email = newEmail();
    const refusal = { status: 403, body: { code: 'role_required', required_role: 'admin' } };
    expect(await share(asEditor, app.id, email, 'viewer')).toMatchObject(refusal);
    expect(await shares(here.as, app.id)).toHaveLength(1);
    expect((await share(asEditor, app.id, here.owner.email, 'viewer')).status).toBe(200); // members are not invited
    expect((await share(here.as, app.id, email, 'viewer')).body).toMatchObject({ status: 'invited' });
  });

  it('cancels the invitation with the last share if they have not joined', async () => {
    const here = await createWorkspace();
    const [app, second] = [await world.appOf(here.owner, here.id), await world.appOf(here.owner, here.id)];
    const email = newEmail();
    await share(here.as, app.id, email, 'viewer');
    await share(here.as, second.id, email, 'viewer');
    await unshare(here.as, app.id, email);
    expect((await open(mailedToken(email))).status).toBe(200);
    expect((await unshare(here.as, app.id, email)).body.code).toBe('share_not_found');
    await unshare(here.as, second.id, email);
    expect((await open(mailedToken(email))).status).toBe(404);
    expect(await listAuditEntries(here.id, 'invitation.cancelled')).toHaveLength(1);
  });

  it('keeps the role of an existing invitation, and never lets a viewer edit', async () => {
    const here = await createWorkspace();
    const app = await world.appOf(here.owner, here.id, { visibility: 'private' });
    const email = newEmail();
    await invite(here.as, { email, role: 'viewer' });
    expect(await share(here.as, app.id, email, 'editor')).toMatchObject({
      status: 400,
      body: { code: 'role_not_assignable' },
    });
    expect((await share(here.as, app.id, email, 'viewer')).body.status).toBe('invited');
    await unshare(here.as, app.id, email);
    expect((await open(mailedToken(email))).body.role).toBe('viewer'); // the invitation did not come from the share
  });

  it('becomes view-only when an expired guest is invited as a viewer', async () => {
    const here = await createWorkspace();
    const app = await world.appOf(here.owner, here.id);
    const email = newEmail();
    await share(here.as, app.id, email, 'editor');
    await withClockAhead(61 * dayMs, () => invite(here.as, { email, role: 'viewer' }));
    expect(await shares(here.as, app.id)).toEqual([{ email, role: 'viewer', status: 'invited' }]);
  });

  it('renews an expired invitation', async () => {
    const here = await createWorkspace();
    const app = await world.appOf(here.owner, here.id);
    const email = newEmail();
    await share(here.as, app.id, email, 'viewer');
    await withClockAhead(61 * dayMs, async () => {
      expect((await share(here.as, app.id, email, 'viewer')).headers['x-changed']).toBeUndefined();
      expect((await open(mailedToken(email))).status).toBe(200);
    });
  });

  it('warns if no mail was sent, and resending returns the link', async () => {
    const here = await createWorkspace();
    const app = await world.appOf(here.owner, here.id);
    const email = newEmail();
    const got = await share(here.as, app.id, email, 'viewer', withoutMail);
    expect([got.status, got.headers['x-warning']]).toEqual([200, 'invitation_mail_off']);
    const [resent] = (await resend(here.as, [email], withoutMail)).body.resent;
    expect((await open(tokenIn(resent.accept_url))).body.role).toBe('guest');
    mail.behave('refusing');
    const failed = await share(here.as, app.id, newEmail(), 'viewer');
    mail.behave('well');
    expect(failed.headers['x-warning']).toBe('invitation_mail_failed');
  });
});

describe('openInvitation and joinWorkspace', () => {
  const post = (path: string, body: object, headers: Record<string, string> = {}) =>
    world.call('POST', `/api/invitations/${path}`, { body, headers: { ...newAddress(), ...headers } });

  it('answer like the operations that have the token in their path', async () => {
    const here = await createWorkspace();
    const email = newEmail();
    await invite(here.as, { email });
    const invitation_token = mailedToken(email);
    const opened = await post('open', { invitation_token });
    expect(opened).toMatchObject({ status: 200, body: { email, accepted: false, needs_account: true } });
    expect(opened.body).toEqual((await open(invitation_token)).body);
    const joined = await post('accept', { invitation_token, full_name: 'Bodil', password });
    expect(joined).toMatchObject({ status: 200, body: { user: { email }, workspace: { id: here.id } } });
    const again = await post('accept', { invitation_token }, { cookie: cookieOf(joined) });
    expect(again).toMatchObject({ status: 200, headers: { 'x-changed': 'false' }, body: joined.body });
    expect((await post('open', { invitation_token })).body).toMatchObject({ accepted: true, needs_account: false });
  });

  it('refuse unknown and expired links, and whoever is not the invited person', async () => {
    const here = await createWorkspace();
    const email = newEmail();
    await invite(here.as, { email });
    const invitation_token = mailedToken(email);
    const stranger = await signedIn(await world.person(newEmail()));
    expect(await post('accept', { invitation_token }, stranger)).toMatchObject({
      status: 403,
      body: { code: 'invitation_email_mismatch' },
    });
    const elsewhere = { ...stranger, origin: 'https://evil.example' };
    expect((await post('accept', { invitation_token }, elsewhere)).body.code).toBe('origin_not_allowed');
    for (const path of ['open', 'accept']) {
      const unknown = await post(path, { invitation_token: 'x'.repeat(43) });
      expect(unknown).toMatchObject({ status: 404, body: { code: 'invitation_not_found' } });
      const late = await withClockAhead(61 * dayMs, () => post(path, { invitation_token }));
      expect(late).toMatchObject({ status: 410, body: { code: 'invitation_expired' } });
    }
  });
});

describe('the page of an invitation', () => {
  it.each(['/invitations', '/invitations/token-of-an-older-link'])(
    '%s allows only its own scripts and sends no referrer',
    async (path) => {
      const got = await world.call('GET', path, { headers: newAddress() });
      expect(got.status).toBe(200);
      expect(got.headers['content-type']).toBe('text/html; charset=utf-8');
      expect(got.headers['content-security-policy']).toMatch(
        /^default-src 'none'; script-src 'sha256-[^']+' 'sha256-[^']+'; connect-src 'self'; style-src 'sha256-[^']+'; /,
      );
      expect(got.headers['referrer-policy']).toBe('no-referrer');
    },
  );
});
