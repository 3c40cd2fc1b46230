// Checks what is installed: every package in the lock file is pinned by a hash, every action of a workflow by a commit,
// and the bill of materials lists the packages that production installs.
import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

interface LockEntry {
  readonly version?: string;
  readonly integrity?: string;
  readonly resolved?: string;
  /** A link to a workspace in this repository. */
  readonly link?: true;
  readonly dev?: true;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

const repository = fileURLToPath(new URL('../..', import.meta.url));
const lock = JSON.parse(readFileSync(`${repository}package-lock.json`, 'utf8')) as {
  packages: Record<string, LockEntry>;
};
const installed = Object.entries(lock.packages).filter(([path, { link }]) => path.includes('node_modules/') && !link);

it('the lock file has a SHA-512 hash and no download address for every package', () => {
  expect(installed.length).toBeGreaterThan(100);
  const unpinned = installed.filter(([, entry]) => !entry.integrity?.startsWith('sha512-') || entry.resolved);
  expect(unpinned.map(([path]) => path)).toEqual([]);
});

it('workflows use actions by their commit, because a tag can be moved, and name the release', () => {
  const folder = `${repository}.github/workflows/`;
  const used = readdirSync(folder).flatMap((name) => readFileSync(folder + name, 'utf8').match(/uses: .*/g) ?? []);
  expect(used.length).toBeGreaterThan(0);
  expect(used.filter((line) => !/^uses: [\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/.test(line))).toEqual([]);
});

// A registry may publish a release's builds at different times. npm then omits the late builds from the lock file, and
// users on those platforms get no build at all.
// These builds of @napi-rs/canvas did not exist when the release was locked. Ad images are drawn only on Linux with
// glibc. Earlier releases have all builds, but cannot draw Arabic or Hebrew. Update the lock file when the builds
// exist.
const late = [
  'android-arm64',
  'darwin-arm64',
  'darwin-x64',
  'linux-arm-gnueabihf',
  'linux-arm64-musl',
  'linux-riscv64-gnu',
]
  .concat('linux-x64-musl', 'win32-arm64-msvc', 'win32-x64-msvc')
  .map((platform) => `@napi-rs/canvas-${platform}`);

it('the lock file has the native builds for every platform, except those that were not there', () => {
  const isLocked = (path: string, name: string) =>
    `${path}/node_modules/${name}` in lock.packages || `node_modules/${name}` in lock.packages;
  const missing = installed.flatMap(([path, { optionalDependencies = {} }]) =>
    Object.keys(optionalDependencies).filter((name) => !isLocked(path, name)),
  );
  expect(missing.sort()).toEqual(late);
});

interface Component {
  readonly name: string;
  readonly version: string;
  readonly purl: string;
  readonly hashes?: readonly { alg: string; content: string }[];
  readonly licenses?: readonly unknown[];
}

it('npm run sbom lists what production installs, each package with its hash and licence, without the network', async () => {
  const { stdout } = await promisify(execFile)('npm', ['run', '--silent', 'sbom', '--', '--offline'], {
    cwd: repository,
    maxBuffer: 16 * 1024 * 1024,
  });
  const sbom = JSON.parse(stdout) as { bomFormat: string; specVersion: string; components: Component[] };
  expect(sbom).toMatchObject({ bomFormat: 'CycloneDX', specVersion: '1.5' });
  const packages = sbom.components.filter(({ name }) => name !== 'server');
  const inProduction = installed.filter(([, { dev }]) => !dev);
  expect(packages.map(toLabel).sort()).toEqual(
    [...new Set(inProduction.map(([path, { version = '' }]) => toLabel({ name: toName(path), version })))].sort(),
  );
  expect(packages.map(({ name }) => name)).toEqual(expect.arrayContaining(['fastify', 'pg', 'zod']));
  const toPurl = ({ name, version }: Component) => `pkg:npm/${name.replace('@', '%40')}@${version}`;
  const incomplete = packages.filter(
    (each) => each.purl !== toPurl(each) || each.hashes?.[0]?.alg !== 'SHA-512' || !each.licenses?.length,
  );
  expect(incomplete).toEqual([]);
});

const toLabel = ({ name, version }: { name: string; version: string }) => `${name}@${version}`;
const toName = (path: string) => path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length);
