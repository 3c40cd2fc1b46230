// Tests launching sessions through the API, without a worker (docs/api/coding-sessions.md#launching).
import { describe, expect, it } from 'vitest';
import { repositoryName, startCodingWorld } from '../../../../test/support/coding.ts';
import { startSecondApp } from '../../../../test/support/world.ts';
import { newId } from '../../../kit/ids.ts';

const scene = await startCodingWorld();
const { world, owner, workspace, token, newApp, connectedApp, launch, launched, call, listAudits } = scene;

const setLimit = (monthly_limit: number | null) =>
  world.db.updateTable('workspaces').set({ monthly_limit }).where('id', '=', workspace).execute();
const countSessions = async (app: { id: string }) =>
  (await world.db.selectFrom('coding_sessions').select('id').where('app_id', '=', app.id).execute()).length;
const code = (status: number, code: string) => ({ status, body: { code } });

const shared = await connectedApp();

describe('launchSession', () => {
  it('answers a queued session before any work, with null in all that is not known yet', async () => {
    const app = await connectedApp();
    const got = await launch(app, { client_reference: 'TICKET-1' }, 'first');
    expect(got).toMatchObject({ status: 200 });
    expect(got.body).toEqual({
      id: expect.any(String),
      title: 'Fix the total',
      state: 'queued',
      message_id: null,
      repository_full_name: repositoryName,
      branch_id: null,
      branch_name: null,
      session_url: null,
      pull_request: null,
      error_code: null,
      launch_key: 'first',
      client_reference: 'TICKET-1',
      input_request_id: null,
      outcome: null,
      summary: null,
    });
    expect(got.headers['x-warning']).toBe('no_worker_seen');
    expect(await listAudits(app)).toEqual(['repository.connected by user', 'session.launched by user']);
  });

  it('refuses in this order: 422, replay, kind, repository, mismatch, branch, busy, credits, git host, model', async () => {
    const nobody = 'http://127.0.0.1:9'; // nothing listens there
    const bare = await startSecondApp(world, {
      environment: { GIT_HOST_URL: nobody, MODEL_URL: `${nobody}/v1` },
    });
    const withHost = await startSecondApp(world, { environment: { MODEL_URL: `${nobody}/v1` } });
    const app = await world.appOf(owner, workspace);
    const key = newId();
    const body: Record<string, unknown> = {
      prompt: '',
      title: 'T',
      existing_branch: 'main',
      expected_repository_full_name: 'acme/other',
    };
    const sendTo = (beside: typeof world) =>
      beside.call('POST', `/api/apps/${app.id}/imported/sessions`, {
        as: token,
        body,
        headers: { 'idempotency-key': key },
      });
    const send = () => sendTo(bare);
    const setType = (app_type: 'user_app' | 'imported_app') =>
      world.db.updateTable('apps').set({ app_type }).where('id', '=', app.id).execute();
    await setLimit(0);

    expect(await send()).toMatchObject({ status: 422 });
    body.prompt = 'Do it.';
    expect(await send()).toMatchObject(code(400, 'not_an_imported_app'));
    await setType('imported_app');
    expect(await send()).toMatchObject(code(404, 'repository_not_connected'));
    await scene.connect(app);
    expect(await send()).toMatchObject(code(409, 'repository_mismatch'));
    body.expected_repository_full_name = repositoryName;
    expect(await send()).toMatchObject(code(400, 'branch_not_allowed'));
    body.existing_branch = 'feature';
    await setLimit(null);
    const blocking = await launched(app, { existing_branch: 'feature' });
    await setLimit(0);
    expect(await send()).toMatchObject(code(409, 'session_busy'));
    await call('POST', app, `/sessions/${blocking.id}/cancel`);
    expect(await send()).toMatchObject(code(402, 'credits_exhausted'));
    await setLimit(null);
    expect(await send()).toMatchObject({ ...code(503, 'git_host_unavailable'), headers: { 'retry-after': '5' } });
    expect(await sendTo(withHost)).toMatchObject(code(503, 'model_unavailable'));
    expect((await sendTo(world)).status).toBe(200);
    // Replays are detected before all other checks, except those that return 422.
    await setType('user_app');
    const replayed = await send();
    expect(replayed).toMatchObject({ status: 200, headers: { 'idempotent-replayed': 'true' } });
    body.title = 'Another';
    expect(await send()).toMatchObject(code(409, 'idempotency_conflict'));
    expect(await countSessions(app)).toBe(2);
  });

  it('says that the installation has no git host', async () => {
    const app = await connectedApp();
    const beside = await startSecondApp(world, { environment: { GIT_HOST_URL: '', GIT_HOST_CLONE_URL: '' } });
    const got = await beside.call('POST', `/api/apps/${app.id}/imported/sessions`, {
      as: token,
      body: { prompt: 'Do it.', title: 'It' },
      headers: { 'idempotency-key': newId() },
    });
    expect(got).toMatchObject({ ...code(503, 'git_host_unavailable'), headers: { 'retry-after': '60' } });
    expect(got.body.detail).toContain('GIT_HOST_URL');
  });

  it('refuses if a member has no credits left', async () => {
    const app = await connectedApp();
    const member = await world.member(workspace, 'editor', 'limited@example.com');
    await world.db.updateTable('memberships').set({ credit_limit: 1 }).where('user_id', '=', member.id).execute();
    const as = await world.token(member, workspace);
    expect(await launch(app, {}, newId(), { as })).toMatchObject(code(402, 'credit_limit_reached'));
  });

  const send = (field: string, value: unknown) => launch(shared, { [field]: value });
  it.each([
    ['prompt', 1, 99_611],
    ['title', 1, 200],
    ['existing_branch', 1, 255],
    ['source_ref', 1, 255],
    ['pull_request_body', 0, 20_000],
    ['commit_message', 1, 2_000],
    ['client_reference', 1, 200],
  ])('accepts %s with %i to %i characters', async (field, min, max) => {
    if (min > 0) expect((await send(field, '')).body.detail).toMatchObject([{ loc: ['body', field] }]);
    expect(await send(field, 'x'.repeat(max + 1))).toMatchObject({
      status: 422,
      body: { detail: [{ loc: ['body', field], type: 'string_too_long' }] },
    });
    expect((await send(field, 'x'.repeat(Math.max(1, min)))).status).toBe(200);
    expect((await send(field, 'x'.repeat(max))).status).toBe(200);
  });

  it.each([
    ['client_reference', 'a b'],
    ['expected_repository_full_name', 'flower-shop'],
    ['expected_repository_full_name', `${'a'.repeat(150)}/${'b'.repeat(51)}`],
  ])('refuses the form of %s', async (field, value) => {
    const type = value.length > 200 ? 'string_too_long' : 'string_pattern_mismatch';
    expect(await send(field, value)).toMatchObject({
      status: 422,
      body: { detail: [{ loc: ['body', field], type }] },
    });
  });

  it('reads null as absent', async () => {
    const app = await connectedApp();
    const optional = ['existing_branch', 'source_ref', 'pull_request_body', 'commit_message', 'client_reference'];
    const nulls = Object.fromEntries([...optional, 'expected_repository_full_name'].map((name) => [name, null]));
    const first = await launch(app, nulls, 'nulls');
    expect(first.status).toBe(200);
    expect((await launch(app, {}, 'nulls')).body.id).toBe(first.body.id);
  });

  it('requires a key of the form', async () => {
    const send = (headers: object) =>
      call('POST', shared, '/sessions', { body: { prompt: 'Do it.', title: 'It' }, headers });
    const fault = (type: string) => ({
      status: 422,
      body: { detail: [{ loc: ['header', 'Idempotency-Key'], type }] },
    });
    expect(await send({})).toMatchObject(fault('missing'));
    expect(await send({ 'idempotency-key': 'a b' })).toMatchObject(fault('string_pattern_mismatch'));
    expect(await send({ 'idempotency-key': 'x'.repeat(201) })).toMatchObject(fault('string_too_long'));
    expect((await send({ 'idempotency-key': 'x'.repeat(200) })).status).toBe(200);
  });
});

describe('a repeated launch', () => {
  it('makes one session, however many clients send it at once', async () => {
    const app = await connectedApp();
    const got = await Promise.all(Array.from({ length: 10 }, () => launch(app, {}, 'at-once')));
    expect(got.map(({ status }) => status)).toEqual(Array(10).fill(200));
    expect(new Set(got.map(({ body }) => body.id)).size).toBe(1);
    expect(got.filter(({ headers }) => headers['idempotent-replayed'] === undefined)).toHaveLength(1);
    expect(await countSessions(app)).toBe(1);
  });

  it('answers the session as it is now, also after years', async () => {
    const app = await connectedApp();
    const first = await launch(app, {}, 'old');
    await call('POST', app, `/sessions/${first.body.id}/cancel`);
    await world.db.deleteFrom('idempotency_keys').execute(); // as they would be after a day
    const again = await launch(app, {}, 'old');
    expect(again.body).toEqual({ ...first.body, state: 'cancelled' });
    expect(again.headers['idempotent-replayed']).toBe('true');
  });

  it.each([
    ['prompt', 'Other.'],
    ['title', 'Other'],
    ['existing_branch', 'feature'],
    ['source_ref', 'other'],
    ['pull_request_body', 'More.'],
    ['commit_message', 'Other'],
    ['expected_repository_full_name', repositoryName],
  ])('conflicts with another %s', async (field, value) => {
    const { id } = (await launch(shared, {}, 'changed')).body;
    expect(await launch(shared, { [field]: value }, 'changed')).toMatchObject({
      ...code(409, 'idempotency_conflict'),
      body: { retry_safe: false },
    });
    expect((await launch(shared, {}, 'changed')).body.id).toBe(id);
  });

  it('may leave the client_reference out, or give it for the first time, and conflicts with another one', async () => {
    const app = await connectedApp();
    await launch(app, {}, 'label');
    expect((await launch(app, { client_reference: 'A' }, 'label')).body.client_reference).toBe('A');
    expect((await launch(app, {}, 'label')).body.client_reference).toBe('A');
    expect(await launch(app, { client_reference: 'B' }, 'label')).toMatchObject(code(409, 'idempotency_conflict'));
    expect((await call('GET', app, '/sessions?client_reference=A')).body.items).toHaveLength(1);
  });

  it('belongs to one person and one app', async () => {
    const [app, other] = [await connectedApp(), await connectedApp()];
    const member = await world.member(workspace, 'editor', 'same-key@example.com');
    const as = await world.token(member, workspace);
    const sessions = [await launch(app, {}, 'mine'), await launch(other, {}, 'mine')];
    sessions.push(await launch(app, {}, 'mine', { as }));
    expect(new Set(sessions.map(({ body }) => body.id)).size).toBe(3);
    expect((await call('GET', app, '/sessions/launch-requests/mine', { as })).body.id).toBe(sessions[2]?.body.id);
  });
});

describe('the branch of a session', () => {
  const branchOf = async ({ id }: { id: string }) =>
    (await world.db.selectFrom('coding_sessions').select('work_branch').where('id', '=', id).executeTakeFirst())
      ?.work_branch;

  it('follows from person, app, key and title', async () => {
    const app = await connectedApp();
    const title = 'Überprüfe: the *total* of an order, and everything that depends on it';
    const { body } = await launch(app, { title }, 'branch');
    expect(await branchOf(body)).toMatch(/^plinth\/[a-z2-7]{10}-uberprufe-the-total-of-an-order-and-ever$/);
    const { body: unnamed } = await launch(app, { title: '。。' }, 'unnamed');
    expect(await branchOf(unnamed)).toMatch(/^plinth\/[a-z2-7]{10}-session$/);
  });

  it.each(['main', 'refs/heads/main', 'release'])(
    'is not %s, which is the base or protected',
    async (existing_branch) => {
      expect(await launch(shared, { existing_branch })).toMatchObject(code(400, 'branch_not_allowed'));
    },
  );

  it('is not the default branch, if the base branch is another one', async () => {
    const app = await newApp();
    await scene.connect(app, { base_branch: 'other' });
    expect(await launch(app, { existing_branch: 'main' })).toMatchObject(code(400, 'branch_not_allowed'));
    expect(await launch(app, { existing_branch: 'other' })).toMatchObject(code(400, 'branch_not_allowed'));
  });

  it('may be one that does not exist: the session will say so', async () => {
    expect((await launch(shared, { existing_branch: 'no-such' })).status).toBe(200);
  });

  it('is worked on by one active session at a time', async () => {
    const app = await connectedApp();
    const got = await Promise.all(
      ['feature', 'refs/heads/feature', 'Feature'].map((existing_branch) => launch(app, { existing_branch })),
    );
    expect(got.map(({ status, body }) => body.code ?? status).sort()).toEqual([200, 'session_busy', 'session_busy']);
    const ofNew = await branchOf(await launched(app));
    expect(await launch(app, { existing_branch: ofNew })).toMatchObject(code(409, 'session_busy'));
  });

  it('makes source_ref ineffective, which the answer says', async () => {
    const app = await connectedApp();
    const send = () => launch(app, { existing_branch: 'feature', source_ref: 'other' }, 'both');
    for (const got of [await send(), await send()]) expect(got.headers['x-ignored-fields']).toBe('source_ref');
    const got = await launch(app, { source_ref: 'other', no_such_field: 1 }, 'ref');
    expect(got.headers['x-ignored-fields']).toBe('no_such_field');
  });
});

describe('expected_repository_full_name', () => {
  it('is compared without regard to case, and a mismatch records nothing', async () => {
    const app = await connectedApp();
    const send = (expected_repository_full_name: string) => launch(app, { expected_repository_full_name }, 'expected');
    expect(await send('acme/other')).toMatchObject(code(409, 'repository_mismatch'));
    expect(await countSessions(app)).toBe(0);
    expect((await send('Acme/Flower-SHOP')).status).toBe(200);
  });
});
