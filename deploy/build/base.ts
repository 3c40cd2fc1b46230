// Builds the base of the image: Debian with the packages of deploy/image, without documentation and translations, as
// Debian's own slim images are.
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readFile, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { root } from './root.ts';
import { run } from './run.ts';

/** `browser` has Chromium as well, for workers that open pages. */
export type Variant = 'core' | 'browser';

const release = 'bookworm';
const packageLists: Readonly<Record<Variant, readonly string[]>> = {
  core: ['packages.txt'],
  browser: ['packages.txt', 'packages-browser.txt'],
};
const excluded = [
  '/usr/share/doc/*',
  '/usr/share/info/*',
  '/usr/share/locale/*',
  '/usr/share/man/*',
  // Of Perl, which git's package requires: headers, and encodings of East Asian languages.
  '/usr/lib/*/perl/*/CORE/*',
  '/usr/lib/*/perl/*/auto/Encode/CN/*',
  '/usr/lib/*/perl/*/auto/Encode/JP/*',
  '/usr/lib/*/perl/*/auto/Encode/KR/*',
  '/usr/lib/*/perl/*/auto/Encode/TW/*',
  '/usr/share/perl/*/Unicode/Collate/*',
];
const options = [
  ...excluded.map((path) => `--dpkgopt=path-exclude=${path}`),
  '--dpkgopt=path-include=/usr/share/doc/*/copyright',
];

/** Returns the path of the tar file. Builds it again after a week, because Debian mends its packages. */
export async function buildBase(variant: Variant): Promise<string> {
  const packages = await listPackages(variant);
  const key = createHash('sha256')
    .update([...packages, ...options, weekOf(new Date())].join('\n'))
    .digest('hex');
  const folder = join(root, '.cache/base');
  const path = join(folder, `${variant}-${key.slice(0, 12)}.tar`);
  if (existsSync(path)) return path;
  await mkdir(folder, { recursive: true });
  const unfinished = `${path}.unfinished-${process.pid}.tar`;
  const args = ['--variant=essential', `--include=${packages.join()}`, ...options, release, unfinished];
  await run('mmdebstrap', args, root);
  await rename(unfinished, path);
  return path;
}

async function listPackages(variant: Variant): Promise<string[]> {
  const lists = packageLists[variant].map((name) => readFile(join(root, 'deploy/image', name), 'utf8'));
  return (await Promise.all(lists)).flatMap((text) => text.trim().split('\n'));
}

const weekOf = (time: Date): string => String(Math.floor(time.getTime() / (7 * 24 * 3600 * 1000)));
