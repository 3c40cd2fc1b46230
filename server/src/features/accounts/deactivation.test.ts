// Tests deactivating accounts through the API (docs/api/accounts.md#deactivated-accounts).
import { sql } from 'kysely';
import { afterAll, describe, expect, it } from 'vitest';
import { startMailSandbox } from '../../../../sandbox/src/smtp.ts';
import { type Person, startSecondApp, startWorld } from '../../../test/support/world.ts';
import { hashPassword, savePassword } from '../../core/identity/passwords.ts';
import { newId } from '../../kit/ids.ts';

const mail = await startMailSandbox();
afterAll(() => mail.close());
const world = await startWorld({ environment: { SMTP_URL: mail.smtpUrl, TRUSTED_PROXIES: '127.0.0.1' } });
await world.startWorker();
const other = await startSecondApp(world);

const operator = await world.person('operator@example.com', { is_operator: true });
const asOperator = { headers: await world.session(operator) };
const password = 'a long enough password';
const passwordHash = await hashPassword(password, { ip: '127.0.0.1' });

let address = 0;
const post = (path: string, body: object) =>
  world.call('POST', path, { body, headers: { 'x-forwarded-for': `198.51.100.${++address}` } });
const signIn = (email: string, attempted = password) => post('/api/auth/sign-in', { email, password: attempted });

/** A person with a password and their own workspace. */
const addPerson = async (name = newId()) => {
  const person = await world.person(`${name}@example.com`);
  await savePassword(world.db, person.id, passwordHash, new Date());
  return { ...person, workspace: await world.workspace(person) };
};
const deactivate = ({ id }: Pick<Person, 'id'>, caller: object = asOperator) =>
  world.call('POST', `/api/operator/users/${id}/deactivate`, caller);
const reactivate = ({ id }: Pick<Person, 'id'>) =>
  world.call('POST', `/api/operator/users/${id}/reactivate`, asOperator);
const me = async (headers: Record<string, string>) => (await other.call('GET', '/api/auth/me', { headers })).status;

describe('deactivateUser', () => {
  it("ends sessions, tokens and personal keys with the next request in every process, and the tokens' keys", async () => {
    const person = await addPerson();
    const session = await world.session(person);
    const token = await world.token(person, person.workspace);
    const personal = { kind: 'personal_key', user_id: person.id, workspace_id: null } as const;
    const key = await world.credential({ ...personal, permission: 'full_access' });
    const createKey = async (headers: Record<string, string>) =>
      (await world.call('POST', '/api/workspace/api-keys', { headers, body: { name: 'K', scopes: ['apps:read'] } }))
        .body;
    const ofSession = await createKey(session);
    const ofToken = await createKey({ authorization: `Bearer ${token}` });
    const use = async ({ token }: { token: string }) =>
      (await other.call('GET', '/api/apps', { headers: { api_key: token } })).status;
    const personals: Record<string, string>[] = [session, { authorization: `Bearer ${token}` }, { api_key: key.token }];
    for (const headers of personals) expect(await me(headers)).toBe(200);
    expect([await use(ofSession), await use(ofToken)]).toEqual([200, 200]);

    const { status, body } = await deactivate(person);
    expect({ status, body }).toMatchObject({ status: 200, body: { id: person.id, email: person.email } });
    expect(Date.parse(body.deactivated_at)).toBeCloseTo(Date.now(), -5);
    for (const headers of personals) expect(await me(headers)).toBe(401);
    expect([await use(ofSession), await use(ofToken)]).toEqual([200, 401]);

    expect((await reactivate(person)).body).toMatchObject({ id: person.id, deactivated_at: null });
    for (const headers of personals) expect(await me(headers)).toBe(401);
    expect(await me(await world.session(person))).toBe(200);
  });

  it('is in the audit log of the workspaces in which it revoked something, and of the installation', async () => {
    const person = await addPerson();
    const { id: token } = await world.credential({
      kind: 'personal_token',
      user_id: person.id,
      workspace_id: person.workspace,
      permission: 'full_access',
    });
    const elsewhere = await addPerson();
    await world.db
      .insertInto('memberships')
      .values({
        workspace_id: elsewhere.workspace,
        user_id: person.id,
        role: 'viewer',
        created_date: new Date(),
        updated_date: new Date(),
      })
      .execute();
    await deactivate(person);
    await reactivate(person);
    const read = async (workspace: string) => {
      const headers = await world.session(workspace === person.workspace ? person : elsewhere);
      return (await world.call('GET', '/api/workspace/audit-log?type=user.*', { headers })).body.items;
    };
    expect(await read(elsewhere.workspace)).toEqual([]);
    expect(await read(person.workspace)).toMatchObject([
      {
        type: 'user.deactivated',
        actor: { kind: 'operator', email: operator.email },
        target: { kind: 'user', id: person.id },
        after: { email: person.email, revoked: [token] },
      },
    ]);
    const { rows } = await sql<{ type: string }>`select entry->>'type' as type
      from (select id, workspace_id, entry from audit_pending
        union all select id, workspace_id, entry from audit_entries) entries
      where workspace_id is null and entry->'target'->>'id' = ${person.id} order by id`.execute(world.db);
    expect(rows.map(({ type }) => type)).toEqual(['user.deactivated', 'user.deactivated', 'user.reactivated']);
  });

  it('leaves no token or session behind that was being created', async () => {
    for (let round = 0; round < 5; round += 1) {
      await world.resetRateLimits();
      const person = await addPerson();
      const headers = await world.session(person);
      const [token, session] = await Promise.all([
        world.call('POST', '/api/auth/tokens', { headers, body: { name: 'T', permission: 'full_access' } }),
        signIn(person.email),
        deactivate(person),
      ]);
      await reactivate(person);
      if (token.status === 200) expect(await me({ authorization: `Bearer ${token.body.token}` })).toBe(401);
      if (session.status === 200) expect(await me({ cookie: String(session.headers['set-cookie']) })).toBe(401);
    }
  });

  it('refuses the last operator, an unknown user and callers who are no operators', async () => {
    const person = await addPerson();
    expect(await deactivate(operator)).toMatchObject({ status: 409, body: { code: 'last_operator' } });
    const second = await world.person(`${newId()}@example.com`, { is_operator: true });
    expect((await deactivate(second)).status).toBe(200);
    expect((await deactivate(operator)).status).toBe(409);
    expect(await deactivate({ id: newId() })).toMatchObject({ status: 404, body: { code: 'user_not_found' } });
    expect(await deactivate(person, { headers: await world.session(person) })).toMatchObject({
      status: 403,
      body: { code: 'operator_required' },
    });
  });

  it('changes nothing the second time, nor does a second reactivation', async () => {
    const person = await addPerson();
    const first = await deactivate(person);
    const again = await deactivate(person);
    expect(again).toMatchObject({ status: 200, body: first.body, headers: { 'x-changed': 'false' } });
    await reactivate(person);
    expect(await reactivate(person)).toMatchObject({ status: 200, headers: { 'x-changed': 'false' } });
  });
});

describe('a deactivated account', () => {
  it('is answered as a wrong password by signIn, until it is reactivated', async () => {
    const person = await addPerson();
    await deactivate(person);
    const { request_id: _, ...refused } = (await signIn(person.email)).body;
    const { request_id: __, ...wrong } = (await signIn(`${newId()}@example.com`)).body;
    expect(refused).toEqual(wrong);
    expect(refused).toMatchObject({ code: 'sign_in_failed', status: 401 });
    await reactivate(person);
    await world.resetRateLimits();
    expect((await signIn(person.email)).status).toBe(200);
  });

  it('receives no reset mail, and earlier links are void', async () => {
    const [person, control] = [await addPerson(), await addPerson()];
    const inbox = ({ email }: Person) => mail.inbox.filter((each) => each.to.includes(email));
    await post('/api/auth/password/forgot', { email: person.email });
    await expect.poll(() => inbox(person)).toHaveLength(1);
    const reset_token = /#(\S+)/.exec(inbox(person)[0]?.text ?? '')?.[1] ?? '';
    await deactivate(person);
    expect(await post('/api/auth/password/forgot', { email: person.email })).toMatchObject({ body: { success: true } });
    await post('/api/auth/password/forgot', { email: control.email });
    await expect.poll(() => inbox(control)).toHaveLength(1);
    expect(inbox(person)).toHaveLength(1);
    const reset = await post('/api/auth/password/reset', { reset_token, new_password: 'another long password' });
    expect(reset).toMatchObject({ status: 410, body: { code: 'reset_link_expired' } });
  });

  it('receives no reset mail that was queued before', async () => {
    const person = await addPerson();
    await world.db.updateTable('users').set({ deactivated_at: new Date() }).where('id', '=', person.id).execute();
    const mailRow = {
      id: newId(),
      email: person.email,
      address_id: newId(),
      created_date: new Date(),
      due_at: new Date(),
    };
    await world.db.insertInto('reset_mails').values(mailRow).execute();
    const read = () =>
      world.db.selectFrom('reset_mails').selectAll().where('id', '=', mailRow.id).executeTakeFirstOrThrow();
    await expect.poll(async () => (await read()).due_at).toBeNull();
    expect((await read()).failures).toBe(0);
    expect(mail.inbox.some((each) => each.to.includes(person.email))).toBe(false);
  });

  it("can't accept an invitation", async () => {
    const [person, host] = [await addPerson(), await addPerson()];
    const headers = await world.session(host);
    const body = { email: person.email, role: 'editor' };
    expect((await world.call('POST', '/api/workspace/invitations/invite', { headers, body })).status).toBe(200);
    const sent = () => mail.inbox.find((each) => each.to.includes(person.email));
    await expect.poll(sent).toBeDefined();
    const invitation_token = /\/invitations#(\S+)/.exec(sent()?.text ?? '')?.[1];
    const session = await world.session(person);
    await deactivate(person);
    const accept = (input: object, headers?: { cookie: string }) =>
      world.call('POST', '/api/invitations/accept', { body: { invitation_token, ...input }, headers });
    for (const got of [await accept({}, session), await accept({ full_name: 'New', password })]) {
      expect(got).toMatchObject({ status: 403, body: { code: 'invitation_email_mismatch' } });
    }
  });

  it("stays in the members list, but can't become the owner", async () => {
    const owner = await addPerson();
    const member = await world.member(owner.workspace, 'admin', `${newId()}@example.com`);
    await deactivate(member);
    const headers = await world.session(owner);
    const list = await world.call('POST', '/api/workspace/members/list', { headers, body: {} });
    expect(list.body.members).toMatchObject([{ email: owner.email }, { email: member.email, access_state: 'active' }]);
    const body = { email: member.email };
    expect(await world.call('POST', '/api/workspace/transfer-ownership', { headers, body })).toMatchObject({
      status: 404,
      body: { code: 'member_not_found' },
    });
  });
});

describe('listOperatorUsers', () => {
  const list = (query: string) => world.call('GET', `/api/operator/users?${query}`, asOperator);

  it('returns all users, newest first, page by page', async () => {
    const [older, newer] = [await addPerson(), await addPerson()];
    await deactivate(older);
    const first = (await list('limit=1')).body;
    expect(first.items).toMatchObject([{ id: newer.id, is_operator: false, deactivated_at: null }]);
    const second = (await list(`limit=1&cursor=${first.next_cursor}`)).body;
    expect(second.items).toMatchObject([{ id: older.id, deactivated_at: expect.any(String) }]);
  });

  it('finds a user by e-mail address, in any case', async () => {
    const person = await addPerson();
    expect((await list(`email=${person.email.toUpperCase()}`)).body).toMatchObject({
      items: [{ id: person.id, email: person.email }],
      has_more: false,
    });
    expect((await list('email=nobody@example.com')).body.items).toEqual([]);
  });

  it('refuses an invalid limit and a foreign cursor', async () => {
    expect((await list('limit=0')).status).toBe(422);
    expect(await list('cursor=x')).toMatchObject({ status: 400, body: { code: 'cursor_invalid' } });
  });
});
