// The installation for browser test measurements and drills. It consists of an API and workers in separate
// processes, the sandbox model, which replays the demo shop's flows, and a workspace that publishes variants of the
// shop and runs flows in them.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ShopFlow } from '../sandbox/src/demo-shop/flows.ts';
import { publishShop, readShop, republishShop, type Shop } from '../sandbox/src/demo-shop/shop.ts';
import { type ModelSandbox, startModelSandbox } from '../sandbox/src/model.ts';
import { type MailSandbox, startMailSandbox } from '../sandbox/src/smtp.ts';
import { playTest } from '../sandbox/src/test-conversation.ts';
import { newKeys } from '../server/src/commands/keys.ts';
import { readConfig } from '../server/src/config.ts';
import { openDatabase } from '../server/src/kit/db/database.ts';
import type { Tables } from '../server/src/tables.ts';
import { createBenchUser, createBenchWorkspace } from './fixtures.ts';
import { type Processes, startProcesses } from './processes.ts';
import { type Call, retryingClient } from './retrying-client.ts';

export const chromiumPath = process.env.CHROMIUM_PATH ?? '/usr/bin/chromium';

export interface Execution {
  readonly id: string;
  readonly flow_id: string;
  readonly status: string;
  readonly error_message: string | null;
  readonly duration_ms: number | null;
  readonly browser_session_id: string | null;
}

export interface TestReport {
  readonly verdict: 'passed' | 'failed' | 'inconclusive';
  readonly summary: string;
  readonly issues: readonly { readonly severity: string; readonly title: string; readonly description: string }[];
  readonly steps: readonly {
    readonly number: number;
    readonly action: string;
    readonly source: string;
    readonly at: string;
  }[];
  readonly healed: readonly object[];
}

export interface TestInstallation {
  readonly model: ModelSandbox;
  readonly processes: Processes;
  /** Retries until it gets a final response. */
  readonly call: Call;
  /** Publishes the shop as a new app. */
  publish(shop?: Shop): Promise<{ readonly id: string; readonly url: string }>;
  /** Publishes this shop in an app that already has one. */
  republish(appId: string, shop: Shop): Promise<void>;
  /** Creates an app user who signs in with a password. */
  addUser(appId: string, email: string, password: string): Promise<void>;
  /** Returns the flow's id. */
  createFlow(appId: string, flow: ShopFlow): Promise<string>;
  /** Starts a run and returns its id. */
  start(appId: string, flowId: string): Promise<string>;
  read(appId: string, executionId: string): Promise<Execution>;
  /** Polls the run until `isReached` returns true. */
  waitFor(
    appId: string,
    executionId: string,
    isReached: (execution: Execution) => boolean,
    withinMs: number,
  ): Promise<Execution>;
  waitForEnd(appId: string, executionId: string, withinMs?: number): Promise<Execution>;
  readReport(appId: string, executionId: string): Promise<TestReport>;
  close(): Promise<void>;
}

const terminal = new Set(['passed', 'failed', 'inconclusive', 'cancelled', 'error']);
export const isTerminal = ({ status }: { readonly status: string }): boolean => terminal.has(status);

export interface InstallationOptions {
  readonly databaseUrl: string;
  readonly redis: { readonly REDIS_URL?: string; readonly REDIS_PREFIX?: string };
  readonly workers?: number;
  /** Called before each of the model's replies. */
  readonly think?: () => Promise<void>;
}

export async function startTestInstallation(options: InstallationOptions): Promise<TestInstallation> {
  const ends: (() => unknown)[] = [];
  const close = async () => {
    for (const end of ends.reverse()) await end();
  };
  try {
    return { ...(await build(options, (end) => void ends.push(end))), close };
  } catch (error) {
    await close();
    throw error;
  }
}

async function build(
  { databaseUrl, redis, workers = 1, think = async () => {} }: InstallationOptions,
  atEnd: (end: () => unknown) => void,
): Promise<Omit<TestInstallation, 'close'>> {
  const folder = mkdtempSync(join(tmpdir(), 'browser-tests-'));
  atEnd(() => rmSync(folder, { recursive: true, force: true }));
  const model = await startModelSandbox();
  atEnd(model.close);
  model.script(async (request) => {
    await think();
    return playTest(request);
  });
  const mail = await startMailSandbox();
  atEnd(mail.close);
  const settings = {
    ...newKeys(),
    SMTP_URL: mail.smtpUrl,
    DATABASE_URL: databaseUrl,
    ...redis,
    MODEL_URL: model.url,
    BROWSER_EXECUTABLE: chromiumPath,
    STORAGE_FOLDER: folder,
    APPS_DOMAIN: 'apps.localhost',
    WORKER_SLOTS: '8',
  };
  const token = await createToken(settings);
  const processes = await startProcesses({ api: 1, worker: workers }, (api) => ({ ...settings, BASE_URL: api }));
  atEnd(processes.stop);
  await processes.allReady();
  const call = retryingClient(processes.apis, token);
  const addUser = async (appId: string, email: string, password: string) => {
    const auth = `/api/apps/${appId}/auth`;
    await call('PATCH', `${auth}/settings`, { sign_up: 'open' });
    await call('POST', `${auth}/sign-up`, { email, password });
    const link_token = await waitForLink(mail, email);
    await call('POST', `${auth}/link/use`, { link_token });
  };
  return { model, processes, call, addUser, ...createCalls(call) };
}

async function waitForLink({ inbox }: Pick<MailSandbox, 'inbox'>, email: string): Promise<string> {
  for (let tries = 0; tries < 300; tries += 1) {
    const text = inbox.find(({ to }) => to.includes(email))?.text ?? '';
    const link = /#plinth_link=(\S+)/.exec(text)?.[1];
    if (link !== undefined) return link;
    await sleep(100);
  }
  throw new Error('the mail with the link did not arrive');
}

function createCalls(
  call: Call,
): Pick<
  TestInstallation,
  'publish' | 'republish' | 'createFlow' | 'start' | 'read' | 'waitFor' | 'waitForEnd' | 'readReport'
> {
  const manage = async (method: string, path: string, body?: object) => (await call(method, path, body)).body;
  const testing = (appId: string) => `/api/apps/${appId}/testing-agent`;
  const read: TestInstallation['read'] = (appId, executionId) =>
    manage('GET', `${testing(appId)}/executions/${executionId}`);
  const waitFor: TestInstallation['waitFor'] = async (appId, executionId, isReached, withinMs) => {
    const end = Date.now() + withinMs;
    for (;;) {
      const execution = await read(appId, executionId);
      if (isReached(execution)) return execution;
      if (Date.now() > end) throw new Error(`a run is still ${execution.status} after ${withinMs} ms`);
      await sleep(100);
    }
  };
  return {
    async publish(shop = readShop()) {
      const id = await publishShop(manage, shop);
      return { id, url: (await manage('GET', `/api/apps/${id}`)).published.url };
    },
    republish: (appId, shop) => republishShop(manage, appId, shop),
    async createFlow(appId, { name, goal, role }) {
      return (await manage('POST', `${testing(appId)}/flows`, { name, goal, role })).id;
    },
    start: async (appId, flow_id) => (await manage('POST', `${testing(appId)}/executions`, { flow_id })).id,
    read,
    waitFor,
    waitForEnd: (appId, executionId, withinMs = 180_000) => waitFor(appId, executionId, isTerminal, withinMs),
    readReport: (appId, executionId) => manage('GET', `${testing(appId)}/analysis/${executionId}`),
  };
}

async function createToken(settings: Record<string, string>): Promise<string> {
  const config = readConfig(settings);
  const { db, close } = openDatabase<Tables>({ url: config.DATABASE_URL, poolSize: 1 });
  const { token } = await createBenchWorkspace(db, config, await createBenchUser(db));
  await close();
  return token;
}
