// Every route × credential kind × role × reach is called, and the answer compared with what the register and the role
// table of docs/contract.md §1.2 say. The guards run for real; a marker stands in place of the handlers.
import { describe, expect, it } from 'vitest';
import { keyScopes } from '../../src/core/auth/credentials.ts';
import type { AppRow } from '../../src/core/auth/proofs.ts';
import type { WorkspaceRole } from '../../src/core/auth/roles.ts';
import type { Route } from '../../src/core/auth/route.ts';
import { newId } from '../../src/kit/ids.ts';
import { Problem } from '../../src/kit/problem.ts';
import { type Person, startWorld } from '../support/world.ts';
import { type Registered, register } from './register.ts';

const world = await startWorld({
  environment: { TRUSTED_PROXIES: '127.0.0.1' },
  routes: (routes) =>
    routes.map((route) => ({
      ...route,
      handle: () => {
        throw new Problem('conflict', 'guards_passed', 'the guards let this through');
      },
    })),
});

// ---- who is in the world

const roles = ['owner', 'admin', 'editor', 'viewer', 'guest', 'blocked', 'stranger'] as const;
type Who = (typeof roles)[number];
const workspaceRoleOf = (who: Who): WorkspaceRole | undefined =>
  who === 'stranger' ? undefined : who === 'blocked' ? 'editor' : who;

const kinds = ['session', 'full', 'readOnly', 'key', 'readOnlyKey'] as const;
type Kind = (typeof kinds)[number];

const people = {} as Record<Who, Person>;
people.owner = await world.person('owner@example.com');
const here = await world.workspace(people.owner);
for (const role of ['admin', 'editor', 'viewer', 'guest'] as const) {
  people[role] = await world.member(here, role, `${role}@example.com`);
}
people.blocked = await world.member(here, 'editor', 'blocked@example.com');
await world.db
  .updateTable('memberships')
  .set({ access_state: 'blocked' })
  .where('workspace_id', '=', here)
  .where('user_id', '=', people.blocked.id)
  .execute();
people.stranger = await world.person('stranger@example.com');
const elsewhere = await world.workspace(people.stranger);
// The limits are tested on their own below; here they must not get in the way.
await world.db.updateTable('workspaces').set({ rate_multiplier: 1000 }).where('id', 'in', [here, elsewhere]).execute();

async function credentialsOf(who: Who): Promise<Record<Kind, string>> {
  const user_id = people[who].id;
  const workspace_id = who === 'stranger' ? elsewhere : here;
  const make = async (kind: 'session' | 'personal_token' | 'personal_key', permission: 'full_access' | 'read_only') =>
    (
      await world.credential({
        kind,
        user_id,
        workspace_id: kind === 'personal_token' ? workspace_id : null,
        permission,
      })
    ).token;
  return {
    session: await make('session', 'full_access'),
    full: await make('personal_token', 'full_access'),
    readOnly: await make('personal_token', 'read_only'),
    key: await make('personal_key', 'full_access'),
    readOnlyKey: await make('personal_key', 'read_only'),
  };
}
const credentials = Object.fromEntries(
  await Promise.all(roles.map(async (who) => [who, await credentialsOf(who)] as const)),
) as Record<Who, Record<Kind, string>>;

// ---- what they may reach

interface Target {
  readonly id: string;
  /** False where nobody has ever heard of it: then nobody is blocked from it either. */
  readonly isHere: boolean;
  roleOf(who: Who): 'owner' | 'editor' | 'viewer' | undefined;
}
type RoleOf = Partial<Record<Who, 'owner' | 'editor' | 'viewer'>>;

/** Apps of one kind in every state of reach. */
async function made(app_type: 'user_app' | 'user_agent') {
  const app = (visibility: 'workspace' | 'private') => world.appOf(people.owner, here, { visibility, app_type });
  const open = await app('workspace');
  const sharedToEdit = await app('private');
  const sharedToView = await app('private');
  const hidden = await app('private');
  for (const who of ['editor', 'viewer', 'guest', 'blocked'] as const) {
    await world.share(sharedToEdit, people[who], 'editor');
    await world.share(sharedToView, people[who], 'viewer');
  }
  const editorsOwn = await world.appOf(people.editor, here, { visibility: 'private', app_type });
  const deleted = await app('workspace');
  await world.db.updateTable('apps').set({ deleted_date: new Date() }).where('id', '=', deleted.id).execute();
  const foreign = await world.appOf(people.stranger, elsewhere, { app_type });
  const near = (row: AppRow, roles: RoleOf): Target => ({ id: row.id, isHere: true, roleOf: (who) => roles[who] });
  const away = (id: string, roles: RoleOf = {}): Target => ({ id, isHere: false, roleOf: (who) => roles[who] });
  const admins = { owner: 'owner', admin: 'owner' } as const;
  const members = { ...admins, editor: 'editor', viewer: 'viewer', blocked: 'editor' } as const;
  const viewers = { editor: 'viewer', viewer: 'viewer', guest: 'viewer', blocked: 'viewer' } as const;
  const targets: Record<string, Target> = {
    'a workspace-visible app': near(open, members),
    'a private app shared for editing': near(sharedToEdit, { ...members, guest: 'editor' }),
    'a private app shared for viewing': near(sharedToView, { ...admins, ...viewers }),
    'a private app not shared': near(hidden, admins),
    'a private app of one’s own': near(editorsOwn, { ...admins, editor: 'owner' }),
    'a deleted app': away(deleted.id),
    'an app of another workspace': away(foreign.id, { stranger: 'owner' }),
    'an app that never was': away(newId()),
    'a malformed id': away(`x${'y'.repeat(2000)}`),
  };
  return { open, sharedToEdit, deleted, targets };
}
const { open, sharedToEdit, deleted, targets: apps } = await made('user_app');
const agents = await made('user_agent');

const appUsers = {
  token: await world.appUserToken(open, await world.appUser(open, 'user@customers.example')),
  withoutLogin: await world.appOf(people.owner, here, { public_settings: 'public_without_login' }),
};

const folder = async (scope: 'workspace' | 'personal', owner: Person | null, workspace_id = here) => {
  const id = newId();
  const now = new Date();
  const row = {
    id,
    workspace_id,
    scope,
    owner_id: owner?.id ?? null,
    app_type: 'user_app' as const,
    name: 'F',
    position: 0,
    created_date: now,
    updated_date: now,
  };
  await world.db.insertInto('folders').values(row).execute();
  return id;
};
const workspaceFolder = await folder('workspace', null);
const viewersFolder = await folder('personal', people.viewer);
const folders: Record<string, { id: string; seenBy(who: Who): boolean; role: WorkspaceRole }> = {
  'a workspace folder': { id: workspaceFolder, seenBy: (who) => who !== 'stranger', role: 'editor' },
  'a personal folder': { id: viewersFolder, seenBy: (who) => who === 'viewer', role: 'viewer' },
  'a folder of another workspace': {
    id: await folder('workspace', null, elsewhere),
    seenBy: (who) => who === 'stranger',
    role: 'editor',
  },
  'a folder that never was': { id: newId(), seenBy: () => false, role: 'editor' },
};

// ---- what the contract says must happen

const rank = ['guest', 'viewer', 'editor', 'admin', 'owner'];
const reaches = (role: string, required: string): boolean => rank.indexOf(role) >= rank.indexOf(required);
const passed = 'passed';

function byCredential(row: Registered, kind: Kind): string {
  const readOnly = kind === 'readOnly' || kind === 'readOnlyKey';
  if (readOnly && !row.readOnly) return '403 read_only_credential_route_not_allowed';
  const accepted = { session: row.session, full: row.full, readOnly: row.full, key: row.key, readOnlyKey: row.key }[
    kind
  ];
  return accepted ? passed : '403 credential_kind_not_allowed';
}

function byWorkspace(row: Registered, who: Who): string {
  const inWorkspace =
    /^\/api\/workspace(\/|$)/.test(row.path) ||
    row.path.startsWith('/api/auth/tokens') ||
    !/^(self|none|operator)$/.test(row.role);
  if (inWorkspace && who === 'blocked') return '403 member_blocked';
  if (row.role === 'operator') return '403 operator_required';
  if (row.role === 'self' || row.role === 'none') return passed;
  if (who === 'blocked') return '403 member_blocked';
  const required = row.role === 'member' ? 'guest' : row.role.replace(/^workspace (\w+).*/, '$1');
  // The stranger asks in their own workspace, which they own.
  return reaches(workspaceRoleOf(who) ?? 'owner', required) ? passed : '403 role_required';
}

function byApp(row: Registered, who: Who, target: Target, noun: 'app' | 'agent'): string {
  // Only what is in the trash can be fetched back from it.
  const inTrash = row.name === 'restoreApp';
  if (inTrash !== (target.id === deleted.id)) return `404 ${noun}_not_found`;
  const role = inTrash ? apps['a workspace-visible app']?.roleOf(who) : target.roleOf(who);
  if (who === 'blocked' && (inTrash || target.isHere)) return '403 member_blocked';
  if (role === undefined) return `404 ${noun}_not_found`;
  // By rules: whoever sees the app may ask; what they get is the rules' to say.
  const required = row.role === 'entity rules' ? 'viewer' : row.role.replace(/^app (\w+).*/, '$1');
  return reaches(role, required) ? passed : '403 role_required';
}

function byFolder(who: Who, target: (typeof folders)[string]): string {
  if (!target.seenBy(who)) return '404 folder_not_found';
  if (who === 'blocked') return '403 member_blocked';
  return reaches(workspaceRoleOf(who) ?? 'owner', target.role) ? passed : '403 role_required';
}

// ---- calling

async function answered(row: Registered, path: string, headers: Record<string, string>): Promise<string> {
  const got = await world.call(row.method, path, { headers });
  // What is not found inside was looked for only after the guards of what is around it.
  const inner =
    got.status === 404 &&
    !['workspace_not_found', 'app_not_found', 'agent_not_found', 'folder_not_found'].includes(got.body?.code);
  if (got.status === 422 || inner || got.body?.code === 'guards_passed') return passed;
  return `${got.status} ${got.body?.code ?? ''}`;
}

const carried = (kind: Kind, token: string): Record<string, string> =>
  kind === 'session'
    ? { cookie: `plinth_session=${token}` }
    : kind === 'key'
      ? { api_key: token }
      : { authorization: `Bearer ${token}` };

const filled = (path: string, ids: Record<string, string>): string =>
  path.replace(/\{(\w+)\}/g, (_all, name) => ids[name] ?? newId());

const served = new Set(world.app.routes.map((route) => `${route.method} ${route.path}`));
const guarded = register.filter((row) => served.has(`${row.method} ${row.path}`) && !row.isOpen);
const routeOf = (row: Registered): Route => world.app.routes.find((route) => route.name === row.name) as Route;

/** Where a route takes place decides whom it is called about. */
function places(row: Registered): { place: string; path: string; expected(who: Who): string }[] {
  const outer = /\{(\w+)\}/.exec(row.path)?.[1];
  if (outer === 'app_id') {
    return Object.entries(apps).map(([place, target]) => ({
      place,
      path: filled(row.path, { app_id: target.id }),
      expected: (who) => byApp(row, who, target, 'app'),
    }));
  }
  if (outer === 'agent_id') {
    const path = (id: string) => filled(row.path, { agent_id: id });
    const kinds = Object.entries(agents.targets).map(([place, target]) => ({
      place: place.replace('app', 'agent'),
      path: path(target.id),
      expected: (who: Who) => byApp(row, who, target, 'agent'),
    }));
    const target = apps['a workspace-visible app'] as Target;
    const byKind = (who: Who) => byApp(row, who, target, 'agent').replace(passed, '400 not_an_agent');
    return [...kinds, { place: 'an app that is no agent', path: path(target.id), expected: byKind }];
  }
  if (outer === 'folder_id') {
    return Object.entries(folders).map(([place, target]) => ({
      place,
      path: filled(row.path, { folder_id: target.id, app_id: open.id }),
      expected: (who) => byFolder(who, target),
    }));
  }
  return [{ place: 'the workspace', path: filled(row.path, {}), expected: (who) => byWorkspace(row, who) }];
}

describe.each(guarded.map((row) => [row.name, row] as const))('%s', (_name, row) => {
  it('refuses a caller without credentials, with broken ones and with expired ones', async () => {
    const path = places(row)[0]?.path ?? row.path;
    expect(await answered(row, path, {})).toBe('401 credentials_missing');
    const expired = await world.token(people.owner, here, { expires_at: new Date(Date.now() - 1000) });
    const revoked = await world.credential({
      kind: 'personal_token',
      user_id: people.owner.id,
      workspace_id: here,
      permission: 'full_access',
    });
    await world.db.updateTable('credentials').set({ revoked_at: new Date() }).where('id', '=', revoked.id).execute();
    const mistyped = `${credentials.owner.full.slice(0, -1)}${credentials.owner.full.endsWith('0') ? '1' : '0'}`;
    for (const token of ['', 'nonsense', mistyped, revoked.token, credentials.owner.full.replace('plp_00', 'plp_01')]) {
      expect(await answered(row, path, { authorization: `Bearer ${token}` })).toBe('401 credentials_invalid');
    }
    expect(await answered(row, path, { authorization: `Bearer ${expired}` })).toBe('401 credentials_expired');
    const challenged = await world.call(row.method, path);
    expect(challenged.headers['www-authenticate']).toBe('Bearer');
  });

  it.each(places(row))(
    'lets in exactly the credentials and roles of the register, at $place',
    async ({ path, expected }) => {
      await world.resetRateLimits(); // a stranger counts by the plain figure, which some routes use up here
      const seen: Record<string, string> = {};
      const due: Record<string, string> = {};
      for (const who of roles) {
        for (const kind of kinds) {
          const first = byCredential(row, kind);
          due[`${who} by ${kind}`] = first === passed ? expected(who) : first;
          seen[`${who} by ${kind}`] = await answered(row, path, carried(kind, credentials[who][kind]));
        }
      }
      expect(seen).toEqual(due);
    },
  );

  it('takes a workspace key only with its scope', async () => {
    const path = filled(row.path, {
      app_id: row.name === 'restoreApp' ? deleted.id : open.id,
      agent_id: agents.open.id,
      folder_id: workspaceFolder,
    });
    for (const scope of keyScopes) {
      const { token } = await world.credential({
        kind: 'workspace_key',
        user_id: null,
        workspace_id: here,
        permission: 'full_access',
        scopes: [scope],
      });
      const due =
        row.workspaceKey === null
          ? '403 workspace_key_not_allowed'
          : row.workspaceKey === scope
            ? passed
            : '403 workspace_key_scope_missing';
      expect(await answered(row, path, { api_key: token })).toBe(due);
    }
  });

  it('takes those who use an app only where the register opens it to them, and only at their app', async () => {
    const at = (app: AppRow) =>
      filled(row.path, { app_id: app.id, agent_id: agents.open.id, folder_id: workspaceFolder });
    const asUser = { authorization: `Bearer ${appUsers.token}` };
    expect(await answered(row, at(open), asUser)).toBe(row.appUser ? passed : '403 credential_kind_not_allowed');
    expect(await answered(row, at(appUsers.withoutLogin), {})).toBe(row.appUser ? passed : '401 credentials_missing');
    if (row.appUser) expect(await answered(row, at(sharedToEdit), asUser)).toBe('404 app_not_found');
  });

  it('keeps a limited token to its apps', async () => {
    const limited = await world.token(people.owner, here, { app_ids: [open.id, deleted.id, agents.open.id] });
    const headers = { authorization: `Bearer ${limited}` };
    const takesTokens = byCredential(row, 'full') === passed;
    const outer = /\{(\w+)\}/.exec(row.path)?.[1];
    if (!takesTokens || (outer !== 'app_id' && outer !== 'agent_id')) return;
    const own = outer === 'agent_id' ? agents.open : row.name === 'restoreApp' ? deleted : open;
    const other = outer === 'agent_id' ? agents.sharedToEdit : sharedToEdit;
    expect(await answered(row, filled(row.path, { [outer]: own.id }), headers)).toBe(passed);
    const notFound = `404 ${outer.replace('_id', '_not_found')}`;
    expect(await answered(row, filled(row.path, { [outer]: other.id }), headers)).toBe(notFound);
  });

  it('takes a session cookie only from its own site when something may change', async () => {
    const path = filled(row.path, {
      app_id: row.name === 'restoreApp' ? deleted.id : open.id,
      agent_id: agents.open.id,
      folder_id: workspaceFolder,
    });
    if (!row.session || row.method === 'GET') return;
    const cookie = `plinth_session=${credentials.owner.session}`;
    expect(await answered(row, path, { cookie, origin: 'https://evil.example' })).toBe('403 origin_not_allowed');
    expect(await answered(row, path, { cookie, 'sec-fetch-site': 'cross-site' })).toBe('403 origin_not_allowed');
    expect(
      await answered(row, path, {
        cookie,
        origin: new URL(world.config.BASE_URL).origin,
        'sec-fetch-site': 'same-origin',
      }),
    ).toBe(row.role === 'operator' ? '403 operator_required' : passed);
  });
});

describe('the choice of workspace', () => {
  const listing = guarded.filter((row) => !row.path.includes('{') && routeOf(row).access.choosesWorkspace);
  it.each(listing.map((row) => [row.name, row] as const))(
    '%s: a token is good for its own workspace only',
    async (_name, row) => {
      const headers = { authorization: `Bearer ${credentials.owner.full}` };
      if (byCredential(row, 'full') === passed) {
        expect(await answered(row, `${row.path}?workspaceId=${here}`, headers)).toBe(passed);
        expect(await answered(row, `${row.path}?workspaceId=${elsewhere}`, headers)).toBe('403 workspace_mismatch');
      }
      // A session counts per person: a new person for each call has counted nothing yet.
      const session = async (): Promise<Record<string, string>> => {
        const fresh = await world.member(here, 'admin', `fresh-${newId()}@example.com`);
        const { token } = await world.credential({
          kind: 'session',
          user_id: fresh.id,
          workspace_id: null,
          permission: 'full_access',
        });
        return { cookie: `plinth_session=${token}` };
      };
      expect(await answered(row, `${row.path}?workspaceId=${here}`, await session())).toBe(
        row.role === 'workspace owner' ? '403 role_required' : passed,
      );
      for (const other of [elsewhere, 'nonsense']) {
        const inQuery = await answered(row, `${row.path}?workspaceId=${other}`, await session());
        const inHeader = await answered(row, row.path, { ...(await session()), 'x-active-workspace-id': other });
        expect([inQuery, inHeader]).toEqual(['404 workspace_not_found', '404 workspace_not_found']);
      }
    },
  );
});

describe('the limits', () => {
  const limited = world.app.routes.filter((route) => route.limit !== 'unlimited');
  it.each(limited.map((route) => [route.name, route] as const))(
    '%s answers 429 past its figure, and says so before',
    async (_name, route) => {
      const owner = await world.person(`${route.name}@example.com`);
      const workspace = await world.workspace(owner, 'free');
      const token = await world.token(owner, workspace);
      const own: AppRow = await world.appOf(owner, workspace);
      if (route.name === 'restoreApp') {
        await world.db.updateTable('apps').set({ deleted_date: new Date() }).where('id', '=', own.id).execute();
      }
      const agent = await world.appOf(owner, workspace, { app_type: 'user_agent' });
      const path = filled(route.path, {
        app_id: own.id,
        agent_id: agent.id,
        folder_id: await folder('workspace', null, workspace),
        file: 'start.js',
      });
      // Each route from an address of its own, so that address counters are not shared between the cases.
      const address = `203.0.113.${limited.indexOf(route) + 1}`;
      const takesToken = route.credentials === 'open' || route.credentials.token !== undefined;
      const session = await world.credential({
        kind: 'session',
        user_id: owner.id,
        workspace_id: null,
        permission: 'full_access',
      });
      const credential: Record<string, string> = takesToken
        ? { authorization: `Bearer ${token}` }
        : { cookie: `plinth_session=${session.token}` };
      const send = () => world.call(route.method, path, { headers: { ...credential, 'x-forwarded-for': address } });
      const quota = route.limit === 'unlimited' ? 0 : route.limit.quota;
      const first = await send();
      expect(first.headers['ratelimit-policy']).toMatch(new RegExp(`^"\\w+";q=${quota};w=\\d+$`));
      let last = first;
      // Some more than the figure: while a busy machine's Redis is late, requests are counted apart for a moment.
      for (let sent = 1; sent <= 3 * quota && last.status !== 429; sent += 20) {
        last = (await Promise.all(Array.from({ length: 20 }, send))).find((got) => got.status === 429) ?? last;
      }
      expect(last.status).toBe(429);
      expect(last.body).toMatchObject({ code: 'rate_limited', limit: quota, retry_safe: true });
      expect(Number(last.headers['retry-after'])).toBeGreaterThanOrEqual(1);
      expect(last.headers.ratelimit).toMatch(/r=0;t=\d+$/);
    },
  );
});

// The register and the routes were matched above; this keeps the two from drifting apart unseen.
it('covers every guarded route that is served', () => {
  const names = world.app.routes.filter((route) => route.credentials !== 'open').map((route) => route.name);
  expect(guarded.map((row) => row.name).sort()).toEqual([...names].sort());
  expect(guarded.every((row) => routeOf(row) !== undefined)).toBe(true);
});
