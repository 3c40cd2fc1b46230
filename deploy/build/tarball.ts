// Packs a tree as plinth-VERSION-linux-ARCHITECTURE.tar.zst.
import { createReadStream, createWriteStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { constants, createZstdCompress } from 'node:zlib';
import { run } from './run.ts';
import type { Tree } from './tree.ts';

const level = 9;

/** Writes the tarball beside the tree, and returns its path. */
export async function packTarball({ folder, name }: Tree): Promise<string> {
  const [plain, path] = [`${folder}.tar`, `${folder}.tar.zst`];
  const options = ['--format=gnu', '--sort=name', '--owner=0', '--group=0', '--numeric-owner'];
  await run('tar', [...options, '--create', `--file=${plain}`, name], dirname(folder));
  // Read from a file, because what zstd writes depends on the sizes of the pieces that it is given.
  const compress = createZstdCompress({ params: { [constants.ZSTD_c_compressionLevel]: level } });
  await pipeline(createReadStream(plain), compress, createWriteStream(path));
  await rm(plain);
  return path;
}
