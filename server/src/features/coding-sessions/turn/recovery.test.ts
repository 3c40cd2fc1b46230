// Tests sessions that lose their worker at each boundary. Another worker continues, and nothing is done or charged
// twice.
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, expect, it } from 'vitest';
import { callTools, say, startSessionWorld } from '../../../../test/support/session-work.ts';
import { type Boundary, boundaries } from '../index.ts';

/** The boundary at which each session loses its worker once. */
const faults = new Map<string, Boundary | undefined>();
const scene = await startSessionWorld({
  onSessionBoundary: async (name, id) => {
    while (!faults.has(id)) await sleep(5); // waits until the test knows the session's id
    if (faults.get(id) !== name) return;
    faults.set(id, undefined);
    throw new Error(`lost at ${name}`);
  },
});
const { host, connectedApp, launched, waitFor, readFile, listPulls, listCharges, expectNoToken } = scene;

const sessions = new Map<Boundary, { id: string; app: { id: string } }>();

beforeAll(async () => {
  const charged = { usage: { prompt_tokens: 10_000, completion_tokens: 0 } };
  // The script depends on the work done so far, not on the number of requests, because steps may be repeated.
  scene.model.script(({ messages }) => {
    const replies = messages.filter(({ role }) => role === 'assistant').length;
    if (replies === 0) return { ...callTools(['write_file', { path: 'a.txt', content: 'a\n' }]), ...charged };
    if (replies === 1) return { ...callTools(['run_command', { command: 'cat a.txt > b.txt' }]), ...charged };
    return { ...say('Done.'), ...charged };
  });
  const app = await connectedApp();
  for (const at of boundaries) {
    const { id } = await launched(app, { title: at });
    faults.set(id, at);
    sessions.set(at, { id, app });
  }
});

it.each(boundaries)('continues after its worker was lost at: %s', async (at) => {
  const { app, id } = sessions.get(at) as { id: string; app: { id: string } };
  const ended = await waitFor(app, { id }, 'completed');
  expect(faults.get(id)).toBeUndefined();
  expect(ended).toMatchObject({ outcome: 'pull_request', summary: 'Done.', pull_request: { created: true } });
  for (const path of ['a.txt', 'b.txt']) expect(await readFile(ended.branch_name, path)).toBe('a');
  const pushes = host.journal.flatMap(({ refs = [] }) => refs.filter(({ ref }) => ref.endsWith(ended.branch_name)));
  expect(pushes).toHaveLength(1);
  expect(listPulls().filter((pull) => JSON.stringify(pull).includes(ended.branch_name))).toHaveLength(1);
  expect(await listCharges({ id })).toEqual(['settled 2', 'settled 1']);
  await expectNoToken({ id });
});
