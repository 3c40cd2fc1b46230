// Builds the image from a tree, by podman and buildah: deploy/image/Containerfile.
import { join } from 'node:path';
import { buildBase, type Variant } from './base.ts';
import { root } from './root.ts';
import { run } from './run.ts';
import type { Tree } from './tree.ts';

/** Returns the image's name, `localhost/plinth:VERSION` or `localhost/plinth:VERSION-browser`. */
export async function buildImage(tree: Tree, variant: Variant): Promise<string> {
  const base = `localhost/plinth-base:${variant}`;
  const image = `localhost/plinth:${tree.version}${variant === 'core' ? '' : `-${variant}`}`;
  await run('podman', ['import', '--quiet', await buildBase(variant), base], root);
  const options = {
    '--isolation': 'chroot', // needs no right that a container would
    '--layers': 'true', // the layer with the tree has the same digest whatever the base is
    '--timestamp': String(tree.commit.time.getTime() / 1000),
    '--build-arg': `BASE=${base}`,
    '--file': join(root, 'deploy/image/Containerfile'),
    '--tag': image,
  };
  const args = Object.entries(options).map(([name, value]) => `${name}=${value}`);
  await run('buildah', ['build', ...args, tree.folder], root);
  return image;
}

/** Writes an image to a file that `docker load` and `podman load` read, and returns its path. */
export async function saveImage(image: string, { folder, version, architecture }: Tree): Promise<string> {
  const variant = image.split(version)[1] ?? '';
  const path = join(folder, `../plinth-${version}${variant}-image-${architecture}.tar`);
  await run('podman', ['save', '--quiet', '--format=docker-archive', `--output=${path}`, image], root);
  await run('zstd', ['--quiet', '--force', '--rm', '-10', path], root);
  return `${path}.zst`;
}
