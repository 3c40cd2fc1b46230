// Accepts a generated text or image for a campaign (docs/api/ads.md#accepting-an-asset). The acceptance is a
// campaign change that a worker sends (changes/background.ts) while the caller waits.
import type { AppAccess } from '../../../core/auth/proofs.ts';
import { transaction } from '../../../kit/db/database.ts';
import { type Answer, unchanged, withNotes } from '../../../kit/http/answer.ts';
import { ValidationError } from '../../../kit/http/faults.ts';
import { notFound, Problem } from '../../../kit/problem.ts';
import type { Db } from '../../../tables.ts';
import {
  answerWithChange,
  type CampaignAccess,
  findBegunChange,
  lockForChange,
  requirePlatform,
  writeEntry,
} from '../campaigns/change.ts';
import { addChange, type RecordDeps, type WaitDeps } from '../campaigns/record.ts';
import { campaignRemoved } from '../problems.ts';
import { type AssetRow, findAsset } from '../store/assets.ts';
import { findCampaign } from '../store/campaigns.ts';
import { type ChangeRow, listUnfinishedChanges } from '../store/changes.ts';
import type { CampaignRow } from '../store/rows.ts';
import { type AcceptedAsset, type ImageAddress, type LibraryAsset, presentLibraryAsset } from './contract.ts';

export interface AcceptDeps {
  readonly platform: { readonly configured: boolean };
  readonly wake: RecordDeps['wake'] & WaitDeps['wake'];
  readonly times: WaitDeps['times'];
  readonly shutdownSignal: AbortSignal;
  readonly imageAddress: ImageAddress;
}

export type AssetAccess = AppAccess & { readonly asset: AssetRow };

export async function acceptAsset(
  db: Db,
  deps: AcceptDeps,
  access: AssetAccess,
  { session_id, campaign_id }: AcceptedAsset,
  now: Date,
): Promise<Answer<LibraryAsset>> {
  const { asset } = access;
  if (asset.session_id !== session_id) throw notFound('asset_not_found');
  const campaign = await findCampaign(db, access, campaign_id);
  if (campaign === undefined) throw notFound('campaign_not_found');
  requireAcceptable(asset, campaign);
  if (asset.accepted_campaign_id === campaign.id) return answerWith(deps, access, campaign, undefined);
  const change = await recordAcceptance(db, deps, { ...access, campaign }, asset, now);
  return answerWith(deps, access, campaign, change);
}

/**
 * Handles a repeated Idempotency-Key by waiting for the change that the first request recorded. If that change ended
 * without effect, the acceptance is restarted.
 */
export async function resumeAcceptance(
  db: Db,
  deps: AcceptDeps,
  access: AssetAccess,
  { body, begun }: { readonly body: AcceptedAsset; readonly begun: unknown },
  now: Date,
): Promise<Answer<LibraryAsset>> {
  const campaign = await findCampaign(db, access, body.campaign_id);
  if (campaign === undefined) throw notFound('campaign_not_found');
  const change = await findBegunChange(db, campaign, begun);
  return change === 'without effect'
    ? acceptAsset(db, deps, access, body, now)
    : answerWith(deps, access, campaign, change);
}

/** `change` is undefined if the campaign already has the asset. */
const answerWith = (
  deps: AcceptDeps,
  access: AssetAccess,
  campaign: CampaignRow,
  change: ChangeRow | undefined,
): Answer<LibraryAsset> =>
  answerWithChange(deps, campaign, change, async (db) => {
    const row = await findAsset(db, access, access.asset.id);
    if (row === undefined) throw notFound('asset_not_found');
    const body = presentLibraryAsset(row, deps.imageAddress);
    return change === undefined ? unchanged(body) : withNotes(body, {});
  });

function requireAcceptable({ status }: AssetRow, campaign: CampaignRow): void {
  if (campaign.campaign_type !== 'PERFORMANCE_MAX')
    throw new ValidationError([
      { loc: ['body', 'campaign_id'], msg: 'must be the id of a Performance Max campaign', type: 'value_error' },
    ]);
  if (status === 'processing') throw assetProcessing();
  if (status === 'failed') throw assetUnusable();
  if (campaign.status === 'REMOVED') throw campaignRemoved();
  if (campaign.platform_campaign_id === '') throw campaignNotOnPlatform();
}

/** A caller that repeats an unfinished acceptance waits for the same change. */
const recordAcceptance = (
  db: Db,
  deps: AcceptDeps,
  access: CampaignAccess,
  { id: asset_id, slot }: AssetRow,
  now: Date,
): Promise<ChangeRow> =>
  transaction(db, async (db) => {
    const campaign = await lockForChange(db, access);
    if (campaign.status === 'REMOVED') throw campaignRemoved();
    const unfinished = await listUnfinishedChanges(db, campaign);
    const same = unfinished.find((each) => each.kind === 'accept_asset' && isOfAsset(each, asset_id));
    if (same !== undefined) return same;
    requirePlatform(deps);
    const added = { kind: 'accept_asset', content: { asset_id }, isByCaller: true } as const;
    const { change } = await addChange(db, deps, campaign, added, now);
    await writeEntry(db, access, 'ads.campaign.asset_accepted', now, { asset_id, slot });
    return change;
  });

const isOfAsset = ({ content }: ChangeRow, id: string): boolean => (content as { asset_id?: string }).asset_id === id;

const assetProcessing = () =>
  new Problem(
    'conflict',
    'asset_processing',
    'The image is still being generated. Poll listAssets until its status is `ready`, then accept it.',
    { headers: { 'retry-after': '5' } },
  );

const assetUnusable = () =>
  new Problem(
    'conflict',
    'asset_unusable',
    'The image could not be generated. Generate new assets and accept one of those.',
    { retrySafe: false },
  );

const campaignNotOnPlatform = () =>
  new Problem(
    'conflict',
    'campaign_not_on_platform',
    'The ad platform has not confirmed that the campaign exists. Check its launch with getLaunch, and try again once the launch has finished.',
    { headers: { 'retry-after': '15' } },
  );
