// Serves generated images to the ad platform, which fetches them without credentials, by unguessable names.
import type { ObjectStorage } from '../../../gateways/storage/index.ts';
import { Answer } from '../../../kit/http/answer.ts';
import { hasTag } from '../../../kit/http/response/conditional.ts';
import { notFound } from '../../../kit/problem.ts';

const fileName = /^[0-9a-f]{40}\.jpg$/;

export const toImageKey = (name: string): string => `ad-images/${name}`;

export const imageType = 'image/jpeg';

export async function getAdImage(
  objectStorage: ObjectStorage,
  name: string,
  headers: Readonly<Record<string, string | string[] | undefined>>,
) {
  if (!fileName.test(name)) throw notFound('asset_not_found');
  const etag = `"${name.slice(0, 40)}"`;
  // An image never changes under the same name.
  const common = { etag, 'cache-control': 'public, max-age=31536000, immutable' };
  const found = await objectStorage.get(toImageKey(name));
  if (found === undefined) throw notFound('asset_not_found');
  if (hasTag(headers['if-none-match'], etag)) {
    found.content.destroy();
    return new Answer(Buffer.alloc(0), { headers: common }, 304);
  }
  return new Answer(found.content, { headers: { ...common, 'content-length': String(found.size) } }, 200, imageType);
}
