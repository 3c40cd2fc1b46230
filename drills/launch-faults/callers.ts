// The drill's callers. They repeat every request blindly, on any process, until the response states the outcome.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Random } from '../../harness/random.ts';
import { newId } from '../../server/src/kit/ids.ts';
import { type CallResult, call } from '../../server/test/support/client.ts';
import type { DrillApp, Environment } from './environment.ts';

/** A request and its response. The status is undefined if the connection was lost. */
export interface Attempt {
  readonly kind: Kind;
  readonly app: DrillApp;
  /** The launch's draft id, or the campaign's or app's id. */
  readonly of: string;
  readonly sentAt: number;
  readonly answeredAt: number;
  readonly status: number | undefined;
  readonly code: string | undefined;
}

export type Kind = 'launch' | 'pause' | 'resume' | 'update' | 'delete' | 'delete_app';

export interface Draft {
  readonly app: DrillApp;
  readonly id: string;
}

export interface LaunchedCampaign {
  readonly app: DrillApp;
  readonly id: string;
}

export interface Callers {
  readonly attempts: readonly Attempt[];
  launch(draft: Draft): Promise<LaunchedCampaign>;
  change(kind: 'pause' | 'resume' | 'update' | 'delete', campaign: LaunchedCampaign): Promise<void>;
  deleteApp(app: DrillApp): Promise<void>;
  /** Returns the campaigns that Plinth lists. */
  listCampaigns(app: DrillApp): Promise<readonly ListedCampaign[]>;
  restoreApp(app: DrillApp): Promise<void>;
}

export interface ListedCampaign {
  readonly id: string;
  readonly platform_campaign_id: string;
  readonly campaign_name: string;
  readonly status: string;
  readonly daily_budget_micros: number;
  readonly primary_status_reasons: readonly string[];
}

/** Whether the response does not state if the campaign exists or has the requested status. */
export const isAmbiguous = ({ status, code }: Pick<Attempt, 'status' | 'code'>): boolean =>
  status === undefined ||
  code === 'ad_platform_timeout' ||
  code === 'launch_in_progress' ||
  code === 'idempotency_in_progress';

export function createCallers({ processes, imageUrl }: Environment, random: Random, pauseMs: number): Callers {
  const attempts: Attempt[] = [];
  const chooseApi = () => processes.apis[Math.floor(random() * processes.apis.length)] as string;

  /**
   * Repeats the request until `isEnd` returns true, regardless of what the response advises. Sometimes sends two
   * concurrently, as impatient users do.
   */
  async function insist(
    what: { kind: Kind; app: DrillApp; of: string },
    request: { method: string; path: string; body?: object; headers?: Record<string, string> },
    isEnd: (got: CallResult) => boolean,
  ): Promise<CallResult> {
    const send = async (): Promise<CallResult | undefined> => {
      const sentAt = Date.now();
      const { method, path, ...options } = request;
      const got = await call(chooseApi(), method, path, { as: what.app.token, ...options }).catch(() => undefined);
      const { status, body } = got ?? {};
      attempts.push({ ...what, sentAt, answeredAt: Date.now(), status, code: body?.code });
      return got;
    };
    for (;;) {
      const answers = await Promise.all([send(), ...(random() < 0.1 ? [send()] : [])]);
      const end = answers.find((got) => got !== undefined && isEnd(got));
      if (end !== undefined) return end;
      await sleep(pauseMs * (0.5 + random()));
    }
  }

  const pathOf = ({ app, id }: LaunchedCampaign) => `/api/apps/${app.id}/ads-platform/campaigns/${id}`;
  return {
    attempts,
    async launch({ app, id }) {
      const isMax = random() < 0.1;
      const body = { campaign: isMax ? maxCampaign(id, imageUrl) : smartCampaign(id) };
      const headers: Record<string, string> = random() < 0.3 ? { 'idempotency-key': newId() } : {};
      const path = `/api/apps/${app.id}/ads-platform/launch`;
      const got = await insist(
        { kind: 'launch', app, of: id },
        { method: 'POST', path, body, headers },
        ({ status, body }) => status === 200 || body?.code === 'already_launched',
      );
      return { app, id: got.status === 200 ? got.body.campaign.id : got.body.campaign_id };
    },
    async change(kind, campaign) {
      const what = { kind, app: campaign.app, of: campaign.id };
      const isEnd = ({ status }: CallResult) => status === 200;
      if (kind === 'delete') return void (await insist(what, { method: 'DELETE', path: pathOf(campaign) }, isEnd));
      if (kind === 'update') {
        const body = { field: 'budget', value: 5_000_000 + Math.floor(random() * 400) * 10_000 };
        return void (await insist(what, { method: 'PATCH', path: pathOf(campaign), body }, isEnd));
      }
      await insist(what, { method: 'POST', path: `${pathOf(campaign)}/${kind}` }, isEnd);
    },
    async deleteApp(app) {
      const request = { method: 'DELETE', path: `/api/apps/${app.id}` };
      await insist({ kind: 'delete_app', app, of: app.id }, request, ({ status }) => status === 200 || status === 404);
    },
    async listCampaigns(app) {
      const path = `/api/apps/${app.id}/ads-platform/campaigns?include_metrics=false`;
      const got = await call(chooseApi(), 'GET', path, { as: app.token });
      if (got.status !== 200) throw new Error(`${path} answered ${got.status}: ${got.text}`);
      return got.body.items;
    },
    async restoreApp(app) {
      const got = await call(chooseApi(), 'POST', `/api/apps/${app.id}/restore`, { as: app.token });
      if (got.status !== 200) throw new Error(`restoring an app answered ${got.status}: ${got.text}`);
    },
  };
}

const texts = {
  headlines: ['Fast bikes', 'Good bikes', 'Bikes'],
  long_headlines: ['Bikes for everybody in town'],
  descriptions: ['Buy a bike', 'Rent a bike today'],
};

const smartCampaign = (draft_id: string) => ({
  draft_id,
  campaign_name: `Drill ${draft_id}`,
  campaign_type: 'SMART',
  daily_budget_micros: 5_000_000,
  landing_page: 'https://bikes.example.com/',
  business_name: 'Bike shop',
  geo_targets: ['geoTargetConstants/2840'],
  ...texts,
});

const maxCampaign = (draft_id: string, imageUrl: string) => ({
  ...smartCampaign(draft_id),
  campaign_type: 'PERFORMANCE_MAX',
  logo_url: imageUrl,
  marketing_image_urls: [imageUrl],
  square_image_urls: [imageUrl],
});
