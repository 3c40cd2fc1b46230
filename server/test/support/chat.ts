// The helpers that builder chat tests share: a World with a worker and the sandbox model, scripted step by step.
import { sql } from 'kysely';
import { afterAll, beforeEach } from 'vitest';
import { type ChatRequest, type ModelReply, startModelSandbox } from '../../../sandbox/src/model.ts';
import type { AppRow } from '../../src/core/auth/proofs.ts';
import type { NewApp } from '../../src/core/identity/apps.ts';
import { type CallOptions, type CallResult, stream } from './client.ts';
import { startWorld, type WorldOptions } from './world.ts';

export type Step = ModelReply | ((request: ChatRequest) => ModelReply | Promise<ModelReply>);

export interface ShownCall {
  readonly id: string;
  readonly name: string;
  readonly status: string;
  readonly results: string;
  readonly arguments_string: string;
}

/** Present in every app. Omitted by `listPaths`. */
const firstFile = 'first.txt';

interface AppKey {
  readonly id: string;
}

export async function startChatWorld({ environment, ...options }: WorldOptions = {}) {
  const model = await startModelSandbox();
  afterAll(() => model.close());
  const world = await startWorld({
    ...options,
    environment: { MODEL_URL: model.url, MODEL_NAME: 'house-model', ...environment },
  });
  await world.startWorker();
  const owner = await world.person('owner@example.com');
  const workspace = await world.workspace(owner);
  await world.db.updateTable('workspaces').set({ rate_multiplier: 1000 }).where('id', '=', workspace).execute();
  const token = await world.token(owner, workspace);
  const scriptSteps = (...steps: Step[]): ChatRequest[] => {
    const requests: ChatRequest[] = [];
    model.script((request) => {
      const step = steps[Math.min(requests.length, steps.length - 1)] as Step;
      requests.push(request);
      return typeof step === 'function' ? step(request) : step;
    });
    return requests;
  };
  beforeEach(() => {
    model.behave('well');
    scriptSteps({ text: 'Hello.' });
    world.clock.aheadMs = 0;
  });
  const pathOf = (app: AppKey) => `/api/apps/${app.id}`;
  return {
    model,
    world,
    owner,
    workspace,
    token,
    /**
     * Makes the model take these steps in order and then repeat the last one. Returns the requests that the model
     * receives.
     */
    scriptSteps,
    /** Creates an app with one file, so the assistant does not begin with the starter. */
    createApp: async (more: Partial<NewApp> = {}): Promise<AppRow> => {
      const app = await world.appOf(owner, workspace, more);
      await sql`insert into app_files (app_id, path, content, sha256, size, encoding, updated_date)
        values (${app.id}, ${firstFile}, '', 'x', 0, 'utf-8', now())`.execute(world.db);
      return app;
    },
    send: (app: AppKey, content = 'Build it', sent: CallOptions = {}) =>
      world.call('POST', `${pathOf(app)}/chat/message`, { as: token, body: { content }, ...sent }),
    streamTurn: (app: AppKey, content = 'Build it', headers: Record<string, string> = {}) =>
      stream(world.url, `${pathOf(app)}/chat/message`, { as: token, body: { content }, headers }),
    stop: (app: AppKey) => world.call('POST', `${pathOf(app)}/chat/stop`, { as: token }),
    getApp: async (app: AppKey) => (await world.call('GET', pathOf(app), { as: token })).body,
    getChat: async (app: AppKey, query = '') =>
      (await world.call('GET', `${pathOf(app)}/chat/full-conversation${query}`, { as: token })).body,
    putFile: (app: AppKey, path: string, content: string) =>
      world.call('PUT', `${pathOf(app)}/files/content?path=${path}`, { as: token, body: { content } }),
    readFile: async (app: AppKey, path: string): Promise<string | undefined> =>
      (await world.call('GET', `${pathOf(app)}/files/content?path=${path}`, { as: token })).body.content,
    listPaths: async (app: AppKey): Promise<string[]> =>
      (await world.call('GET', `${pathOf(app)}/files`, { as: token })).body.items
        .map((file: { path: string }) => file.path)
        .filter((path: string) => path !== firstFile),
    /** Lists an app's credit reservations, in order, such as `settled 0.5` or `released`. */
    listCharges: async (app: AppKey): Promise<string[]> => {
      const { rows } = await sql<{ state: string; charged: number | null }>`
        select state, charged from credit_reservations where app_id = ${app.id} order by id`.execute(world.db);
      return rows.map(({ state, charged }) => (state === 'settled' ? `settled ${charged}` : state));
    },
  };
}

export const callTools = (...tool_calls: [name: string, args: object | string][]): ModelReply => ({
  tool_calls: tool_calls.map(([name, args]) => ({ name, arguments: args })),
});

export const writeFile = (path: string, content: string, more = {}): [string, object] => [
  'write_file',
  { path, content, ...more },
];

export const say = (text = 'Done.'): ModelReply => ({ text });

export const listCalls = ({ body }: CallResult): ShownCall[] =>
  body.conversation.messages.flatMap((message: { tool_calls: ShownCall[] }) => message.tool_calls);

/** Lists a response's messages, such as `user: Build it`. */
export const listMessages = ({ body }: CallResult): string[] =>
  body.conversation.messages.map(({ role, content }: { role: string; content: string }) => `${role}: ${content}`);

/** Lists the tool results sent to the model, in call order. */
export const listResults = (request: ChatRequest | undefined): string[] =>
  (request?.messages ?? []).filter(({ role }) => role === 'tool').map(({ content }) => String(content));

export const page =
  '<!doctype html><html lang="en"><head><title>Tasks</title></head><body><h1>Tasks</h1></body></html>\n';
