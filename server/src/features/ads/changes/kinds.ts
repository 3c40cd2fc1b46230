// The kinds of changes: each kind's platform request, and the update to our row once the platform has confirmed
// it. Changes of any kind can be resent without a second effect.
import { isDeepStrictEqual } from 'node:util';
import type { CampaignChange, PlatformCampaigns, SendOptions } from '../../../gateways/ad-platform/campaign.ts';
import type { Change } from '../../../gateways/ad-platform/index.ts';
import type { ObjectStorage } from '../../../gateways/storage/index.ts';
import type { Db } from '../../../tables.ts';
import { type ChangeKind, joinReasons } from '../campaigns/record.ts';
import { attachAsset } from '../creative/attach.ts';
import { saveAccepted } from '../store/assets.ts';
import type { CampaignRowChange } from '../store/campaigns.ts';
import { type ChangeRow, freeDraft } from '../store/changes.ts';
import type { StepName } from '../store/journal.ts';
import type { CampaignRow } from '../store/rows.ts';
import { mailEnabled, trackingVerified } from '../tracking/enable.ts';

export interface KindDeps {
  readonly platform: { readonly campaigns: PlatformCampaigns };
  readonly objectStorage: Pick<ObjectStorage, 'get'>;
}

/** A change that is being sent. */
export interface OutgoingChange {
  readonly change: ChangeRow;
  readonly campaign: CampaignRow;
  readonly customerId: string;
}

export interface Kind {
  readonly step: StepName;
  /** The campaign's status on the platform once the change has been applied. */
  readonly status?: CampaignRow['status'];
  /** The journal text for an applied change. */
  readonly done: string;
  send(db: Db, deps: KindDeps, sending: OutgoingChange, options: SendOptions): Promise<Change<unknown>>;
  /** The update to the campaign's row once the change has been applied. */
  toRow(sending: OutgoingChange, now: Date): CampaignRowChange;
  /** Other writes in the same transaction. */
  record?(db: Db, sending: OutgoingChange, result: unknown, now: Date): Promise<void>;
}

/** An update's content: the change for the platform, and our row's new values. */
export interface UpdateContent {
  readonly change: CampaignChange;
  readonly row: Pick<
    CampaignRowChange,
    'campaign_name' | 'daily_budget_micros' | 'landing_page' | 'geo_targets' | 'excluded_geo_targets'
  >;
}

const pause: Kind = {
  step: 'pause',
  status: 'PAUSED',
  done: 'The campaign is paused.',
  send: (_db, { platform }, { customerId, campaign }, options) =>
    platform.campaigns.setStatus(customerId, campaign.platform_campaign_id, 'PAUSED', options),
  toRow: ({ campaign, change }) => ({
    status: 'PAUSED',
    primary_status: 'PAUSED',
    platform_reasons: [],
    own_reasons: joinReasons(campaign.own_reasons, change.reasons),
  }),
};

const resume: Kind = {
  step: 'resume',
  status: 'ENABLED',
  done: 'The campaign is enabled.',
  send: (_db, { platform }, { customerId, campaign }, options) =>
    platform.campaigns.setStatus(customerId, campaign.platform_campaign_id, 'ENABLED', options),
  toRow: ({ campaign }, now) => ({
    status: 'ENABLED',
    primary_status: 'PENDING', // until the next read
    platform_reasons: [],
    own_reasons: [],
    first_enabled_at: campaign.first_enabled_at ?? now,
  }),
  record: async (db, { campaign, change }, _result, now) => {
    if (isDeepStrictEqual(change.content, trackingVerified)) await mailEnabled(db, campaign, now);
  },
};

const remove: Kind = {
  step: 'remove',
  status: 'REMOVED',
  done: 'The campaign was removed.',
  send: (_db, { platform }, { customerId, campaign }, options) =>
    platform.campaigns.remove(customerId, campaign.platform_campaign_id, options),
  toRow: () => removedRow,
  record: (db, { campaign }) => freeDraft(db, campaign),
};

/** The row's values after the campaign has been removed on the platform. */
export const removedRow = {
  status: 'REMOVED',
  primary_status: 'REMOVED',
  serving_status: 'ENDED',
  platform_reasons: [] as string[],
  own_reasons: [] as string[],
  watched_until: null,
} as const satisfies CampaignRowChange;

const update: Kind = {
  step: 'update',
  done: 'The campaign was updated.',
  send: (_db, { platform }, { customerId, campaign, change }, options) =>
    platform.campaigns.update(customerId, campaign.platform_campaign_id, contentOf(change).change, options),
  toRow: ({ change }) => contentOf(change).row,
};

const acceptAsset: Kind = {
  step: 'add_asset',
  done: 'The text or image was added to the campaign.',
  send: (db, deps, { customerId, campaign, change }, options) => {
    const target = { customerId, platformCampaignId: campaign.platform_campaign_id };
    return attachAsset(db, deps, assetOf(change), target, options);
  },
  toRow: () => ({}),
  record: (db, { campaign, change }, result) =>
    saveAccepted(db, assetOf(change), campaign.id, (result as { resourceNames: string[] }).resourceNames),
};

const assetOf = ({ workspace_id, app_id, content }: ChangeRow) => ({
  workspace_id,
  app_id,
  id: (content as { asset_id: string }).asset_id,
});

const contentOf = ({ content }: ChangeRow) => content as UpdateContent;

export const kinds: Readonly<Partial<Record<ChangeKind, Kind>>> = {
  pause,
  resume,
  remove,
  update,
  accept_asset: acceptAsset,
};
