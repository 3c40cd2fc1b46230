// New assets and their links. The platform stores identical content as one asset, so the same text or image in two
// places is one asset with two links, and an asset can be found by its content. Pure.
import { createHash } from 'node:crypto';
import type { Json } from '../json.ts';
import type { Operation } from '../mutate.ts';
import type { NameOf } from './names.ts';

export const toTextAsset = (text: string): Json => ({ textAsset: { text } });

export const toImageAsset = (image: Uint8Array): Json => ({
  name: nameOfImage(image),
  imageAsset: { data: Buffer.from(image).toString('base64') },
});

/** The platform requires a name for each image. */
export const nameOfImage = (image: Uint8Array): string =>
  `image ${createHash('sha256').update(image).digest('hex').slice(0, 40)}`;

/** Collects a request's assets. */
export function collectAssets(nameOf: NameOf) {
  const names = new Map<string, string>();
  const operations: Operation[] = [];
  return {
    operations,
    /** Returns the asset's temporary name. */
    add(content: Json): string {
      const key = JSON.stringify(content);
      const known = names.get(key);
      if (known !== undefined) return known;
      const resourceName = nameOf('assets', firstAsset - names.size);
      names.set(key, resourceName);
      operations.push({ assetOperation: { create: { resourceName, ...content } } });
      return resourceName;
    },
  };
}

/** Assets use temporary ids below all of the request's other temporary ids. */
const firstAsset = -100;

export const linkToGroup = (assetGroup: string, asset: string, fieldType: string): Operation => ({
  assetGroupAssetOperation: { create: { assetGroup, asset, fieldType } },
});

export const linkToCampaign = (campaign: string, asset: string, fieldType: string): Operation => ({
  campaignAssetOperation: { create: { campaign, asset, fieldType } },
});
