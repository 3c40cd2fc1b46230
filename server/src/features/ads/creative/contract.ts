// Owns the shapes of generated assets and search themes that a caller sees (docs/api/ads.md#texts-and-images).
import { z } from 'zod';
import {
  answer,
  body,
  count,
  id,
  oneOf,
  optional,
  query,
  queryAnything,
  text,
  timestamp,
} from '../../../kit/http/shapes.ts';
import type { AssetRow } from '../store/assets.ts';
import { languages, toLanguage } from './languages.ts';
import { channelTypes, imageSlots, textSlots } from './slots.ts';

const business = {
  business_name: optional(text(0, 200)),
  business_description: optional(text(0, 2_000)),
  landing_page_url: optional(text(0, 2_048)),
};

export const ThemeRequest = body(business);
export type ThemeRequest = z.output<typeof ThemeRequest>;

export const SearchThemes = answer('SearchThemes', { search_themes: z.array(z.string()) });

export const AssetRequest = body({
  channel_type: oneOf(...channelTypes),
  ...business,
  language: optional(oneOf(...languages)),
});
export type AssetRequest = z.output<typeof AssetRequest>;

const assetFields = {
  session_asset_id: id,
  slot: z.enum([...textSlots, ...imageSlots]),
  kind: z.enum(['text', 'image']),
  text: z.string().nullable(),
  image_url: z.string().nullable(),
  width: count.nullable(),
  height: count.nullable(),
  language: z.enum(languages),
  created_date: timestamp,
};

export const SessionAsset = answer('SessionAsset', assetFields);
export const LibraryAsset = answer('LibraryAsset', {
  ...assetFields,
  session_id: id,
  status: z.enum(['processing', 'ready', 'accepted', 'failed']),
  accepted_campaign_id: id.nullable(),
  accepted_resource_names: z.array(z.string()),
});

export type LibraryAsset = z.input<typeof LibraryAsset>;

export const DurableAsset = answer('DurableAsset', {
  resource_name: z.string(),
  field_type: z.string(),
  kind: z.enum(['text', 'image']),
  text: z.string().nullable(),
  image_url: z.string().nullable(),
  asset_group_name: z.string(),
  approval_status: z.string(),
});
export type DurableAsset = z.input<typeof DurableAsset>;

export const AcceptedAsset = body({ session_id: z.string(), campaign_id: z.string() });
export type AcceptedAsset = z.output<typeof AcceptedAsset>;

export const GeneratedAssets = answer('GeneratedAssets', {
  session_id: id,
  language: z.enum(languages),
  copy: z.strictObject({
    headlines: z.array(z.string()),
    long_headlines: z.array(z.string()),
    descriptions: z.array(z.string()),
  }),
  images: z.array(SessionAsset),
  background_image_count: count,
});
export type GeneratedAssets = z.input<typeof GeneratedAssets>;

// Nothing that is sent here is refused: the operation has no 422.
export const AssetQuery = query({ session_id: queryAnything, campaign_id: queryAnything });
export type AssetQuery = z.output<typeof AssetQuery>;

export const AssetLists = answer('AssetLists', {
  session: z.array(SessionAsset).optional(),
  library: z.array(LibraryAsset).optional(),
  durable: z.array(DurableAsset).optional(),
});
export type AssetLists = z.input<typeof AssetLists>;

export const isMade = ({ status }: Pick<AssetRow, 'status'>): boolean => status === 'ready' || status === 'accepted';

/** The address of an image by its name. */
export type ImageAddress = (fileName: string) => string;

export const presentAsset = (row: AssetRow, addressOf: ImageAddress): z.input<typeof SessionAsset> => ({
  session_asset_id: row.id,
  slot: row.slot,
  kind: row.kind,
  text: row.text,
  image_url: row.file_name === null || !isMade(row) ? null : addressOf(row.file_name),
  width: row.width,
  height: row.height,
  language: toLanguage(row.language),
  created_date: row.created_date.toISOString(),
});

export const presentLibraryAsset = (row: AssetRow, addressOf: ImageAddress): LibraryAsset => ({
  ...presentAsset(row, addressOf),
  session_id: row.session_id,
  status: row.status,
  accepted_campaign_id: row.accepted_campaign_id,
  accepted_resource_names: row.accepted_resource_names,
});
