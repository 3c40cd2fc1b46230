// The helpers that tests of session work share: a worker, a model that is scripted step by step, and functions
// that wait for states.
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import { afterAll, expect } from 'vitest';
import type { ChatRequest, ModelReply } from '../../../sandbox/src/model.ts';
import { type AppId, repositoryName, startCodingWorld } from './coding.ts';
import type { WorldOptions } from './world.ts';

export type Step = ModelReply | ((request: ChatRequest) => ModelReply | Promise<ModelReply>);

/** A reply that calls tools. */
export const callTools = (...calls: (readonly [name: string, args: object])[]): ModelReply => ({
  tool_calls: calls.map(([name, args]) => ({ name, arguments: args })),
});
export const say = (text: string): ModelReply => ({ text, usage: { prompt_tokens: 1_000, completion_tokens: 0 } });

interface SessionId {
  readonly id: string;
}

export async function startSessionWorld({ environment, ...options }: WorldOptions = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'plinth-test-sessions-'));
  chmodSync(folder, 0o711); // if the tests run as root, commands run as other users
  const scene = await startCodingWorld({ ...options, environment: { SESSION_FOLDER: folder, ...environment } });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  const { world, model, call, launched } = scene;
  await world.startWorker();
  const scriptSteps = (...steps: Step[]): ChatRequest[] => {
    const requests: ChatRequest[] = [];
    model.script((request) => {
      const step = steps[Math.min(requests.length, steps.length - 1)] as Step;
      requests.push(request);
      return typeof step === 'function' ? step(request) : step;
    });
    return requests;
  };
  const describe = async ({ id }: SessionId): Promise<string> => {
    const { rows } = await sql`select state, error_code, error_message, last_error, failures, crash_count
      from coding_sessions where id = ${id}`.execute(world.db);
    return JSON.stringify(rows[0]);
  };
  const get = async (app: AppId, { id }: SessionId) => (await call('GET', app, `/sessions/${id}`)).body;
  const waitFor = async (app: AppId, session: SessionId, ...wanted: string[]) => {
    for (const begun = performance.now(); performance.now() - begun < 120_000; await sleep(25)) {
      const got = await get(app, session);
      if (wanted.includes(got.state)) return got;
      if (['completed', 'failed', 'cancelled'].includes(got.state))
        throw new Error(`the session has ended: ${await describe(session)}`);
    }
    throw new Error(`the session continues: ${await describe(session)}`);
  };
  return {
    ...scene,
    folder,
    scriptSteps,
    get,
    waitFor,
    /** Launches a session and waits until it has ended. */
    async run(app: AppId, body: object = {}, ...wanted: string[]) {
      const session = await launched(app, body);
      return waitFor(app, session, ...(wanted.length === 0 ? ['completed'] : wanted));
    },
    cancel: (app: AppId, { id }: SessionId) => call('POST', app, `/sessions/${id}/cancel`),
    listLog: async ({ id }: SessionId): Promise<string[]> => {
      const { rows } = await sql<{ data: { text: string } }>`select data from coding_events
        where session_id = ${id} and event = 'log' order by version`.execute(world.db);
      return rows.map(({ data }) => data.text);
    },
    /** Lists the session's credit reservations, in order, such as `settled 2`. */
    listCharges: async ({ id }: SessionId): Promise<string[]> => {
      const { rows } = await sql<{
        state: string;
        charged: number | null;
      }>`select state, charged from credit_reservations
        where reference_id = ${id} order by id`.execute(world.db);
      return rows.map(({ state, charged }) => `${state} ${Number(charged)}`);
    },
    listStates: async ({ id }: SessionId): Promise<string[]> => {
      const { rows } = await sql<{ state: string }>`select data ->> 'state' as state from coding_events
        where session_id = ${id} and event = 'state' order by version`.execute(world.db);
      return rows.map(({ state }) => state);
    },
    readFile: (ref: string, path: string) => scene.host.readFile(repositoryName, ref, path),
    listPulls: () => scene.host.listPullRequests(repositoryName),
    expectNoToken: async ({ id }: SessionId) => {
      const { rows } = await sql<{ text: string }>`select data::text as text from coding_events where session_id = ${id}
        union all select record::text from coding_steps where session_id = ${id} and record is not null
        union all select coding_sessions::text from coding_sessions where id = ${id}`.execute(world.db);
      for (const text of [...rows.map((row) => row.text), ...world.logLines])
        expect(text).not.toContain(scene.host.token);
    },
  };
}
