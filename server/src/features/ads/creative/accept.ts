// Owns accepting a generated text or image for a campaign (docs/api/ads.md#accepting-an-asset): a change of the campaign, which a
// worker sends (campaigns/background.ts), and the caller waits for.
import type { AppAccess } from '../../../core/auth/proofs.ts';
import { transaction } from '../../../kit/db/database.ts';
import { type Answer, resumableAnswer, unchanged, withNotes } from '../../../kit/http/answer.ts';
import { ValidationError } from '../../../kit/http/faults.ts';
import { notFound, Problem } from '../../../kit/problem.ts';
import type { Db } from '../../../tables.ts';
import { type CampaignAccess, confirm, lockForChange, requirePlatform, writeEntry } from '../campaigns/change.ts';
import type { CampaignRow } from '../campaigns/contract.ts';
import { addChange, type RecordDeps, type WaitDeps } from '../campaigns/record.ts';
import { campaignRemoved } from '../problems.ts';
import { type AssetRow, findAsset } from '../store/assets.ts';
import { findCampaign } from '../store/campaigns.ts';
import { type ChangeRow, findChange, listUnfinishedChanges } from '../store/changes.ts';
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

/** For a repeated Idempotency-Key: waits for the change that the first request recorded. If it ended without effect, it begins again. */
export async function resumeAcceptance(
  db: Db,
  deps: AcceptDeps,
  access: AssetAccess,
  body: AcceptedAsset,
  begun: unknown,
  now: Date,
): Promise<Answer<LibraryAsset>> {
  const { change_id } = begun as { change_id: string | null };
  const campaign = await findCampaign(db, access, body.campaign_id);
  if (campaign === undefined) throw notFound('campaign_not_found');
  if (change_id === null) return answerWith(deps, access, campaign, undefined);
  const { workspace_id, app_id } = campaign;
  const change = await findChange(db, { workspace_id, app_id, id: change_id });
  const isWithoutEffect = change === undefined || (change.ended_date !== null && change.state !== 'applied');
  return isWithoutEffect ? acceptAsset(db, deps, access, body, now) : answerWith(deps, access, campaign, change);
}

/** Undefined as `change`: nothing had to be changed. */
const answerWith = (
  deps: AcceptDeps,
  access: AssetAccess,
  campaign: CampaignRow,
  change: ChangeRow | undefined,
): Answer<LibraryAsset> =>
  resumableAnswer({ change_id: change?.id ?? null }, async (db) => {
    if (change !== undefined) await confirm(db, deps, { change, isNew: true }, campaign);
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

/** Who asks for what was asked for before and has not ended waits for the same change. */
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
    'The image is still being made. Read it with listAssets until its status is `ready`, then accept it.',
    { headers: { 'retry-after': '5' } },
  );

const assetUnusable = () =>
  new Problem('conflict', 'asset_unusable', 'The image could not be made. Generate assets again, and accept another.', {
    retrySafe: false,
  });

const campaignNotOnPlatform = () =>
  new Problem(
    'conflict',
    'campaign_not_on_platform',
    'The ad platform has not confirmed that the campaign exists. Wait until its launch has ended: getLaunch says when.',
    { headers: { 'retry-after': '15' } },
  );
