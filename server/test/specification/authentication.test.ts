// Tests what the specification says about credentials: tokens, keys, their permissions and what they reach.
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { startModelSandbox } from '../../../sandbox/src/model.ts';
import { newId } from '../../src/kit/ids.ts';
import { startWorld } from '../support/world.ts';
import { expectOk, overrideLimits, personalKey, workspaceKey } from './support.ts';

const model = await startModelSandbox();
afterAll(() => model.close());
const world = await startWorld({ environment: { MODEL_URL: model.url, MODEL_NAME: 'house-model' } });
await world.startWorker();
model.script(() => ({ text: 'At six.' }));
const owner = await world.person('owner@example.com');
const workspace = await world.workspace(owner);
await overrideLimits(world, workspace, 1_000);
const token = await world.token(owner, workspace);
const readOnly = await world.token(owner, workspace, { permission: 'read_only' });
const app = await world.appOf(owner, workspace);
const imported = await world.appOf(owner, workspace, { app_type: 'imported_app' });
const agent = await world.appOf(owner, workspace, { app_type: 'user_agent' });
beforeEach(() => world.resetRateLimits());

const ads = `/api/apps/${app.id}/ads-platform`;
type Request = readonly [method: string, path: string, body?: object];
/** The operations of the specification, by name. */
const operations: Record<string, Request> = {
  webhookUpdate: ['PATCH', `/api/agents/${agent.id}/webhooks/${newId()}`, {}],
  membersList: ['POST', '/api/workspace/members/list', {}],
  connectorFields: ['GET', `/api/apps/${app.id}/external-auth/connection-config/slack`],
  folderItemRemoval: ['DELETE', `/api/app-folders/${newId()}/items/${app.id}`],
  testDeletion: ['DELETE', `/api/apps/${app.id}/testing-agent/flows/${newId()}`],
  findingRestore: ['DELETE', `/api/apps/${app.id}/security/scan/ignore/x`],
  sessionLaunch: ['POST', `/api/apps/${imported.id}/imported/sessions`, {}],
  launch: ['POST', `${ads}/launch`, {}],
  searchThemes: ['POST', `${ads}/suggestions/search-themes`, {}],
  bootstrapPrompt: ['POST', `${ads}/tracking-scan/build-bootstrap-prompt`, {}],
  geoSearch: ['GET', `${ads}/geo-targets/search`],
  assets: ['GET', `${ads}/assets`],
  searchTerms: ['GET', `${ads}/analytics/search-terms`],
  campaignDeletion: ['DELETE', `${ads}/campaigns/${newId()}`],
  entityUpdate: ['PUT', `/api/apps/${app.id}/entities/Order/${newId()}`, {}],
  scanRead: ['GET', `/api/apps/${app.id}/security/scan`],
  runAnalysis: ['POST', `/api/apps/${app.id}/workflows/${newId()}/runs/${newId()}/analyze`],
  userStats: ['GET', `/api/apps/${app.id}/analytics/stats/users`],
};
const send = ([method, path, body]: Request, sent: object) =>
  world.call(method, path, { ...sent, ...(body && { body }) });
/** Expects that each of these operations accepts the credential. What else is wrong with the request does not matter. */
async function expectAccepted(names: readonly string[], sent: object): Promise<void> {
  for (const name of names) {
    const { status } = await send(operations[name] as Request, sent);
    expect([401, 403], name).not.toContain(status);
  }
}
const byToken = [
  'webhookUpdate',
  'membersList',
  'connectorFields',
  'folderItemRemoval',
  'testDeletion',
  'findingRestore',
  'sessionLaunch',
];
const byKey = Object.keys(operations).filter((name) => !byToken.includes(name));
const byReadOnly = ['connectorFields', 'geoSearch', 'assets', 'searchTerms', 'scanRead', 'userStats'];
const fullAccess = Object.keys(operations).filter((name) => !byReadOnly.includes(name));

describe('Authentication', () => {
  it('Two credential forms appear', async () => {
    const me = (sent: object) => world.call('GET', '/api/auth/me', sent);
    expect(expectOk(await me({ as: token })).credential.kind).toBe('personal_token');
    expect(expectOk(await me({ headers: await personalKey(world, owner) })).credential.kind).toBe('personal_key');
  });

  it('Personal access token: header Authorization: Bearer <ACCESS_TOKEN>; agent webhook update, members list, connector fields, folder item removal, test deletion, security-finding restore, coding-session launch', async () => {
    await expectAccepted(byToken, { headers: { authorization: `Bearer ${token}` } });
    await expectAccepted(byToken, { headers: { authorization: `bearer ${token}` } });
    for (const name of byToken) expect((await send(operations[name] as Request, {})).status, name).toBe(401);
  });

  it('Personal API key: header api_key: <API_KEY>; advertising endpoints, entity update, security scan read, workflow analysis, user stats', async () => {
    await expectAccepted(byKey, { headers: await personalKey(world, owner) });
    for (const name of byKey) expect((await send(operations[name] as Request, {})).status, name).toBe(401);
  });

  it('A personal access token has a permission, read_only or full_access', async () => {
    const permissionOf = async (as: string) =>
      expectOk(await world.call('GET', '/api/auth/me', { as })).credential.permission;
    expect(await permissionOf(token)).toBe('full_access');
    expect(await permissionOf(readOnly)).toBe('read_only');
  });

  it('A full-access token can call every operation; a read-only token can call only operations listing read_only; anything else returns 403 with code read_only_credential_route_not_allowed', async () => {
    await expectAccepted(Object.keys(operations), { as: token });
    await expectAccepted(byReadOnly, { as: readOnly });
    for (const name of fullAccess)
      expect(await send(operations[name] as Request, { as: readOnly }), name).toMatchObject({
        status: 403,
        body: { code: 'read_only_credential_route_not_allowed' },
      });
  });

  const conversations = `/api/agents/${agent.id}/conversations`;

  it('For agent endpoints the token must reach the agent (all apps and agents, or this agent chosen specifically)', async () => {
    const chosen = await world.token(owner, workspace, { app_ids: [agent.id] });
    const other = await world.token(owner, workspace, { app_ids: [app.id] });
    for (const as of [token, chosen]) expectOk(await world.call('GET', `/api/agents/${agent.id}`, { as }));
    expect((await world.call('GET', `/api/agents/${agent.id}`, { as: other })).status).toBe(404);
    expect((await world.call('POST', conversations, { as: other })).status).toBe(404);
  });

  it('Most need full access; a read-only token works only with the conversation read', async () => {
    const { id } = expectOk(await world.call('POST', conversations, { as: token }));
    expectOk(await world.call('GET', `${conversations}/${id}`, { as: readOnly }));
    const at = `/api/agents/${agent.id}`;
    for (const [method, path] of [
      ['GET', at],
      ['PATCH', at],
      ['DELETE', at],
      ['POST', conversations],
      ['GET', conversations],
      ['POST', `${conversations}/${id}/messages`],
      ['DELETE', `${conversations}/${id}/messages/${newId()}`],
      ['GET', `${at}/memory`],
      ['DELETE', `${at}/memory/${newId()}`],
      ['GET', `${at}/webhooks`],
      ['POST', `${at}/webhooks`],
    ] as const)
      expect((await world.call(method, path, { as: readOnly })).status, `${method} ${path}`).toBe(403);
  });

  it('A personal token acts as its owner, so the caller sees their own conversation and memories with the agent', async () => {
    const bob = await world.token(await world.member(workspace, 'viewer', 'bob@example.com'), workspace);
    const own = expectOk(await world.call('POST', conversations, { as: token })).id;
    const of = expectOk(await world.call('POST', conversations, { as: bob })).id;
    expect(of).not.toBe(own);
    expectOk(await world.call('POST', `${conversations}/${own}/messages`, { as: token, body: { content: 'When?' } }));
    expect((await world.call('GET', `${conversations}/${own}`, { as: bob })).status).toBe(404);
    const listed = expectOk(await world.call('GET', conversations, { as: bob }));
    expect(listed.map(({ id }: { id: string }) => id)).toEqual([of]);
    model.script(() => ({ tool_calls: [{ name: 'remember', arguments: { content: 'Likes roses.' } }] }));
    const asked = world.call('POST', `${conversations}/${of}/messages`, {
      as: bob,
      body: { content: 'I like roses.' },
    });
    await expect.poll(() => JSON.stringify(model.requests.at(-1) ?? {})).toContain('roses');
    model.script(() => ({ text: 'Noted.' }));
    expectOk(await asked);
    const memories = async (as: string) =>
      expectOk(await world.call('GET', `/api/agents/${agent.id}/memory`, { as })).items.map(
        ({ content }: { content: string }) => content,
      );
    expect(new Set(await memories(bob))).toEqual(new Set(['Likes roses.']));
    expect(await memories(token)).toEqual([]);
  });

  it('Workspace API keys are not accepted by agent endpoints, webhook update, campaign deletion (403), or test deletion', async () => {
    const as = await workspaceKey(world, workspace);
    for (const request of [
      ['GET', `/api/agents/${agent.id}`],
      ['POST', conversations],
      ['GET', `/api/agents/${agent.id}/memory`],
      ['GET', `/api/agents/${agent.id}/webhooks`],
      operations.webhookUpdate,
      operations.campaignDeletion,
      operations.testDeletion,
    ] as Request[])
      expect((await send(request, { as })).status, request.join(' ')).toBe(403);
  });

  it('Account API keys are being replaced by personal access tokens: creating or viewing one is no longer possible since 15 October 2026 and existing keys are being switched off gradually; the api_key header is to be replaced by the bearer header', async () => {
    const headers = await world.session(owner);
    const created = await world.call('POST', '/api/auth/api-keys', { headers, body: { name: 'Key' } });
    expect(created.status).toBeGreaterThanOrEqual(400);
    const { api_key } = await personalKey(world, owner);
    expect((await world.call('GET', '/api/auth/api-keys', { headers })).text).not.toContain(api_key);
    expectOk(await world.call('GET', '/api/auth/me', { headers: { api_key } }));
    for (const name of byKey)
      expect([401, 403]).not.toContain((await send(operations[name] as Request, { as: token })).status);
  });

  it("A token is created in the agent's developer settings (create access token)", async () => {
    const headers = { ...(await world.session(owner)), 'x-active-workspace-id': workspace };
    const body = { name: 'Agent', permission: 'full_access', app_ids: [agent.id] };
    const made = expectOk(await world.call('POST', '/api/auth/tokens', { headers, body }));
    const secret = Object.values(made).find((value) => String(value).startsWith('plp_')) as string;
    expectOk(await world.call('GET', `/api/agents/${agent.id}`, { as: secret }));
    expect((await world.call('GET', `/api/apps/${app.id}`, { as: secret })).status).toBe(404);
  });
});

describe('Errors', () => {
  it('Any read-only token on a full-access operation: 403; code read_only_credential_route_not_allowed', async () => {
    for (const name of fullAccess)
      expect(await send(operations[name] as Request, { as: readOnly }), name).toMatchObject({
        status: 403,
        body: { code: 'read_only_credential_route_not_allowed' },
      });
  });
});
