// Packs the client for programs into one folder: JavaScript, its types, and what is known of every operation.
import { execFile } from 'node:child_process';
import { copyFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const here = fileURLToPath(new URL('.', import.meta.url));
const compiler = fileURLToPath(new URL('../../node_modules/typescript-7/bin/tsc', import.meta.url));

/** `folder` is the folder of the package: the files are written to `dist` in it. */
export async function packClient(folder: string): Promise<void> {
  const dist = join(folder, 'dist');
  await rm(dist, { recursive: true, force: true });
  await promisify(execFile)(process.execPath, [compiler, '-p', here, '--outDir', dist]);
  await copyFile(join(here, 'src/generated/describe.json'), join(dist, 'generated/describe.json'));
}
