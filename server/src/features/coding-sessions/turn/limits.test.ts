// Tests sessions in installations without a command sandbox, and the limits on time and steps.
import { expect, it } from 'vitest';
import { callTools, say, startSessionWorld } from '../../../../test/support/session-work.ts';

const scene = await startSessionWorld({
  sessionLimits: { inputMs: 100, steps: 3 },
  environment: { COMMAND_SANDBOX_BWRAP: 'off', SESSION_MAX_CREDITS: '3' },
});
const { connectedApp, run, send, get, waitFor, scriptSteps, readFile, listCharges } = scene;

const write = (path: string) => callTools(['write_file', { path, content: 'x\n' }]);

it('continues with the other tools where commands cannot be run, and tells the agent why', async () => {
  const app = await connectedApp();
  const requests = scriptSteps(callTools(['run_command', { command: 'npm test' }]), write('a.txt'), say('Not tested.'));
  const session = await run(app);
  expect(session).toMatchObject({ outcome: 'pull_request', summary: 'Not tested.' });
  expect(JSON.stringify(requests[1]?.messages.at(-1))).toContain("Commands can't be run here");
});

it('fails with input_timeout if nobody answers in time, and continues after a message', async () => {
  const app = await connectedApp();
  scriptSteps(callTools(['ask_question', { questions: [{ text: 'Which?' }] }]));
  const session = await run(app, {}, 'failed');
  expect(session).toMatchObject({ error_code: 'input_timeout', input_request_id: null });
  scriptSteps(say('The second.'));
  await send(app, session, { text: 'The second one.' });
  expect(await waitFor(app, session, 'completed')).toMatchObject({ summary: 'The second.' });
});

it('fails with turn_limit_reached, keeps what was done, and continues after a message', async () => {
  const app = await connectedApp();
  scriptSteps(write('a.txt'), write('b.txt'), write('c.txt'), write('d.txt'));
  const session = await run(app, {}, 'failed');
  expect(session).toMatchObject({ error_code: 'turn_limit_reached', pull_request: null });
  scriptSteps(say('Done.'));
  await send(app, session, { text: 'That will do.' });
  const ended = await waitFor(app, session, 'completed');
  expect(ended).toMatchObject({ outcome: 'pull_request', error_code: null });
  for (const path of ['a.txt', 'b.txt', 'c.txt']) expect(await readFile(ended.branch_name, path)).toBe('x');
});

it('costs no more than SESSION_MAX_CREDITS, over all turns', async () => {
  const app = await connectedApp();
  scriptSteps({ ...say('Done.'), usage: { prompt_tokens: 25_000, completion_tokens: 0 } });
  const session = await run(app);
  await send(app, session, { text: 'More.' });
  await waitFor(app, session, 'completed');
  expect(await listCharges(session)).toEqual(['settled 2.5', 'settled 0.5']);
  const refused = await send(app, session, { text: 'And more.' });
  expect(refused).toMatchObject({ status: 402, body: { code: 'credits_exhausted' } });
  expect(await get(app, session)).toMatchObject({ state: 'completed' });
});
