// Packs a tree as plinth_VERSION_ARCHITECTURE.deb, from the files in deploy/debian and the units in deploy/systemd.
import { cp, mkdir, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { countBytes, settleFiles } from './files.ts';
import { root } from './root.ts';
import { run } from './run.ts';
import type { Tree } from './tree.ts';

const scripts = ['postinst', 'prerm', 'postrm'];

/** Writes the package beside the tree, and returns its path. */
export async function packDeb(tree: Tree): Promise<string> {
  const staging = `${tree.folder}.deb-files`;
  const path = join(tree.folder, `../plinth_${tree.version}_${tree.architecture}.deb`);
  await rm(staging, { recursive: true, force: true });
  await mkdir(join(staging, 'opt'), { recursive: true });
  await run('cp', ['--archive', '--link', tree.folder, join(staging, 'opt/plinth')], root);
  await addPrograms(staging);
  await addUnits(staging);
  await addControl(staging, tree);
  await settleFiles(staging, tree.commit.time);
  const time = String(tree.commit.time.getTime() / 1000);
  const options = ['--root-owner-group', '-Zzstd', '-z9', '--threads-max=1'];
  await run('env', [`SOURCE_DATE_EPOCH=${time}`, 'dpkg-deb', ...options, '--build', staging, path], root);
  await rm(staging, { recursive: true });
  return path;
}

async function addPrograms(staging: string): Promise<void> {
  const bin = join(staging, 'usr/bin');
  await mkdir(bin, { recursive: true });
  await cp(join(root, 'deploy/debian/plinth'), join(bin, 'plinth'));
  await symlink('/opt/plinth/bin/plinthctl', join(bin, 'plinthctl'));
}

async function addUnits(staging: string): Promise<void> {
  const units = join(staging, 'usr/lib/systemd/system');
  await mkdir(units, { recursive: true });
  const source = join(root, 'deploy/systemd');
  for (const name of await readdir(source)) await cp(join(source, name), join(units, name));
}

async function addControl(staging: string, { folder, version, architecture }: Tree): Promise<void> {
  const control = join(staging, 'DEBIAN');
  await mkdir(control);
  const values = { version, architecture, size: String(Math.ceil((await countBytes(folder)) / 1024)) };
  const template = await readFile(join(root, 'deploy/debian/control'), 'utf8');
  const text = template.replaceAll(/\{\{(\w+)\}\}/g, (_, name) => values[name as keyof typeof values]);
  await writeFile(join(control, 'control'), text);
  for (const name of scripts) await cp(join(root, 'deploy/debian', name), join(control, name));
}
