// Tests member changes through the API, individually and in bulk, and everything that a removal affects
// (docs/api/members.md#change-members).
import fc from 'fast-check';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { type Person, startWorld } from '../../../../test/support/world.ts';
import type { Plan } from '../../../core/auth/plans.ts';
import type { WorkspaceRole } from '../../../core/auth/roles.ts';
import { newId } from '../../../kit/ids.ts';

const world = await startWorld();

interface TestWorkspace {
  readonly id: string;
  readonly owner: Person;
  readonly admin: Person;
  readonly asOwner: string;
  readonly asAdmin: string;
  join(role: WorkspaceRole): Promise<Person>;
}

let workspaces = 0;
async function createWorkspace(plan: Plan = 'business'): Promise<TestWorkspace> {
  const name = `w${++workspaces}`;
  const owner = await world.person(`owner@${name}.example.com`);
  const id = await world.workspace(owner, plan);
  await world.db.updateTable('workspaces').set({ rate_multiplier: 1000 }).where('id', '=', id).execute();
  const admin = await world.member(id, 'admin', `admin@${name}.example.com`);
  const join = (role: WorkspaceRole) => world.member(id, role, `${role}${newId()}@${name}.example.com`);
  const [asOwner, asAdmin] = [await world.token(owner, id), await world.token(admin, id)];
  return { id, owner, admin, asOwner, asAdmin, join };
}

/** Inserts an invitation row. */
async function invite({ id, owner }: TestWorkspace, email: string, more: object = {}): Promise<string> {
  const invitation = {
    workspace_id: id,
    id: newId(),
    email,
    role: 'editor' as const,
    hash: Buffer.from(newId()),
    pepper_id: 'p',
    invited_by: owner.id,
    created_date: new Date(),
    expires_at: new Date(Date.now() + 86_400_000),
    ...more,
  };
  await world.db.insertInto('invitations').values(invitation).execute();
  return invitation.id;
}

const at = (email: string, what: string) => `/api/workspace/members/${encodeURIComponent(email)}${what}`;
const put = (as: string, path: string, body: object) => world.call('PUT', path, { as, body });
const setRole = (as: string, email: string, role: string) => put(as, at(email, '/role'), { role });
const setAccess = (as: string, email: string, state: string) => put(as, at(email, '/access'), { state });
const setLimit = (as: string, email: string, credit_limit: unknown) =>
  put(as, at(email, '/credit-limit'), { credit_limit });
const remove = (as: string, email: string) => world.call('DELETE', at(email, ''), { as });

const membership = (workspace: TestWorkspace, person: Person) =>
  world.db
    .selectFrom('memberships')
    .selectAll()
    .where('workspace_id', '=', workspace.id)
    .where('user_id', '=', person.id)
    .executeTakeFirst();

async function listAuditEntries(workspace: TestWorkspace, type: string) {
  const { rows } = await sql<{ entry: Record<string, unknown> }>`select entry from audit_pending
    where workspace_id = ${workspace.id} and entry->>'type' = ${type} order by id`.execute(world.db);
  return rows.map(({ entry }) => entry);
}

describe('setMemberRole', () => {
  it('changes the role at once, returns the entry and writes an audit entry', async () => {
    const workspace = await createWorkspace();
    const person = await workspace.join('viewer');
    const own = await world.token(person, workspace.id);
    const create = () => world.call('POST', '/api/apps', { as: own, body: {} });
    expect((await create()).status).toBe(403);
    const got = await setRole(workspace.asAdmin, person.email.toUpperCase(), 'editor');
    expect(got).toMatchObject({
      status: 200,
      body: { user_id: person.id, email: person.email, role: 'editor', status: 'joined', access_state: 'active' },
    });
    expect(got.headers['x-changed']).toBeUndefined();
    expect((await create()).status).toBe(200);
    expect(await listAuditEntries(workspace, 'member.role_changed')).toMatchObject([
      { target: { kind: 'member', id: person.id }, before: { role: 'viewer' }, after: { role: 'editor' } },
    ]);
  });

  it('marks an unchanged role with X-Changed: false and writes no audit entry', async () => {
    const workspace = await createWorkspace();
    const person = await workspace.join('editor');
    const got = await setRole(workspace.asAdmin, person.email, 'editor');
    expect([got.status, got.headers['x-changed']]).toEqual([200, 'false']);
    expect(await listAuditEntries(workspace, 'member.role_changed')).toEqual([]);
  });

  it('removes the credit limit of a member who becomes a viewer, and makes their shares view-only', async () => {
    const workspace = await createWorkspace();
    const person = await workspace.join('editor');
    const app = await world.appOf(workspace.owner, workspace.id, { visibility: 'private' });
    await world.share(app, person, 'editor');
    expect((await setLimit(workspace.asAdmin, person.email, 12.5)).body).toMatchObject({ credit_limit: 12.5 });
    const got = await setRole(workspace.asAdmin, person.email, 'viewer');
    expect(got.body).toMatchObject({ role: 'viewer', credit_limit: null, is_default_limit: false, apps_shared: 1 });
    const shares = await world.call('GET', `/api/apps/${app.id}/shares`, { as: workspace.asOwner });
    expect(shares.body).toEqual([{ email: person.email, role: 'viewer', status: 'joined' }]);
  });

  it('turns a guest into a full member', async () => {
    const workspace = await createWorkspace();
    const guest = await workspace.join('guest');
    await world.db
      .updateTable('memberships')
      .set({ assigned_via: 'app_share' })
      .where('user_id', '=', guest.id)
      .where('workspace_id', '=', workspace.id)
      .execute();
    expect((await setRole(workspace.asAdmin, guest.email, 'editor')).body).toMatchObject({
      role: 'editor',
      assigned_via: 'direct',
    });
  });

  it('changes the role of a pending or expired invitation', async () => {
    const workspace = await createWorkspace();
    const app = await world.appOf(workspace.owner, workspace.id);
    const id = await invite(workspace, 'asked@example.com');
    await world.db
      .insertInto('invitation_shares')
      .values({
        workspace_id: workspace.id,
        invitation_id: id,
        app_id: app.id,
        role: 'editor',
        created_date: new Date(),
      })
      .execute();
    const got = await setRole(workspace.asAdmin, 'asked@example.com', 'viewer');
    expect(got.body).toMatchObject({ role: 'viewer', status: 'pending', access_state: 'invited', user_id: '' });
    const share = await world.db
      .selectFrom('invitation_shares')
      .select('role')
      .where('invitation_id', '=', id)
      .execute();
    expect(share).toEqual([{ role: 'viewer' }]);
    expect(await listAuditEntries(workspace, 'invitation.role_changed')).toHaveLength(1);
    await invite(workspace, 'late@example.com', { expires_at: new Date(Date.now() - 1000) });
    expect((await setRole(workspace.asAdmin, 'late@example.com', 'viewer')).body).toMatchObject({ status: 'expired' });
  });

  it('refuses the caller, the owner, admins below the required plan, and people outside the workspace', async () => {
    const workspace = await createWorkspace('pro');
    const otherWorkspace = await createWorkspace();
    const person = await workspace.join('editor');
    expect(await setRole(workspace.asAdmin, workspace.admin.email, 'viewer')).toMatchObject({
      status: 403,
      body: { code: 'self_change_not_allowed' },
    });
    expect(await setRole(workspace.asAdmin, workspace.owner.email, 'viewer')).toMatchObject({
      status: 403,
      body: { code: 'owner_protected' },
    });
    expect(await setRole(workspace.asAdmin, person.email, 'admin')).toMatchObject({
      status: 402,
      body: { code: 'plan_required', required_plan: 'business', retry_safe: true },
    });
    for (const email of [otherWorkspace.admin.email, 'nobody@example.com', 'not an address']) {
      expect(await setRole(workspace.asAdmin, email, 'viewer')).toMatchObject({
        status: 404,
        body: { code: 'member_not_found' },
      });
    }
    // The path is resolved before the body is validated.
    expect((await setRole(workspace.asAdmin, 'nobody@example.com', 'owner')).status).toBe(404);
    expect((await setRole(workspace.asAdmin, person.email, 'owner')).status).toBe(422);
  });

  it('writes an audit entry for a refusal by owner protection', async () => {
    const workspace = await createWorkspace();
    await setRole(workspace.asAdmin, workspace.owner.email, 'viewer');
    await expect
      .poll(() => listAuditEntries(workspace, 'setMemberRole.refused'))
      .toMatchObject([{ outcome: 'refused', after: { code: 'owner_protected' } }]);
  });

  it('refuses a token that is limited to some apps', async () => {
    const workspace = await createWorkspace();
    const app = await world.appOf(workspace.owner, workspace.id);
    const limited = await world.token(workspace.owner, workspace.id, { app_ids: [app.id] });
    expect((await setRole(limited, workspace.admin.email, 'viewer')).body.code).toBe('token_app_limited');
  });
});

describe('setMemberAccess', () => {
  it('refuses a blocked member with every credential, and restores access when unblocked', async () => {
    const workspace = await createWorkspace();
    const person = await workspace.join('editor');
    const token = await world.token(person, workspace.id);
    const session = await world.credential({
      kind: 'session',
      user_id: person.id,
      workspace_id: workspace.id,
      permission: 'full_access',
    });
    const byToken = () => world.call('GET', '/api/apps', { as: token });
    const bySession = () => world.call('GET', '/api/apps', { headers: { cookie: `plinth_session=${session.token}` } });
    const got = await setAccess(workspace.asAdmin, person.email, 'blocked');
    expect(got).toMatchObject({ status: 200, body: { access_state: 'blocked', status: 'joined', role: 'editor' } });
    for (const answer of [await byToken(), await bySession()]) {
      expect(answer).toMatchObject({ status: 403, body: { code: 'member_blocked' } });
    }
    expect((await setAccess(workspace.asAdmin, person.email, 'blocked')).headers['x-changed']).toBe('false');
    expect((await setAccess(workspace.asAdmin, person.email, 'active')).body.access_state).toBe('active');
    expect([(await byToken()).status, (await bySession()).status]).toEqual([200, 200]);
    expect(await listAuditEntries(workspace, 'member.blocked')).toHaveLength(1);
    expect(await listAuditEntries(workspace, 'member.unblocked')).toHaveLength(1);
  });

  it('refuses the caller, the owner and people who have not joined', async () => {
    const workspace = await createWorkspace();
    await invite(workspace, 'asked@example.com');
    const codes = [workspace.admin.email, workspace.owner.email, 'asked@example.com', 'nobody@example.com'].map(
      async (email) => (await setAccess(workspace.asAdmin, email, 'blocked')).body.code,
    );
    expect(await Promise.all(codes)).toEqual([
      'self_change_not_allowed',
      'owner_protected',
      'member_not_found',
      'member_not_found',
    ]);
    expect((await setAccess(workspace.asOwner, workspace.admin.email, 'asleep')).status).toBe(422);
  });
});

describe('setMemberCreditLimit', () => {
  it('sets a limit that overrides the workspace default, and removes it', async () => {
    const workspace = await createWorkspace();
    const person = await workspace.join('editor');
    await put(workspace.asAdmin, '/api/workspace/default-credit-limit', { default_credit_limit: 50 });
    expect((await setLimit(workspace.asAdmin, person.email, 0)).body).toMatchObject({
      credit_limit: 0,
      is_default_limit: false,
    });
    expect((await setLimit(workspace.asAdmin, person.email, 0)).headers['x-changed']).toBe('false');
    expect((await setLimit(workspace.asAdmin, person.email, null)).body).toMatchObject({
      credit_limit: 50,
      is_default_limit: true,
    });
    expect(await listAuditEntries(workspace, 'member.limit_changed')).toMatchObject([
      { before: { credit_limit: null }, after: { credit_limit: 0 } },
      { before: { credit_limit: 0 }, after: { credit_limit: null } },
    ]);
  });

  it('returns the credits used this month, less refunds', async () => {
    const workspace = await createWorkspace();
    const person = await workspace.join('editor');
    const row = { workspace_id: workspace.id, user_id: person.id, operation: 'test', balance_after: null };
    const now = new Date();
    const monthStart = Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), 1);
    const used = [
      { kind: 'use' as const, amount: 3, created_date: now },
      { kind: 'refund' as const, amount: 0.5, created_date: now },
      { kind: 'use' as const, amount: 100, created_date: new Date(monthStart - 1) },
    ];
    await world.db
      .insertInto('credit_ledger')
      .values(used.map((each) => ({ ...row, ...each, id: newId() })))
      .execute();
    const refresh = world.app.background.jobs.find((job) => job.name === 'refresh member directories');
    await refresh?.run(world.app.database.db, world.clock.now());
    const { body } = await setLimit(workspace.asAdmin, person.email, 10);
    expect(body).toMatchObject({ credits_used: 2.5, last_active: now.toISOString().slice(0, -1) });
  });

  it('refuses limits above the pool, viewers, guests, the owner, invitations, and plans without limits', async () => {
    const workspace = await createWorkspace();
    const [viewer, guest, editor] = [
      await workspace.join('viewer'),
      await workspace.join('guest'),
      await workspace.join('editor'),
    ];
    await invite(workspace, 'asked@example.com');
    const code = async (email: string, limit: unknown) => (await setLimit(workspace.asAdmin, email, limit)).body.code;
    expect(await code(editor.email, 5000.0001)).toBe('limit_above_pool');
    expect((await setLimit(workspace.asAdmin, editor.email, 5000)).status).toBe(200);
    expect(await code(viewer.email, 1)).toBe('viewer_cannot_have_limit');
    expect(await code(guest.email, 1)).toBe('viewer_cannot_have_limit');
    expect((await setLimit(workspace.asAdmin, viewer.email, null)).status).toBe(200);
    expect(await code(workspace.owner.email, 1)).toBe('owner_protected');
    expect(await code('asked@example.com', 1)).toBe('member_not_found');
    for (const wrong of [-1, '1', 0.00001, undefined]) {
      expect((await setLimit(workspace.asAdmin, editor.email, wrong)).status).toBe(422);
    }
    const small = await createWorkspace('pro');
    const member = await small.join('editor');
    // Lacking the plan must not look like a missing member.
    for (const email of [member.email, 'nobody@example.com']) {
      expect(await setLimit(small.asAdmin, email, 1)).toMatchObject({ status: 402, body: { code: 'plan_required' } });
    }
  });
});

describe('setDefaultCreditLimit', () => {
  const set = (as: string, default_credit_limit: unknown) =>
    put(as, '/api/workspace/default-credit-limit', { default_credit_limit });

  it('sets and removes the default, within the pool', async () => {
    const workspace = await createWorkspace();
    expect((await set(workspace.asAdmin, 20)).body).toEqual({ default_member_credit_limit: 20 });
    expect((await set(workspace.asAdmin, 20)).headers['x-changed']).toBe('false');
    expect(
      (await world.call('GET', '/api/workspace', { as: workspace.asAdmin })).body.default_member_credit_limit,
    ).toBe(20);
    expect(await set(workspace.asAdmin, 5001)).toMatchObject({ status: 400, body: { code: 'limit_above_pool' } });
    expect((await set(workspace.asAdmin, null)).body).toEqual({ default_member_credit_limit: null });
    expect(await listAuditEntries(workspace, 'workspace.default_limit_changed')).toHaveLength(2);
  });

  it('requires a plan with member limits', async () => {
    const workspace = await createWorkspace('free');
    expect(await set(workspace.asOwner, 1)).toMatchObject({ status: 402, body: { required_plan: 'business' } });
  });
});

describe('removeMember', () => {
  it('transfers apps and agents to the owner, and removes tokens, shares, personal folders and access', async () => {
    const workspace = await createWorkspace();
    const otherWorkspace = await createWorkspace();
    const person = await workspace.join('editor');
    await world.db
      .insertInto('memberships')
      .values({
        workspace_id: otherWorkspace.id,
        user_id: person.id,
        role: 'editor',
        created_date: new Date(),
        updated_date: new Date(),
      })
      .execute();
    const token = await world.token(person, workspace.id);
    const tokenElsewhere = await world.token(person, otherWorkspace.id);
    const created = await world.call('POST', '/api/auth/tokens', {
      as: token,
      body: { name: 'created by a token', permission: 'full_access' },
    });
    const session = await world.credential({
      kind: 'session',
      user_id: person.id,
      workspace_id: workspace.id,
      permission: 'full_access',
    });
    const app = await world.appOf(person, workspace.id, { visibility: 'private' });
    const agent = await world.appOf(person, workspace.id, { app_type: 'user_agent' });
    const trashed = await world.appOf(person, workspace.id);
    await world.call('DELETE', `/api/apps/${trashed.id}`, { as: token });
    await world.share(app, workspace.owner, 'viewer');
    const shared = await world.appOf(workspace.owner, workspace.id, { visibility: 'private' });
    await world.share(shared, person, 'editor');
    const folder = (body: object) => world.call('POST', '/api/app-folders', { as: token, body });
    const personal = await folder({ name: 'Mine', scope: 'personal' });
    await folder({ name: 'Below', scope: 'personal', parent_folder_id: personal.body.id });
    await world.call('POST', `/api/app-folders/${personal.body.id}/items`, { as: token, body: { app_ids: [app.id] } });
    await folder({ name: 'Ours', scope: 'workspace' });

    expect(await remove(workspace.asAdmin, person.email)).toMatchObject({ status: 200, body: { success: true } });

    for (const { id } of [app, agent]) {
      const { body } = await world.call('GET', `/api/apps/${id}`, { as: workspace.asOwner });
      expect(body).toMatchObject({ owner_id: workspace.owner.id, owner_email: workspace.owner.email });
    }
    const restored = await world.call('POST', `/api/apps/${trashed.id}/restore`, { as: workspace.asOwner });
    expect(restored.body.owner_id).toBe(workspace.owner.id);
    for (const text of [token, created.body.token]) {
      expect((await world.call('GET', '/api/auth/me', { as: text })).body.code).toBe('credentials_invalid');
    }
    const cookie = { headers: { cookie: `plinth_session=${session.token}` } };
    const me = await world.call('GET', '/api/auth/me', cookie);
    expect(me.body.workspaces.map(({ id }: { id: string }) => id)).toEqual([otherWorkspace.id]);
    expect((await world.call('GET', `/api/workspace?workspaceId=${workspace.id}`, cookie)).status).toBe(404);
    expect((await world.call('GET', '/api/workspace', cookie)).body.id).toBe(otherWorkspace.id);
    expect((await world.call('GET', '/api/workspace', { as: tokenElsewhere })).status).toBe(200);
    for (const id of [app.id, shared.id]) {
      expect((await world.call('GET', `/api/apps/${id}/shares`, { as: workspace.asOwner })).body).toEqual([]);
    }
    const folders = await world.db
      .selectFrom('folders')
      .select('name')
      .where('workspace_id', '=', workspace.id)
      .execute();
    expect(folders).toEqual([{ name: 'Ours' }]);
    expect(await listAuditEntries(workspace, 'member.removed')).toMatchObject([
      {
        target: { kind: 'member', id: person.id },
        before: { email: person.email, role: 'editor' },
        after: { apps_passed: 3, tokens_revoked: 2, new_owner_email: workspace.owner.email },
      },
    ]);
    expect(await remove(workspace.asAdmin, person.email)).toMatchObject({
      status: 404,
      body: { code: 'member_not_found' },
    });
  });

  it("changes nothing if one feature's part of the removal fails", async () => {
    const workspace = await createWorkspace();
    const person = await workspace.join('editor');
    const token = await world.token(person, workspace.id);
    await world.db.schema.alterTable('folders').renameTo('folders_away').execute();
    const failed = await remove(workspace.asAdmin, person.email);
    await world.db.schema.alterTable('folders_away').renameTo('folders').execute();
    expect(failed.status).toBe(500);
    expect(await membership(workspace, person)).toBeDefined();
    expect((await world.call('GET', '/api/apps', { as: token })).status).toBe(200);
    expect(await listAuditEntries(workspace, 'member.removed')).toEqual([]);
  });

  it('cancels an invitation', async () => {
    const workspace = await createWorkspace();
    await invite(workspace, 'asked@example.com');
    expect((await remove(workspace.asAdmin, 'asked@example.com')).status).toBe(200);
    expect((await remove(workspace.asAdmin, 'asked@example.com')).status).toBe(404);
    expect(await listAuditEntries(workspace, 'invitation.cancelled')).toMatchObject([
      { before: { email: 'asked@example.com' } },
    ]);
  });

  it('refuses the caller and the owner', async () => {
    const workspace = await createWorkspace();
    expect((await remove(workspace.asAdmin, workspace.admin.email)).body.code).toBe('self_change_not_allowed');
    expect((await remove(workspace.asAdmin, workspace.owner.email)).body.code).toBe('owner_protected');
  });
});

describe('bulk changes', () => {
  const setRoles = (as: string, items: object[]) => put(as, '/api/workspace/members/bulk/role', { items });
  const setLimits = (as: string, items: object[]) => put(as, '/api/workspace/members/bulk/credit-limit', { items });
  const removeAll = (as: string, emails: string[]) =>
    world.call('POST', '/api/workspace/members/bulk/remove', { as, body: { emails } });

  it('apply every item in request order, and report unchanged ones as skipped', async () => {
    const workspace = await createWorkspace();
    const [a, b] = [await workspace.join('editor'), await workspace.join('viewer')];
    await invite(workspace, 'asked@example.com');
    const got = await setRoles(workspace.asAdmin, [
      { email: b.email, role: 'admin' },
      { email: a.email.toUpperCase(), role: 'editor' },
      { email: 'asked@example.com', role: 'viewer' },
    ]);
    expect(got).toMatchObject({
      status: 200,
      body: {
        results: [
          { email: b.email, status: 'success' },
          { email: a.email, status: 'skipped' },
          { email: 'asked@example.com', status: 'success' },
        ],
      },
    });
    expect((await membership(workspace, b))?.role).toBe('admin');
    expect((await setRoles(workspace.asAdmin, [{ email: a.email, role: 'editor' }])).headers['x-changed']).toBe(
      'false',
    );
    const limits = await setLimits(workspace.asAdmin, [{ email: a.email, credit_limit: 7 }]);
    expect(limits.body.results).toEqual([{ email: a.email, status: 'success' }]);
    const removed = await removeAll(workspace.asAdmin, [a.email, 'asked@example.com']);
    expect(removed.body.results.map(({ status }: { status: string }) => status)).toEqual(['success', 'success']);
    expect(await membership(workspace, a)).toBeUndefined();
  });

  it('change nothing if one item fails its check, and list every failed item', async () => {
    const workspace = await createWorkspace('pro');
    const person = await workspace.join('editor');
    const got = await setRoles(workspace.asAdmin, [
      { email: person.email, role: 'viewer' },
      { email: workspace.owner.email, role: 'viewer' },
      { email: 'nobody@example.com', role: 'viewer' },
      { email: workspace.admin.email, role: 'admin' },
    ]);
    expect(got).toMatchObject({ status: 400, body: { code: 'bulk_rejected' } });
    expect(
      got.body.errors.map((error: { email: string; error_code: string }) => [error.email, error.error_code]),
    ).toEqual([
      [workspace.owner.email, 'owner_protected'],
      ['nobody@example.com', 'member_not_found'],
      [workspace.admin.email, 'self_change_not_allowed'],
    ]);
    expect((await membership(workspace, person))?.role).toBe('editor');
    const promoted = await setRoles(workspace.asAdmin, [{ email: person.email, role: 'admin' }]);
    expect(promoted.body.errors).toMatchObject([{ error_code: 'plan_required' }]);
    expect((await removeAll(workspace.asAdmin, [person.email, 'nobody@example.com'])).body.code).toBe('bulk_rejected');
    expect(await membership(workspace, person)).toBeDefined();
    expect((await setLimits(workspace.asAdmin, [{ email: person.email, credit_limit: 1 }])).status).toBe(402);
    const rich = await createWorkspace();
    const [viewer, editor] = [await rich.join('viewer'), await rich.join('editor')];
    const limits = await setLimits(rich.asAdmin, [
      { email: editor.email, credit_limit: 1 },
      { email: viewer.email, credit_limit: 1 },
      { email: rich.admin.email, credit_limit: 6000 },
    ]);
    expect(limits.body.errors.map((error: { error_code: string }) => error.error_code)).toEqual([
      'viewer_cannot_have_limit',
      'limit_above_pool',
    ]);
    expect((await membership(rich, editor))?.credit_limit).toBeNull();
  });

  it('refuse repeated addresses, an empty list and more than 200 items', async () => {
    const workspace = await createWorkspace();
    const twice = await removeAll(workspace.asAdmin, ['a@example.com', 'A@example.com ']);
    expect(twice.body.detail).toMatchObject([{ loc: ['body', 'emails'], type: 'duplicate_items' }]);
    expect((await setRoles(workspace.asAdmin, [])).body.detail).toMatchObject([{ type: 'too_short' }]);
    const many = Array.from({ length: 201 }, (_, i) => `p${i}@example.com`);
    expect((await removeAll(workspace.asAdmin, many)).body.detail).toMatchObject([{ type: 'too_long' }]);
  });

  it('apply each change once, and each request fully or not at all, when many arrive at once', async () => {
    const size = 6;
    const call = fc.record({
      kind: fc.constantFrom('role' as const, 'remove' as const),
      who: fc.uniqueArray(fc.integer({ min: 0, max: size - 1 }), { minLength: 1 }),
      withUnknown: fc.boolean(),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(call, { minLength: 2, maxLength: 8 }), async (calls) => {
        const workspace = await createWorkspace();
        const emails: string[] = [];
        for (let i = 0; i < size; i += 1) emails.push((await workspace.join('editor')).email);
        const answers = await Promise.all(
          calls.map(({ kind, who, withUnknown }, i) => {
            const list = [...who.map((n) => emails[n] as string), ...(withUnknown ? ['nobody@example.com'] : [])];
            const as = i % 2 ? workspace.asAdmin : workspace.asOwner;
            return kind === 'remove'
              ? removeAll(as, list)
              : setRoles(
                  as,
                  list.map((email) => ({ email, role: 'viewer' })),
                );
          }),
        );
        // A single failing item rejects the whole request. Each reported success was applied once, with one audit
        // entry.
        for (const [i, { status }] of answers.entries()) {
          expect(calls[i]?.withUnknown ? [400] : [200, 400]).toContain(status);
        }
        const succeeded = (kind: 'role' | 'remove') =>
          answers
            .filter(({ status }, i) => status === 200 && calls[i]?.kind === kind)
            .flatMap(({ body }) => body.results as { email: string; status: string }[])
            .filter(({ status }) => status === 'success')
            .map(({ email }) => email)
            .sort();
        const logged = async (type: string) =>
          (await listAuditEntries(workspace, type)).map(({ before }) => (before as { email: string }).email).sort();
        expect(await logged('member.removed')).toEqual(succeeded('remove'));
        expect(await logged('member.role_changed')).toEqual(succeeded('role'));
        const left = await world.db
          .selectFrom('memberships')
          .innerJoin('users', 'users.id', 'memberships.user_id')
          .select('users.email')
          .where('workspace_id', '=', workspace.id)
          .where('role', 'in', ['editor', 'viewer'])
          .execute();
        const gone = new Set(succeeded('remove'));
        expect(left.map(({ email }) => email).sort()).toEqual(emails.filter((email) => !gone.has(email)).sort());
      }),
      { numRuns: 15 },
    );
  });
});

describe('transferOwnership', () => {
  const transfer = (as: string, email: string) =>
    world.call('POST', '/api/workspace/transfer-ownership', { as, body: { email } });

  it('makes a member the owner and the old owner an admin, on every plan', async () => {
    const workspace = await createWorkspace('free');
    const newOwner = await workspace.join('viewer');
    const got = await transfer(workspace.asOwner, newOwner.email);
    expect(got).toMatchObject({ status: 200, body: { owner_email: newOwner.email } });
    expect(await membership(workspace, newOwner)).toMatchObject({ role: 'owner', credit_limit: null });
    expect((await membership(workspace, workspace.owner))?.role).toBe('admin');
    expect(await transfer(workspace.asOwner, workspace.admin.email)).toMatchObject({
      status: 403,
      body: { code: 'role_required' },
    });
    expect(await listAuditEntries(workspace, 'workspace.ownership_transferred')).toMatchObject([
      { before: { owner_email: workspace.owner.email }, after: { owner_email: newOwner.email } },
    ]);
  });

  it('requires a joined member who is not blocked, and changes nothing for the owner themselves', async () => {
    const workspace = await createWorkspace();
    const blocked = await workspace.join('editor');
    await setAccess(workspace.asOwner, blocked.email, 'blocked');
    await invite(workspace, 'asked@example.com');
    for (const email of [blocked.email, 'asked@example.com', 'nobody@example.com']) {
      expect(await transfer(workspace.asOwner, email)).toMatchObject({
        status: 404,
        body: { code: 'member_not_found' },
      });
    }
    expect((await transfer(workspace.asOwner, workspace.owner.email)).headers['x-changed']).toBe('false');
  });

  it('leaves one owner when several transfers arrive at once', async () => {
    const workspace = await createWorkspace();
    const newOwners = await Promise.all(Array.from({ length: 4 }, () => workspace.join('editor')));
    const answers = await Promise.all(newOwners.map((newOwner) => transfer(workspace.asOwner, newOwner.email)));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 403, 403, 403]);
    const owners = await world.db
      .selectFrom('memberships')
      .select('user_id')
      .where('workspace_id', '=', workspace.id)
      .where('role', '=', 'owner')
      .execute();
    expect(owners).toHaveLength(1);
  });
});
