// The assets attached to a campaign: adding a text or an image, and listing them with their approval status.
import type { Calls } from '../calls.ts';
import type { AttachedAsset, NewAsset, SendOptions } from '../campaign.ts';
import { mutate } from '../mutate.ts';
import type { Change, Reading } from '../outcome.ts';
import { type Row, search } from '../search.ts';
import { collectAssets, linkToGroup, nameOfImage, toImageAsset, toTextAsset } from './assets.ts';
import { getText, namesIn } from './names.ts';
import { isCampaign, isKept } from './read.ts';
import { groupQuery, isLink, linkQuery } from './update.ts';

const maxRows = 10_000;

export async function addAsset(
  calls: Calls,
  customerId: string,
  campaignId: string,
  asset: NewAsset,
  { notAfter }: SendOptions = {},
): Promise<Change<{ readonly resourceNames: readonly string[] }>> {
  const timeoutMs = notAfter === undefined ? undefined : notAfter - performance.now();
  const [groups, links] = await Promise.all([
    search(calls, customerId, groupQuery(campaignId), maxRows, timeoutMs),
    search(calls, customerId, linkQuery(campaignId), maxRows, timeoutMs),
  ]);
  if (groups.outcome !== 'read') return groups;
  if (links.outcome !== 'read') return links;
  const [group] = groups.result.rows;
  if (group === undefined) return { outcome: 'refused', reasons: [noGroup], requestId: groups.requestId };
  const groupName = getText(group, 'assetGroup', 'resourceName');
  const same = links.result.rows.find((row) => isLink(row, groupName, asset.fieldType) && hasContent(row, asset));
  if (same !== undefined)
    return {
      outcome: 'applied',
      result: { resourceNames: [getText(same, 'assetGroupAsset', 'resourceName')] },
      requestId: links.requestId,
    };
  const assets = collectAssets(namesIn(customerId));
  const name = assets.add('text' in asset ? toTextAsset(asset.text) : toImageAsset(asset.image));
  const operations = [...assets.operations, linkToGroup(groupName, name, asset.fieldType)];
  const added = await mutate(calls, customerId, operations, notAfter === undefined ? {} : { notAfter });
  if (added.outcome !== 'applied') return added;
  return { ...added, result: { resourceNames: [added.result.at(-1)?.resourceName ?? ''] } };
}

const noGroup = {
  kind: 'input',
  code: 'mutateError.RESOURCE_NOT_FOUND',
  message: 'The campaign has no asset group.',
  field: '',
  operation: undefined,
} as const;

const hasContent = (row: Row, asset: NewAsset): boolean =>
  'text' in asset
    ? getText(row, 'asset', 'textAsset', 'text') === asset.text
    : getText(row, 'asset', 'name') === nameOfImage(asset.image);

export async function listAssets(
  calls: Calls,
  customerId: string,
  campaignId: string,
  timeoutMs?: number,
): Promise<Reading<{ readonly assets: readonly AttachedAsset[]; readonly isTruncated: boolean }>> {
  const run = (query: string) => search(calls, customerId, query, maxRows, timeoutMs);
  const content =
    'asset.text_asset.text, asset.call_asset.phone_number, asset.image_asset.full_size.url, asset.policy_summary.approval_status';
  const [ofGroups, ofCampaign] = await Promise.all([
    run(
      `SELECT asset_group_asset.field_type, asset_group_asset.policy_summary.approval_status, asset_group.name, ${content} FROM asset_group_asset WHERE ${isCampaign(campaignId)} AND ${isKept('asset_group_asset')} AND ${isKept('asset_group')}`,
    ),
    run(
      `SELECT campaign_asset.field_type, ${content} FROM campaign_asset WHERE ${isCampaign(campaignId)} AND ${isKept('campaign_asset')}`,
    ),
  ]);
  if (ofGroups.outcome !== 'read') return ofGroups;
  if (ofCampaign.outcome !== 'read') return ofCampaign;
  const assets = [
    ...ofCampaign.result.rows.map((row) => toAttached(row, 'campaignAsset')),
    ...ofGroups.result.rows.map((row) => toAttached(row, 'assetGroupAsset')),
  ];
  const isTruncated = ofGroups.result.isTruncated || ofCampaign.result.isTruncated;
  return { ...ofGroups, result: { assets, isTruncated } };
}

function toAttached(row: Row, link: 'campaignAsset' | 'assetGroupAsset'): AttachedAsset {
  return {
    resourceName: getText(row, link, 'resourceName'),
    fieldType: getText(row, link, 'fieldType'),
    text: getText(row, 'asset', 'textAsset', 'text') || getText(row, 'asset', 'callAsset', 'phoneNumber') || null,
    imageUrl: getText(row, 'asset', 'imageAsset', 'fullSize', 'url') || null,
    assetGroupName: getText(row, 'assetGroup', 'name'),
    // A link is reviewed in the place where it is used. Only asset groups report this review.
    approvalStatus:
      getText(row, link, 'policySummary', 'approvalStatus') ||
      getText(row, 'asset', 'policySummary', 'approvalStatus') ||
      'UNKNOWN',
  };
}
