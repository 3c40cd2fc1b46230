// Packs a tree as plinth-VERSION-linux-ARCHITECTURE.tar.zst.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { constants, createZstdCompress } from 'node:zlib';
import type { Tree } from './tree.ts';

const level = 9;

/** Writes the tarball beside the tree, and returns its path. */
export async function packTarball({ folder, name }: Tree): Promise<string> {
  const path = `${folder}.tar.zst`;
  const options = ['--format=gnu', '--sort=name', '--owner=0', '--group=0', '--numeric-owner'];
  const tar = spawn('tar', [...options, '--create', '--directory', dirname(folder), name], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = once(tar, 'close');
  const compress = createZstdCompress({ params: { [constants.ZSTD_c_compressionLevel]: level } });
  await pipeline(tar.stdout, compress, createWriteStream(path));
  const [code] = await exited;
  if (code !== 0) throw new Error(`tar ended with ${code}. Free some space in ${join(folder, '..')} and try again.`);
  return path;
}
