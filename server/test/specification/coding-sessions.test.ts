// Tests what the specification says about coding sessions: launching them, and what a session shows.
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { newId } from '../../src/kit/ids.ts';
import type { CallResult } from '../support/client.ts';
import { type AppId, question, ready, repositoryName, startCodingWorld } from '../support/coding.ts';
import { callTools, say } from '../support/session-work.ts';
import { expectInvalid, expectOk, orNull, text } from './support.ts';

const folder = mkdtempSync(join(tmpdir(), 'plinth-specification-'));
chmodSync(folder, 0o711); // if the tests run as root, commands run as other users
const scene = await startCodingWorld({ environment: { SESSION_FOLDER: folder } });
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const { world, host, model, call, connectedApp, launch, launched, work } = scene;
beforeEach(() => world.resetRateLimits());

const app = await connectedApp();
const get = async (session: { id: string }, of: AppId = app) =>
  expectOk(await call('GET', of, `/sessions/${session.id}`));
const cancel = (session: { id: string }, of: AppId = app) => call('POST', of, `/sessions/${session.id}/cancel`);
const opened = () => ({
  outcome: 'pull_request' as const,
  summary: 'Done.',
  pull_request: JSON.stringify({
    number: 1,
    html_url: `https://git.example/${repositoryName}/pull/1`,
    url: `https://git.example/api/repos/${repositoryName}/pulls/1`,
    state: 'open',
    title: 'Fix the total',
    head_branch: 'c1',
    base_branch: 'main',
    created: true,
    created_date: '2026-11-15T09:40:00.000Z',
    updated_date: '2026-11-15T09:41:00.000Z',
  }),
  pull_request_read_at: world.clock.now(),
});

/** Launches with this body, and expects that it is accepted. */
async function accept(body: object): Promise<void> {
  expectOk(await cancel(await launched(app, body)));
}
const refuse = async (field: string, ...values: unknown[]) => {
  for (const value of values) expectInvalid(await launch(app, { [field]: value }), 'body', field);
};
/** Expects that the field takes texts of these lengths, and no others. */
async function expectLengths(field: string, least: number, most: number, letter = 'x'): Promise<void> {
  for (const length of [least, most]) await accept({ [field]: letter.repeat(length) });
  if (least > 0) await refuse(field, '');
  await refuse(field, letter.repeat(most + 1), 7);
}

describe('Resources and their fields: Coding session', () => {
  it('id: string; required in response', async () => {
    const session = await launched(app);
    expect(session.id).toEqual(text);
    expect(await get(session)).toMatchObject({ id: session.id });
  });

  it('state: string; required; queued, running, opening_pull_request, needs_input, completed, failed, cancelling, cancelled', async () => {
    const session = await launched(app, { existing_branch: 'b1' });
    expect(session.state).toBe('queued');
    await work(session, ready('b1'));
    expect((await get(session)).state).toBe('running');
  });

  it("message_id: string or null; UUID of the session's user message; null before dispatch", async () => {
    const session = await launched(app, { existing_branch: 'b2' });
    expect(session.message_id).toBeNull();
    await work(session, ready('b2'));
    expect((await get(session)).message_id).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
  });

  it('repository_full_name: string; connected repository', async () => {
    expect((await launched(app)).repository_full_name).toBe(repositoryName);
  });

  it('branch_id: string or null; null before provisioning', async () => {
    const session = await launched(app, { existing_branch: 'b3' });
    expect(session.branch_id).toBeNull();
    await work(session, ready('b3'));
    expect((await get(session)).branch_id).toEqual(text);
  });

  it('branch_name: string or null', async () => {
    const session = await launched(app, { existing_branch: 'b4' });
    expect(session.branch_name).toBeNull();
    await work(session, ready('b4'));
    expect((await get(session)).branch_name).toBe('b4');
  });

  it('session_url: string or null; editor URL; null until branch provisioned', async () => {
    const session = await launched(app, { existing_branch: 'b5' });
    expect(session.session_url).toBeNull();
    await work(session, ready('b5'));
    const { session_url } = await get(session);
    expect(new URL(session_url).pathname).toContain(app.id);
  });

  it('pull_request: object or null; null until one is opened; object shape: not shown', async () => {
    expect((await launched(app)).pull_request).toBeNull();
  });

  it('error_code: string or null; stable failure cause', async () => {
    const session = await launched(app);
    expect(session.error_code).toBeNull();
    await work(session, { to: 'failed', change: { error_code: 'model_refused' } });
    expect((await get(session)).error_code).toBe('model_refused');
  });

  it('launch_key: string or null; original Idempotency-Key', async () => {
    const session = expectOk(await launch(app, {}, 'ticket-812'));
    expect(session.launch_key).toBe('ticket-812');
    expect((await get(session)).launch_key).toBe('ticket-812');
  });

  it('client_reference: string or null', async () => {
    expect((await launched(app)).client_reference).toBeNull();
    expect((await launched(app, { client_reference: 'JIRA:7' })).client_reference).toBe('JIRA:7');
  });

  it('input_request_id: string or null; identifier of the current question or approval pause', async () => {
    const session = await launched(app, { existing_branch: 'b6' });
    expect(session.input_request_id).toBeNull();
    const input_request = question();
    await work(session, ready('b6'), { to: 'needs_input', input_request });
    const { state, input_request_id } = await get(session);
    expect([state, input_request_id]).toEqual(['needs_input', input_request.input_request_id]);
    const asked = expectOk(await call('GET', app, `/sessions/${session.id}/input-request`));
    expect(asked.input_request.input_request_id).toBe(input_request_id);
  });

  it('outcome: string or null; pull_request or answer; null until completed', async () => {
    const session = await launched(app, { existing_branch: 'b7' });
    expect(session.outcome).toBeNull();
    await work(session, ready('b7'), { to: 'completed', change: { outcome: 'answer', summary: 'Nothing to do.' } });
    expect((await get(session)).outcome).toBe('answer');
  });

  it('summary: string or null; final reply in Markdown, up to 10,000 characters', async () => {
    const session = await launched(app, { existing_branch: 'b8' });
    expect(session.summary).toBeNull();
    await work(session, ready('b8'), { to: 'completed', change: { outcome: 'answer', summary: '**Done.**' } });
    expect((await get(session)).summary).toBe('**Done.**');
  });
});

describe('States and transitions: Coding session', () => {
  it('States: queued, running, opening_pull_request, needs_input, completed, failed, cancelling, cancelled', async () => {
    const states: string[] = [];
    const note = async (session: { id: string }) => void states.push((await get(session)).state);
    const session = await launched(app, { existing_branch: 'b9' });
    await note(session);
    await work(session, ready('b9'));
    await note(session);
    await work(session, { to: 'needs_input', input_request: question() });
    await note(session);
    const one = await launched(app, { existing_branch: 'c1' });
    await work(one, ready('c1'), { to: 'opening_pull_request', change: { head_commit: 'a'.repeat(40) } });
    await note(one);
    await work(one, { to: 'completed', change: opened() });
    await note(one);
    const two = await launched(app);
    await work(two, { to: 'failed', change: { error_code: 'model_refused' } });
    await note(two);
    const three = await launched(app, { existing_branch: 'c2' });
    await work(three, ready('c2'));
    expectOk(await cancel(three));
    await note(three);
    await work(three, { to: 'cancelled' });
    await note(three);
    expect(states).toEqual([
      'queued',
      'running',
      'needs_input',
      'opening_pull_request',
      'completed',
      'failed',
      'cancelling',
      'cancelled',
    ]);
  });
});

describe('Endpoints: POST coding-session launch', () => {
  const keyed = (key: string | undefined, body: object = {}): Promise<CallResult> =>
    call('POST', app, '/sessions', {
      body: { prompt: 'Fix it.', title: 'Fix', ...body },
      headers: key === undefined ? {} : { 'idempotency-key': key },
    });

  it('The method is POST; the path: not shown (only app_id is known as path parameter)', async () => {
    expectOk(await keyed('post'));
    expect((await call('PUT', app, '/sessions', { body: { prompt: 'a', title: 'b' } })).status).toBe(405);
  });

  it('Header Idempotency-Key (required, string 1 to 200 characters matching ^[A-Za-z0-9_.:-]+$): reuse it with the same runtime inputs on retries; a previously associated client_reference may then be omitted', async () => {
    expect((await keyed(undefined)).status).toBe(422);
    for (const key of ['x', 'x'.repeat(200), 'A-z_0.9:-']) expectOk(await keyed(key));
    for (const key of ['', 'x'.repeat(201), 'a b', 'ü', 'a/b'])
      expect((await keyed(encodeURIComponent(key) === key ? key : Buffer.from(key).toString('latin1'))).status).toBe(
        422,
      );
    const first = expectOk(await keyed('again', { client_reference: 'mine' }));
    expect(expectOk(await keyed('again', { client_reference: 'mine' })).id).toBe(first.id);
    expect(expectOk(await keyed('again'))).toMatchObject({ id: first.id, client_reference: 'mine' });
    expect((await keyed('again', { prompt: 'Something else.' })).status).toBe(409);
  });

  it('prompt: string; required; 1 to 99611 chars; the task to carry out and open a pull request for', async () => {
    expectInvalid(
      await call('POST', app, '/sessions', { body: { title: 'Fix' }, headers: { 'idempotency-key': newId() } }),
      'body',
      'prompt',
    );
    await expectLengths('prompt', 1, 99_611);
    await accept({ prompt: '💥'.repeat(99_611) });
  });

  it('title: string; required; 1 to 200 chars', async () => {
    await expectLengths('title', 1, 200);
    await accept({ title: 'ü'.repeat(200) });
  });

  it('existing_branch: string or null; not required; 1 to 255; null creates an isolated branch', async () => {
    await expectLengths('existing_branch', 1, 255);
    await accept({ existing_branch: null });
  });

  it('source_ref: string or null; not required; 1 to 255; Git ref a new branch starts from; null = imported base branch', async () => {
    await expectLengths('source_ref', 1, 255);
    await accept({ source_ref: null });
    await accept({ source_ref: 'refs/tags/v1.0' });
  });

  it('pull_request_body: string or null; not required; max 20000; Markdown appended to the description', async () => {
    await expectLengths('pull_request_body', 0, 20_000);
    await accept({ pull_request_body: null });
  });

  it('commit_message: string or null; not required; 1 to 2000; null = generated message', async () => {
    await expectLengths('commit_message', 1, 2_000);
    await accept({ commit_message: null });
    await accept({ commit_message: 'Fix the total\n\nIt ignored the discount.' });
  });

  it('client_reference: string or null; not required; 1 to 200, pattern ^[A-Za-z0-9_.:-]+$', async () => {
    await expectLengths('client_reference', 1, 200);
    await accept({ client_reference: null });
    await accept({ client_reference: 'A-z_0.9:-' });
    await refuse('client_reference', 'a b', 'ü', 'a/b');
  });

  it("expected_repository_full_name: string or null; not required; max 201, pattern ^[A-Za-z0-9_.-]+/[A-Za-z0-9_.-]+$; a mismatch with the app's connected repository refuses the launch before work starts", async () => {
    await accept({ expected_repository_full_name: null });
    await accept({ expected_repository_full_name: repositoryName });
    await refuse('expected_repository_full_name', 'no-slash', 'a/b/c', 'a b/c', '/', `a/${'b'.repeat(200)}`);
    for (const other of ['acme/other', `a/${'b'.repeat(199)}`, '_.-/_.-']) {
      const got = await launch(app, { expected_repository_full_name: other });
      expect(got.status, other).toBe(409);
    }
  });

  it('Response 200: the Coding session object', async () => {
    const session = await launched(app);
    expect(session).toMatchObject({
      id: text,
      state: 'queued',
      message_id: null,
      repository_full_name: repositoryName,
      branch_id: null,
      branch_name: null,
      session_url: null,
      pull_request: null,
      error_code: null,
      launch_key: orNull(text),
      client_reference: null,
      input_request_id: null,
      outcome: null,
      summary: null,
    });
  });
});

describe('Limits: data bounds', () => {
  it('coding session fields: see the launch table', async () => {
    await accept({
      prompt: 'x'.repeat(99_611),
      title: 'x'.repeat(200),
      existing_branch: 'x'.repeat(255),
      source_ref: 'x'.repeat(255),
      pull_request_body: 'x'.repeat(20_000),
      commit_message: 'x'.repeat(2_000),
      client_reference: 'x'.repeat(200),
      expected_repository_full_name: repositoryName,
    });
  });

  it('coding session summary: up to 10,000 characters', async () => {
    for (const session of expectOk(await call('GET', app, '/sessions?limit=100')).items) await cancel(session);
    await world.startWorker();
    const own = await connectedApp();
    model.script(() => say('é'.repeat(12_000)));
    const session = await launched(own);
    await expect.poll(async () => (await get(session, own)).state).toBe('completed');
    const { outcome, summary } = await get(session, own);
    expect(outcome).toBe('answer');
    expect([...summary].length).toBeLessThanOrEqual(10_000);
    expect([...summary].length).toBeGreaterThan(9_000);
  });
});

describe('What the service does', () => {
  it('Through it a caller can launch a coding session that opens a pull request', async () => {
    const own = await connectedApp();
    const edit = ['edit_file', { path: 'total.js', old_text: 'order.sum', new_text: 'order.total' }] as const;
    model.script(({ messages }) =>
      messages.some(({ role }) => role === 'tool') ? say('The total is right now.') : callTools(edit),
    );
    const session = await launched(own, { title: 'Fix the total', pull_request_body: 'Closes #7' });
    await expect.poll(async () => (await get(session, own)).state).toBe('completed');
    expect(await get(session, own)).toMatchObject({
      outcome: 'pull_request',
      pull_request: expect.any(Object),
      branch_name: text,
    });
    const pulls = host.listPullRequests(repositoryName).map((pull) => JSON.stringify(pull));
    expect(pulls.filter((pull) => pull.includes('Closes #7'))).toHaveLength(1);
  });
});
