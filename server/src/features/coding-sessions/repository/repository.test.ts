// Tests connecting imported apps to their repositories (docs/api/coding-sessions.md#repository).
import { describe, expect, it } from 'vitest';
import { repositoryName, startCodingWorld } from '../../../../test/support/coding.ts';
import { startSecondApp } from '../../../../test/support/world.ts';
import { newId } from '../../../kit/ids.ts';
import { createSecrets } from '../../../kit/secrets.ts';
import { openCredential } from './repository.ts';

const scene = await startCodingWorld();
const { world, host, owner, workspace, token, newApp, connectedApp, connect, call, launched, listAudits } = scene;

const code = (status: number, code: string) => ({ status, body: { code } });
const fault = (...loc: string[]) => ({ status: 422, body: { detail: [{ loc: ['body', ...loc] }] } });

describe('connectRepository', () => {
  it('answers what the git host says, and getRepository answers the same', async () => {
    const app = await newApp();
    const got = await connect(app, { repository_full_name: 'Acme/Flower-Shop' });
    expect(got.body).toEqual({
      repository_full_name: repositoryName,
      base_branch: 'main',
      host: new URL(host.cloneUrl).host,
      connected_by: owner.email,
      connected_at: expect.any(String),
      permissions_ok: true,
      missing_permissions: [],
    });
    expect((await call('GET', app, '/repository')).body).toEqual(got.body);
    expect(await listAudits(app)).toEqual(['repository.connected by user']);
  });

  it('stores the token only encrypted, and shows it nowhere', async () => {
    const app = await newApp();
    const got = await connect(app);
    const rows = await world.db.selectFrom('app_repositories').selectAll().where('app_id', '=', app.id).execute();
    expect(JSON.stringify(rows)).toMatch(/"token_sealed":"v1\./);
    const audits = await world.db.selectFrom('audit_pending').selectAll().execute();
    for (const seen of [rows, audits, got.body, world.logLines]) expect(JSON.stringify(seen)).not.toContain(host.token);
  });

  it('says what the token may not do', async () => {
    host.addToken('reader', { contents: 'read', pull_requests: 'none' });
    const got = await connect(await newApp(), { credentials: { token: 'reader' } });
    expect(got).toMatchObject({ status: 200, body: { permissions_ok: false } });
    expect(got.body.missing_permissions).not.toEqual([]);
  });

  it('refuses what the git host does not accept, at the field', async () => {
    const app = await newApp();
    expect(await connect(app, { repository_full_name: 'acme/none' })).toMatchObject(fault('repository_full_name'));
    expect(await connect(app, { credentials: { token: 'wrong' } })).toMatchObject(fault('credentials', 'token'));
    expect(await connect(app, { base_branch: 'none' })).toMatchObject(fault('base_branch'));
    expect(await connect(app, { credentials: null })).toMatchObject(fault('credentials'));
    expect(await connect(app, { credentials: { token: 'a\nb' } })).toMatchObject(fault('credentials', 'token'));
    await host.addRepository({ full_name: 'acme/empty', files: {} });
    expect(await call('GET', app, '/repository')).toMatchObject(code(404, 'repository_not_connected'));
  });

  it('answers 503 while the git host does not answer, and without one', async () => {
    const app = await newApp();
    host.setFaults({ call: 'read', fault: 'drop_before' });
    expect(await connect(app)).toMatchObject({ ...code(503, 'git_host_unavailable'), headers: { 'retry-after': '5' } });
    host.setFaults({ call: 'branch', fault: 'drop_before' });
    expect(await connect(app)).toMatchObject(code(503, 'git_host_unavailable'));
    const beside = await startSecondApp(world, { environment: { GIT_HOST_URL: '', GIT_HOST_CLONE_URL: '' } });
    const body = { repository_full_name: repositoryName, credentials: { token: host.token } };
    const got = await beside.call('PUT', `/api/apps/${app.id}/imported/repository`, { as: token, body });
    expect(got).toMatchObject({ ...code(503, 'git_host_unavailable'), headers: { 'retry-after': '60' } });
  });

  it("uses the operator's App for what the operator has given to the workspace, and for nothing else", async () => {
    const app = await newApp();
    await host.addRepository({ full_name: 'globex/site', files: { 'a.txt': 'a' } });
    const { appId: GIT_HOST_APP_ID, appPrivateKey: GIT_HOST_APP_PRIVATE_KEY } = host;
    const connectWith = async (GIT_HOST_APP_OWNERS: string, repository_full_name: string) => {
      const environment = { GIT_HOST_APP_ID, GIT_HOST_APP_PRIVATE_KEY, GIT_HOST_APP_OWNERS };
      const beside = await startSecondApp(world, { environment });
      const body = { repository_full_name };
      return beside.call('PUT', `/api/apps/${app.id}/imported/repository`, { as: token, body });
    };
    expect(await connectWith('', repositoryName)).toMatchObject(fault('credentials'));
    expect(await connectWith(`acme=${newId()}`, repositoryName)).toMatchObject(fault('credentials'));
    const owners = `Acme=${workspace},globex/shop=${workspace}`;
    expect(await connectWith(owners, 'globex/site')).toMatchObject(fault('credentials'));
    expect(await connectWith(owners, repositoryName)).toMatchObject({ status: 200, body: { permissions_ok: true } });
  });

  it('no longer lends the App for a repository that the operator has taken back', () => {
    const secrets = createSecrets(world.config.MASTER_KEYS);
    const row = { app_id: newId(), workspace_id: workspace, repository_full_name: repositoryName, token_sealed: null };
    const credentialWith = (name: string, workspace_id: string) =>
      openCredential({ gitHost: { hasApp: true }, secrets, appOwners: [{ name, workspace_id }] }, row);
    expect(credentialWith('acme', workspace)).toEqual({ app: true });
    expect(credentialWith(repositoryName.toLowerCase(), workspace)).toEqual({ app: true });
    expect(credentialWith('acme', newId())).toBeUndefined();
    expect(credentialWith('globex', workspace)).toBeUndefined();
  });

  it('is only for imported apps', async () => {
    const app = await world.appOf(owner, workspace);
    for (const method of ['GET', 'PUT', 'DELETE'])
      expect(await call(method, app, '/repository', { body: {} })).toMatchObject(code(400, 'not_an_imported_app'));
  });

  it('takes a new token at any time, and another repository only without an active session', async () => {
    const app = await connectedApp();
    await host.addRepository({ full_name: 'acme/second', files: { 'a.txt': 'a' } });
    const session = await launched(app);
    host.addToken('renewed');
    expect((await connect(app, { credentials: { token: 'renewed' } })).status).toBe(200);
    expect(await connect(app, { repository_full_name: 'acme/second' })).toMatchObject(code(409, 'session_busy'));
    await call('POST', app, `/sessions/${session.id}/cancel`);
    const got = await connect(app, { repository_full_name: 'acme/second' });
    expect(got.body.repository_full_name).toBe('acme/second');
  });
});

describe('disconnectRepository', () => {
  it('deletes the token, once no session is active', async () => {
    const app = await connectedApp();
    const session = await launched(app);
    expect(await call('DELETE', app, '/repository')).toMatchObject(code(409, 'session_busy'));
    await call('POST', app, `/sessions/${session.id}/cancel`);
    expect(await call('DELETE', app, '/repository')).toMatchObject({ status: 200, body: { success: true } });
    expect(await call('DELETE', app, '/repository')).toMatchObject(code(404, 'repository_not_connected'));
    expect(await call('GET', app, '/repository')).toMatchObject(code(404, 'repository_not_connected'));
    expect((await listAudits(app)).at(-1)).toBe('repository.disconnected by user');
  });
});

describe('tokens of repositories', () => {
  it('are moved to a new master key, and still work', async () => {
    const app = await connectedApp();
    const old = world.config.MASTER_KEYS[0];
    const key = Buffer.alloc(32, 7).toString('base64');
    const environment = { MASTER_KEYS: `new:${key},${old.id}:${old.key.toString('base64')}` };
    const beside = await startSecondApp(world, { environment });
    const job = beside.app.background.jobs.find(({ name }) => name === 'rewrap tokens of repositories');
    await job?.run(beside.app.database.db, new Date());
    const row = await world.db
      .selectFrom('app_repositories')
      .select('token_sealed')
      .where('app_id', '=', app.id)
      .executeTakeFirst();
    expect(row?.token_sealed).toMatch(/^v1\.new\./);
    const got = await beside.call('POST', `/api/apps/${app.id}/imported/sessions`, {
      as: token,
      body: { prompt: 'Do it.', title: 'It' },
      headers: { 'idempotency-key': 'rotated' },
    });
    expect(got.status, got.text).toBe(200);
    await world.db.deleteFrom('coding_sessions').where('app_id', '=', app.id).execute();
    await world.db.deleteFrom('app_repositories').execute(); // this process does not have the new key
  });
});
