// A valid request for every operation that can change something. The repeats test sends each of them twice. Every
// request is about resources of its own, so the cases don't depend on each other.
import { sql } from 'kysely';
import type { GitHostSandbox } from '../../../sandbox/src/git-host/server.ts';
import type { ModelSandbox } from '../../../sandbox/src/model.ts';
import type { MailSandbox } from '../../../sandbox/src/smtp.ts';
import { newId } from '../../src/kit/ids.ts';
import type { CallOptions } from '../support/client.ts';
import { insertFailedRun } from '../support/failed-runs.ts';
import type { World } from '../support/world.ts';

export interface PreparedRequest extends CallOptions {
  readonly path: string;
}

/** Returns the path after the method, with its ids filled in, and what is sent. */
export type RepeatCase = () => Promise<PreparedRequest>;

/** What stands in for the outside. `receiver` is an address that webhooks may call. */
export interface Outside {
  readonly host: GitHostSandbox;
  readonly mail: MailSandbox;
  readonly model: ModelSandbox;
  readonly receiver: string;
}

/**
 * Operations that are refused at the storage quota if they store more, which these requests do not: a record that keeps
 * its size, a new name, the first export.
 */
export const storesNothingMore: readonly string[] = [
  'restoreRecord',
  'startExport',
  'updateRecord',
  'updateRecords',
  'updateWorkflow',
  'upsertRecords',
];

const definition = {
  document: { dsl: '1.0.0', namespace: 'app', name: 'welcome', version: '1.0.0' },
  do: [{ note: { set: { seen: true } } }],
};
const password = 'a long enough password';
const emailOf = () => `${newId()}@example.com`;

export async function createRepeatCases(
  world: World,
  { host, mail, model, receiver: target_url }: Outside,
): Promise<Record<string, RepeatCase>> {
  const operator = await world.person(emailOf(), { is_operator: true });
  const asOperator = async () => ({ headers: await world.session(operator) });

  /** Creates a workspace with its owner. `send` expects success. */
  async function newPlace() {
    const owner = await world.person(emailOf());
    const workspace = await world.workspace(owner, 'enterprise', 'Place');
    await world.db.updateTable('workspaces').set({ rate_multiplier: 1000 }).where('id', '=', workspace).execute();
    const as = await world.token(owner, workspace);
    const send = async (method: string, path: string, body?: unknown, more: CallOptions = {}) => {
      const got = await world.call(method, path, { as, body, ...more });
      if (got.status !== 200) throw new Error(`${method} ${path} answered ${got.status} ${got.text}`);
      return got.body;
    };
    return { owner, workspace, as, send };
  }
  type Place = Awaited<ReturnType<typeof newPlace>>;
  const place = await newPlace();
  const { as, send, workspace, owner } = place;

  const newApp = (more: object = {}) => world.appOf(owner, workspace, more);
  const pathOf = async (more: object = {}) => `/api/apps/${(await newApp(more)).id}`;
  const newAgent = async () => `/api/agents/${(await newApp({ app_type: 'user_agent' })).id}`;
  const newMember = async (role: 'viewer' | 'editor' = 'viewer') => {
    const own = await newPlace();
    return { ...own, member: await world.member(own.workspace, role, emailOf()) };
  };
  const aboutMember = async (path: (email: string) => string, body: (email: string) => unknown) => {
    const { as, member } = await newMember('editor');
    return { as, path: path(member.email), body: body(member.email) };
  };
  const newFolder = (name = newId()) => send('POST', '/api/app-folders', { name, scope: 'workspace' });

  // ---- entities
  const task = { name: 'Task', properties: { code: { type: 'string' }, cost: { type: 'number' } }, unique: [['code']] };
  const newEntity = async () => {
    const app = await pathOf();
    await send('PUT', `${app}/entity-schemas/Task`, task);
    return { app, records: `${app}/entities/Task` };
  };
  const newRecord = async () => {
    const { app, records } = await newEntity();
    const { id } = await send('POST', records, { code: 'a', cost: 1 });
    return { app, records, record: `${records}/${id}`, id };
  };

  // ---- webhooks
  const newWebhook = async (base: string, event: string) => {
    const { id } = await send('POST', `${base}/webhooks`, { target_url, events: [event] });
    return `${base}/webhooks/${id}`;
  };
  const newPullWebhook = async (base: string, event: string) => {
    const { id } = await send('POST', `${base}/webhooks`, { mode: 'pull', events: [event] });
    return `${base}/webhooks/${id}`;
  };
  /** A webhook with a delivery that has failed, or that waits for its reader. */
  const newDelivery = async (base: string, event: string, mode: 'push' | 'pull' = 'push') => {
    const path = await (mode === 'push' ? newWebhook : newPullWebhook)(base, event);
    const status = mode === 'push' ? 'failed' : 'pending';
    const [webhook_id, id, event_id] = [path.split('/').at(-1) as string, newId(), newId()];
    await sql`insert into webhook_bodies (workspace_id, event_id, body) values (${workspace}, ${event_id}, '{}')`.execute(
      world.db,
    );
    await sql`insert into webhook_deliveries (id, workspace_id, webhook_id, event_id, event_type, sequence, status,
        attempts, created_date, due_at, concurrency_key)
      values (${id}, ${workspace}, ${webhook_id}, ${event_id}, ${event}, 1, ${status}, '[]', now(), null, ${webhook_id})`.execute(
      world.db,
    );
    return { path, id };
  };
  const agentWebhook = async () => newWebhook(await newAgent(), 'message.created');
  const appWebhook = async () => newWebhook(await pathOf(), 'entity.created');
  const agentDelivery = async () => newDelivery(await newAgent(), 'message.created');
  const appDelivery = async () => newDelivery(await pathOf(), 'entity.created');

  // ---- workflows, automations
  const newWorkflow = async (trigger: object = { config: { trigger_type: 'webhook' } }) => {
    const app = await newApp();
    const path = `/api/apps/${app.id}/workflows`;
    const workflow = await send('POST', path, { name: newId(), definition, trigger });
    return { app, workflow, path: `${path}/${workflow.id}` };
  };
  const newRun = async () => {
    const { path } = await newWorkflow();
    return `${path}/runs/${(await send('POST', `${path}/run-now`, {})).run_id}`;
  };
  const automation = { name: 'Daily', type: 'scheduled', schedule: { cron: '0 9 * * *', timezone: 'UTC' } };
  const action = { type: 'http_request', url: target_url };
  const newAutomation = async () => {
    const base = `${await pathOf()}/automations`;
    return `${base}/${(await send('POST', base, { ...automation, action })).id}`;
  };

  // ---- users of apps
  const newAppUser = async (more: object = {}) => {
    const app = await newApp(more);
    const user = await world.appUser(app, emailOf());
    return { app, user, path: `/api/apps/${app.id}/users/${user.id}` };
  };
  const asAppUser = async () => {
    const { app, user } = await newAppUser();
    return { app: `/api/apps/${app.id}`, as: await world.appUserToken(app, user) };
  };
  const openApp = () => newApp({ public_settings: 'public_with_login' });

  // ---- accounts
  const insertSession = async ({ owner }: Place) => world.session(owner);
  const sessionIdOf = async (cookie: Record<string, string>, isCurrent: boolean) => {
    const { body } = await world.call('GET', '/api/auth/sessions', { headers: cookie });
    return body.find((each: { current: boolean }) => each.current === isCurrent).id;
  };
  const startDeviceLogin = () => send('POST', '/api/auth/device', { client_name: 'plinthctl' }, { as: undefined });
  const newToken = async () => (await send('POST', '/api/auth/tokens', { name: 'CI' })).id;
  const newWorkspaceKey = async () =>
    (await send('POST', '/api/workspace/api-keys', { name: newId(), scopes: ['apps:read'] })).id;

  const invite = async (email = emailOf()) => {
    await send('POST', '/api/workspace/invitations/invite', { email });
    return email;
  };
  /** The token in the newest mail to this address. */
  const mailedToken = (email: string) =>
    /\/invitations#([\w-]{43})/.exec(mail.inbox.findLast(({ to }) => to.includes(email))?.text ?? '')?.[1];
  const newInvitation = async () => {
    const email = await invite();
    return { email, invitation_token: mailedToken(email) };
  };
  const newPerson = async () => {
    const { email, invitation_token } = await newInvitation();
    const body = { invitation_token, full_name: 'Grace', password };
    const joined = await world.call('POST', '/api/invitations/accept', { body });
    return { email, headers: { cookie: String(joined.headers['set-cookie']).split(';')[0] as string } };
  };

  // ---- files, publishing, scans
  const files = [{ path: 'dist/index.html', content: '<!doctype html><title>Shop</title>' }];
  const appWithFiles = async () => {
    const app = await pathOf();
    await send('PUT', `${app}/files`, { files });
    return app;
  };
  const publishedApp = async () => {
    const app = await appWithFiles();
    await send('POST', `${app}/deploy`, {});
    return app;
  };
  const ignored = { fingerprint: 'f'.repeat(64), finding_type: 'rls', title: 'Open', reason: 'meant to be' };
  const newFlow = async () => {
    const base = `${await pathOf()}/testing-agent/flows`;
    return { base, flow: await send('POST', base, { name: 'Order', goal: 'Order a rose.' }) };
  };

  // ---- repositories
  const repository = { repository_full_name: 'acme/flower-shop', credentials: { token: host.token } };
  const importedApp = async () => `${await pathOf({ app_type: 'imported_app' })}/imported`;
  const connectedApp = async () => {
    const path = await importedApp();
    await send('PUT', `${path}/repository`, repository);
    return path;
  };

  // ---- conversations
  const newConversation = async () => {
    const agent = await newAgent();
    const { id } = await send('POST', `${agent}/conversations`, {});
    return { agent, id, path: `${agent}/conversations/${id}` };
  };
  const insertMessage = async () => {
    const { id, path } = await newConversation();
    const message = newId();
    await sql`insert into agent_messages (workspace_id, conversation_id, position, id, role, content, created_date, updated_date)
      values (${workspace}, ${id}, 1, ${message}, 'user', 'Hello', now(), now())`.execute(world.db);
    return `${path}/messages/${message}`;
  };
  const insertMemory = async () => {
    const agent = await newAgent();
    const id = newId();
    await sql`insert into agent_memories (workspace_id, id, app_id, user_id, content, created_date)
      values (${workspace}, ${id}, ${agent.split('/').at(-1)}, ${owner.id}, 'likes tea', now())`.execute(world.db);
    return `${agent}/memory/${id}`;
  };

  // ---- ads
  const advertised = async (path: string) => `${(await newEntity()).app}/ads-platform/${path}`;
  const withAccount = async (path: string) => {
    const { app } = await newEntity();
    await send('POST', `${app}/ads-platform/accounts/ensure-for-tracking`, {});
    return `${app}/ads-platform/${path}`;
  };
  const mapping = { entity_name: 'Task', conversion_type: 'PURCHASE', trigger_action: 'create' };
  const newMapping = async () => {
    const path = await withAccount('conversion-mappings');
    return `${path}/${(await send('POST', path, mapping)).id}`;
  };

  const connector = { integration_type: 'gitlab' };
  const insertConnection = async () => {
    const app = await newApp();
    const now = new Date();
    await world.db
      .insertInto('connections')
      .values({
        id: newId(),
        workspace_id: workspace,
        app_id: app.id,
        user_id: owner.id,
        integration_type: 'gitlab',
        status: 'disconnected',
        scopes: ['read_api'],
        connected_at: now,
        created_date: now,
        updated_date: now,
      })
      .execute();
    return `/api/apps/${app.id}/external-auth/integrations/gitlab`;
  };

  // ---- queues
  const queuePath = (operation: string, queue = 'reset_mails') => `/api/operator/queues/${queue}/${operation}`;
  const insertMail = async (user: { readonly id: string }, isFailed: boolean) => {
    const id = newId();
    await sql`insert into reset_mails (id, user_id, created_date, due_at, failed_at)
      values (${id}, ${user.id}, now(), ${isFailed ? null : sql`now()`}, ${isFailed ? sql`now()` : null})`.execute(
      world.db,
    );
    return id;
  };

  return {
    // accounts
    signOut: async () => ({ path: '/api/auth/sign-out', headers: await insertSession(place) }),
    forgotPassword: async () => ({ path: '/api/auth/password/forgot', body: { email: owner.email } }),
    updateMe: async () => {
      const own = await newPlace();
      return { path: '/api/auth/me', as: own.as, body: { full_name: 'Ada' } };
    },
    endOtherBrowserSessions: async () => {
      const own = await newPlace();
      await insertSession(own);
      return { path: '/api/auth/sessions', headers: await insertSession(own) };
    },
    endBrowserSession: async () => {
      const own = await newPlace();
      await insertSession(own);
      const headers = await insertSession(own);
      return { path: `/api/auth/sessions/${await sessionIdOf(headers, false)}`, headers };
    },
    startDeviceLogin: async () => ({ path: '/api/auth/device', body: { client_name: 'plinthctl' } }),
    answerDeviceLogin: async () => {
      const { user_code } = await startDeviceLogin();
      const headers = await insertSession(place);
      return { path: `/api/auth/device/${user_code}/answer`, headers, body: { approve: true } };
    },
    pollDeviceLogin: async () => {
      const { device_code, user_code } = await startDeviceLogin();
      const headers = await insertSession(place);
      await send('POST', `/api/auth/device/${user_code}/answer`, { approve: true }, { as: undefined, headers });
      return { path: '/api/auth/device/token', body: { device_code } };
    },
    createToken: async () => ({ path: '/api/auth/tokens', as, body: { name: 'CI' } }),
    updateToken: async () => ({ path: `/api/auth/tokens/${await newToken()}`, as, body: { name: newId() } }),
    revokeToken: async () => ({ path: `/api/auth/tokens/${await newToken()}`, as }),
    revokeApiKey: async () => {
      const key = { kind: 'personal_key', user_id: owner.id, workspace_id: null, permission: 'full_access' } as const;
      return { path: `/api/auth/api-keys/${(await world.credential(key)).id}`, as };
    },
    revokeWorkspaceToken: async () => ({ path: `/api/workspace/tokens/${await newToken()}`, as }),
    createWorkspaceKey: async () => ({
      path: '/api/workspace/api-keys',
      as,
      body: { name: newId(), scopes: ['apps:read'] },
    }),
    updateWorkspaceKey: async () => ({
      path: `/api/workspace/api-keys/${await newWorkspaceKey()}`,
      as,
      body: { description: 'Nightly' },
    }),
    revokeWorkspaceKey: async () => ({ path: `/api/workspace/api-keys/${await newWorkspaceKey()}`, as }),
    deactivateUser: async () => ({
      path: `/api/operator/users/${(await world.person(emailOf())).id}/deactivate`,
      ...(await asOperator()),
    }),
    reactivateUser: async () => {
      const path = `/api/operator/users/${(await world.person(emailOf())).id}`;
      await send('POST', `${path}/deactivate`, undefined, { as: '', ...(await asOperator()) });
      return { path: `${path}/reactivate`, ...(await asOperator()) };
    },

    retryQueueRows: async () => ({
      path: queuePath('retry'),
      body: { ids: [await insertMail(owner, true)] },
      ...(await asOperator()),
    }),
    cancelQueueRows: async () => ({
      path: queuePath('cancel'),
      body: { ids: [await insertMail(owner, false)], reason: 'wrong address' },
      ...(await asOperator()),
    }),
    pauseQueue: async () => ({
      path: queuePath('pause'),
      body: { owner: owner.id, seconds: 60 },
      ...(await asOperator()),
    }),
    resumeQueue: async () => {
      await world.call('POST', queuePath('pause', 'sign_in_mails'), { body: { seconds: 60 }, ...(await asOperator()) });
      return { path: queuePath('resume', 'sign_in_mails'), body: {}, ...(await asOperator()) };
    },

    signIn: async () => ({ path: '/api/auth/sign-in', body: { email: (await newPerson()).email, password } }),
    changePassword: async () => ({
      path: '/api/auth/password',
      headers: (await newPerson()).headers,
      body: { current_password: password, new_password: `${password} again` },
    }),
    joinWorkspace: async () => {
      const { invitation_token } = await newInvitation();
      return { path: '/api/invitations/accept', body: { invitation_token, full_name: 'Grace', password } };
    },
    acceptInvitation: async () => {
      const { invitation_token } = await newInvitation();
      return { path: `/api/invitations/${invitation_token}/accept`, body: { full_name: 'Grace', password } };
    },

    // workspaces
    createWorkspace: async () => ({
      path: '/api/workspaces',
      body: { name: 'Bakery' },
      ...(await asOperator()),
    }),
    updateWorkspace: async () => ({ path: '/api/workspace', as: (await newPlace()).as, body: { name: 'Bakery' } }),
    deleteWorkspace: async () => {
      const own = await newPlace();
      return {
        path: `/api/workspace?workspaceId=${own.workspace}`,
        headers: await insertSession(own),
        body: { confirm_name: 'Place' },
      };
    },
    startExport: async () => {
      const own = await newPlace();
      return { path: `/api/workspace/export?workspaceId=${own.workspace}`, headers: await insertSession(own) };
    },
    setOperatorWorkspace: async () => ({
      path: `/api/operator/workspaces/${(await newPlace()).workspace}`,
      body: { plan: 'pro', billing_hold: true, billing_hold_reason: 'The card has expired.' },
      ...(await asOperator()),
    }),
    grantCredits: async () => ({
      path: `/api/operator/workspaces/${(await newPlace()).workspace}/credits`,
      body: { amount: 5, note: 'Welcome' },
      ...(await asOperator()),
    }),

    // members
    setMemberRole: () =>
      aboutMember(
        (email) => `/api/workspace/members/${email}/role`,
        () => ({ role: 'admin' }),
      ),
    setMemberRoles: () =>
      aboutMember(
        () => '/api/workspace/members/bulk/role',
        (email) => ({ items: [{ email, role: 'viewer' }] }),
      ),
    setMemberAccess: () =>
      aboutMember(
        (email) => `/api/workspace/members/${email}/access`,
        () => ({ state: 'blocked' }),
      ),
    setMemberCreditLimit: () =>
      aboutMember(
        (email) => `/api/workspace/members/${email}/credit-limit`,
        () => ({ credit_limit: 7 }),
      ),
    setMemberCreditLimits: () =>
      aboutMember(
        () => '/api/workspace/members/bulk/credit-limit',
        (email) => ({ items: [{ email, credit_limit: 7 }] }),
      ),
    setDefaultCreditLimit: async () => ({
      path: '/api/workspace/default-credit-limit',
      as: (await newPlace()).as,
      body: { default_credit_limit: 50 },
    }),
    removeMember: () =>
      aboutMember(
        (email) => `/api/workspace/members/${email}`,
        () => undefined,
      ),
    removeMembers: () =>
      aboutMember(
        () => '/api/workspace/members/bulk/remove',
        (email) => ({ emails: [email] }),
      ),
    transferOwnership: async () => {
      const own = await newMember('editor');
      return {
        path: `/api/workspace/transfer-ownership?workspaceId=${own.workspace}`,
        headers: await insertSession(own),
        body: { email: own.member.email },
      };
    },
    inviteMember: async () => ({ path: '/api/workspace/invitations/invite', as, body: { email: emailOf() } }),
    inviteMembers: async () => ({
      path: '/api/workspace/invitations/bulk-invite',
      as,
      body: { invitations: [{ email: emailOf() }] },
    }),
    resendInvitation: async () => ({
      path: '/api/workspace/invitations/resend',
      as,
      body: { emails: [await invite()] },
    }),

    // apps
    createApp: async () => ({ path: '/api/apps', as, body: { name: 'Order book' } }),
    updateApp: async () => ({ path: await pathOf(), as, body: { name: 'Order book' } }),
    deleteApp: async () => ({ path: await pathOf(), as }),
    restoreApp: async () => {
      const path = await pathOf();
      await send('DELETE', path);
      return { path: `${path}/restore`, as };
    },
    putAppShare: async () => ({
      path: `${await pathOf({ visibility: 'private' })}/shares/${emailOf()}`,
      as,
      body: { role: 'viewer' },
    }),
    deleteAppShare: async () => {
      const path = `${await pathOf({ visibility: 'private' })}/shares/${emailOf()}`;
      await send('PUT', path, { role: 'viewer' });
      return { path, as };
    },
    putAppFile: async () => ({ path: `${await pathOf()}/files/content?path=a.js`, as, body: { content: '1' } }),
    deleteAppFile: async () => ({ path: `${await appWithFiles()}/files/content?path=dist/index.html`, as }),
    syncAppFiles: async () => ({ path: `${await pathOf()}/files`, as, body: { files, delete_missing: true } }),
    restoreRevision: async () => {
      const path = await pathOf();
      const { revision } = await send('PUT', `${path}/files/content?path=a.js`, { content: '1' });
      await send('DELETE', `${path}/files/content?path=a.js`);
      return { path: `${path}/revisions/${revision}/restore`, as, body: {} };
    },
    putAppSecret: async () => ({ path: `${await pathOf()}/secrets/API_KEY`, as, body: { value: 'a secret value' } }),
    deleteAppSecret: async () => {
      const path = `${await pathOf()}/secrets/API_KEY`;
      await send('PUT', path, { value: 'a secret value' });
      return { path, as };
    },
    publishApp: async () => ({ path: `${await appWithFiles()}/deploy`, as, body: {} }),
    unpublishApp: async () => ({ path: `${await publishedApp()}/unpublish`, as }),
    createPreview: async () => ({ path: `${await pathOf()}/previews`, as, body: {} }),
    deletePreview: async () => {
      const path = `${await pathOf()}/previews`;
      return { path: `${path}/${(await send('POST', path, {})).id}`, as };
    },
    setSecuritySettings: async () => ({
      path: `${await pathOf()}/security/settings`,
      as,
      body: { headers: { csp: "default-src 'self'" } },
    }),

    // security
    runSecurityScan: async () => ({ path: `${await appWithFiles()}/security/scan`, as }),
    ignoreFinding: async () => ({ path: `${await pathOf()}/security/scan/ignore`, as, body: ignored }),
    restoreFinding: async () => {
      const path = `${await pathOf()}/security/scan/ignore`;
      await send('POST', path, ignored);
      return { path: `${path}/${ignored.fingerprint}`, as };
    },

    // coding sessions
    connectRepository: async () => ({ path: `${await importedApp()}/repository`, as, body: repository }),
    disconnectRepository: async () => ({ path: `${await connectedApp()}/repository`, as }),
    launchSession: async () => ({ path: `${await connectedApp()}/sessions`, as, body: { prompt: 'Fix.', title: 'F' } }),
    cancelSession: async () => {
      const path = `${await connectedApp()}/sessions`;
      const headers = { 'idempotency-key': newId() };
      const { id } = await send('POST', path, { prompt: 'Fix.', title: 'F' }, { as, headers });
      return { path: `${path}/${id}/cancel`, as };
    },

    sendSessionMessage: async () => {
      const path = `${await connectedApp()}/sessions`;
      const headers = { 'idempotency-key': newId() };
      const { id } = await send('POST', path, { prompt: 'Fix.', title: 'F' }, { as, headers });
      return { path: `${path}/${id}/messages`, as, body: { text: 'Also update the changelog.' } };
    },

    // browser tests
    createFlow: async () => ({
      path: `${await pathOf()}/testing-agent/flows`,
      as,
      body: { name: 'Order', goal: 'Order.' },
    }),
    updateFlow: async () => {
      const { base, flow } = await newFlow();
      return { path: `${base}/${flow.id}`, as, body: { name: 'Renamed' } };
    },
    deleteFlow: async () => {
      const { base, flow } = await newFlow();
      return { path: `${base}/${flow.id}`, as };
    },

    // builder chat
    stopChat: async () => ({ path: `${await pathOf()}/chat/stop`, as }),

    // app users
    createAppUser: async () => ({ path: `${await pathOf()}/users`, as, body: { email: emailOf() } }),
    updateAppUser: async () => ({ path: (await newAppUser()).path, as, body: { full_name: 'Grace' } }),
    deleteAppUser: async () => ({ path: (await newAppUser()).path, as }),
    createAppUserToken: async () => ({ path: `${(await newAppUser()).path}/tokens`, as, body: {} }),
    requestAppUserLink: async () => {
      const { app, user } = await newAppUser();
      return { path: `/api/apps/${app.id}/auth/link`, body: { email: user.email } };
    },
    signUpAppUser: async () => {
      const app = await openApp();
      await send('PATCH', `/api/apps/${app.id}/auth/settings`, { sign_up: 'open' });
      const body = { email: emailOf(), full_name: 'Grace', password };
      return { path: `/api/apps/${app.id}/auth/sign-up`, body };
    },
    renewAppUserToken: async () => {
      const { app, as } = await asAppUser();
      return { path: `${app}/auth/renew`, as };
    },
    signOutAppUser: async () => {
      const { app, as } = await asAppUser();
      return { path: `${app}/auth/sign-out`, as };
    },
    setAppAuthSettings: async () => ({ path: `${await pathOf()}/auth/settings`, as, body: { sign_up: 'invited' } }),

    // folders
    createFolder: async () => ({ path: '/api/app-folders', as, body: { name: newId(), scope: 'workspace' } }),
    updateFolder: async () => ({
      path: `/api/app-folders/${(await newFolder()).id}`,
      as,
      body: { color: '#2F6FED' },
    }),
    deleteFolder: async () => ({ path: `/api/app-folders/${(await newFolder()).id}`, as }),
    addFolderItems: async () => ({
      path: `/api/app-folders/${(await newFolder()).id}/items`,
      as,
      body: { app_ids: [(await newApp()).id] },
    }),
    removeFolderItem: async () => {
      const path = `/api/app-folders/${(await newFolder()).id}/items`;
      const app_id = (await newApp()).id;
      await send('POST', path, { app_ids: [app_id] });
      return { path: `${path}/${app_id}`, as };
    },

    // agents
    createAgent: async () => ({ path: '/api/agents', as, body: { name: 'Guide' } }),
    updateAgent: async () => ({ path: await newAgent(), as, body: { instructions: 'Be kind.' } }),
    deleteAgent: async () => ({ path: await newAgent(), as }),
    createConversation: async () => ({ path: `${await newAgent()}/conversations`, as, body: {} }),
    deleteAgentMessage: async () => ({ path: await insertMessage(), as }),
    deleteMemory: async () => ({ path: await insertMemory(), as }),

    // automations, workflows
    createAutomation: async () => ({ path: `${await pathOf()}/automations`, as, body: { ...automation, action } }),
    updateAutomation: async () => ({ path: await newAutomation(), as, body: { name: 'Nightly' } }),
    deleteAutomation: async () => ({ path: await newAutomation(), as }),
    createWorkflow: async () => ({
      path: `${await pathOf()}/workflows`,
      as,
      body: { name: 'Welcome', definition, trigger: { config: { trigger_type: 'webhook' } } },
    }),
    updateWorkflow: async () => ({ path: (await newWorkflow()).path, as, body: { name: newId() } }),
    archiveWorkflow: async () => ({ path: (await newWorkflow()).path, as }),
    restoreWorkflow: async () => {
      const { path } = await newWorkflow();
      await send('DELETE', path);
      return { path: `${path}/restore`, as };
    },
    toggleWorkflow: async () => ({
      path: `${(await newWorkflow()).path}/toggle-status`,
      as,
      body: { status: 'inactive' },
    }),
    runWorkflow: async () => ({ path: `${(await newWorkflow()).path}/run-now`, as, body: {} }),
    cancelRun: async () => ({ path: `${await newRun()}/cancel`, as }),
    analyzeRun: async () => {
      const { app, workflow, path } = await newWorkflow();
      const stored = await world.db
        .selectFrom('workflows')
        .where('id', '=', workflow.id)
        .select(['id', 'name', 'current_version_id'])
        .executeTakeFirstOrThrow();
      return { path: `${path}/runs/${await insertFailedRun(world, app, stored)}/analyze`, as };
    },

    receiveHook: async () => ({
      path: new URL((await newWorkflow()).workflow.hook_url).pathname,
      body: { order: 1042 },
    }),

    // ads
    suggestSearchThemes: async () => {
      model.script(() => ({ text: JSON.stringify(['fresh coffee']) }));
      return { path: `${await pathOf()}/ads-platform/suggestions/search-themes`, as, body: {} };
    },

    ensureTrackingAccount: async () => ({ path: await advertised('accounts/ensure-for-tracking'), as, body: {} }),
    syncCampaigns: async () => ({ path: await withAccount('campaigns/sync'), as }),
    buildBootstrapPrompt: async () => ({
      path: await withAccount('tracking-scan/build-bootstrap-prompt'),
      as,
      body: {},
    }),
    createConversionMapping: async () => ({ path: await withAccount('conversion-mappings'), as, body: mapping }),
    updateConversionMapping: async () => ({ path: await newMapping(), as, body: { trigger_action: 'delete' } }),
    deleteConversionMapping: async () => ({ path: await newMapping(), as }),

    // analytics
    trackEvents: async () => ({
      path: `${await pathOf()}/analytics/track/batch`,
      as,
      body: { events: [{ event_name: 'order_placed', user_id: 'customer-17' }] },
    }),

    // connectors
    startConnection: async () => ({ path: `${await pathOf()}/external-auth/initiate`, as, body: connector }),
    setConnectorScopes: async () => ({ path: await insertConnection(), as, body: { scopes: ['api'] } }),
    removeConnector: async () => ({ path: `${await insertConnection()}/remove`, as }),

    // webhooks
    createAgentWebhook: async () => ({
      path: `${await newAgent()}/webhooks`,
      as,
      body: { target_url, events: ['message.created'] },
    }),
    createAppWebhook: async () => ({
      path: `${await pathOf()}/webhooks`,
      as,
      body: { target_url, events: ['entity.created'] },
    }),
    updateAgentWebhook: async () => ({ path: await agentWebhook(), as, body: { signing: 'rotate' } }),
    updateAppWebhook: async () => ({ path: await appWebhook(), as, body: { description: 'Kitchen' } }),
    testAgentWebhook: async () => ({
      path: `${await newWebhook(await newAgent(), 'message.created')}/test`,
      as,
    }),
    testAppWebhook: async () => ({ path: `${await newWebhook(await pathOf(), 'entity.created')}/test`, as }),
    deleteAgentWebhook: async () => ({ path: await agentWebhook(), as }),
    deleteAppWebhook: async () => ({ path: await appWebhook(), as }),
    redeliverAgentDelivery: async () => {
      const { path, id } = await agentDelivery();
      return { path: `${path}/deliveries/${id}/redeliver`, as };
    },
    redeliverAppDelivery: async () => {
      const { path, id } = await appDelivery();
      return { path: `${path}/deliveries/${id}/redeliver`, as };
    },
    ackAgentDeliveries: async () => ({
      path: `${(await newDelivery(await newAgent(), 'message.created', 'pull')).path}/deliveries/ack`,
      as,
      body: { up_to_sequence: 1 },
    }),
    ackAppDeliveries: async () => ({
      path: `${(await newDelivery(await pathOf(), 'entity.created', 'pull')).path}/deliveries/ack`,
      as,
      body: { up_to_sequence: 1 },
    }),
    replayAgentWebhook: async () => ({ path: `${(await agentDelivery()).path}/replay`, as, body: {} }),
    replayAppWebhook: async () => ({ path: `${(await appDelivery()).path}/replay`, as, body: {} }),

    // entities
    putAdsCeilings: async () => ({
      path: '/api/workspace/ads-ceilings',
      as,
      body: { currency_code: 'EUR', app_daily_micros: 40_000_000, workspace_daily_micros: 90_000_000 },
    }),
    putEntitySchema: async () => ({ path: `${await pathOf()}/entity-schemas/Task`, as, body: task }),
    syncEntitySchemas: async () => ({ path: `${await pathOf()}/entity-schemas`, as, body: { schemas: [task] } }),
    deleteEntitySchema: async () => ({ path: `${(await newEntity()).app}/entity-schemas/Task`, as }),
    createRecord: async () => ({ path: (await newEntity()).records, as, body: { cost: 2 } }),
    createRecords: async () => ({ path: `${(await newEntity()).records}/bulk`, as, body: [{ cost: 2 }] }),
    updateRecord: async () => ({ path: (await newRecord()).record, as, body: { cost: 2 } }),
    updateRecords: async () => {
      const { records, id } = await newRecord();
      return { path: `${records}/bulk`, as, body: [{ id, cost: 2 }] };
    },
    upsertRecords: async () => ({
      path: `${(await newRecord()).records}/upsert`,
      as,
      body: { key: ['code'], records: [{ code: 'a', cost: 2 }] },
    }),
    deleteRecord: async () => ({ path: (await newRecord()).record, as }),
    deleteRecords: async () => ({ path: (await newRecord()).records, as, body: { all: true } }),
    restoreRecord: async () => {
      const { record } = await newRecord();
      await send('DELETE', record);
      return { path: `${record}/restore`, as };
    },
    purgeRecord: async () => {
      const { record } = await newRecord();
      await send('DELETE', record);
      return { path: `${record}/permanent`, as };
    },
  };
}
