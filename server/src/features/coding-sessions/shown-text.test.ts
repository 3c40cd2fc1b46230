// Tests how text from the model and the repository is shown to people: in the log, in questions and approvals, in the
// summary, and on the git host.
import { expect, it } from 'vitest';
import { callTools, say, startSessionWorld } from '../../../test/support/session-work.ts';

const { connectedApp, call, launched, waitFor, listLog, listPulls, scriptSteps, run } = await startSessionWorld();

const hostile = '\u001b[31mred\u001b]0;x\u0007 \u202egnp.exe';
const shown = 'red␛]0;x␇ \ufffdgnp.exe';

it('shows no control characters in the log, in questions and in approvals', async () => {
  const app = await connectedApp();
  const option = { label: hostile, description: hostile };
  scriptSteps(
    { ...callTools(['ask_question', { questions: [{ text: hostile, options: [option] }] }]), text: `Say ${hostile}` },
    callTools(['ask_approval', { title: hostile, description: hostile, action: 'run_command', details: hostile }]),
    say(`Done ${hostile}`),
  );
  const session = await launched(app);
  const read = async () =>
    (await call('GET', app, `/sessions/${session.id}/input-request`)).body.input_request as {
      input_request_id: string;
    };
  const answer = async (body: object, key: string) => {
    const sent = { body, headers: { 'idempotency-key': key } };
    expect(await call('POST', app, `/sessions/${session.id}/messages`, sent)).toMatchObject({ status: 200 });
  };
  await waitFor(app, session, 'needs_input');
  const question = await read();
  expect(question).toMatchObject({ questions: [{ text: shown, options: [{ label: shown, description: shown }] }] });
  const answers = [{ question_index: 0, selected_label: shown }];
  await answer({ answers, input_request_id: question.input_request_id }, 'shown-1');
  await expect
    .poll(async () => (await read())?.input_request_id ?? question.input_request_id)
    .not.toBe(question.input_request_id);
  const approval = await read();
  expect(approval).toMatchObject({ approval: { title: shown, description: shown, details: shown } });
  await answer({ approve: false, input_request_id: approval.input_request_id }, 'shown-2');
  expect(await waitFor(app, session, 'completed')).toMatchObject({ summary: `Done ${shown}` });
  const log = await listLog(session);
  expect(log).toContain(`Say ${shown}`);
  expect(log).toContain(`Asked: ${shown}`);
  expect(log).toContain(`Asked for approval: ${shown}`);
});

it('opens a pull request whose description takes no effect, and names what runs in CI and at an installation', async () => {
  const app = await connectedApp();
  const files = ['.github/workflows/ci.yml', 'src/a.js', 'package.json'];
  const writes = files.map((path) => ['write_file', { path, content: '{}\n' }] as const);
  scriptSteps(callTools(...writes), say('Closes #7, says @ada. ![x](https://evil.example/x.png) <img src=x>'));
  const { branch_name } = await run(app, { pull_request_body: 'Part of #9' });
  const body = listPulls().find(({ head }) => head === branch_name)?.body ?? '';
  expect(body.split('\n\n').slice(0, 3)).toEqual([
    '**Review these first:** this pull request changes files that run in CI, during installation or during a build: ` .github/workflows/ci.yml `, ` package.json `.',
    'Closes #&#8203;7, says @&#8203;ada. !\\[x\\](https://evil.example/x.png) &lt;img src=x>',
    'Part of #9',
  ]);
});
