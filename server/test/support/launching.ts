// A world in which campaigns can be launched: the sandbox's ad platform, payment provider and language model, an
// image server, locations, and a worker. A scene adds an app and a workspace with a card.
import { once } from 'node:events';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { createCanvas } from '@napi-rs/canvas';
import { afterAll, expect } from 'vitest';
import { type AdPlatformSandbox, startAdPlatform } from '../../../sandbox/src/ad-platform/server.ts';
import { writeAdTexts } from '../../../sandbox/src/ad-texts.ts';
import { makeAuthority } from '../../../sandbox/src/certificates.ts';
import { startModelSandbox } from '../../../sandbox/src/model.ts';
import { startPayments } from '../../../sandbox/src/payments/server.ts';
import type { AppRow } from '../../src/core/auth/proofs.ts';
import { loadBundledLocations } from '../../src/features/ads/index.ts';
import { newId } from '../../src/kit/ids.ts';
import { writeSmallCatalogue } from './places.ts';
import { startWorld, type World, type WorldOptions } from './world.ts';

/** Ids from the bundled catalogue. */
export const places = {
  france: '100000147',
  germany: '100000082',
  unitedStates: '100000538',
  switzerland: '100000059',
};

export interface LaunchScene {
  readonly app: AppRow;
  readonly as: string;
  at(path: string): string;
  launch(campaign?: object, more?: LaunchOptions): ReturnType<World['call']>;
  readLaunch(id: string): ReturnType<World['call']>;
}

export interface LaunchOptions {
  readonly body?: object;
  readonly key?: string;
}

export interface SceneOptions {
  /** Whether the workspace has a card. Defaults to true. */
  readonly card?: false;
  /** Set to verify conversion tracking, so a launched campaign goes live. */
  readonly tracked?: true;
}

export async function startLaunchWorld(options: WorldOptions = {}) {
  const [platform, provider, model, authority] = await Promise.all([
    startAdPlatform(),
    startPayments(),
    startModelSandbox(),
    makeAuthority(),
  ]);
  model.script((request) => writeAdTexts(request) ?? {});
  const images = createServer(await authority.issue('IP:127.0.0.1'), ({ url = '' }, response) => {
    if (url === '/slow.png') return; // never responds
    const side = /^\/(\d+)\.png$/.exec(url)?.[1];
    if (side === undefined) response.writeHead(404).end();
    else if (side === '0') response.end(Buffer.alloc(6 * 1024 * 1024));
    else response.end(createCanvas(Number(side), Number(side)).toBuffer('image/png'));
  }).listen(0, '127.0.0.1');
  await once(images, 'listening');
  const imageUrl = (name: string) => `https://127.0.0.1:${(images.address() as AddressInfo).port}/${name}.png`;
  const world = await startWorld({
    ...options,
    extraCa: authority.ca,
    environment: {
      OUTBOUND_ALLOW: '127.0.0.0/8',
      MODEL_URL: model.url,
      PAYMENTS_URL: provider.url,
      PAYMENTS_SECRET_KEY: provider.secretKey,
      ADS_PLATFORM_URL: platform.url,
      ADS_PLATFORM_MANAGER_ID: platform.managerId,
      ADS_PLATFORM_CREDENTIALS: platform.credentials,
      ...options.environment,
    },
  });
  afterAll(async () => {
    images.close();
    images.closeAllConnections();
    await Promise.all([platform.close(), provider.close(), model.close(), authority.close()]);
  });
  await loadBundledLocations(world.db, writeSmallCatalogue([], ['US', 'FR', 'CH', 'DE']), world.clock.now());
  const owner = await world.person('owner@example.com');

  /** A campaign without problems. */
  const campaign = (more: object = {}) => ({
    campaign_name: 'Autumn',
    campaign_type: 'PERFORMANCE_MAX',
    daily_budget_micros: 20_000_000,
    landing_page: 'https://shop.example.com/',
    logo_url: imageUrl('128'),
    headlines: ['Bikes', 'Fast bikes', 'Good bikes'],
    long_headlines: ['Bikes for everybody in town'],
    descriptions: ['Buy a bike', 'Rent a bike today'],
    ...more,
  });

  async function scene({ card, tracked }: SceneOptions = {}): Promise<LaunchScene> {
    const workspace = await world.workspace(owner);
    const app = await world.appOf(owner, workspace);
    const as = await world.token(owner, workspace);
    if (card !== false) await addCard(world, as);
    if (tracked) await track(world, app, owner.id);
    const at = (path: string) => `/api/apps/${app.id}/ads-platform/${path}`;
    return {
      app,
      as,
      at,
      launch: (more = {}, { body = {}, key } = {}) =>
        world.call('POST', at('launch'), {
          as,
          body: { campaign: campaign(more), ...body },
          ...(key !== undefined && { headers: { 'idempotency-key': key } }),
        }),
      readLaunch: (id) => world.call('GET', at(`launches/${id}`), { as }),
    };
  }
  return { world, platform, provider, model, owner, imageUrl, campaign, scene };
}

export async function addCard(world: World, as: string): Promise<void> {
  const { body } = await world.call('POST', '/api/workspace/billing/setup-session', { as });
  await fetch(body.url, { method: 'POST', body: 'number=4242424242424242', redirect: 'manual' });
}

/** Simulates a published app whose tag has been detected. */
export async function track(world: World, { id, workspace_id }: AppRow, created_by: string): Promise<void> {
  const deployment = { id: newId(), app_id: id, workspace_id, revision: 1, files: '[]', files_bytes: 0 };
  const now = world.clock.now();
  await world.db
    .insertInto('deployments')
    .values({ ...deployment, created_date: now, created_by })
    .execute();
  const live = {
    live_deployment_id: deployment.id,
    published_revision: 1,
    published_at: now,
    published_by: created_by,
  };
  await world.db.updateTable('apps').set(live).where('id', '=', id).execute();
  const check = { app_id: id, deployment_id: deployment.id, verified: true, checked_at: now };
  await world.db.insertInto('tracking_checks').values(check).execute();
}

interface CreatedCampaign {
  readonly id: string;
  readonly name: string;
  readonly status: string;
  readonly customer_id: string;
}

/**
 * Lists the campaigns created on the platform, with name and status. Read from the journal, which cannot be changed.
 */
export function listCreated(platform: AdPlatformSandbox): CreatedCampaign[] {
  const campaigns = new Map<string, CreatedCampaign>();
  for (const { changes, customer_id = '' } of platform.journal)
    for (const [resourceName, resource] of changes ?? [])
      if (/\/campaigns\/\d+$/.test(resourceName) && resource !== null)
        campaigns.set(resourceName, {
          id: resourceName.split('/').at(-1) ?? '',
          name: String(resource.name),
          status: String(resource.status),
          customer_id,
        });
  return [...campaigns.values()];
}

/** Waits until `isDone` accepts the value that `read` returns. */
export async function waitUntil<Value>(read: () => Promise<Value>, isDone: (value: Value) => boolean): Promise<Value> {
  const until = Date.now() + 120_000;
  for (;;) {
    const value = await read();
    if (isDone(value)) return value;
    if (Date.now() > until) expect(value).toBe('something else after two minutes');
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
