// Files that do not change while the process runs. They are created on the first request, compressed once, and
// sent only to clients that do not yet have them.
import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { Answer } from '../answer.ts';
import { hasTag, listEncodings } from './conditional.ts';

export interface FixedFile {
  /** Responds with a 200 and the file, or a 304 if the client already has it. */
  answer(headers: Readonly<Record<string, string | string[] | undefined>>): Promise<Answer<Buffer>>;
}

export function fixedFile(
  type: string,
  read: () => string | Buffer | Promise<string | Buffer>,
  cacheControl = 'no-cache',
): FixedFile {
  let preparing: ReturnType<typeof prepare> | undefined;
  return {
    async answer(headers) {
      preparing ??= prepare(read).catch((error) => {
        preparing = undefined; // the next request tries again
        throw error;
      });
      const { plain, compressed, etag } = await preparing;
      const common = { etag, vary: 'Accept-Encoding', 'cache-control': cacheControl };
      if (hasTag(headers['if-none-match'], etag)) return new Answer(Buffer.alloc(0), { headers: common }, 304);
      const isCompressed = listEncodings(headers['accept-encoding']).includes('gzip');
      return new Answer(isCompressed ? compressed : plain, {
        headers: { ...common, 'content-type': type, ...(isCompressed && { 'content-encoding': 'gzip' }) },
      });
    },
  };
}

async function prepare(read: () => string | Buffer | Promise<string | Buffer>) {
  const plain = Buffer.from(await read());
  // The tag is weak, because the compressed and uncompressed forms share it.
  const etag = `W/"${createHash('sha256').update(plain).digest('base64url').slice(0, 22)}"`;
  return { plain, compressed: await promisify(gzip)(plain, { level: 9 }), etag };
}
