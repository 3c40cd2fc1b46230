// Tests reading, listing and cancelling sessions, and the transitions that a worker makes
// (docs/api/coding-sessions.md#states).
import { describe, expect, it } from 'vitest';
import { claimSession, question, ready, repositoryName, startCodingWorld } from '../../../../test/support/coding.ts';
import { ClaimLost } from '../../../core/turns/claim.ts';
import { failTurn } from '../turn/end.ts';
import { SessionFault } from '../turn/fault.ts';
import { appendLog, moveClaimed, SessionMoved } from './session.ts';

const scene = await startCodingWorld();
const {
  world,
  host,
  owner,
  workspace,
  token,
  connectedApp,
  launched,
  launch,
  send,
  call,
  work,
  sessionDeps,
  listAudits,
} = scene;
const { db } = world.app.database;

const code = (status: number, code: string) => ({ status, body: { code } });
const get = (app: { id: string }, session: { id: string }) => call('GET', app, `/sessions/${session.id}`);
const rowOf = ({ id }: { id: string }) =>
  world.db.selectFrom('coding_sessions').selectAll().where('id', '=', id).executeTakeFirstOrThrow();
const cancel = (app: { id: string }, session: { id: string }) => call('POST', app, `/sessions/${session.id}/cancel`);

const pullRequest = (number: number) => ({
  number,
  html_url: `${host.cloneUrl}/${repositoryName}/pull/${number}`,
  url: `${host.url}/repos/${repositoryName}/pulls/${number}`,
  title: 'Fix the total',
  state: 'open' as const,
  head_branch: 'feature',
  base_branch: 'main',
  created: true,
  created_date: '2026-11-15T09:40:00.000Z',
  updated_date: '2026-11-15T09:41:00.000Z',
});

/** A completed session whose pull request exists on the git host. */
async function completed(app: { id: string }) {
  const session = await launched(app, { existing_branch: 'feature' });
  const [open] = host.listPullRequests(repositoryName);
  const number = open?.number ?? (await openPullRequest());
  await work(
    session,
    ready('feature'),
    { to: 'opening_pull_request', change: { head_commit: 'a'.repeat(40) } },
    {
      to: 'completed',
      change: {
        outcome: 'pull_request',
        summary: 'Done.',
        pull_request: JSON.stringify(pullRequest(number)),
        pull_request_read_at: world.clock.now(),
      },
    },
  );
  return { session, number };
}

async function openPullRequest(): Promise<number> {
  const response = await fetch(`${host.url}/repos/${repositoryName}/pulls`, {
    method: 'POST',
    headers: { authorization: `Bearer ${host.token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ title: 'Fix the total', body: '', head: 'feature', base: 'main' }),
  });
  return ((await response.json()) as { number: number }).number;
}

describe('getSession', () => {
  it('shows the branch and the address of its page once the branch is ready, and counts versions', async () => {
    const app = await connectedApp();
    const session = await launched(app, { existing_branch: 'feature' });
    expect((await get(app, session)).headers['x-session-version']).toBe('1');
    const { branch_id, message_id } = await work(session, ready('feature'));
    const got = await get(app, session);
    const session_url = `${world.config.BASE_URL}/editor/${app.id}/sessions/${session.id}`;
    const shown = { state: 'running', branch_id, branch_name: 'feature', message_id, session_url };
    expect(got).toMatchObject({ headers: { 'x-session-version': '2' }, body: shown });
  });

  it('reads the state of the pull request again if it is older than a minute', async () => {
    const app = await connectedApp();
    const { session, number } = await completed(app);
    const { version } = await rowOf(session);
    host.setPullRequestState(repositoryName, number, 'merged');
    expect((await get(app, session)).body.pull_request.state).toBe('open');
    world.clock.aheadMs = 61_000;
    const got = await get(app, session);
    expect(got.body).toMatchObject({ state: 'completed', pull_request: { number, state: 'merged', created: true } });
    expect(got.headers).toMatchObject({ 'x-session-version': String(version + 1) });
    expect(got.headers['x-partial-result']).toBeUndefined();
    host.setPullRequestState(repositoryName, number, 'open');
  });

  it('shows what is stored if the git host does not answer, says so, and asks it again after ten seconds', async () => {
    const app = await connectedApp();
    const { session } = await completed(app);
    host.setFaults({ call: 'read_pull', fault: 'error_before' });
    world.clock.aheadMs = 61_000;
    const asked = () => host.journal.filter(({ call, event }) => call === 'read_pull' && event === 'received').length;
    const before = asked();
    for (let reader = 0; reader < 3; reader += 1) {
      const got = await get(app, session);
      expect(got).toMatchObject({ status: 200, headers: { 'x-partial-result': 'pull_request' } });
      expect(got.body.pull_request.state).toBe('open');
    }
    expect(asked() - before).toBe(1);
    world.clock.aheadMs += 11_000;
    host.setFaults();
    expect((await get(app, session)).headers['x-partial-result']).toBeUndefined();
    expect(asked() - before).toBe(2);
  });

  it('answers 404 for what is not a session of this app', async () => {
    const [app, other] = [await connectedApp(), await connectedApp()];
    const session = await launched(app);
    for (const id of [session.id, 'x', '%00'])
      expect(await get(other, { id })).toMatchObject(code(404, 'session_not_found'));
  });

  it('is only for imported apps', async () => {
    const app = await world.appOf(owner, workspace);
    const id = '0198c217-1903-7d0a-8b2c-3e4f50617283';
    const calls = [
      '',
      `/${id}`,
      `/${id}/input-request`,
      `/${id}/messages/${id}`,
      `/${id}/events`,
      '/launch-requests/k',
    ];
    for (const path of calls)
      expect(await call('GET', app, `/sessions${path}`)).toMatchObject(code(400, 'not_an_imported_app'));
    for (const path of ['cancel', 'messages'])
      expect(await call('POST', app, `/sessions/${id}/${path}`, { body: {} })).toMatchObject(
        code(400, 'not_an_imported_app'),
      );
  });
});

describe('getSessionByKey', () => {
  it('answers the session of your own launch, and never starts one', async () => {
    const app = await connectedApp();
    const { body } = await launch(app, {}, 'by:key.1');
    expect((await call('GET', app, '/sessions/launch-requests/by:key.1')).body).toEqual(body);
    const member = await world.member(workspace, 'editor', 'other@example.com');
    const as = await world.token(member, workspace);
    for (const key of ['by:key.1', '%00', 'a%20b'])
      expect(await call('GET', app, `/sessions/launch-requests/${key}`, { as })).toMatchObject(
        code(404, 'session_not_found'),
      );
  });
});

describe('listSessions', () => {
  it('lists newest first, by state and label, in pages', async () => {
    const app = await connectedApp();
    const ids: string[] = [];
    for (const client_reference of ['A', 'B', 'A']) ids.unshift((await launched(app, { client_reference })).id);
    await cancel(app, { id: ids[1] ?? '' });
    const list = async (query: string) => (await call('GET', app, `/sessions${query}`)).body;
    const idsOf = ({ items }: { items: { id: string }[] }) => items.map(({ id }) => id);
    expect(idsOf(await list(''))).toEqual(ids);
    expect(idsOf(await list('?state=cancelled'))).toEqual([ids[1]]);
    expect(idsOf(await list('?client_reference=A'))).toEqual([ids[0], ids[2]]);
    expect(idsOf(await list('?client_reference=none'))).toEqual([]);
    expect(await call('GET', app, '/sessions?client_reference=%00')).toMatchObject({ status: 422 });
    const first = await list('?limit=2');
    expect(first).toMatchObject({ has_more: true });
    expect(idsOf(await list(`?limit=2&cursor=${first.next_cursor}`))).toEqual([ids[2]]);
    expect(await call('GET', app, '/sessions?cursor=x')).toMatchObject(code(400, 'cursor_invalid'));
    expect(await call('GET', app, '/sessions?state=x')).toMatchObject({ status: 422 });
  });
});

describe('cancelSession', () => {
  it('ends a queued session at once, and does nothing to one that has ended', async () => {
    const app = await connectedApp();
    const session = await launched(app);
    const got = await cancel(app, session);
    expect(got.body).toEqual({ ...session, state: 'cancelled' });
    expect(got.headers['x-changed']).toBeUndefined();
    expect(await cancel(app, session)).toMatchObject({
      status: 200,
      body: got.body,
      headers: { 'x-changed': 'false' },
    });
    expect((await listAudits(app)).slice(1)).toEqual(['session.launched by user', 'session.cancelled by user']);
  });

  it('ends a queued session that a worker prepares, and the worker can write nothing more', async () => {
    const app = await connectedApp();
    const session = await launched(app, { existing_branch: 'feature' });
    const claimed = await claimSession(world, session);
    await cancel(app, session);
    await expect(moveClaimed(db, sessionDeps, claimed, ready('feature'), new Date())).rejects.toThrow(ClaimLost);
    expect(await rowOf(session)).toMatchObject({ state: 'cancelled', claimed_slot: null, due_at: null });
  });

  it.each(['running', 'needs_input'] as const)('asks the worker of a %s session to stop it', async (state) => {
    const app = await connectedApp();
    const session = await launched(app, { existing_branch: 'feature' });
    await work(session, ready('feature'));
    if (state === 'needs_input') await work(session, { to: 'needs_input', input_request: question() });
    expect((await cancel(app, session)).body).toMatchObject({ state: 'cancelling', input_request_id: null });
    expect((await cancel(app, session)).headers['x-changed']).toBe('false');
    const row = await rowOf(session);
    expect(row.due_at?.getTime()).toBeLessThanOrEqual(Date.now() + 1_000);
    expect(row.claimed_slot).toBe(state === 'running' ? 99 : null);
    await expect(work(session, { to: 'completed', change: { outcome: 'answer', summary: '' } })).rejects.toThrow(
      SessionMoved,
    );
    await work(session, { to: 'cancelled' });
    expect((await get(app, session)).body).toMatchObject({ state: 'cancelled', branch_name: 'feature' });
    expect((await listAudits(app)).slice(-2)).toEqual([
      'session.cancel_requested by user',
      'session.cancelled by service',
    ]);
  });

  it('is done to the sessions of a member who leaves, of a deleted app and of a deleted workspace', async () => {
    const member = await world.member(workspace, 'editor', 'leaving@example.com');
    const as = await world.token(member, workspace);
    const app = await connectedApp();
    const theirs = (await launch(app, {}, 'leaving', { as })).body;
    const running = (await launch(app, { existing_branch: 'feature' }, 'leaving-2', { as })).body;
    const mine = await launched(app, { existing_branch: 'other' });
    await work(running, ready('feature'));
    await world.call('DELETE', `/api/workspace/members/${member.email}`, { as: token });
    expect((await rowOf(theirs)).state).toBe('cancelled');
    expect((await rowOf(running)).state).toBe('cancelling');
    expect((await rowOf(mine)).state).toBe('queued');
    await work(mine, ready('other'));
    await world.call('DELETE', `/api/apps/${app.id}`, { as: token });
    expect((await rowOf(mine)).state).toBe('cancelling');
    const second = await world.workspace(owner, 'enterprise', 'Second');
    const inSecond = await world.appOf(owner, second, { app_type: 'imported_app' });
    const secondToken = await world.token(owner, second);
    await scene.connect(inSecond, {}, { as: secondToken });
    const last = (await launch(inSecond, {}, 'last', { as: secondToken })).body;
    const body = { confirm_name: 'Second' };
    const headers = await world.session(owner);
    const deleted = await world.call('DELETE', `/api/workspace?workspaceId=${second}`, { headers, body });
    expect(deleted.status, deleted.text).toBe(200);
    expect((await rowOf(last)).state).toBe('cancelled');
  });
});

describe('a worker', () => {
  it('gives the session back when it asks something, so an answer in the same moment is not lost', async () => {
    const app = await connectedApp();
    const session = await launched(app, { existing_branch: 'feature' });
    const input_request = question();
    await work(session, ready('feature'), { to: 'needs_input', input_request });
    const row = await rowOf(session);
    expect(row).toMatchObject({ claimed_slot: null, state: 'needs_input', version: 4 });
    expect(row.due_at?.toISOString()).toBe(input_request.expires_at);
    expect((await call('GET', app, `/sessions/${session.id}/input-request`)).body).toEqual({
      input_request,
      launched_by: owner.email,
    });
  });

  it('keeps at most 10,000 characters of the summary', async () => {
    const app = await connectedApp();
    const session = await launched(app, { existing_branch: 'feature' });
    await work(session, ready('feature'), {
      to: 'completed',
      change: { outcome: 'answer', summary: '😀'.repeat(10_001) },
    });
    expect([...(await get(app, session)).body.summary]).toHaveLength(10_000);
  });

  it('writes a bounded log for each turn, whose last line says that it is full, and always how the turn ended', async () => {
    const app = await connectedApp();
    const session = await launched(app, { existing_branch: 'feature' });
    const claimed = await claimSession(world, session);
    await moveClaimed(db, sessionDeps, claimed, ready('feature'), new Date());
    const line = 'x'.repeat(3_999);
    for (let batch = 0; batch < 6; batch += 1)
      await appendLog(db, sessionDeps, claimed, Array(100).fill(line), new Date());
    const logs = await world.db
      .selectFrom('coding_events')
      .select('data')
      .where('session_id', '=', session.id)
      .where('event', '=', 'log')
      .orderBy('version')
      .execute();
    expect(logs.length).toBe(525);
    expect(logs.at(-1)?.data).toEqual({ text: expect.stringContaining('full') });
    expect((await rowOf(session)).version).toBe(2 + 525);
    const fault = new SessionFault('session_timeout', 'It took too long.');
    const kept = { change: {}, text: 'Nothing was pushed.' };
    expect(await failTurn(db, sessionDeps, { session: claimed, fault, kept }, new Date())).toMatchObject({
      version: 2 + 525 + 2,
    });
    const end = await world.db
      .selectFrom('coding_events')
      .select('data')
      .where('session_id', '=', session.id)
      .where('version', '=', 2 + 525 + 1)
      .executeTakeFirst();
    expect(end?.data).toEqual({ text: 'It took too long.' });
    await send(app, session, { text: 'Continue.' });
    expect(await rowOf(session)).toMatchObject({ log_rows: 0, log_bytes: 0 });
  });

  it('whose claim was given to another writes nothing', async () => {
    const app = await connectedApp();
    const session = await launched(app, { existing_branch: 'feature' });
    const first = await claimSession(world, session);
    await claimSession(world, session);
    await expect(appendLog(db, sessionDeps, first, ['late'], new Date())).rejects.toThrow(ClaimLost);
    await expect(moveClaimed(db, sessionDeps, first, ready('feature'), new Date())).rejects.toThrow(ClaimLost);
  });
});
