// A Performance Max campaign's images, which are fetched from the caller's URLs, taken from the app's generated
// images, or drawn.
import type { ObjectStorage } from '../../../gateways/storage/index.ts';
import type { Outbound } from '../../../kit/outbound/outbound.ts';
import type { Db } from '../../../tables.ts';
import { toImageKey } from '../creative/image.ts';
import type { Renderer } from '../creative/render/renderer.ts';
import { findNewestImage } from '../store/assets.ts';
import type { LaunchRow } from '../store/launches.ts';
import type { AdsTimes } from '../times.ts';
import type { LaunchContent } from './content.ts';
import type { PlatformReason } from './failure.ts';

export interface ImageDeps {
  readonly outbound: Outbound;
  readonly objectStorage: ObjectStorage;
  readonly renderer: Renderer;
  readonly times: Pick<AdsTimes, 'imagesMs'>;
}

export interface CampaignImages {
  readonly logo?: Uint8Array;
  readonly marketingImages: readonly Uint8Array[];
  readonly squareImages: readonly Uint8Array[];
}

/** Thrown if an image could not be fetched. */
export class ImageFault extends Error {
  readonly reason: PlatformReason;
  constructor(field: string, message: string) {
    super(message);
    this.reason = { code: `SERVICE_${field.toUpperCase()}_NOT_FETCHED`, message };
  }
}

/** False for Smart campaigns. */
export const hasImages = ({ logo_url }: LaunchContent): boolean => logo_url !== null;

/** Throws an ImageFault if an image can't be fetched. */
export async function collectImages(
  db: Db,
  deps: ImageDeps,
  launch: LaunchRow,
  content: LaunchContent,
  signal: AbortSignal,
): Promise<CampaignImages> {
  const { logo_url, marketing_image_urls, square_image_urls } = content;
  if (logo_url === null) return { marketingImages: [], squareImages: [] };
  const fetchAll = createFetcher(deps, launch, signal);
  const [logo] = await fetchAll('logo_url', [logo_url]);
  const marketing = await fetchAll('marketing_image_urls', marketing_image_urls);
  const square = await fetchAll('square_image_urls', square_image_urls);
  const replace = (slot: 'LANDSCAPE_IMAGE' | 'SQUARE_IMAGE') => replaceImage(db, deps, { launch, content, slot, logo });
  return {
    ...(logo !== undefined && { logo }),
    marketingImages: marketing.length > 0 ? marketing : [await replace('LANDSCAPE_IMAGE')],
    squareImages: square.length > 0 ? square : [await replace('SQUARE_IMAGE')],
  };
}

/** The platform accepts images up to 5,120 KiB and requests up to 64 MB. Encoding makes an image a third larger. */
const maxImageBytes = 5_120 * 1024;
const maxTotalBytes = 40 * 1024 * 1024;
const timeoutMs = 10_000;

function createFetcher({ outbound, times }: ImageDeps, { workspace_id: owner }: LaunchRow, stopped: AbortSignal) {
  let total = 0;
  const tooLate = AbortSignal.timeout(times.imagesMs);
  const signal = AbortSignal.any([stopped, tooLate]);
  const fetchOne = async (field: string, url: string): Promise<Uint8Array> => {
    for (let tries = 0; tries < 2; tries += 1) {
      const request = { owner, method: 'GET', url, maxBodyBytes: maxImageBytes, timeoutMs, signal } as const;
      const got = await outbound.send(request);
      stopped.throwIfAborted();
      if (tooLate.aborted)
        throw new ImageFault(
          field,
          `The images could not be downloaded in time; ${field} was incomplete. Host the images on a faster server.`,
        );
      if (got.outcome === 'answered' && got.truncated)
        throw new ImageFault(field, `An image in ${field} is larger than 5,120 KiB. Use a smaller image.`);
      if (got.outcome !== 'answered' || got.status !== 200) continue;
      total += got.body.length;
      if (total > maxTotalBytes)
        throw new ImageFault(field, 'The images are larger than 40 MiB in total. Send fewer or smaller images.');
      return got.body;
    }
    throw new ImageFault(
      field,
      `An image in ${field} could not be downloaded. Check that its URL can be opened without signing in.`,
    );
  };
  return async (field: string, urls: readonly string[]): Promise<Uint8Array[]> => {
    const images: Uint8Array[] = [];
    for (const url of urls) images.push(await fetchOne(field, url));
    return images;
  };
}

/** Returns the app's newest generated image, or draws one with the logo. */
async function replaceImage(
  db: Db,
  deps: ImageDeps,
  {
    launch,
    content: { campaign },
    slot,
    logo,
  }: {
    readonly launch: LaunchRow;
    readonly content: LaunchContent;
    readonly slot: 'LANDSCAPE_IMAGE' | 'SQUARE_IMAGE';
    readonly logo: Uint8Array | undefined;
  },
): Promise<Uint8Array> {
  const generated = await readGenerated(db, deps, launch, slot);
  if (generated !== undefined) return generated;
  const drawn = await deps.renderer.render({
    workspace_id: launch.workspace_id,
    app_id: launch.app_id,
    slot,
    style: 'light',
    language: campaign.languageCode,
    name: campaign.businessName,
    headline: campaign.headlines[0] ?? '',
    description: '',
    accent: null,
    logo,
  });
  return drawn.image;
}

async function readGenerated(
  db: Db,
  { objectStorage }: ImageDeps,
  launch: LaunchRow,
  slot: 'LANDSCAPE_IMAGE' | 'SQUARE_IMAGE',
): Promise<Uint8Array | undefined> {
  const row = await findNewestImage(db, launch, slot);
  const found = row?.file_name ? await objectStorage.get(toImageKey(row.file_name)) : undefined;
  if (found === undefined) return undefined;
  const chunks: Buffer[] = [];
  for await (const chunk of found.content) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}
