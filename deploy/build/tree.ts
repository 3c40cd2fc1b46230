// Builds the tree of a release: a folder with the product, its packages, a Node and the clients, that runs without
// anything being installed or compiled. The tarball, the Debian package and the image all contain it byte for byte.
import { cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { packCommandLine } from '../../client/cli/pack.ts';
import { packClient } from '../../client/sdk/pack.ts';
import { version } from '../../server/src/release.ts';
import { type Commit, listCommittedFiles, readCommit } from './commit.ts';
import { removeFromPackages, settleFiles } from './files.ts';
import { root } from './root.ts';
import { run } from './run.ts';
import { writeSbom } from './sbom.ts';

export interface Tree {
  readonly folder: string;
  /** `plinth-VERSION-linux-ARCHITECTURE`. */
  readonly name: string;
  readonly version: string;
  readonly architecture: Architecture;
  readonly commit: Commit;
}

/** Debian's names. */
export type Architecture = 'amd64' | 'arm64';

const architectures: Readonly<Record<string, Architecture>> = { x64: 'amd64', arm64: 'arm64' };

/** Builds the tree as a folder in `output`, for the architecture of this machine. Replaces an older one. */
export async function buildTree(output: string): Promise<Tree> {
  const architecture = architectures[process.arch];
  if (process.platform !== 'linux' || architecture === undefined)
    throw new Error(`Releases are built on Linux, on amd64 or arm64. This is ${process.platform} on ${process.arch}.`);
  const commit = await readCommit();
  const name = `plinth-${version}-linux-${architecture}`;
  const folder = join(output, name);
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  await copyProduct(folder);
  await installPackages(folder);
  await addNode(folder);
  await addConsole(folder);
  await addClients(folder);
  await writeSbom(folder, { version, commit });
  await settleFiles(folder, commit.time);
  return { folder, name, version, architecture, commit };
}

const isProduct = (path: string): boolean =>
  /^(CHANGELOG\.md|LICENSE|NOTICE|docs\/(operate|images)\/|deploy\/(?!build\/)|server\/(plinth\.js|package\.json|src\/|migrations\/|locations\/.*\.gz$))/.test(
    path,
  ) && !/\.test\.\w+$/.test(path);

async function copyProduct(folder: string): Promise<void> {
  for (const path of (await listCommittedFiles()).filter(isProduct)) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await cp(join(root, path), join(folder, path));
  }
}

/** Installs what the lock file names. Scripts of packages are not run. */
async function installPackages(folder: string): Promise<void> {
  const manifest = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'));
  const workspaces: readonly string[] = manifest.workspaces;
  for (const path of ['package.json', 'package-lock.json', ...workspaces.map((each) => join(each, 'package.json'))]) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await cp(join(root, path), join(folder, path));
  }
  await run('npm', ['ci', '--omit=dev', '--workspace=server', '--ignore-scripts', '--no-audit', '--no-fund'], folder);
  const others = workspaces.filter((each) => each !== 'server').map((each) => each.split('/')[0] as string);
  const leftOvers = ['package-lock.json', 'node_modules/.package-lock.json', 'node_modules/@plinth', ...others];
  for (const path of leftOvers) await rm(join(folder, path), { recursive: true, force: true });
  await removeFromPackages(folder);
  const { name, version, description, license, engines } = manifest;
  const kept = { name, version, private: true, description, license, type: 'module', engines };
  await writeFile(join(folder, 'package.json'), `${JSON.stringify(kept, null, 2)}\n`);
}

const startScript = (program: string): string => `#!/bin/sh
# Runs ${program} with the Node of this release.
here=$(dirname "$(readlink -f "$0")")
exec "$here/node" "$here/../${program}" "$@"
`;

/** Adds the Node that the lock file names, which is the one that all tests ran on. */
async function addNode(folder: string): Promise<void> {
  const bin = join(folder, 'bin');
  await mkdir(bin);
  await cp(join(root, 'node_modules/node/bin/node'), join(bin, 'node'));
  await writeFile(join(bin, 'plinth'), startScript('server/plinth.js'), { mode: 0o755 });
  await writeFile(join(bin, 'plinthctl'), startScript('client/cli/dist/main.js'), { mode: 0o755 });
}

/** Built apart from `console/dist`, which a running API may serve. */
const addConsole = (folder: string): Promise<string> =>
  run(process.execPath, [join(root, 'console/build.ts'), join(folder, 'console/dist')], root);

/** Adds plinthctl, and the packages of both clients for whoever installs them elsewhere. */
async function addClients(folder: string): Promise<void> {
  const [library, program] = [join(folder, 'client/sdk'), join(folder, 'client/cli')];
  for (const workspace of ['client/sdk', 'client/cli']) {
    await mkdir(join(folder, workspace), { recursive: true });
    await cp(join(root, workspace, 'package.json'), join(folder, workspace, 'package.json'));
  }
  await packClient(library);
  await packCommandLine(join(program, 'dist'));
  // npm gives all packed files the same time.
  const pack = ['pack', '--ignore-scripts', '--silent', `--pack-destination=${join(folder, 'client')}`];
  for (const workspace of [library, program]) await run('npm', pack, workspace);
  await rm(library, { recursive: true });
}
