// Test worlds in which people connect apps through the API. The sandbox stands in for all services.
import { afterAll, expect } from 'vitest';
import { type AuthorizationServer, startAuthorizationServer } from '../../../sandbox/src/authorization-server.ts';
import { clientSettingsOf, connectorsWithClient } from '../../src/config/connectors.ts';
import type { AppRow } from '../../src/core/auth/proofs.ts';
import type { CallResult } from './client.ts';
import { sandboxSettings } from './connections.ts';
import { type Person, startWorld, type World, type WorldOptions } from './world.ts';

export interface ConnectorScene {
  readonly world: World;
  readonly sandbox: AuthorizationServer;
  readonly workspace: string;
  readonly owner: Actor;
  readonly editor: Actor;
  readonly viewer: Actor;
  createApp(): Promise<AppRow>;
  /** Starts a connection and expects a `redirect_url`. */
  start(app: AppRow, as?: Actor, body?: object): Promise<Started>;
  /** Opens `redirect_url` as a browser would. Returns the cookie and the service's URL. */
  open(started: Started, as?: Actor): Promise<Opened>;
  /** Opens this URL with these cookies, as when the service redirects back. */
  comeBack(url: URL, cookies?: string): Promise<CallResult>;
  /** Completes the whole flow, with consent. Returns the connection's id. */
  connect(app: AppRow, as?: Actor, body?: object): Promise<string>;
  status(app: AppRow, type?: string): Promise<unknown>;
}

export interface Actor extends Person {
  readonly token: string;
  /** A signed-in browser's cookie header. */
  readonly session: { readonly cookie: string };
}

export interface Started {
  readonly state: string;
  readonly connectionId: string;
}

export interface Opened {
  readonly url: URL;
  readonly cookie: string;
}

export const defaultType = 'gitlab';

/** The settings of an operator who has not registered any clients. */
export const withoutClients: Record<string, string> = Object.fromEntries(
  connectorsWithClient.flatMap((type) => Object.values(clientSettingsOf(type)).map((name) => [name, ''])),
);

export async function startConnectorScene(options: WorldOptions = {}): Promise<ConnectorScene> {
  const sandbox = await startAuthorizationServer();
  afterAll(() => sandbox.close());
  const environment = { ...sandboxSettings(sandbox.url), ...options.environment };
  const world = await startWorld({ ...options, environment });
  const person = await world.person('owner@example.com');
  const workspace = await world.workspace(person);
  await world.db.updateTable('workspaces').set({ rate_multiplier: 1000 }).where('id', '=', workspace).execute();
  const toActor = async (each: Person): Promise<Actor> => ({
    ...each,
    token: await world.token(each, workspace),
    session: await world.session(each),
  });
  const owner = await toActor(person);
  const editor = await toActor(await world.member(workspace, 'editor', 'editor@example.com'));
  const viewer = await toActor(await world.member(workspace, 'viewer', 'viewer@example.com'));

  const scene: ConnectorScene = {
    world,
    sandbox,
    workspace,
    owner,
    editor,
    viewer,
    createApp: () => world.appOf(owner, workspace),
    async start(app, as = owner, body = {}) {
      const sent = { integration_type: defaultType, ...body };
      const got = await world.call('POST', `/api/apps/${app.id}/external-auth/initiate`, { as: as.token, body: sent });
      expect(got, got.text).toMatchObject({ status: 200, body: { error: null, already_authorized: false } });
      const state = new URL(got.body.redirect_url).pathname.slice('/connect/'.length);
      return { state, connectionId: got.body.connection_id };
    },
    async open({ state }, as = owner) {
      const got = await world.call('GET', `/connect/${state}`, { headers: as.session });
      expect(got, got.text).toMatchObject({ status: 302 });
      const [cookie = ''] = String(got.headers['set-cookie']).split(';');
      return { url: new URL(got.headers.location ?? ''), cookie };
    },
    comeBack: (url, cookies) =>
      world.call('GET', url.pathname + url.search, { headers: cookies === undefined ? {} : { cookie: cookies } }),
    async connect(app, as = owner, body = {}) {
      const started = await scene.start(app, as, body);
      const { url, cookie } = await scene.open(started, as);
      const got = await scene.comeBack(await sandbox.consent(url), cookie);
      expect(got, got.text).toMatchObject({ status: 200 });
      expect(got.text).toContain('Connected to');
      return started.connectionId;
    },
    async status(app, type = defaultType) {
      const path = `/api/apps/${app.id}/external-auth/status?integration_type=${type}`;
      return (await world.call('GET', path, { as: viewer.token })).body;
    },
  };
  return scene;
}
