// The API schemas for generated assets and search themes (docs/api/ads.md#texts-and-images).
import { z } from 'zod';
import {
  answer,
  body,
  count,
  described,
  id,
  oneOf,
  optional,
  query,
  queryAnything,
  text,
  timestamp,
} from '../../../kit/http/shapes.ts';
import { channelTypes, imageSlots, textSlots } from '../rules/slots.ts';
import type { AssetRow } from '../store/assets.ts';
import { languages, toLanguage } from './languages.ts';

const business = {
  business_name: described(
    optional(text(0, 200)),
    'The name of the business; the name of the app by default.',
    'Harbour Coffee',
  ),
  business_description: described(
    optional(text(0, 2_000)),
    'What the business offers; the description of the app by default.',
    'Freshly roasted coffee, delivered in Hamburg.',
  ),
  landing_page_url: described(
    optional(text(0, 2_048)),
    'The page that the ads link to. It is context for the language model and is not fetched.',
    'https://harbour-coffee.example/',
  ),
};

export const ThemeRequest = body(business);
export type ThemeRequest = z.output<typeof ThemeRequest>;

export const SearchThemes = answer('SearchThemes', {
  search_themes: described(
    z.array(z.string()),
    'The suggested search themes: at most 10, with at most 80 characters each.',
    ['fresh coffee beans', 'coffee delivery hamburg'],
  ),
});

export const AssetRequest = body({
  channel_type: described(
    oneOf(...channelTypes),
    'The kind of campaign. It determines which texts and images are generated: docs/api/ads.md#slots.',
    'DISPLAY',
  ),
  ...business,
  language: described(optional(oneOf(...languages)), 'The language of the texts; `en` by default.', 'en'),
});
export type AssetRequest = z.output<typeof AssetRequest>;

const assetFields = {
  session_asset_id: described(id, 'The id of the text or image.', '0198c20e-2c4d-7e5f-9061-7b8c9d0e1f20'),
  slot: described(z.enum([...textSlots, ...imageSlots]), 'The place of the text or image in an ad.', 'SQUARE_IMAGE'),
  kind: described(z.enum(['text', 'image']), 'Whether the asset is a text or an image.', 'image'),
  text: described(z.string().nullable(), 'The text; null for an image.', null),
  image_url: described(
    z.string().nullable(),
    'The address of the image, which needs no credential; null for a text, and until the image is ready.',
    'https://plinth.example/api/ads-platform/images/4f1c9a2e7b30d8564f1c9a2e7b30d8564f1c9a2e.jpg',
  ),
  width: described(count.nullable(), 'The width of the image in pixels; null for a text.', 1200),
  height: described(count.nullable(), 'The height of the image in pixels; null for a text.', 1200),
  language: described(z.enum(languages), 'The language of the generated texts.'),
  created_date: described(timestamp, 'When the generation began.', '2026-11-15T09:30:00.000Z'),
};

export const SessionAsset = answer('SessionAsset', assetFields);
export const LibraryAsset = answer('LibraryAsset', {
  ...assetFields,
  session_id: described(id, 'The id of the generation that made the asset.', '0198c20e-1b3c-7d4e-8f50-6a7b8c9d0e1f'),
  status: described(
    z.enum(['processing', 'ready', 'accepted', 'failed']),
    '`processing` until the image is made, then `ready` or `failed`; `accepted` once a campaign uses the asset.',
    'ready',
  ),
  accepted_campaign_id: described(id.nullable(), 'The campaign that uses the asset; null if there is none.', null),
  accepted_resource_names: described(
    z.array(z.string()),
    "The asset's names at the ad platform; empty if no campaign uses the asset.",
    [],
  ),
});

export type LibraryAsset = z.input<typeof LibraryAsset>;

export const DurableAsset = answer('DurableAsset', {
  resource_name: described(
    z.string(),
    'The name of the link between the asset and the campaign.',
    'customers/1234567890/assetGroupAssets/6501~7702~HEADLINE',
  ),
  field_type: described(z.string(), "The ad platform's name for the use of the asset.", 'HEADLINE'),
  kind: described(z.enum(['text', 'image']), 'Whether the asset is a text or an image.'),
  text: described(z.string().nullable(), 'The text; null for an image.', 'Fresh flowers today'),
  image_url: described(z.string().nullable(), 'The address of the image at the ad platform; null for a text.', null),
  asset_group_name: described(
    z.string(),
    'The asset group that contains the asset; empty if the asset belongs to the campaign itself.',
    'Spring flowers',
  ),
  approval_status: described(z.string(), "The ad platform's approval status of the asset.", 'APPROVED'),
});
export type DurableAsset = z.input<typeof DurableAsset>;

export const AcceptedAsset = body({
  session_id: described(
    z.string(),
    'The id of the generation that made the asset.',
    '0198c20e-1b3c-7d4e-8f50-6a7b8c9d0e1f',
  ),
  campaign_id: described(
    z.string(),
    'The Performance Max campaign to add the asset to.',
    '0198c20e-3d5e-7f60-a172-8c9d0e1f2031',
  ),
});
export type AcceptedAsset = z.output<typeof AcceptedAsset>;

export const GeneratedAssets = answer('GeneratedAssets', {
  session_id: described(
    id,
    'The id of the generation. For 24 hours, listAssets lists its assets.',
    '0198c20e-1b3c-7d4e-8f50-6a7b8c9d0e1f',
  ),
  language: described(z.enum(languages), 'The language of the texts.'),
  copy: described(
    z.strictObject({
      headlines: described(z.array(z.string()), 'Headlines of at most 30 characters.', ['Freshly Roasted Coffee']),
      long_headlines: described(z.array(z.string()), 'Long headlines of at most 90 characters; empty for `SEARCH`.', [
        'Coffee that was roasted this morning, delivered to your door',
      ]),
      descriptions: described(z.array(z.string()), 'Descriptions of at most 90 characters.', [
        'Beans from the harbour roastery, delivered in Hamburg.',
      ]),
    }),
    'The generated texts, by slot.',
  ),
  images: described(z.array(SessionAsset), 'The images that are ready.'),
  background_image_count: described(count, 'How many images are still being made.', 0),
});
export type GeneratedAssets = z.input<typeof GeneratedAssets>;

// Accepts any value, because the operation has no 422 response.
export const AssetQuery = query({
  session_id: described(
    queryAnything,
    'The id of a generation. If it is unknown or has expired, the list is empty.',
    '0198c20e-1b3c-7d4e-8f50-6a7b8c9d0e1f',
  ),
  campaign_id: described(
    queryAnything,
    'The id of a campaign. Its assets at the ad platform are then listed in `durable`.',
    '0198c20e-3d5e-7f60-a172-8c9d0e1f2031',
  ),
});
export type AssetQuery = z.output<typeof AssetQuery>;

export const AssetLists = answer('AssetLists', {
  session: described(
    z.array(SessionAsset).optional(),
    'The assets of the generation; present if `session_id` was sent.',
  ),
  library: described(
    z.array(LibraryAsset).optional(),
    "The app's generated assets, newest first; present if `session_id` was not sent.",
  ),
  durable: described(
    z.array(DurableAsset).optional(),
    "The campaign's assets at the ad platform; present if `campaign_id` was sent.",
  ),
});
export type AssetLists = z.input<typeof AssetLists>;

export const isMade = ({ status }: Pick<AssetRow, 'status'>): boolean => status === 'ready' || status === 'accepted';

/** Returns the URL of the image with this file name. */
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
