// Assets, asset groups and the links between them, including the minimum number of assets per group.
import { createHash } from 'node:crypto';
import { refuse } from './errors.ts';
import {
  type ChangeContext,
  createdNow,
  idOf,
  isUncrawlable,
  missing,
  type ResourceKind,
  refuseTakenName,
  requireReference,
} from './kinds.ts';
import type { Resource } from './state.ts';

export const assetKinds: readonly ResourceKind[] = [
  {
    collection: 'assets',
    name: 'asset',
    id: (_asset, newId) => newId(),
    // Identical assets are stored only once.
    findSame: (asset, { draft, customerId }) =>
      draft.list(customerId, 'assets').find((each) => each._content === hashContent(asset)),
    create(asset, context) {
      const { textAsset, imageAsset, callAsset } = asset as {
        textAsset?: { text?: string };
        imageAsset?: { data?: string };
        callAsset?: { countryCode?: string; phoneNumber?: string };
      };
      const own = { _content: hashContent(asset), ...createdNow(context) };
      if (callAsset !== undefined) {
        if (!callAsset.phoneNumber) throw missing(context, 'call_asset.phone_number');
        if (!callAsset.countryCode) throw missing(context, 'call_asset.country_code');
        return { ...asset, ...own, type: 'CALL' };
      }
      if (textAsset !== undefined) {
        if (!textAsset.text) throw missing(context, 'text_asset.text');
        return { ...asset, ...own, type: 'TEXT' };
      }
      if (imageAsset === undefined) throw missing(context, 'asset_data');
      if (!asset.name)
        throw refuse('assetError.NAME_REQUIRED_FOR_ASSET_TYPE', 'The name is required.', `${context.field}.name`);
      const data = Buffer.from(imageAsset.data ?? '', 'base64');
      if (!isImage(data))
        throw refuse('imageError.INVALID_IMAGE', 'The image is not valid.', `${context.field}.image_asset.data`);
      // The image data is not stored, because it is never displayed.
      const fullSize = { url: `https://images.ad-platform.example/${idOf(asset.resourceName)}` };
      return {
        ...asset,
        ...own,
        type: 'IMAGE',
        imageAsset: { fileSize: String(data.length), mimeType: 'IMAGE_PNG', fullSize },
      };
    },
  },
  {
    collection: 'campaignAssets',
    name: 'campaignAsset',
    id: ({ campaign, asset, fieldType }) => `${idOf(campaign)}~${idOf(asset)}~${fieldType}`,
    create(link, context) {
      requireReference(context, link, 'campaign');
      checkLinkedAsset(link, context);
      return { status: 'ENABLED', ...link, ...createdNow(context) };
    },
  },
  {
    collection: 'assetGroups',
    name: 'assetGroup',
    id: (_group, newId) => newId(),
    keepsRemoved: true,
    create(group, context) {
      const campaign = requireReference(context, group, 'campaign');
      if (campaign.advertisingChannelType !== 'PERFORMANCE_MAX')
        throw refuse('assetGroupError.CANNOT_ADD_ASSET_GROUP_FOR_CAMPAIGN_TYPE', 'Not for this type.', context.field);
      if (!group.name) throw missing(context, 'name');
      if ([...String(group.name)].length > 128)
        throw refuse('stringLengthError.TOO_LONG', 'Too long.', `${context.field}.name`);
      refuseTakenName(context, 'assetGroups', 'name', group.name, 'assetGroupError.DUPLICATE_NAME', group.campaign);
      checkFinalUrl(group, context);
      return { status: 'ENABLED', ...group };
    },
    update: checkFinalUrl,
  },
  {
    collection: 'assetGroupAssets',
    name: 'assetGroupAsset',
    id: ({ assetGroup, asset, fieldType }) => `${idOf(assetGroup)}~${idOf(asset)}~${fieldType}`,
    create(link, context) {
      requireReference(context, link, 'assetGroup');
      checkLinkedAsset(link, context);
      return { status: 'ENABLED', ...link, ...createdNow(context) };
    },
    removed: checkMinimum,
  },
  {
    collection: 'assetGroupSignals',
    name: 'assetGroupSignal',
    id: ({ assetGroup }, newId) => `${idOf(assetGroup)}~${newId()}`,
    create(signal, context) {
      requireReference(context, signal, 'assetGroup');
      const text = (signal.searchTheme as { text?: string } | undefined)?.text;
      if (text === undefined) throw missing(context, 'signal');
      if (text.length > 80)
        throw refuse('stringLengthError.TOO_LONG', 'Too long.', `${context.field}.search_theme.text`);
      if (text.split(/\s+/).length > 10)
        throw refuse(
          'assetGroupSignalError.TOO_MANY_WORDS',
          'More than 10 words.',
          `${context.field}.search_theme.text`,
        );
      return { approvalStatus: 'APPROVED', ...signal };
    },
  },
];

function checkFinalUrl(group: Resource, context: ChangeContext): void {
  const [finalUrl] = (group.finalUrls as string[] | undefined) ?? [];
  if (finalUrl === undefined)
    throw refuse('assetGroupError.FINAL_URL_REQUIRED', 'The final URL is required.', `${context.field}.final_urls`);
  if (isUncrawlable(finalUrl))
    throw refuse(
      'assetGroupError.FINAL_URL_CONTAINS_INVALID_DOMAIN_NAME',
      'Invalid domain.',
      `${context.field}.final_urls`,
    );
}

/** The minimum number of assets per field type in an asset group, each with its error code. */
const minimumAssets = {
  HEADLINE: [3, 'NOT_ENOUGH_HEADLINE_ASSET'],
  LONG_HEADLINE: [1, 'NOT_ENOUGH_LONG_HEADLINE_ASSET'],
  DESCRIPTION: [2, 'NOT_ENOUGH_DESCRIPTION_ASSET'],
  MARKETING_IMAGE: [1, 'NOT_ENOUGH_MARKETING_IMAGE_ASSET'],
  SQUARE_MARKETING_IMAGE: [1, 'NOT_ENOUGH_SQUARE_MARKETING_IMAGE_ASSET'],
} as const;

/** Checks a new asset group at the end of the request that creates it. */
export function checkNewAssetGroup(group: Resource, { draft, customerId, field }: ChangeContext): void {
  const links = draft.list(customerId, 'assetGroupAssets').filter((link) => link.assetGroup === group.resourceName);
  for (const [fieldType, [minimum, code]] of Object.entries(minimumAssets))
    if (links.filter((link) => link.fieldType === fieldType).length < minimum)
      throw refuse(`assetGroupError.${code}`, 'The asset group has not enough assets.', field);
  const campaign = draft.get(group.campaign as string);
  const brand = campaign?.brandGuidelinesEnabled
    ? draft.list(customerId, 'campaignAssets').filter((link) => link.campaign === group.campaign)
    : links;
  for (const [fieldType, code] of [
    ['BUSINESS_NAME', 'NOT_ENOUGH_BUSINESS_NAME_ASSET'],
    ['LOGO', 'NOT_ENOUGH_LOGO_ASSET'],
  ])
    if (!brand.some((link) => link.fieldType === fieldType))
      throw refuse(`assetGroupError.${code}`, 'The business name or logo is missing.', field);
}

const maximumAssets: Readonly<Record<string, number>> = {
  HEADLINE: 15,
  LONG_HEADLINE: 5,
  DESCRIPTION: 5,
  MARKETING_IMAGE: 20,
  SQUARE_MARKETING_IMAGE: 20,
  PORTRAIT_MARKETING_IMAGE: 20,
};

const countLinks = ({ assetGroup, fieldType }: Resource, { draft, customerId }: ChangeContext): number =>
  draft
    .list(customerId, 'assetGroupAssets')
    .filter((each) => each.assetGroup === assetGroup && each.fieldType === fieldType).length;

/** Runs at the end of the request, because a change may add assets before it removes others. */
export function checkChangedAssetGroup(link: Resource, context: ChangeContext): void {
  if (countLinks(link, context) > (maximumAssets[String(link.fieldType)] ?? 20))
    throw refuse('resourceCountLimitExceededError.RESOURCE_LIMIT', 'Too many assets.', context.field);
}

/** An asset group must always have enough assets, even in the middle of a request. */
function checkMinimum(link: Resource, context: ChangeContext): void {
  const [minimum, code] = minimumAssets[link.fieldType as keyof typeof minimumAssets] ?? [0];
  if (countLinks(link, context) < minimum)
    throw refuse(`assetGroupError.${code}`, 'The asset group has not enough assets.', context.field);
}

function hashContent({ textAsset, imageAsset, callAsset }: Resource): string {
  const content = JSON.stringify([textAsset, (imageAsset as { data?: string } | undefined)?.data, callAsset]);
  return createHash('sha256').update(content).digest('base64');
}

const textLimits: Readonly<Record<string, number>> = {
  HEADLINE: 30,
  LONG_HEADLINE: 90,
  DESCRIPTION: 90,
  BUSINESS_NAME: 25,
};

function checkLinkedAsset(link: Resource, context: ChangeContext): void {
  const asset = requireReference(context, link, 'asset');
  const limit = textLimits[String(link.fieldType)];
  const text = (asset.textAsset as { text: string } | undefined)?.text;
  if ((link.fieldType === 'CALL') !== (asset.type === 'CALL'))
    throw refuse(
      'assetLinkError.FIELD_TYPE_INCOMPATIBLE_WITH_ASSET_TYPE',
      'Not for this asset.',
      `${context.field}.field_type`,
    );
  if ((limit !== undefined) !== (text !== undefined))
    throw refuse(
      'assetLinkError.FIELD_TYPE_INCOMPATIBLE_WITH_ASSET_TYPE',
      'Not for this asset.',
      `${context.field}.field_type`,
    );
  if (limit !== undefined && text !== undefined && [...text].length > limit)
    throw refuse('stringLengthError.TOO_LONG', 'Too long.', `${context.field}.asset`);
}

/** Recognises PNG, JPEG and GIF. */
const isImage = (data: Buffer): boolean =>
  /^(?:89504e470d0a1a0a|ffd8ff|474946383[79]61)/.test(data.subarray(0, 8).toString('hex'));
