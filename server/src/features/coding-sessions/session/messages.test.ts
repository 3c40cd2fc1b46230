// Tests messages to sessions: answers, approvals and follow-ups (docs/api/coding-sessions.md#messages).
import { describe, expect, it } from 'vitest';
import { approval, question, ready, repositoryName, startCodingWorld } from '../../../../test/support/coding.ts';
import { newId } from '../../../kit/ids.ts';
import { saveDelivered } from '../store/messages.ts';

const scene = await startCodingWorld();
const { world, host, owner, workspace, connectedApp, launched, call, connect, work, send, listAudits } = scene;

const code = (status: number, code: string) => ({ status, body: { code } });
const rowOf = ({ id }: { id: string }) =>
  world.db.selectFrom('coding_sessions').selectAll().where('id', '=', id).executeTakeFirstOrThrow();
const countMessages = async ({ id }: { id: string }) =>
  (await world.db.selectFrom('coding_messages').select('id').where('session_id', '=', id).execute()).length;

async function running() {
  const app = await connectedApp();
  const session = await launched(app, { existing_branch: 'feature' });
  await work(session, ready('feature'));
  return { app, session };
}

async function waiting(input_request = question()) {
  const { app, session } = await running();
  await work(session, { to: 'needs_input', input_request });
  const { input_request_id } = input_request;
  return {
    app,
    session,
    input_request_id,
    answer: (body: object) => send(app, session, { input_request_id, ...body }),
  };
}

const answers = [
  { question_index: 0, selected_label: '19 %' },
  { question_index: 1, selected_labels: ['cart', 'order'], custom_text: 'And the mail.' },
];

const asked = await waiting();

describe('sendSessionMessage', () => {
  it('is pending until the agent reads it, and delivered from then on', async () => {
    const { app, session } = await running();
    const got = await send(app, session, { text: 'Also the changelog.', author: 'Ada' });
    expect(got.body).toEqual({
      input_id: expect.any(String),
      session_id: session.id,
      state: 'pending',
      error_code: null,
      created_date: expect.any(String),
    });
    const read = () => call('GET', app, `/sessions/${session.id}/messages/${got.body.input_id}`);
    expect((await read()).body).toEqual(got.body);
    await saveDelivered(world.app.database.db, await rowOf(session), [got.body.input_id]);
    expect((await read()).body.state).toBe('delivered');
    expect((await rowOf(session)).state).toBe('running');
    expect((await listAudits(app)).at(-1)).toBe('session.message_sent by user');
    const unknown = await call('GET', app, `/sessions/${session.id}/messages/${newId()}`);
    expect(unknown).toMatchObject(code(404, 'message_not_found'));
  });

  it('needs a text, answers or an approval, and a key', async () => {
    const { app, session } = await running();
    expect(await send(app, session, { author: 'Ada' })).toMatchObject({
      status: 422,
      body: { detail: [{ loc: ['body'], type: 'value_error' }] },
    });
    const path = `/sessions/${session.id}/messages`;
    expect(await call('POST', app, path, { body: { text: 'x' } })).toMatchObject({
      status: 422,
      body: { detail: [{ loc: ['header', 'Idempotency-Key'], type: 'missing' }] },
    });
    for (const [field, max] of [
      ['text', 99_611],
      ['author', 200],
    ] as const)
      expect(await send(app, session, { text: 'x', [field]: 'x'.repeat(max + 1) })).toMatchObject({
        status: 422,
        body: { detail: [{ loc: ['body', field], type: 'string_too_long' }] },
      });
  });

  it('is recorded once, however many clients send it at once, and conflicts with another one', async () => {
    const { app, session } = await running();
    const got = await Promise.all(Array.from({ length: 10 }, () => send(app, session, { text: 'Once.' }, 'once')));
    expect(new Set(got.map(({ body }) => body.input_id)).size).toBe(1);
    expect(got.filter(({ headers }) => headers['idempotent-replayed'] === undefined)).toHaveLength(1);
    expect(await send(app, session, { text: 'Twice.' }, 'once')).toMatchObject(code(409, 'idempotency_conflict'));
    const another = await launched(app);
    expect(await send(app, another, { text: 'Once.' }, 'once')).toMatchObject(code(409, 'idempotency_conflict'));
    await call('POST', app, `/sessions/${session.id}/cancel`);
    await work(session, { to: 'cancelled' });
    const replayed = await send(app, session, { text: 'Once.' }, 'once');
    expect(replayed.body).toMatchObject({ state: 'failed', error_code: 'cancelled' });
    expect(await countMessages(session)).toBe(1);
  });

  it('is only for the person who launched the session', async () => {
    const { app, session } = await running();
    const member = await world.member(workspace, 'admin', 'admin@example.com');
    const as = await world.token(member, workspace);
    expect(await send(app, session, {}, newId(), { as })).toMatchObject(code(403, 'not_session_owner'));
  });

  it('is refused while the session opens its pull request or is being cancelled', async () => {
    const { app, session } = await running();
    await work(session, { to: 'opening_pull_request', change: { head_commit: 'a'.repeat(40) } });
    expect(await send(app, session, { text: 'Wait.' })).toMatchObject(code(409, 'session_busy'));
    await call('POST', app, `/sessions/${session.id}/cancel`);
    expect(await send(app, session, { text: 'Wait.' })).toMatchObject(code(409, 'session_busy'));
  });

  it('is refused if the agent has not read the last 20', async () => {
    const { app, session } = await running();
    const sent = await Promise.all(
      Array.from({ length: 20 }, (_, number) => send(app, session, { text: `${number}` })),
    );
    expect(sent.map(({ status }) => status)).toEqual(Array(20).fill(200));
    expect(await send(app, session, { text: '21' })).toMatchObject({
      ...code(409, 'session_busy'),
      headers: { 'retry-after': '60' },
    });
  });

  it('fails if the session ends without having read it', async () => {
    const { app, session } = await running();
    const { input_id } = (await send(app, session, { text: 'Too late.' })).body;
    await work(session, { to: 'failed', change: { error_code: 'model_refused' } });
    const { body } = await call('GET', app, `/sessions/${session.id}/messages/${input_id}`);
    expect(body).toMatchObject({ state: 'failed', error_code: 'delivery_interrupted' });
  });
});

describe('an answer', () => {
  it('lets the session continue, and is due at once', async () => {
    const { app, session, answer } = await waiting();
    const before = await rowOf(session);
    expect((await answer({ answers })).body.state).toBe('pending');
    const row = await rowOf(session);
    expect(row.request_id).not.toBe(before.request_id); // continues on behalf of the answer, not the launch
    expect(row).toMatchObject({ state: 'running', input_request_id: null, input_request: null, claimed_slot: null });
    expect(row.due_at?.getTime()).toBeLessThanOrEqual(Date.now() + 1_000);
    const { body } = await call('GET', app, `/sessions/${session.id}/input-request`);
    expect(body).toEqual({ input_request: null, launched_by: owner.email });
    const stored = await world.db
      .selectFrom('coding_messages')
      .select('answers')
      .where('session_id', '=', session.id)
      .execute();
    expect(stored).toEqual([{ answers }]);
  });

  it('takes the session from a worker that had just found it too late', async () => {
    const { session, answer } = await waiting();
    const failing = work(session); // claims the session, as if the question had expired
    await failing;
    await answer({ answers });
    expect(await rowOf(session)).toMatchObject({ state: 'running', claimed_slot: null });
  });

  it('needs an open question', async () => {
    const { app, session } = await running();
    for (const body of [{ answers }, { approve: true }, { text: 'x', approve: true }])
      expect(await send(app, session, body)).toMatchObject(code(409, 'session_not_waiting'));
    await work(session, { to: 'completed', change: { outcome: 'answer', summary: 'Done.' } });
    expect(await send(app, session, { approve: true })).toMatchObject(code(409, 'session_not_waiting'));
  });

  it('names the question that it answers', async () => {
    const { app, session } = await waiting();
    for (const input_request_id of [undefined, newId(), 'x'])
      expect(await send(app, session, { answers, input_request_id })).toMatchObject(code(409, 'input_request_changed'));
  });

  const cases: [what: string, loc: (string | number)[], body: object][] = [
    ['a question twice', ['answers', 2, 'question_index'], { answers: [...answers, answers[0]] }],
    [
      'an unknown question',
      ['answers', 2, 'question_index'],
      { answers: [...answers, { question_index: 7, custom_text: 'x' }] },
    ],
    ['a question without an answer', ['answers'], { answers: answers.slice(1) }],
    [
      'an unknown label',
      ['answers', 0, 'selected_label'],
      { answers: [{ question_index: 0, selected_label: '8 %' }, answers[1]] },
    ],
    [
      'an unknown label among several',
      ['answers', 1, 'selected_labels'],
      { answers: [answers[0], { question_index: 1, selected_labels: ['cart', 'x'] }] },
    ],
    [
      'a label twice',
      ['answers', 1, 'selected_labels'],
      { answers: [answers[0], { question_index: 1, selected_labels: ['cart', 'cart'] }] },
    ],
    [
      'several labels where one is asked for',
      ['answers', 0, 'selected_labels'],
      { answers: [{ question_index: 0, selected_labels: ['7 %'] }, answers[1]] },
    ],
    [
      'a text where none is allowed',
      ['answers', 0, 'custom_text'],
      { answers: [{ question_index: 0, custom_text: '8 %' }, answers[1]] },
    ],
    ['an empty answer', ['answers', 0], { answers: [{ question_index: 0 }, answers[1]] }],
    [
      'both forms of labels',
      ['answers', 1, 'selected_labels'],
      { answers: [answers[0], { question_index: 1, selected_label: 'cart', selected_labels: ['order'] }] },
    ],
    ['an approval', ['approve'], { answers, approve: true }],
  ];
  it.each(cases)('refuses %s', async (_what, loc, body) => {
    expect(await asked.answer(body)).toMatchObject({
      status: 422,
      body: { detail: [{ loc: ['body', ...loc], type: 'value_error' }] },
    });
    expect((await rowOf(asked.session)).state).toBe('needs_input');
  });

  it('does not come from a text alone, which waits', async () => {
    const { app, session, input_request_id } = await waiting();
    const got = await send(app, session, { text: 'One moment.', input_request_id });
    expect(got).toMatchObject({ body: { state: 'pending' }, headers: { 'x-ignored-fields': 'input_request_id' } });
    expect((await rowOf(session)).state).toBe('needs_input');
  });

  it('can be given by nobody if the account of the person who launched the session was removed', async () => {
    const { app, session } = await waiting();
    await world.db.updateTable('coding_sessions').set({ user_id: null }).where('id', '=', session.id).execute();
    expect((await call('GET', app, `/sessions/${session.id}/input-request`)).body.launched_by).toBeNull();
  });
});

describe('the log', () => {
  const listLines = async ({ id }: { id: string }) => {
    const events = world.db.selectFrom('coding_events').select('data').where('session_id', '=', id);
    return (await events.where('event', '=', 'log').orderBy('version').execute()).map(({ data }) => data);
  };

  it('says who answered and what, and names the question', async () => {
    const { session, input_request_id, answer } = await waiting();
    await answer({ answers, author: 'Ada' });
    const text = `Answered by ${owner.email} on behalf of Ada:\nWhich rate? 19 %\nWhich pages? cart, order, And the mail.`;
    expect(await listLines(session)).toEqual([{ text, input_request_id }]);
  });

  it.each([
    [true, 'Approved'],
    [false, 'Denied'],
  ])('says who decided on an approval, and why: %s', async (approve, verb) => {
    const { session, input_request_id, answer } = await waiting(approval());
    await answer({ approve, text: 'Because.' });
    const text = `${verb} by ${owner.email}: Delete files\nBecause.`;
    expect(await listLines(session)).toEqual([{ text, input_request_id }]);
  });

  it('has a message once, however often it is sent, with what could deceive made visible', async () => {
    const { app, session } = await running();
    await send(app, session, { text: 'Continue\u202e.' }, 'continue');
    await send(app, session, { text: 'Continue\u202e.' }, 'continue');
    expect(await listLines(session)).toEqual([{ text: `Message from ${owner.email}: Continue\ufffd.` }]);
  });
});

describe('an approval', () => {
  it.each([true, false])('%s lets the session continue', async (approve) => {
    const { session, answer } = await waiting(approval());
    expect((await answer({ approve })).status).toBe(200);
    expect((await rowOf(session)).state).toBe('running');
  });

  it('is not an answer', async () => {
    const { answer } = await waiting(approval());
    expect(await answer({ answers })).toMatchObject({
      status: 422,
      body: { detail: [{ loc: ['body', 'approve'] }, { loc: ['body', 'answers'] }] },
    });
  });
});

describe('a follow-up', () => {
  const ended = async () => {
    const { app, session } = await running();
    await work(session, {
      to: 'failed',
      change: { error_code: 'session_timeout', error_message: 'It took too long.' },
    });
    return { app, session };
  };

  it('begins another turn on the same branch, and resets what the last one left', async () => {
    const { app, session } = await ended();
    const before = await rowOf(session);
    expect((await send(app, session, { text: 'Continue.' })).body.state).toBe('pending');
    const { body } = await call('GET', app, `/sessions/${session.id}`);
    expect(body).toMatchObject({
      state: 'queued',
      error_code: null,
      outcome: null,
      summary: null,
      branch_name: 'feature',
    });
    const row = await rowOf(session);
    expect(row).toMatchObject({
      turn: 2,
      work_ms: 0,
      error_message: null,
      ended_at: null,
      version: before.version + 2, // the state, and a line of the log
    });
    expect(row.due_at).not.toBeNull();
    expect(row.request_id).not.toBe(before.request_id);
  });

  it('keeps the pull request', async () => {
    const { app, session } = await running();
    const pull_request = {
      number: 1,
      html_url: 'https://x.example/1',
      url: 'https://x.example/1',
      title: 'T',
      state: 'open',
      head_branch: 'feature',
      base_branch: 'main',
      created: true,
      created_date: '2026-11-15T09:40:00.000Z',
      updated_date: '2026-11-15T09:40:00.000Z',
    };
    await work(
      session,
      { to: 'opening_pull_request', change: { head_commit: 'a'.repeat(40) } },
      {
        to: 'completed',
        change: {
          outcome: 'pull_request',
          summary: 'Done.',
          pull_request: JSON.stringify(pull_request),
          pull_request_read_at: world.clock.now(),
        },
      },
    );
    await send(app, session, { text: 'More.' });
    const { body } = await call('GET', app, `/sessions/${session.id}`);
    expect(body).toMatchObject({ state: 'queued', outcome: null, summary: null, pull_request });
  });

  it('is refused as a launch would be', async () => {
    const { app, session } = await ended();
    const follow = () => send(app, session, { text: 'Continue.' });
    await call('DELETE', app, '/repository');
    expect(await follow()).toMatchObject(code(404, 'repository_not_connected'));
    await host.addRepository({ full_name: 'acme/second', files: { 'a.txt': 'a' } });
    await connect(app, { repository_full_name: 'acme/second' });
    expect(await follow()).toMatchObject(code(409, 'repository_mismatch'));
    await connect(app, { repository_full_name: repositoryName, base_branch: 'feature' });
    expect(await follow()).toMatchObject(code(400, 'branch_not_allowed'));
    await connect(app, { repository_full_name: repositoryName });
    const other = await launched(app, { existing_branch: 'feature' });
    expect(await follow()).toMatchObject(code(409, 'session_busy'));
    await call('POST', app, `/sessions/${other.id}/cancel`);
    await world.db.updateTable('workspaces').set({ monthly_limit: 0 }).where('id', '=', workspace).execute();
    expect(await follow()).toMatchObject(code(402, 'credits_exhausted'));
    await world.db.updateTable('workspaces').set({ monthly_limit: null }).where('id', '=', workspace).execute();
    await world.db.updateTable('memberships').set({ credit_limit: 1 }).where('user_id', '=', owner.id).execute();
    expect(await follow()).toMatchObject(code(402, 'credit_limit_reached'));
    await world.db.updateTable('memberships').set({ credit_limit: null }).where('user_id', '=', owner.id).execute();
    expect((await follow()).status).toBe(200);
  });
});
