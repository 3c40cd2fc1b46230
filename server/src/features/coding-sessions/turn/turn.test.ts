// Tests sessions from launch to pull request, with a real worker, real git, and the sandbox's git host and model.
import { readdirSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { repositoryName } from '../../../../test/support/coding.ts';
import { callTools, say, startSessionWorld } from '../../../../test/support/session-work.ts';
import type { Boundary } from '../index.ts';

/** The boundary at which the worker is held until the test releases it. A rejection simulates losing the worker. */
let held: { readonly at: Boundary; readonly until: Promise<void> } | undefined;
const scene = await startSessionWorld({
  sessionLimits: { modelMs: 300 },
  onSessionBoundary: (name) => (name === held?.at ? held.until : undefined),
});
const { world, host, model, connectedApp, launched, send, run, waitFor, cancel, scriptSteps, get, call } = scene;
const { readFile, listPulls, listCharges, listLog, listStates, expectNoToken } = scene;

const fixTotal = callTools([
  'edit_file',
  { path: 'total.js', old_text: 'order.sum', new_text: 'order.sum + order.tax' },
]);
const write = (path: string, content: string) => callTools(['write_file', { path, content }]);
const pullsOf = ({ branch_name }: { branch_name: string }) =>
  listPulls().filter((pull) => JSON.stringify(pull).includes(branch_name));
const listCommits = (branch: string) =>
  host.journal.flatMap(({ refs = [] }) => refs.filter(({ ref }) => ref === `refs/heads/${branch}`));
/** Holds the next worker that reaches this boundary. */
function pauseAt(at: Boundary) {
  const reached = Promise.withResolvers<void>();
  const left = Promise.withResolvers<void>();
  const until = left.promise.finally(() => {
    held = undefined;
  });
  until.catch(() => {});
  held = {
    at,
    get until() {
      reached.resolve();
      return until;
    },
  };
  return { reached: reached.promise, goOn: left.resolve, lose: () => left.reject(new Error(`lost at ${at}`)) };
}
/** Simulates losing the worker for the second time at the same boundary. */
async function crashTwice({ id }: { id: string }, hold: { lose(): void }): Promise<void> {
  hold.lose();
  for (let changed = 0n; changed === 0n; ) {
    const { numAffectedRows } = await sql`update coding_sessions set crash_count = 2
      where id = ${id} and claimed_slot is null`.execute(world.db);
    changed = numAffectedRows ?? 0n;
  }
}

describe('a session', () => {
  it('changes a file, pushes one commit, opens a pull request, and charges for each step once', async () => {
    const app = await connectedApp();
    const requests = scriptSteps(
      { ...callTools(['read_file', { path: 'total.js' }]), usage: { prompt_tokens: 9_000, completion_tokens: 1_000 } },
      { ...fixTotal, text: 'I fix it.', usage: { prompt_tokens: 15_000, completion_tokens: 0 } },
      say('The total now contains the tax.\n\nIt was left out.'),
    );
    const session = await run(app, { title: 'Fix the total', pull_request_body: 'Closes #7' });
    expect(session).toMatchObject({
      state: 'completed',
      outcome: 'pull_request',
      summary: 'The total now contains the tax.\n\nIt was left out.',
      error_code: null,
      branch_name: expect.stringMatching(/^plinth\/[a-z2-7]{10}-fix-the-total$/),
      session_url: expect.stringContaining(`/editor/${app.id}/sessions/`),
      pull_request: { title: 'Fix the total', state: 'open', base_branch: 'main', created: true },
    });
    expect(await readFile(session.branch_name, 'total.js')).toContain('order.sum + order.tax');
    expect(await readFile('main', 'total.js')).not.toContain('tax');
    expect(pullsOf(session)).toHaveLength(1);
    expect(JSON.stringify(pullsOf(session)[0])).toContain(`Closes #7\\n\\n<!-- plinth-session: ${session.id} -->`);
    expect(await listStates(session)).toEqual(['queued', 'running', 'opening_pull_request', 'completed']);
    expect(await listCharges(session)).toEqual(['settled 2', 'settled 0.5', 'settled 0.1']);
    expect(requests[0]?.messages[1]?.content).toContain('Fix the total');
    expect((await listLog(session)).join('\n')).toContain('Wrote total.js');
    await expectNoToken(session);
    await expect.poll(() => readdirSync(scene.folder)).toEqual([]);
  });

  it('that changes nothing is completed with its answer, for at least 2 credits', async () => {
    const app = await connectedApp();
    scriptSteps(say('It adds up the order.'));
    const session = await run(app);
    expect(session).toMatchObject({ outcome: 'answer', summary: 'It adds up the order.', pull_request: null });
    expect(await listStates(session)).toEqual(['queued', 'running', 'completed']);
    expect(await listCharges(session)).toEqual(['settled 2']);
    expect(await host.readBranch(repositoryName, session.branch_name)).toBeNull();
  });

  it('runs commands in the sandbox: what they change is part of the work, and the model gets their output', async () => {
    const app = await connectedApp();
    const requests = scriptSteps(
      write('src/made.txt', 'by the tool\n'),
      callTools(['run_command', { command: 'cat src/made.txt; echo more >> src/made.txt; git log --oneline; exit 3' }]),
      say('Done.'),
    );
    const session = await run(app);
    expect(await readFile(session.branch_name, 'src/made.txt')).toBe('by the tool\nmore');
    const prompt = JSON.stringify(requests[2]?.messages.at(-1));
    expect(prompt).toContain('Exit code 3.');
    expect(prompt).toContain('by the tool');
    expect(prompt).toContain('modified src/made.txt');
  });

  it('asks, waits, and continues with the answer as the result of its call', async () => {
    const app = await connectedApp();
    const requests = scriptSteps(
      callTools([
        'ask_question',
        {
          questions: [{ text: 'Which rate?', options: [{ label: '7 %' }, { label: '19 %', description: 'Others.' }] }],
        },
      ]),
      fixTotal,
      say('Done.'),
    );
    const session = await run(app, {}, 'needs_input');
    const { input_request } = (await call('GET', app, `/sessions/${session.id}/input-request`)).body;
    expect(input_request).toMatchObject({ kind: 'question', questions: [{ text: 'Which rate?', question_index: 0 }] });
    const answers = [{ question_index: 0, selected_label: '19 %' }];
    const { input_request_id } = input_request;
    const sent = await send(app, session, { answers, input_request_id, text: 'From July on.' });
    expect(sent.status).toBe(200);
    const ended = await waitFor(app, session, 'completed');
    expect(ended).toMatchObject({ outcome: 'pull_request', input_request_id: null });
    const prompt = JSON.stringify(requests[1]?.messages.at(-1));
    expect(prompt).toContain('Which rate?\\nAnswer: 19 %');
    expect(prompt).toContain('From July on.');
    const message = await call('GET', app, `/sessions/${session.id}/messages/${sent.body.input_id}`);
    expect(message.body.state).toBe('delivered');
    expect(await listStates(session)).toContain('needs_input');
  });

  it('learns that something was not approved', async () => {
    const app = await connectedApp();
    const requests = scriptSteps(
      callTools(['ask_approval', { title: 'Delete the readme', action: 'delete_files', details: 'README.md' }]),
      say('I left it.'),
    );
    const { id, input_request_id } = await run(app, {}, 'needs_input');
    await send(app, { id }, { approve: false, input_request_id });
    const ended = await waitFor(app, { id }, 'completed');
    expect(ended).toMatchObject({ outcome: 'answer', summary: 'I left it.' });
    expect(JSON.stringify(requests[1]?.messages.at(-1))).toContain('did not approve');
  });

  it('reads at its next step what is written meanwhile', async () => {
    const app = await connectedApp();
    let sent = Promise.resolve<unknown>(undefined);
    const session = { id: '' };
    const requests = scriptSteps(async () => {
      while (session.id === '') await new Promise(setImmediate);
      sent = send(app, session, { text: 'Also mention the discount.' });
      await sent;
      return say('Done.');
    }, say('Done, with the discount.'));
    session.id = (await launched(app)).id;
    const ended = await waitFor(app, session, 'completed');
    expect(ended.summary).toBe('Done, with the discount.');
    expect(requests[1]?.messages.at(-1)?.content).toContain('Also mention the discount.');
  });

  it('begins another turn with what is written while its work is pushed; descriptions are cut', async () => {
    const app = await connectedApp();
    scriptSteps(fixTotal, say('y'.repeat(12_000)), say('Second.'));
    const hold = pauseAt('pushed');
    const session = await launched(app);
    await hold.reached;
    const sent = await send(app, session, { text: 'And the discount?' });
    expect(sent.status).toBe(200);
    hold.goOn();
    expect(await waitFor(app, session, 'completed')).toMatchObject({ outcome: 'answer', summary: 'Second.' });
    const message = await call('GET', app, `/sessions/${session.id}/messages/${sent.body.input_id}`);
    expect(message.body.state).toBe('delivered');
    const [pull] = pullsOf(await get(app, session));
    expect(pull?.body?.length).toBeLessThan(10_200);
  });

  it('knows its own commit again after its worker was lost: what it takes back does not come back', async () => {
    const app = await connectedApp();
    const takeBack = callTools(
      ['edit_file', { path: 'total.js', old_text: 'order.tax', new_text: 'order.vat' }],
      ['delete_file', { path: 'extra.txt' }],
    );
    scriptSteps(fixTotal, write('extra.txt', 'x\n'), say('First.'), takeBack, say('Second.'));
    const hold = pauseAt('pushed');
    const session = await launched(app);
    await hold.reached;
    await send(app, session, { text: 'Call it vat, without the extra file.' });
    hold.lose();
    const { branch_name } = await waitFor(app, session, 'completed');
    expect(await readFile(branch_name, 'total.js')).toContain('order.sum + order.vat');
    expect(await readFile(branch_name, 'extra.txt')).toBeUndefined();
    expect(listCommits(branch_name)).toHaveLength(2);
    expect(pullsOf({ branch_name })).toHaveLength(1);
  });

  it('adds a commit to the same pull request for a follow-up, on top of what others pushed', async () => {
    const app = await connectedApp();
    scriptSteps(fixTotal, say('First.'));
    const first = await run(app);
    await host.commit(repositoryName, first.branch_name, { 'theirs.txt': 'x\n' });
    const requests = scriptSteps(write('second.txt', '2\n'), say('Second.'));
    await send(app, first, { text: 'Now the second part.' });
    const second = await waitFor(app, first, 'completed');
    expect(second).toMatchObject({
      branch_name: first.branch_name,
      summary: 'Second.',
      pull_request: { number: first.pull_request.number, created: false },
    });
    for (const [path, text] of [
      ['second.txt', '2'],
      ['theirs.txt', 'x'],
    ] as const)
      expect(await readFile(first.branch_name, path)).toBe(text);
    expect(pullsOf(first)).toHaveLength(1);
    const prompt = requests[0]?.messages.map(({ content }) => content).join('\n') ?? '';
    expect(prompt).toContain('First.');
    expect(prompt).toContain('Now the second part.');
    expect(await listCharges(first)).toEqual(['settled 2', 'settled 2']);
  });

  it('joins what somebody pushed to the branch while it worked', async () => {
    const app = await connectedApp();
    scriptSteps(async () => {
      await host.commit(repositoryName, 'feature', { 'theirs-meanwhile.txt': 'x\n' });
      return fixTotal;
    }, say('Done.'));
    const session = await run(app, { existing_branch: 'feature' });
    expect(session.branch_name).toBe('feature');
    expect(await readFile('feature', 'theirs-meanwhile.txt')).toBe('x');
    expect(await readFile('feature', 'total.js')).toContain('order.tax');
  });
});

describe('a session fails', () => {
  it.each([
    ['branch_not_found', { existing_branch: 'no-such-branch' }],
    ['source_ref_not_found', { source_ref: 'no-such-ref' }],
  ])('with %s', async (error_code, body) => {
    const app = await connectedApp();
    expect(await run(app, body, 'failed')).toMatchObject({ error_code, branch_name: null });
  });

  it('with branch_conflict if somebody changed the same lines', async () => {
    const app = await connectedApp();
    scriptSteps(async () => {
      await host.commit(repositoryName, 'other', { 'total.js': 'export const total = () => 0;\n' });
      return fixTotal;
    }, say('Done.'));
    const session = await run(app, { existing_branch: 'other' }, 'failed');
    expect(session.error_code).toBe('branch_conflict');
    expect(await readFile('other', 'total.js')).toBe('export const total = () => 0;');
  });

  it('with push_rejected if the git host does not want the commit', async () => {
    const app = await connectedApp();
    scriptSteps(fixTotal, say('Done.'));
    host.setFaults({ call: 'push', fault: 'refuse' });
    const session = await run(app, {}, 'failed');
    expect(session).toMatchObject({ error_code: 'push_rejected', pull_request: null });
  });

  it('with pull_request_failed, which a message tries again', async () => {
    const app = await connectedApp();
    scriptSteps(fixTotal, say('Done.'));
    host.setFaults({ call: 'create_pull', fault: 'refuse' });
    const session = await run(app, {}, 'failed');
    expect(session).toMatchObject({ error_code: 'pull_request_failed', pull_request: null });
    expect(await readFile(session.branch_name, 'total.js')).toContain('order.tax');
    host.setFaults();
    scriptSteps(say('Again.'));
    await send(app, session, { text: 'Try again.' });
    expect(await waitFor(app, session, 'completed')).toMatchObject({ pull_request: { created: true } });
  });

  it('without a pull request that was never opened, which a message opens', async () => {
    const app = await connectedApp();
    scriptSteps(fixTotal, say('Done.'));
    const hold = pauseAt('pushed');
    const session = await launched(app);
    await hold.reached;
    await crashTwice(session, hold);
    expect(await waitFor(app, session, 'failed')).toMatchObject({ error_code: 'sandbox_lost', pull_request: null });
    scriptSteps(say('All is done.'));
    await send(app, session, { text: 'Continue.' });
    expect(await waitFor(app, session, 'completed')).toMatchObject({ pull_request: { created: true } });
  });

  it('with the pull request that was opened, although its worker was lost', async () => {
    const app = await connectedApp();
    scriptSteps(fixTotal, say('Done.'));
    const hold = pauseAt('pull_request_created');
    const session = await launched(app);
    await hold.reached;
    await crashTwice(session, hold);
    const failed = await waitFor(app, session, 'failed');
    expect(failed).toMatchObject({ error_code: 'sandbox_lost', pull_request: { state: 'open', created: true } });
    model.behave('silent');
    await send(app, session, { text: 'More.' });
    await waitFor(app, session, 'running');
    await cancel(app, session);
    expect(await waitFor(app, session, 'cancelled')).toMatchObject({ pull_request: { created: true } });
  });

  it.each(['deleted', 'merged'])('and only answers later, if its branch was %s by hand', async (how) => {
    const app = await connectedApp();
    scriptSteps(write(`${how}.txt`, 'x\n'), say('Done.'));
    host.setFaults({ call: 'create_pull', fault: 'refuse' });
    const session = await run(app, {}, 'failed');
    expect(session.error_code).toBe('pull_request_failed');
    if (how === 'deleted') await host.deleteBranch(repositoryName, session.branch_name);
    else await host.moveBranch(repositoryName, 'main', session.branch_name);
    scriptSteps(say('It adds up the order.'));
    await send(app, session, { text: 'What does it do?' });
    expect(await waitFor(app, session, 'completed')).toMatchObject({ outcome: 'answer', pull_request: null });
  });

  it('with branch_conflict if somebody has created its branch, also after a message', async () => {
    const app = await connectedApp();
    const hold = pauseAt('claimed');
    const session = await launched(app);
    await hold.reached;
    const { work_branch } = await findRow(session);
    await host.commit(repositoryName, work_branch, { 'theirs.txt': 'x\n' });
    hold.goOn();
    expect(await waitFor(app, session, 'failed')).toMatchObject({ error_code: 'branch_conflict' });
    await send(app, session, { text: 'Try again.' });
    expect(await waitFor(app, session, 'failed')).toMatchObject({ error_code: 'branch_conflict' });
    expect(listCommits(work_branch).length).toBeLessThan(2); // at most the other person's commit
  });

  it('with model_unavailable, and continues with what it has after a message', async () => {
    const app = await connectedApp();
    scriptSteps(write('kept.txt', 'kept\n'));
    const hold = pauseAt('model_answered');
    const failed = run(app, {}, 'failed');
    await hold.reached;
    model.behave(500);
    hold.goOn();
    const session = await failed;
    expect(session.error_code).toBe('model_unavailable');
    model.behave('well');
    scriptSteps(say('Done.'));
    await send(app, session, { text: 'Continue.' });
    const ended = await waitFor(app, session, 'completed');
    expect(ended).toMatchObject({ outcome: 'pull_request' });
    expect(await readFile(ended.branch_name, 'kept.txt')).toBe('kept');
  });

  it('with model_refused if the model declines', async () => {
    const app = await connectedApp();
    scriptSteps({ text: '', finish_reason: 'content_filter' });
    expect(await run(app, {}, 'failed')).toMatchObject({ error_code: 'model_refused' });
  });

  it('with turn_limit_reached if it repeats itself, and with credits_exhausted without credits', async () => {
    const app = await connectedApp();
    scriptSteps(callTools(['list_files', {}]));
    const session = await run(app, {}, 'failed');
    expect(session.error_code).toBe('turn_limit_reached');
    scriptSteps({ ...fixTotal, usage: { prompt_tokens: 600_000, completion_tokens: 0 } }, say('Done.'));
    expect(await run(app, {}, 'failed')).toMatchObject({ error_code: 'credits_exhausted' });
  });
});

describe('cancelSession', () => {
  it('stops the model within a second, charges for what it was asked, and keeps nothing', async () => {
    const app = await connectedApp();
    model.behave('silent');
    const session = await run(app, {}, 'running');
    while (model.requests.length === 0) await new Promise(setImmediate);
    const startedAt = performance.now();
    await cancel(app, session);
    await waitFor(app, session, 'cancelled');
    expect(performance.now() - startedAt).toBeLessThan(10_000); // a job would do this after 12 seconds
    expect((await listLog(session)).at(-1)).toContain('Nothing was pushed.');
    const [charged] = await listCharges(session);
    expect(charged).toMatch(/^settled 2/);
    // A later failed turn does not refund the charge, and does not need its reservation, which is eventually removed.
    model.behave(500);
    await send(app, session, { text: 'Continue.' });
    await waitFor(app, session, 'failed');
    expect((await listCharges(session))[0]).toBe(charged);
    await sql`delete from credit_reservations where reference_id = ${session.id}`.execute(world.db);
    await send(app, session, { text: 'Continue.' });
    await waitFor(app, session, 'failed');
  });

  it('stops a command, and the session can continue with a message', async () => {
    const app = await connectedApp();
    scriptSteps(callTools(['run_command', { command: 'echo begun; sleep 300' }]), say('Done.'));
    const session = await run(app, {}, 'running');
    while (!(await listLog(session)).some((line) => line.startsWith('$ echo'))) await new Promise(setImmediate);
    await sleep(500); // gives the command time to start
    const startedAt = performance.now();
    await cancel(app, session);
    await waitFor(app, session, 'cancelled');
    expect(performance.now() - startedAt).toBeLessThan(10_000); // a job would do this after 12 seconds
    expect(await listCharges(session)).toEqual(['settled 2']); // the model has replied
    scriptSteps(fixTotal, say('Done.'));
    await send(app, session, { text: 'Without the command.' });
    expect(await waitFor(app, session, 'completed')).toMatchObject({ outcome: 'pull_request' });
  });

  it('ends a session that waits for an answer', async () => {
    const app = await connectedApp();
    scriptSteps(callTools(['ask_question', { questions: [{ text: 'Which?' }] }]));
    const session = await run(app, {}, 'needs_input');
    await cancel(app, session);
    expect(await waitFor(app, session, 'cancelled')).toMatchObject({ input_request_id: null });
    expect(await get(app, session)).toMatchObject({ state: 'cancelled' });
  });

  it('ends a session that was about to ask', async () => {
    const app = await connectedApp();
    scriptSteps(callTools(['ask_question', { questions: [{ text: 'Which?' }] }]));
    const hold = pauseAt('tools_ran');
    const session = await launched(app);
    await hold.reached;
    const startedAt = performance.now();
    await cancel(app, session);
    hold.goOn();
    await waitFor(app, session, 'cancelled');
    expect(performance.now() - startedAt).toBeLessThan(10_000); // a job would do this after 12 seconds
    expect((await listLog(session)).at(-1)).toContain('Nothing was pushed.');
  });

  it.each([undefined, 'shared'])(
    'shows a pushed branch that was not recorded, and a message opens its pull request (%s)',
    async (existing_branch) => {
      const app = await connectedApp();
      if (existing_branch) await host.commit(repositoryName, existing_branch, { 'x.txt': 'x' });
      scriptSteps(fixTotal, say('Done.'));
      const hold = pauseAt('pushed');
      const session = await launched(app, { existing_branch });
      await hold.reached;
      await cancel(app, session);
      hold.goOn();
      const ended = await waitFor(app, session, 'cancelled');
      expect((await listLog(session)).at(-1)).toContain(`Kept: the branch ${ended.branch_name}`);
      expect(pullsOf(ended)).toHaveLength(0);
      scriptSteps(say('All is done.'));
      await send(app, session, { text: 'Continue.' });
      expect(await waitFor(app, session, 'completed')).toMatchObject({ pull_request: { created: true } });
    },
  );

  it('says so if the git host cannot be asked what was pushed', async () => {
    const app = await connectedApp();
    scriptSteps(fixTotal, say('Done.'));
    const hold = pauseAt('pushed');
    const session = await launched(app);
    await hold.reached;
    host.setFaults({ call: 'branch', fault: 'error_before' });
    await cancel(app, session);
    hold.goOn();
    await waitFor(app, session, 'cancelled');
    expect((await listLog(session)).at(-1)).toContain('could not be confirmed');
  });

  it('keeps the branch of a session that opens its pull request, and says so', async () => {
    const app = await connectedApp();
    scriptSteps(fixTotal, say('Done.'));
    host.setFaults({ call: 'list_pulls', fault: 'error_before' });
    const session = await run(app, {}, 'opening_pull_request');
    await cancel(app, session);
    const ended = await waitFor(app, session, 'cancelled');
    expect(await readFile(ended.branch_name, 'total.js')).toContain('order.tax');
    expect((await listLog(session)).at(-1)).toContain(`Kept: the branch ${ended.branch_name}`);
    expect(listCommits(ended.branch_name)).toHaveLength(1);
  });
});

const findRow = ({ id }: { id: string }) =>
  world.db.selectFrom('coding_sessions').selectAll().where('id', '=', id).executeTakeFirstOrThrow();
const setRole = (role: string) =>
  sql`update memberships set role = ${role} where user_id = ${scene.owner.id}`.execute(world.db);

it('cancels the session of a person who may no longer change the app', async () => {
  const app = await connectedApp();
  scriptSteps(async () => {
    await setRole('viewer');
    return fixTotal;
  }, say('Done.'));
  const session = await launched(app);
  while ((await findRow(session)).state !== 'cancelled') await new Promise(setImmediate);
  await setRole('owner');
  expect((await listLog(session)).at(-1)).toContain('can no longer edit the app');
  expect(await host.readBranch(repositoryName, (await findRow(session)).work_branch)).toBeNull();
});

it('opens no pull request for a person who may no longer change the app', async () => {
  const app = await connectedApp();
  scriptSteps(fixTotal, say('Done.'));
  const hold = pauseAt('moved_to_opening');
  const session = await launched(app);
  await hold.reached;
  await setRole('viewer');
  hold.lose();
  while ((await findRow(session)).ended_at === null) await sleep(20);
  await setRole('owner');
  const { state, branch_name } = await get(app, session);
  expect(state).toBe('cancelled');
  expect(pullsOf({ branch_name })).toHaveLength(0);
});
