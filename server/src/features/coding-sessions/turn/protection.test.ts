// Tests that a later turn refuses a branch that has been protected since the launch.
import { expect, it } from 'vitest';
import { repositoryName } from '../../../../test/support/coding.ts';
import { callTools, say, startSessionWorld } from '../../../../test/support/session-work.ts';

const { host, connectedApp, call, run, waitFor, scriptSteps, listLog } = await startSessionWorld();

it('fails with push_rejected before the agent works, and continues once the protection is gone', async () => {
  const app = await connectedApp();
  await host.commit(repositoryName, 'guarded', { 'x.txt': 'x\n' });
  scriptSteps(callTools(['write_file', { path: 'a.txt', content: 'a\n' }]), say('Done.'));
  const session = await run(app, { existing_branch: 'guarded' });
  const send = (key: string) =>
    call('POST', app, `/sessions/${session.id}/messages`, {
      body: { text: 'More.' },
      headers: { 'idempotency-key': key },
    });
  host.protect(repositoryName, ['guarded']);
  const requests = scriptSteps(say('Nothing more.'));
  expect(await send('protected-1')).toMatchObject({ status: 200 });
  expect(await waitFor(app, session, 'failed')).toMatchObject({ error_code: 'push_rejected' });
  expect(requests).toEqual([]);
  expect((await listLog(session)).at(-1)).toContain('now protected');
  host.protect(repositoryName, []);
  expect(await send('protected-2')).toMatchObject({ status: 200 });
  expect(await waitFor(app, session, 'completed')).toMatchObject({ outcome: 'answer' });
});
