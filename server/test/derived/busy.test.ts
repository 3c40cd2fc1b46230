// Checks that every operation in a workspace runs within a share of the database. While all shares are taken,
// operations are rejected with 503 `busy` before the body is parsed. The guards are real, except that nested rows are
// not loaded. A marker replaces the handlers.
import { describe, expect, it } from 'vitest';
import type { Route } from '../../src/core/auth/route.ts';
import type { WorkKind } from '../../src/kit/db/shares.ts';
import { startWorld } from '../support/world.ts';
import { fillPath, insertFolder, stubHandlers } from './stub-handlers.ts';

const world = await startWorld({
  routes: (routes) =>
    (stubHandlers?.(routes) ?? []).map((route) => ({ ...route, access: { ...route.access, loadNested: undefined } })),
});

/** Creates a workspace and takes all of its shares and queue places, so no request can wait. */
async function createBusyWorkspace(kind: WorkKind) {
  const owner = await world.person(`${kind}@example.com`, { is_operator: true });
  const workspace = await world.workspace(owner);
  for (let taken = 0; taken < 2_000; taken += 1)
    void world.app.shares.take(kind, { owner: workspace, part: null }, { patient: true });
  const app = await world.appOf(owner, workspace);
  const agent = await world.appOf(owner, workspace, { app_type: 'user_agent' });
  const imported = await world.appOf(owner, workspace, { app_type: 'imported_app' });
  const trashed = await world.appOf(owner, workspace);
  await world.db.updateTable('apps').set({ deleted_date: new Date() }).where('id', '=', trashed.id).execute();
  const folder_id = await insertFolder(world, workspace);
  const token = await world.token(owner, workspace);
  const session = { kind: 'session', user_id: owner.id, workspace_id: workspace, permission: 'full_access' } as const;
  const cookie = `plinth_session=${(await world.credential(session)).token}`;
  const appUserToken = await world.appUserToken(app, await world.appUser(app, 'user@customers.example'));
  const credentialFor = ({ credentials }: Route) => {
    if (credentials === 'open' || credentials.token) return { as: token };
    return credentials.session ? { headers: { cookie } } : { as: appUserToken };
  };
  return async (route: Route) => {
    const isImported = route.path.includes('/imported/');
    const app_id = (route.name === 'restoreApp' ? trashed : isImported ? imported : app).id;
    const ids = { app_id, agent_id: agent.id, folder_id, workspace_id: workspace };
    const got = await world.call(route.method, fillPath(route.path, ids), credentialFor(route));
    return `${got.status} ${got.body?.code ?? ''}`;
  };
}

const isOfWorkspace = ({ credentials, access }: Route) =>
  credentials !== 'open' || access.lookUpAnonymous !== undefined;
const inWorkspace = world.app.routes.filter((route) => isOfWorkspace(route) && route.work !== 'outside');
const isSlow = (route: Route) => route.work === 'slow' || route.work === 'patient';

describe('while the shares of its workspace are taken', () => {
  it('every operation is refused with 503 busy', async () => {
    const call = await createBusyWorkspace('short');
    const answers: Record<string, string> = {};
    for (const route of inWorkspace) answers[route.name] = await call(route);
    expect(answers).toEqual(Object.fromEntries(inWorkspace.map(({ name }) => [name, '503 busy'])));
  });

  it('by slow work, only slow operations are', async () => {
    const call = await createBusyWorkspace('slow');
    const busy: string[] = [];
    for (const route of inWorkspace) if ((await call(route)) === '503 busy') busy.push(route.name);
    expect(busy).toEqual(inWorkspace.filter(isSlow).map(({ name }) => name));
  });
});

/** Lists that are always short because the number of items is limited, and paged lists for operators. */
const shortLists = [
  'listBrowserSessions',
  'listTokens',
  'listApiKeys',
  'listWorkspaceKeys',
  'listWorkspaces',
  'listOperatorWorkspaces',
  'listOperatorUsers',
  'listPlans',
  'listPrices',
  'listAppShares',
  'listAppFiles',
  'listRevisions',
  'listAppSecrets',
  'listDeployments',
  'listConversations',
  'listMemories',
  'listAgentWebhooks',
  'listAppWebhooks',
  'listAutomations',
  'listConnections',
  'listConnectors',
  'listCampaigns',
  'listConversionActions',
  'listConversionMappings',
];

describe('an operation that lists', () => {
  it('is slow, unless its list is always short', () => {
    const lists = world.app.routes.filter(({ name }) => name.startsWith('list'));
    const short = lists.filter((route) => !isSlow(route)).map(({ name }) => name);
    expect(short.sort()).toEqual([...shortLists].sort());
  });
});
