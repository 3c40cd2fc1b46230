// Sends every operation that can change something to a workspace whose storage quota is full. What would store more is
// refused, as docs/api/operations.yaml declares (`storage`), and nothing else.
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { startAdPlatform } from '../../../sandbox/src/ad-platform/server.ts';
import { startAuthorizationServer } from '../../../sandbox/src/authorization-server.ts';
import { startGitHost } from '../../../sandbox/src/git-host/server.ts';
import { startModelSandbox } from '../../../sandbox/src/model.ts';
import { startMailSandbox } from '../../../sandbox/src/smtp.ts';
import { newId } from '../../src/kit/ids.ts';
import { hostSettings } from '../support/coding.ts';
import { sandboxSettings } from '../support/connections.ts';
import { define } from '../support/workflows.ts';
import { startWorld } from '../support/world.ts';
import { register } from './register.ts';
import { createRepeatCases, type PreparedRequest, storesNothingMore } from './repeat-cases.ts';

const [mail, model, host, services, ads] = [
  await startMailSandbox(),
  await startModelSandbox(),
  await startGitHost(),
  await startAuthorizationServer(),
  await startAdPlatform(),
];
afterAll(() => Promise.all([mail, model, host, services, ads].map((each) => each.close())));
await host.addRepository({ full_name: 'acme/flower-shop', files: { 'README.md': '# Shop\n' }, protected: [] });
const world = await startWorld({
  environment: {
    SMTP_URL: mail.smtpUrl,
    MODEL_URL: model.url,
    ADS_PLATFORM_URL: ads.url,
    ADS_PLATFORM_MANAGER_ID: ads.managerId,
    ADS_PLATFORM_CREDENTIALS: ads.credentials,
    ...hostSettings(host),
    ...sandboxSettings(services.url),
  },
});
const cases = await createRepeatCases(world, { host, mail, model, receiver: `${model.url}/received` });

const setQuota = (storage_quota_bytes: number | null) =>
  world.db.updateTable('workspaces').set({ storage_quota_bytes }).execute();
/** The usage that the process has read is trusted for a minute. */
const expireUsage = () => {
  world.clock.aheadMs += 61_000;
};

/** Requests of operations that wait for a worker, a provider or a browser, once they are admitted. */
const others: Readonly<Record<string, (place: Place) => Promise<readonly [path: string, body: object]>>> = {
  sendChatMessage: async ({ app }) => [`/api/apps/${app}/chat/message`, { content: 'A task list' }],
  sendAgentMessage: async ({ agent, send }) => {
    const { id } = await send('POST', `/api/agents/${agent}/conversations`, {});
    return [`/api/agents/${agent}/conversations/${id}/messages`, { content: 'Hello' }];
  },
  generateFlows: async ({ app }) => [`/api/apps/${app}/testing-agent/flows/generate-from-app-context`, {}],
  startExecution: async ({ app, send }) => {
    const flow = await send('POST', `/api/apps/${app}/testing-agent/flows`, { name: 'Order', goal: 'Order a rose.' });
    return [`/api/apps/${app}/testing-agent/executions`, { flow_id: flow.id }];
  },
  updateWorkflow: async ({ app, send }) => {
    const path = `/api/apps/${app}/workflows`;
    const trigger = { config: { trigger_type: 'manual' } };
    const { id } = await send('POST', path, {
      name: 'Welcome',
      definition: define([{ a: { set: { n: 1 } } }]),
      trigger,
    });
    return [`${path}/${id}`, { definition: define([{ a: { set: { n: 2 } } }]) }];
  },
};

interface Place {
  readonly app: string;
  readonly agent: string;
  send(method: string, path: string, body: object): Promise<{ readonly id: string }>;
}

beforeEach(() => world.resetRateLimits());

describe.each(Object.entries(others))('%s', (name, prepare) => {
  it('is refused at the storage quota, whatever else it needs', async () => {
    const owner = await world.person(`${newId()}@example.com`);
    const workspace = await world.workspace(owner, 'enterprise');
    const as = await world.token(owner, workspace);
    const [app, agent] = [
      await world.appOf(owner, workspace),
      await world.appOf(owner, workspace, { app_type: 'user_agent' }),
    ];
    const send: Place['send'] = async (method, path, body) => (await world.call(method, path, { as, body })).body;
    const [path, body] = await prepare({ app: app.id, agent: agent.id, send });
    await world.db.updateTable('workspaces').set({ storage_quota_bytes: 0 }).where('id', '=', workspace).execute();
    expireUsage();
    const { method } = register.find((entry) => entry.name === name) ?? { method: '' };
    const got = await world.call(method, path, { as, body });
    expect([got.status, got.body.code], got.text).toEqual([402, 'storage_quota_exceeded']);
  });
});

describe.each(register.filter(({ name }) => name in cases).map((entry) => [entry.name, entry] as const))(
  '%s',
  (name, { method, idempotency, isRefusedAtQuota }) => {
    const isRefused = isRefusedAtQuota && !storesNothingMore.includes(name);

    it(isRefused ? 'is refused at the storage quota' : 'works at the storage quota', async () => {
      const { path, headers, ...sent }: PreparedRequest = await (cases[name] as () => Promise<PreparedRequest>)();
      await setQuota(0);
      expireUsage();
      try {
        const key: Record<string, string> = idempotency === 'none' ? {} : { 'idempotency-key': newId() };
        const got = await world.call(method, path, { ...sent, headers: { ...headers, ...key } });
        if (isRefused) expect([got.status, got.body.code]).toEqual([402, 'storage_quota_exceeded']);
        else expect(got.status, got.text).toBe(200);
      } finally {
        await setQuota(null);
        expireUsage();
      }
    });
  },
);
