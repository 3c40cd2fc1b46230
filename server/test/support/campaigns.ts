// Campaigns for tests that do not launch them. They exist on the sandbox's ad platform and in our table, as if
// they had been launched.
import { sql } from 'kysely';
import type { AdPlatformSandbox } from '../../../sandbox/src/ad-platform/server.ts';
import type { AppRow } from '../../src/core/auth/proofs.ts';
import type { AdPlatform } from '../../src/gateways/ad-platform/index.ts';
import { newId } from '../../src/kit/ids.ts';
import { performanceMax, smart } from './ad-campaigns.ts';
import { openPlatformClient } from './ad-platform.ts';
import type { World } from './world.ts';

export interface CampaignScene {
  readonly app: AppRow;
  readonly as: string;
  readonly customerId: string;
}

export interface TestCampaign {
  readonly id: string;
  readonly platformId: string;
  readonly launch_id: string | null;
}

export interface CampaignOptions {
  readonly status?: 'ENABLED' | 'PAUSED';
  readonly type?: 'SMART' | 'PERFORMANCE_MAX';
  readonly own_reasons?: string[];
  /**
   * By default, the campaign was found on the platform and has no launch. With `held`, a worker has claimed the launch
   * and does not end it.
   */
  readonly launch?: 'live' | 'unconfirmed' | 'held';
}

export function createCampaigns(world: World, platform: AdPlatformSandbox) {
  const client: AdPlatform = openPlatformClient(platform);

  /** Creates an app with an account, a card and verified tracking, in a new workspace. */
  async function newScene(owner: { id: string; email: string }): Promise<CampaignScene> {
    const workspace = await world.workspace(owner);
    const [app, as] = [await world.appOf(owner, workspace), await world.token(owner, workspace)];
    const path = `/api/apps/${app.id}/ads-platform/accounts/ensure-for-tracking`;
    const { body } = await world.call('POST', path, { as, body: {} });
    await verifyTracking(app);
    return { app, as, customerId: body.platform_customer_id };
  }

  async function verifyTracking({ id, workspace_id, owner_id }: AppRow): Promise<void> {
    const deployment = newId();
    const now = new Date();
    const own = { workspace_id, app_id: id, created_by: owner_id, created_date: now };
    await world.db
      .insertInto('deployments')
      .values({ ...own, id: deployment, revision: 1, files: '[]', files_bytes: 0 })
      .execute();
    await world.db
      .updateTable('apps')
      .set({ live_deployment_id: deployment, published_revision: 1, published_at: now, published_by: owner_id })
      .where('id', '=', id)
      .execute();
    await world.db
      .insertInto('tracking_checks')
      .values({ app_id: id, deployment_id: deployment, verified: true, checked_at: now })
      .execute();
  }

  /** Creates a campaign on the platform and in our table. */
  async function newCampaign(
    { app, customerId }: CampaignScene,
    { status = 'ENABLED', type = 'PERFORMANCE_MAX', own_reasons = [], launch }: CampaignOptions = {},
  ): Promise<TestCampaign> {
    const [id, name] = [newId(), `Bikes ${newId()}`];
    const operations = (type === 'SMART' ? smart : performanceMax)(customerId, { name, status });
    const created = await client.mutate(customerId, operations);
    if (created.outcome !== 'applied') throw new Error(`the campaign was not created: ${JSON.stringify(created)}`);
    const found = await client.campaigns.findByName(customerId, name);
    if (found.outcome !== 'read' || found.result[0] === undefined) throw new Error(JSON.stringify(found));
    const platformId = found.result[0].id;
    const now = new Date();
    const launch_id = launch === undefined ? null : newId();
    await world.db
      .insertInto('ads_campaigns')
      .values({
        id,
        workspace_id: app.workspace_id,
        app_id: app.id,
        launch_id,
        platform_campaign_id: platformId,
        campaign_name: name,
        campaign_type: type,
        status,
        daily_budget_micros: 20_000_000,
        landing_page: 'https://bikes.example.com/',
        geo_targets: ['geoTargetConstants/2840'],
        excluded_geo_targets: [],
        phone_number: '',
        review_status: 'REVIEWED',
        serving_status: 'SERVING',
        primary_status: 'ELIGIBLE',
        own_reasons,
        created_date: now,
        updated_date: now,
      })
      .execute();
    if (launch_id !== null) await insertLaunch(app, id, launch_id);
    if (launch === 'held') await claimLaunch(launch_id);
    if (launch === 'live') await endLaunch(launch_id, 'live');
    return { id, platformId, launch_id };
  }

  /** Inserts a launch whose request to enable the campaign got no response. It runs only when a test makes it due. */
  async function insertLaunch(app: AppRow, campaign_id: string, id: string): Promise<void> {
    await sql`insert into ads_launches (id, workspace_id, app_id, campaign_id, identity, generation, launch_key, state, unknown_request,
        content, start_paused, timezone, created_date)
      values (${id}, ${app.workspace_id}, ${app.id}, ${campaign_id}, ${id}, 1, 'ABCDEFGHIJ', 'unknown', 'enable',
        '{}', false, 'UTC', now())`.execute(world.db);
  }

  /** Creates a launch for a campaign without one. */
  async function newOpenLaunch({ app }: CampaignScene, campaign_id: string): Promise<string> {
    const id = newId();
    await insertLaunch(app, campaign_id, id);
    return id;
  }

  /**
   * Claims a launch for a worker that does nothing. The worker's slot counts as recovered, so no other worker releases
   * the claim.
   */
  async function claimLaunch(id: string | null): Promise<void> {
    await sql`insert into worker_slots (slot, epoch, recovered_epoch, heartbeat_at)
      values (7, 1, 1, now() + interval '1 day') on conflict (slot) do nothing`.execute(world.db);
    await sql`update ads_launches set claimed_slot = 7, claimed_epoch = 1 where id = ${id}`.execute(world.db);
  }

  const endLaunch = (id: string | null, state: 'live' | 'held') =>
    world.db
      .updateTable('ads_launches')
      .set({ state, unknown_request: null, ended_date: new Date(), due_at: null, claimed_slot: null })
      .where('id', '=', id)
      .execute();

  /** Returns the campaign's status on the platform. */
  async function readStatus({ customerId }: CampaignScene, { platformId }: TestCampaign): Promise<string | undefined> {
    const read = await client.campaigns.read(customerId, platformId);
    return read.outcome === 'read' ? read.result?.status : undefined;
  }

  return { client, newScene, verifyTracking, newCampaign, newOpenLaunch, endLaunch, readStatus };
}
