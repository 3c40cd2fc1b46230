// Checks who may call which operation. Every route is called with every kind of credential, by every kind of person, on
// every kind of target that its path can name. The results are compared with docs/api/operations.yaml and the roles in
// docs/api/credentials.md#roles. The guards are real. A marker replaces the handlers.
//
// Example: updateApp needs `app editor`. On a private app that the viewer may edit through a share, sessions of the
// owner, admin, editor, viewer and guest pass. The blocked member gets 403 member_blocked, and the stranger and the
// operator get 404 app_not_found.
import { describe, expect, it } from 'vitest';
import { keyScopes } from '../../src/core/auth/credentials.ts';
import type { AppRow } from '../../src/core/auth/proofs.ts';
import type { WorkspaceRole } from '../../src/core/auth/roles.ts';
import { newId } from '../../src/kit/ids.ts';
import { type Person, startWorld } from '../support/world.ts';
import { type Registered, register } from './register.ts';
import { fillPath, guardsPassed, insertFolder, stubHandlers } from './stub-handlers.ts';

const world = await startWorld({ environment: { TRUSTED_PROXIES: '127.0.0.1' }, routes: stubHandlers });

// ---- the people

// The stranger and the operator are not members of the workspace under test. Each owns a different workspace.
const everybody = ['owner', 'admin', 'editor', 'viewer', 'guest', 'blocked', 'stranger', 'operator'] as const;
type Who = (typeof everybody)[number];
const isOutside = (who: Who): who is 'stranger' | 'operator' => who === 'stranger' || who === 'operator';
const workspaceRoleOf = (who: Who): WorkspaceRole => (isOutside(who) ? 'owner' : who === 'blocked' ? 'editor' : who);

const kinds = ['session', 'full', 'readOnly', 'key', 'readOnlyKey'] as const;
type Kind = (typeof kinds)[number];

const owner = await world.person('owner@example.com');
const here = await world.workspace(owner);
const people: Record<Who, Person> = {
  owner,
  admin: await world.member(here, 'admin', 'admin@example.com'),
  editor: await world.member(here, 'editor', 'editor@example.com'),
  viewer: await world.member(here, 'viewer', 'viewer@example.com'),
  guest: await world.member(here, 'guest', 'guest@example.com'),
  blocked: await world.member(here, 'editor', 'blocked@example.com'),
  stranger: await world.person('stranger@example.com'),
  operator: await world.person('operator@example.com', { is_operator: true }),
};
await world.db
  .updateTable('memberships')
  .set({ access_state: 'blocked' })
  .where('workspace_id', '=', here)
  .where('user_id', '=', people.blocked.id)
  .execute();
const outside = {
  stranger: await world.workspace(people.stranger),
  operator: await world.workspace(people.operator),
};
// Raises the limits, which are tested in limits.test.ts, so they are not reached here.
await world.db.updateTable('workspaces').set({ rate_multiplier: 1000 }).execute();

const insertCredential = async (
  who: Who,
  kind: 'session' | 'personal_token' | 'personal_key',
  permission: 'full_access' | 'read_only' = 'full_access',
) => {
  const workspace = isOutside(who) ? outside[who] : here;
  const workspace_id = kind === 'personal_token' ? workspace : null;
  return (await world.credential({ kind, user_id: people[who].id, workspace_id, permission })).token;
};
const credentials = new Map<string, string>();
for (const who of everybody) {
  credentials.set(`${who} by session`, await insertCredential(who, 'session'));
  credentials.set(`${who} by full`, await insertCredential(who, 'personal_token'));
  credentials.set(`${who} by readOnly`, await insertCredential(who, 'personal_token', 'read_only'));
  credentials.set(`${who} by key`, await insertCredential(who, 'personal_key'));
  credentials.set(`${who} by readOnlyKey`, await insertCredential(who, 'personal_key', 'read_only'));
}
const tokenOf = (who: Who, kind: Kind): string => credentials.get(`${who} by ${kind}`) ?? '';

function headersOf(who: Who, kind: Kind): Record<string, string> {
  const token = tokenOf(who, kind);
  if (kind === 'session') return { cookie: `plinth_session=${token}` };
  return kind === 'key' ? { api_key: token } : bearer(token);
}

const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

// ---- the targets that paths name

type AppRole = 'owner' | 'editor' | 'viewer';

interface Target {
  readonly id: string;
  /** Whether the app is in the workspace under test. Only then does a blocked member get 403 member_blocked. */
  readonly isHere: boolean;
  readonly roles: Partial<Record<Who, AppRole>>;
}

/**
 * Creates apps of one type that are visible to different people, deleted, or in another workspace, and ids that do not
 * exist.
 */
async function insertApps(app_type: 'user_app' | 'user_agent') {
  const insert = (visibility: 'workspace' | 'private') =>
    world.appOf(people.owner, here, { visibility, app_type, name: 'App' });
  const open = await insert('workspace');
  const sharedToEdit = await insert('private');
  const sharedToView = await insert('private');
  const hidden = await insert('private');
  for (const who of ['editor', 'viewer', 'guest', 'blocked'] as const) {
    await world.share(sharedToEdit, people[who], 'editor');
    await world.share(sharedToView, people[who], 'viewer');
  }
  const editorsOwn = await world.appOf(people.editor, here, { visibility: 'private', app_type });
  const deleted = await insert('workspace');
  await world.db.updateTable('apps').set({ deleted_date: new Date() }).where('id', '=', deleted.id).execute();
  const foreign = await world.appOf(people.stranger, outside.stranger, { app_type });
  const admins = { owner: 'owner', admin: 'owner' } as const;
  const members = { ...admins, editor: 'editor', viewer: 'viewer', blocked: 'editor' } as const;
  const viewers = { editor: 'viewer', viewer: 'viewer', guest: 'viewer', blocked: 'viewer' } as const;
  const visible: Target = { id: open.id, isHere: true, roles: members };
  const targets: Record<string, Target> = {
    'a workspace-visible app': visible,
    'a private app shared for editing': { id: sharedToEdit.id, isHere: true, roles: { ...members, guest: 'editor' } },
    'a private app shared for viewing': { id: sharedToView.id, isHere: true, roles: { ...admins, ...viewers } },
    'a private app that is not shared': { id: hidden.id, isHere: true, roles: admins },
    'a private app of the editor': { id: editorsOwn.id, isHere: true, roles: { ...admins, editor: 'owner' } },
    'a deleted app': { id: deleted.id, isHere: false, roles: {} },
    'an app of another workspace': { id: foreign.id, isHere: false, roles: { stranger: 'owner' } },
    'an app that never existed': { id: newId(), isHere: false, roles: {} },
    'a malformed id': { id: `x${'y'.repeat(2000)}`, isHere: false, roles: {} },
  };
  return { open, sharedToEdit, deleted, targets, visible };
}
const apps = await insertApps('user_app');
const agents = await insertApps('user_agent');

const appUserToken = await world.appUserToken(apps.open, await world.appUser(apps.open, 'user@customers.example'));
const appWithoutLogin = await world.appOf(people.owner, here, { public_settings: 'public_without_login' });

interface FolderTarget {
  readonly id: string;
  readonly visibleTo: (who: Who) => boolean;
  readonly role: WorkspaceRole;
}
const folders: Record<string, FolderTarget> = {
  'a workspace folder': { id: await insertFolder(world, here), visibleTo: (who) => !isOutside(who), role: 'editor' },
  'a personal folder': {
    id: await insertFolder(world, here, people.viewer.id),
    visibleTo: (who) => who === 'viewer',
    role: 'viewer',
  },
  'a folder of another workspace': {
    id: await insertFolder(world, outside.stranger),
    visibleTo: (who) => who === 'stranger',
    role: 'editor',
  },
  'a folder that never existed': { id: newId(), visibleTo: () => false, role: 'editor' },
};

// ---- the results that the register requires

const rank = ['guest', 'viewer', 'editor', 'admin', 'owner'];
const reaches = (role: string, required: string): boolean => rank.indexOf(role) >= rank.indexOf(required);
const passed = 'passed';

function expectByCredential(row: Registered, kind: Kind): string {
  const readOnly = kind === 'readOnly' || kind === 'readOnlyKey';
  if (readOnly && !row.readOnly) return '403 read_only_credential_route_not_allowed';
  const accepted = { session: row.session, full: row.full, readOnly: row.full, key: row.key, readOnlyKey: row.key };
  return accepted[kind] ? passed : '403 credential_kind_not_allowed';
}

const accepts = (row: Registered, kind: Kind): boolean => expectByCredential(row, kind) === passed;

function expectInWorkspace(row: Registered, who: Who): string {
  if (row.role === 'operator') return who === 'operator' ? passed : '403 operator_required';
  const isInWorkspace =
    /^\/api\/workspace(\/|$)/.test(row.path) ||
    row.path.startsWith('/api/auth/tokens') ||
    row.name === 'answerDeviceLogin' ||
    !/^(self|none)$/.test(row.role);
  if (isInWorkspace && who === 'blocked') return '403 member_blocked';
  if (row.role === 'self' || row.role === 'none') return passed;
  const required = row.role === 'member' ? 'guest' : row.role.replace(/^workspace (\w+).*/, '$1');
  return reaches(workspaceRoleOf(who), required) ? passed : '403 role_required';
}

function expectAtApp(row: Registered, who: Who, target: Target, noun: 'app' | 'agent'): string {
  const expected = expectAtVisibleApp(row, who, target, noun);
  return expected === '404 app_not_found' ? appNotVisible(row) : expected;
}

const appNotVisible = (row: Registered): string =>
  row.role === 'app viewer, 403 if not visible' ? '403 app_access_denied' : '404 app_not_found';

function expectAtVisibleApp(row: Registered, who: Who, target: Target, noun: 'app' | 'agent'): string {
  // restoreApp finds only deleted apps. All other operations find only apps that are not deleted.
  const isRestore = row.name === 'restoreApp';
  if (isRestore !== (target.id === apps.deleted.id)) return `404 ${noun}_not_found`;
  const { isHere, roles } = isRestore ? apps.visible : target;
  if (who === 'blocked' && isHere) return '403 member_blocked';
  const role = roles[who];
  if (role === undefined) return `404 ${noun}_not_found`;
  // With entity rules, any caller who can see the app may send the request. The rules determine which records they get.
  const required = row.role === 'entity rules' ? 'viewer' : row.role.replace(/^app (\w+).*/, '$1');
  return reaches(role, required) ? passed : '403 role_required';
}

function expectAtFolder(who: Who, target: FolderTarget): string {
  if (!target.visibleTo(who)) return '404 folder_not_found';
  if (who === 'blocked') return '403 member_blocked';
  return reaches(workspaceRoleOf(who), target.role) ? passed : '403 role_required';
}

// ---- the calls

const outerNotFound = ['workspace_not_found', 'app_not_found', 'agent_not_found', 'folder_not_found'];

/** The number of calls so far. */
let calls = 0;
/**
 * Returns `passed` if every guard accepted the request, otherwise the error's status and code. Each call has its own
 * client address, because failures are rate limited per address.
 */
async function callGuards(row: Registered, path: string, sent: Record<string, string>): Promise<string> {
  calls += 1;
  const headers = { ...sent, 'x-forwarded-for': `10.${calls >> 16}.${(calls >> 8) & 255}.${calls & 255}` };
  const { status, body } = await world.call(row.method, path, { headers });
  // A nested resource is looked up only after its parent's guards have passed.
  const isNested = status === 404 && !outerNotFound.includes(body?.code);
  // The app's type is also checked after the guards. None of these apps are imported.
  const isOtherType = status === 400 && body?.code === 'not_an_imported_app';
  if (status === 422 || isNested || isOtherType || body?.code === guardsPassed) return passed;
  return `${status} ${body?.code ?? ''}`;
}

const served = new Map(world.app.routes.map((route) => [`${route.method} ${route.path}`, route]));
const routeOf = (row: Registered) => served.get(`${row.method} ${row.path}`);
const guarded = register.filter((row) => routeOf(row) !== undefined && !row.isOpen);
const outerParam = (row: Registered): string | undefined => /\{(\w+)\}/.exec(row.path)?.[1];

const describeRow = (row: Registered): string =>
  [outerParam(row), row.role, ...kinds.filter((kind) => accepts(row, kind))].join();
/** One representative of each group of routes with identical register entries. */
const examples = new Set(new Map(guarded.map((row) => [describeRow(row), row])).values());

interface Place {
  readonly place: string;
  readonly path: string;
  readonly expected: (who: Who) => string;
}

/** Lists the targets that the first path parameter can name, with the expected result for each person. */
function listPlaces(row: Registered): Place[] {
  const at = (ids: Record<string, string>) => fillPath(row.path, ids);
  switch (outerParam(row)) {
    case 'app_id':
      return Object.entries(apps.targets).map(([place, target]) => ({
        place,
        path: at({ app_id: target.id }),
        expected: (who) => expectAtApp(row, who, target, 'app'),
      }));
    case 'agent_id': {
      const places = Object.entries(agents.targets).map(([place, target]) => ({
        place: place.replace('app', 'agent'),
        path: at({ agent_id: target.id }),
        expected: (who: Who) => expectAtApp(row, who, target, 'agent'),
      }));
      const notAnAgent = {
        place: 'an app that is no agent',
        path: at({ agent_id: apps.open.id }),
        expected: (who: Who) => expectAtApp(row, who, apps.visible, 'agent').replace(passed, '400 not_an_agent'),
      };
      return [notAnAgent, ...places];
    }
    case 'folder_id':
      return Object.entries(folders).map(([place, target]) => ({
        place,
        path: at({ folder_id: target.id, app_id: apps.open.id }),
        expected: (who) => expectAtFolder(who, target),
      }));
    default:
      return [
        { place: 'the workspace', path: at({ workspace_id: here }), expected: (who) => expectInWorkspace(row, who) },
      ];
  }
}

/** Returns a path that the owner may call. */
const openPath = (row: Registered, app: AppRow = row.name === 'restoreApp' ? apps.deleted : apps.open): string =>
  fillPath(row.path, {
    app_id: app.id,
    agent_id: agents.open.id,
    folder_id: folders['a workspace folder']?.id ?? '',
    workspace_id: here,
  });

// ---- credentials that many cases use

const expired = await world.token(people.owner, here, { expires_at: new Date(Date.now() - 1000) });
const revoked = await world.credential({
  kind: 'personal_token',
  user_id: people.owner.id,
  workspace_id: here,
  permission: 'full_access',
});
await world.db.updateTable('credentials').set({ revoked_at: new Date() }).where('id', '=', revoked.id).execute();
const ownersToken = tokenOf('owner', 'full');
const mistyped = `${ownersToken.slice(0, -1)}${ownersToken.endsWith('0') ? '1' : '0'}`;
const ofAnotherCell = ownersToken.replace('plp_00', 'plp_01');
const limitedToken = await world.token(people.owner, here, {
  app_ids: [apps.open.id, apps.deleted.id, agents.open.id],
});
const workspaceKeys: [scope: string, token: string][] = [];
for (const scope of keyScopes) {
  const key = { kind: 'workspace_key', user_id: null, workspace_id: here, permission: 'full_access' } as const;
  workspaceKeys.push([scope, (await world.credential({ ...key, scopes: [scope] })).token]);
}

// ---- the cases: each operation gets only the cases that apply to it

describe.each(guarded.map((row) => [row.name, row] as const))('%s', (_name, row) => {
  const places = listPlaces(row);
  const acceptedKinds = kinds.filter((kind) => accepts(row, kind));
  const refusedKinds = kinds.filter((kind) => !accepts(row, kind));
  const limitedParam = accepts(row, 'full') ? outerParam(row) : undefined;
  /**
   * Returns the credential kinds to try on a target. A representative route is tried with every kind, and other routes
   * mostly with one kind per person and target.
   */
  const kindsAt = (place: Place, tried: readonly Kind[]) => {
    const at = places.indexOf(place);
    return (who: Who): readonly Kind[] => {
      // In other workspaces, the operator has the same rights as anyone else. A session and a token are enough to show
      // this.
      const usable = tried.filter((kind) => who !== 'operator' || kind === 'session' || kind === 'full');
      if (examples.has(row) || places.length < usable.length) return usable;
      const turn = (at + everybody.indexOf(who)) % usable.length;
      return usable.slice(turn, turn + 1);
    };
  };

  it('refuses a caller without credentials, with broken ones and with expired ones', async () => {
    const path = openPath(row);
    expect(await callGuards(row, path, {})).toBe('401 credentials_missing');
    for (const token of ['', 'nonsense', mistyped, revoked.token, ofAnotherCell]) {
      expect(await callGuards(row, path, bearer(token))).toBe('401 credentials_invalid');
    }
    expect(await callGuards(row, path, bearer(expired))).toBe('401 credentials_expired');
    const challenged = await world.call(row.method, path);
    expect(challenged.headers['www-authenticate']).toBe('Bearer');
  });

  it.each(places)('lets in exactly the people that the register names, at $place', async (place) => {
    await world.resetRateLimits(); // outsiders' sessions have no multiplier, and some quotas are small
    const answered = await callAs(row, place.path, kindsAt(place, acceptedKinds));
    expect(answered.seen).toEqual(answered.each((who) => place.expected(who)));
  });

  if (refusedKinds.length > 0) {
    // The kind of credential is checked before any lookup, so the result does not depend on whether the target exists.
    it.each([...new Set([places.at(0), places.at(-1)])].filter((place) => place !== undefined))(
      'refuses the kinds of credentials that the register does not list, whoever has them, at $place',
      async (place) => {
        await world.resetRateLimits();
        const answered = await callAs(row, place.path, kindsAt(place, refusedKinds));
        expect(answered.seen).toEqual(answered.each((_who, kind) => expectByCredential(row, kind)));
      },
    );
  }

  if (row.workspaceKey === null) {
    it('refuses workspace keys, whatever their scope', async () => {
      for (const [scope, token] of workspaceKeys) {
        const answer = await callGuards(row, openPath(row), { api_key: token });
        expect(answer, scope).toBe('403 workspace_key_not_allowed');
      }
    });
  } else {
    it(`accepts workspace keys with the scope ${row.workspaceKey} only`, async () => {
      for (const [scope, token] of workspaceKeys) {
        const answer = await callGuards(row, openPath(row), { api_key: token });
        expect(answer, scope).toBe(scope === row.workspaceKey ? passed : '403 workspace_key_scope_missing');
      }
    });
  }

  if (row.appUser) {
    it('lets in the users of an app at their own app', async () => {
      expect(await callGuards(row, openPath(row, apps.open), bearer(appUserToken))).toBe(passed);
      expect(await callGuards(row, openPath(row, apps.sharedToEdit), bearer(appUserToken))).toBe('404 app_not_found');
      expect(await callGuards(row, openPath(row, apps.deleted), bearer(appUserToken))).toBe('404 app_not_found');
    });
  } else {
    it('refuses the users of an app', async () => {
      const asUser = await callGuards(row, openPath(row, apps.open), bearer(appUserToken));
      expect(asUser).toBe('403 credential_kind_not_allowed');
    });
  }

  it(`${row.anonymous ? 'lets in' : 'refuses'} anonymous callers where the app is open`, async () => {
    const expected = row.anonymous ? passed : '401 credentials_missing';
    expect(await callGuards(row, openPath(row, appWithoutLogin), {})).toBe(expected);
  });

  if (limitedParam === 'app_id' || limitedParam === 'agent_id') {
    it('limits a token of selected apps to these', async () => {
      const other = limitedParam === 'agent_id' ? agents.sharedToEdit : apps.sharedToEdit;
      expect(await callGuards(row, openPath(row), bearer(limitedToken))).toBe(passed);
      expect(await callGuards(row, fillPath(row.path, { [limitedParam]: other.id }), bearer(limitedToken))).toBe(
        limitedParam === 'app_id' ? appNotVisible(row) : '404 agent_not_found',
      );
    });
  }

  if (row.session && row.method !== 'GET') {
    it('accepts a session cookie from pages of its own origin only', async () => {
      const { cookie = '' } = headersOf(row.role === 'operator' ? 'operator' : 'owner', 'session');
      const own = { origin: new URL(world.config.BASE_URL).origin, 'sec-fetch-site': 'same-origin' };
      const from = (headers: Record<string, string>) => callGuards(row, openPath(row), { cookie, ...headers });
      expect(await from({ origin: 'https://evil.example' })).toBe('403 origin_not_allowed');
      expect(await from({ 'sec-fetch-site': 'cross-site' })).toBe('403 origin_not_allowed');
      expect(await from(own)).toBe(passed);
      const named = { ...own, origin: own.origin.replace('127.0.0.1', 'localhost') };
      expect([named.origin === own.origin, await from(named)]).toEqual([false, passed]);
    });
  }
});

/**
 * Calls the route as every person with these kinds of credentials. Returns the results, and a function that arranges
 * the expected results in the same way.
 */
async function callAs(row: Registered, path: string, kindsOf: (who: Who) => readonly Kind[]) {
  const cases = everybody.flatMap((who) => kindsOf(who).map((kind) => ({ who, kind, name: `${who} by ${kind}` })));
  const seen: Record<string, string> = {};
  const callOne = async ({ who, kind, name }: (typeof cases)[number]) => {
    seen[name] = await callGuards(row, path, headersOf(who, kind));
  };
  for (let at = 0; at < cases.length; at += 8) await Promise.all(cases.slice(at, at + 8).map(callOne));
  const each = (expected: (who: Who, kind: Kind) => string) =>
    Object.fromEntries(cases.map(({ who, kind, name }) => [name, expected(who, kind)]));
  return { seen, each };
}

describe('the choice of workspace', () => {
  const choosing = guarded.filter((row) => !row.path.includes('{') && routeOf(row)?.access.choosesWorkspace);
  const withToken = choosing.filter((row) => accepts(row, 'full'));
  const withSession = choosing.filter((row) => accepts(row, 'session'));

  it.each(withToken.map((row) => [row.name, row] as const))(
    '%s accepts a token for its own workspace only',
    async (_name, row) => {
      const headers = headersOf('owner', 'full');
      expect(await callGuards(row, `${row.path}?workspaceId=${here}`, headers)).toBe(passed);
      const other = `${row.path}?workspaceId=${outside.stranger}`;
      expect(await callGuards(row, other, headers)).toBe('403 workspace_mismatch');
      const naming = (id: string) => ({ ...headers, 'x-active-workspace-id': id });
      expect(await callGuards(row, row.path, naming(here))).toBe(passed);
      expect(await callGuards(row, row.path, naming(outside.stranger))).toBe('403 workspace_mismatch');
      expect(await callGuards(row, row.path, naming('no id'))).toBe('403 workspace_mismatch');
    },
  );

  it.each(withSession.map((row) => [row.name, row] as const))(
    '%s accepts a session for the workspaces of its person only',
    async (_name, row) => {
      // Session limits count per person, so each call uses a new person with an unused quota.
      const newSession = async (): Promise<Record<string, string>> => {
        const { id } = await world.member(here, 'admin', `new-${newId()}@example.com`);
        const session = { kind: 'session', user_id: id, workspace_id: null, permission: 'full_access' } as const;
        return { cookie: `plinth_session=${(await world.credential(session)).token}` };
      };
      const own = await callGuards(row, `${row.path}?workspaceId=${here}`, await newSession());
      expect(own).toBe(row.role === 'workspace owner' ? '403 role_required' : passed);
      for (const other of [outside.stranger, 'nonsense']) {
        const inQuery = await callGuards(row, `${row.path}?workspaceId=${other}`, await newSession());
        const inHeader = await callGuards(row, row.path, { ...(await newSession()), 'x-active-workspace-id': other });
        expect([inQuery, inHeader]).toEqual(['404 workspace_not_found', '404 workspace_not_found']);
      }
    },
  );
});

describe('the cases above', () => {
  it('cover every route that is served and needs credentials', () => {
    const names = world.app.routes.filter((route) => route.credentials !== 'open').map((route) => route.name);
    expect(guarded.map((row) => row.name).sort()).toEqual([...names].sort());
  });

  it('include operations that only operators may call', () => {
    expect(guarded.filter((row) => row.role === 'operator').length).toBeGreaterThan(0);
  });
});
