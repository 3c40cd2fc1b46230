// Test worlds with a webhook endpoint. Names under outside.test resolve to 127.20.0.1, which stands in for a
// public address. A scene adds a workspace, and webhooks on separate agents and apps.
import { sql } from 'kysely';
import { afterAll, expect } from 'vitest';
import { type Authority, makeAuthority } from '../../../sandbox/src/certificates.ts';
import {
  type ReceivedRequest,
  type Responder,
  startWebhookEndpoint,
  type WebhookEndpoint,
} from '../../../sandbox/src/webhook-endpoint.ts';
import type { AppRow } from '../../src/core/auth/proofs.ts';
import type { Events, MessageEvent, RecordEvent } from '../../src/events.ts';
import { takeAdvisoryLock, transaction } from '../../src/kit/db/database.ts';
import { newId } from '../../src/kit/ids.ts';
import type { CallOptions, CallResult } from './client.ts';
import { type Person, startWorld, type World, type WorldOptions } from './world.ts';

export const endpointAddress = '127.20.0.1';

export interface WebhookWorld {
  readonly world: World;
  readonly endpoint: WebhookEndpoint;
  /** Issues certificates that this world trusts. */
  readonly authority: Authority;
  /** Returns a URL on the endpoint. */
  url(path?: string, host?: string): string;
}

export async function startWebhookWorld(options: WorldOptions = {}): Promise<WebhookWorld> {
  const authority = await makeAuthority();
  const certificate = await authority.issue('DNS:*.outside.test', `IP:${endpointAddress}`);
  const endpoint = await startWebhookEndpoint({ address: endpointAddress, certificate });
  const world = await startWorld({
    ...options,
    extraCa: authority.ca,
    environment: { OUTBOUND_ALLOW: '127.20.0.0/16', ...options.environment },
    zone: (name, type) => {
      if (name === 'broken.outside.test') return { code: 2 };
      if (name === 'inner.outside.test') return type === 'A' ? { addresses: ['10.0.0.1'] } : {};
      if (name === 'gone.outside.test' || !name.endsWith('.outside.test')) return { code: 3 };
      return type === 'A' ? { addresses: [endpointAddress] } : {};
    },
  });
  afterAll(async () => {
    await endpoint.close();
    await authority.close();
  });
  return {
    world,
    endpoint,
    authority,
    url: (path = '/', host = 'hook') => `https://${host}.outside.test:${endpoint.port}${path}`,
  };
}

// biome-ignore lint/suspicious/noExplicitAny: Responses are not typed here.
type AnyBody = any;

/** A webhook with its own endpoint, on its own agent or app. */
export interface TestWebhook {
  readonly app: AppRow;
  readonly id: string;
  /** The secret that was shown when the webhook was created. */
  readonly secret: string;
  /** The webhook's path in the API. */
  readonly path: string;
  /** The requests that the webhook's endpoint received, in order. */
  received(): ReceivedRequest[];
  /** Sets how the webhook's endpoint responds from now on. */
  respondWith(responder: Responder): void;
  call(method: string, below?: string, sent?: CallOptions): Promise<CallResult>;
  get(): Promise<AnyBody>;
  patch(body: object): Promise<CallResult>;
  /** Publishes events that the webhook subscribes to by default. */
  publishEvents(count?: number): Promise<void>;
  /** Lists the webhook's deliveries, oldest first. */
  listDeliveries(): Promise<AnyBody[]>;
  /** Waits until the webhook's deliveries match, oldest first. */
  waitForDeliveries(expected: object[]): Promise<void>;
  /** Makes the webhook's queued deliveries due now. */
  makeDueNow(): Promise<void>;
}

export interface WebhookScene extends WebhookWorld {
  readonly owner: Person;
  readonly workspace: string;
  readonly token: string;
  /** `on` is an existing agent or app. */
  createWebhook(body?: object, on?: { on?: AppRow; scope?: 'agent' | 'app'; as?: string }): Promise<TestWebhook>;
  /** Prevents workers from claiming deliveries until `run` ends, so the queue can be inspected. */
  withClaimsPaused<T>(run: () => Promise<T>): Promise<T>;
}

export async function startWebhookScene(options: WorldOptions = {}): Promise<WebhookScene> {
  const hooks = await startWebhookWorld(options);
  const { world, endpoint, url } = hooks;
  const owner = await world.person('owner@example.com');
  const workspace = await world.workspace(owner);
  await world.db.updateTable('workspaces').set({ rate_multiplier: 1000 }).where('id', '=', workspace).execute();
  const token = await world.token(owner, workspace);
  const responders = new Map<string, Responder>();
  endpoint.respond = (request) => responders.get(request.path)?.(request) ?? {};

  async function createWebhook(
    body: object = {},
    { on, scope = 'agent', as = token }: Parameters<WebhookScene['createWebhook']>[1] = {},
  ) {
    const app_type = scope === 'agent' ? 'user_agent' : 'user_app';
    const app = on ?? (await world.appOf(owner, workspace, { app_type }));
    const endpointPath = `/${newId()}`;
    const base = `/api/${scope}s/${app.id}/webhooks`;
    const events = [scope === 'agent' ? 'message.created' : 'entity.updated'];
    const created = await world.call('POST', base, { as, body: { target_url: url(endpointPath), events, ...body } });
    expect(created.status, created.text).toBe(200);
    const { id, secret } = created.body;
    const call = (method: string, below = '', sent: CallOptions = {}) =>
      world.call(method, `${base}/${id}${below}`, { as, ...sent });
    const log = async () => (await call('GET', '/deliveries?after_seq=0&limit=100')).body.items;
    return {
      app,
      id,
      secret,
      path: `${base}/${id}`,
      received: () => endpoint.received.filter((request) => request.path === endpointPath),
      respondWith: (responder) => void responders.set(endpointPath, responder),
      call,
      get: async () => (await call('GET')).body,
      patch: async (change) => {
        await world.resetRateLimits(); // the limit on webhook changes is the same in every plan
        return call('PATCH', '', { body: change });
      },
      publishEvents: async (count = 1) => {
        for (let n = 0; n < count; n += 1)
          if (scope === 'agent') await publish(world, 'message.created', messageEvent(app));
          else await publish(world, 'entity.updated', recordEvent(app));
      },
      listDeliveries: log,
      waitForDeliveries: (expected) => expect.poll(log).toMatchObject(expected),
      makeDueNow: async () => {
        await sql`update webhook_deliveries set due_at = clock_timestamp()
          where webhook_id = ${id} and due_at is not null and claimed_slot is null`.execute(world.db);
        world.app.wake.notify('webhook_deliveries');
      },
    } satisfies TestWebhook;
  }
  const withClaimsPaused: WebhookScene['withClaimsPaused'] = (run) =>
    transaction(world.db, async (db) => {
      await takeAdvisoryLock(db, 'claim webhook_deliveries');
      return run();
    });
  return { ...hooks, owner, workspace, token, createWebhook, withClaimsPaused };
}

export const publish = <Name extends keyof Events>({ app, clock }: World, name: Name, payload: Events[Name]) =>
  app.publish(app.database.db, name, payload, clock.now());

const when = '2026-11-14T09:30:00.123Z';

export const messageEvent = ({ workspace_id, id }: AppRow, content = 'hello'): MessageEvent => ({
  workspace_id,
  agent_id: id,
  conversation_id: newId(),
  data: {
    message: { id: newId(), role: 'user', content, file_urls: [], created_date: when, updated_date: when },
    user: { id: newId(), email: 'person@example.com' },
  },
});

export const recordEvent = ({ workspace_id, id }: AppRow, entity_name = 'Order'): RecordEvent => ({
  workspace_id,
  app_id: id,
  entity_name,
  entity_id: newId(),
  data: { total: 2 },
  old_data: { total: 1 },
  changed_fields: ['total'],
  actor: { id: newId(), email: 'person@example.com' },
  credential_id: newId(),
  depth: 0,
  payload_too_large: false,
});
