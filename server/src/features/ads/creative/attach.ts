// Sends a generated text or image to the ad platform and attaches it to a campaign. Repeating the request does
// not attach it twice.
import { buffer } from 'node:stream/consumers';
import type { NewAsset, PlatformCampaigns, SendOptions } from '../../../gateways/ad-platform/campaign.ts';
import type { Change } from '../../../gateways/ad-platform/index.ts';
import type { ObjectStorage } from '../../../gateways/storage/index.ts';
import type { Db } from '../../../tables.ts';
import { type AssetKey, type AssetRow, findAssetByKey } from '../store/assets.ts';
import { toImageKey } from './image.ts';

export interface AttachDeps {
  readonly platform: { readonly campaigns: Pick<PlatformCampaigns, 'addAsset'> };
  readonly objectStorage: Pick<ObjectStorage, 'get'>;
}

interface AttachTarget {
  readonly customerId: string;
  readonly platformCampaignId: string;
}

export async function attachAsset(
  db: Db,
  { platform, objectStorage }: AttachDeps,
  key: AssetKey,
  { customerId, platformCampaignId }: AttachTarget,
  options: SendOptions,
): Promise<Change<{ readonly resourceNames: readonly string[] }>> {
  const row = await findAssetByKey(db, key);
  const asset = row && (await readContent(objectStorage, row));
  if (asset === undefined) return { outcome: 'refused', reasons: [assetGone], requestId: null };
  return platform.campaigns.addAsset(customerId, platformCampaignId, asset, options);
}

const assetGone = {
  kind: 'input',
  code: 'SERVICE_ASSET_GONE',
  message: 'The text or image was removed before it could be sent.',
  field: '',
  operation: undefined,
} as const;

/** The platform's field type for each slot. */
const fieldTypes: Readonly<Record<AssetRow['slot'], string>> = {
  HEADLINE: 'HEADLINE',
  LONG_HEADLINE: 'LONG_HEADLINE',
  DESCRIPTION: 'DESCRIPTION',
  LANDSCAPE_IMAGE: 'MARKETING_IMAGE',
  SQUARE_IMAGE: 'SQUARE_MARKETING_IMAGE',
  PORTRAIT_IMAGE: 'PORTRAIT_MARKETING_IMAGE',
  TALL_PORTRAIT_IMAGE: 'TALL_PORTRAIT_MARKETING_IMAGE',
};

/** Undefined if the image is no longer stored. */
async function readContent(storage: AttachDeps['objectStorage'], row: AssetRow): Promise<NewAsset | undefined> {
  const fieldType = fieldTypes[row.slot];
  if (row.text !== null) return { fieldType, text: row.text };
  const found = row.file_name === null ? undefined : await storage.get(toImageKey(row.file_name));
  return found && { fieldType, image: await buffer(found.content) };
}
