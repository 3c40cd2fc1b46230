// Builds a release twice, compares the builds, and installs them: the package in a Debian, and the image as containers
// without rights. Takes minutes, so only `npm run check:all` runs it. It needs Debian's packages podman, buildah, mmdebstrap,
// runc, fuse-overlayfs, netavark and iptables; where containers can't run, their tests are skipped and say why.
import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { copyFile, mkdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { buildBase } from '../../../deploy/build/base.ts';
import { packDeb } from '../../../deploy/build/deb.ts';
import { digestFile, digestTree } from '../../../deploy/build/files.ts';
import { buildImage } from '../../../deploy/build/image.ts';
import { packTarball } from '../../../deploy/build/tarball.ts';
import { buildTree, type Tree } from '../../../deploy/build/tree.ts';
import { freePort } from '../../../harness/ports.ts';
import { formatKeys, newKeys } from '../../src/commands/keys.ts';
import { call } from '../support/client.ts';
import { repository } from '../support/copy.ts';
import { cloneTemplate } from '../support/template.ts';
import { openPodman, type Podman, whyNoContainers } from './podman.ts';

const run = promisify(execFile);
const isRun = process.env.ALL_CASES === '1';
const folder = mkdtempSync(join(tmpdir(), 'plinth-release-'));
let first: Tree;
let second: Tree;
beforeAll(async () => {
  if (!isRun) return;
  first = await buildTree(join(folder, 'first'));
  second = await buildTree(join(folder, 'second'));
});
afterAll(() => rmSync(folder, { recursive: true }));

describe.runIf(isRun)('the tree and the tarball', () => {
  it('are the same whenever they are built from the same files', async () => {
    expect(await digestTree(second.folder)).toBe(await digestTree(first.folder));
    expect(await digestFile(await packTarball(second))).toBe(await digestFile(await packTarball(first)));
  });

  it('are the same: unpacked, the tarball is the tree', async () => {
    await run('tar', ['--zstd', '--extract', '--file', `${first.folder}.tar.zst`, '--directory', folder]);
    expect(await digestTree(join(folder, first.name))).toBe(await digestTree(first.folder));
  });
});

describe.runIf(isRun && process.getuid?.() === 0)('the Debian package', () => {
  const debian = join(folder, 'debian');
  const inDebian = (...command: string[]) =>
    run('chroot', [debian, '/usr/bin/env', '-i', 'PATH=/usr/sbin:/usr/bin:/sbin:/bin', ...command]);
  let packed: string;
  beforeAll(async () => {
    packed = await packDeb(first);
    await mkdir(debian);
    await run('tar', ['--extract', '--file', await buildBase('core'), '--directory', debian]);
    await copyFile(packed, join(debian, 'plinth.deb'));
  });

  it('is the same twice', async () => {
    expect(await digestFile(await packDeb(second))).toBe(await digestFile(packed));
  });

  it('makes the user, and starts nothing', async () => {
    const { stdout } = await inDebian('dpkg', '--install', '/plinth.deb');
    expect(stdout).toContain('Next: plinth setup /etc/plinth --systemd');
    expect((await inDebian('stat', '--format=%U %a', '/var/lib/plinth')).stdout).toBe('plinth 750\n');
    expect((await inDebian('plinth', '--version')).stdout).toBe(`plinth ${first.version}\n`);
    expect((await inDebian('plinthctl', '--version')).stdout).toBe(`${first.version}\n`);
    // Compiled code that nobody but root can replace.
    const cache = '/opt/plinth/node_modules/.cache/plinth';
    const found = (await inDebian('find', cache, '-type', 'f')).stdout.split('\n');
    expect(found.length).toBeGreaterThan(100);
    expect((await inDebian('find', cache, '-not', '-user', 'root')).stdout).toBe('');
  });

  it('contains all units, and programs that can be run', async () => {
    const units = (await inDebian('find', '/usr/lib/systemd/system', '-name', 'plinth-*')).stdout.trim().split('\n');
    expect(units).toHaveLength(readdirSync(join(repository, 'deploy/systemd')).length);
    for (const unit of units) expect(existsSync(join(debian, unit))).toBe(true);
    for (const program of ['opt/plinth/bin/plinth', 'usr/bin/plinth'])
      expect(statSync(join(debian, program)).mode & 0o111).toBe(0o111);
  });

  it('is set up with settings and keys that root and the services can read, and nobody else', async () => {
    const address = ['--base-url', 'https://plinth.example.com', '--apps-domain', 'apps.example.net'];
    const { stdout } = await inDebian('plinth', 'setup', '/etc/plinth', '--systemd', ...address);
    expect(stdout).toContain('  systemctl enable --now plinth-api plinth-worker plinth-strangers-worker\n');
    const { stdout: listed } = await inDebian('stat', '--format=%n %U:%G %a', '/etc/plinth/secrets');
    expect(listed).toBe('/etc/plinth/secrets root:plinth 750\n');
    const asPlinth = ['setpriv', '--reuid=plinth', '--regid=plinth', '--clear-groups'];
    await inDebian(...asPlinth, 'cat', '/etc/plinth/secrets/master_keys');
    await expect(inDebian(...asPlinth, 'cat', '/etc/plinth/secrets/migrate_database_url')).rejects.toThrow(
      'Permission denied',
    );
    // The settings are read, and PostgreSQL is not there.
    for (const command of ['migrate', 'doctor'])
      await expect(inDebian('plinth', command)).rejects.toMatchObject({
        stdout: expect.not.stringContaining('is missing: Keys'),
        stderr: expect.not.stringContaining('is missing: Keys'),
      });
    await expect(inDebian('plinth', 'migrate')).rejects.toThrow(
      /PostgreSQL can't be reached at 127\.0\.0\.1:5432|refused the role/,
    );
  });

  it('is upgraded without losing the settings, and keeps them and the files of apps when it is purged', async () => {
    await inDebian('touch', '/var/lib/plinth/file');
    const { stdout } = await inDebian('dpkg', '--install', '/plinth.deb');
    expect(stdout).toContain('Make a back-up. Then run: plinth migrate');
    const purged = await inDebian('dpkg', '--purge', 'plinth');
    expect(purged.stdout).toContain('Kept: /etc/plinth with its keys, and /var/lib/plinth.');
    expect(existsSync(join(debian, 'opt/plinth'))).toBe(false);
    for (const path of ['etc/plinth/secrets/master_keys', 'var/lib/plinth/file'])
      expect(existsSync(join(debian, path))).toBe(true);
  });
});

const why = whyNoContainers();
describe.runIf(isRun && why === undefined)(`the image${why === undefined ? '' : ` (skipped: ${why})`}`, () => {
  const settingsFile = join(folder, 'settings.env');
  /** The rights that docs/operate/install-containers.md gives the containers. */
  const rights = ['--read-only', '--cap-drop=all', '--security-opt=no-new-privileges', '--tmpfs=/tmp', '--memory=512m'];
  const network = ['--network=host', `--env-file=${settingsFile}`];
  let podman: Podman;
  let image: string;
  let url: string;
  let database: Awaited<ReturnType<typeof cloneTemplate>>;
  beforeAll(async () => {
    podman = openPodman();
    Object.assign(process.env, podman.environment);
    database = await cloneTemplate();
    url = `http://127.0.0.1:${await freePort()}`;
    const settings = {
      DATABASE_URL: database.url,
      BASE_URL: url,
      PORT: new URL(url).port,
      REDIS_PREFIX: `image-${process.pid}:`,
    };
    writeFileSync(settingsFile, formatKeys({ ...newKeys(), ...settings }));
    image = await buildImage(first, 'core');
  });
  afterAll(async () => {
    await podman.close();
    await database.drop();
  });
  const runImage = (name: string, ...args: string[]) =>
    podman('run', '--detach', `--name=${name}`, '--pids-limit=200', ...rights, ...network, ...args);

  it('has a layer with the tree that is the same in the next build', async () => {
    const layers = async () => JSON.parse(await podman('inspect', '--format={{json .RootFS.Layers}}', image));
    const before: string[] = await layers();
    await podman('rmi', '--force', image);
    await buildImage(second, 'core');
    // Of the base, the user, the tree and the compiled code, which is not the same.
    expect((await layers()).slice(0, 3)).toEqual(before.slice(0, 3));
    expect(before).toHaveLength(4);
    const bytes = Number(await podman('inspect', '--format={{.Size}}', image));
    expect(bytes).toBeLessThan(450e6);
  });

  it('runs the API and a worker as another user, who can change nothing but the files of apps', async () => {
    await runImage('api', image, 'api');
    await podman('exec', 'api', 'plinth', 'health', '--wait', '120');
    expect(await podman('exec', 'api', 'id', '-u')).toBe('10001');
    await expect(podman('exec', 'api', 'touch', '/opt/plinth/file')).rejects.toThrow('Read-only file system');
    await podman('exec', 'api', 'touch', '/var/lib/plinth/file');
    await runImage('worker', '--init', image, 'worker');
    const ready = async () => (await call(url, 'GET', '/readyz')).body;
    await expect.poll(ready).toMatchObject({ status: 'ready', checks: { workers: 'ok', migrations: 'ok' } });
    expect((await call(url, 'GET', '/', { headers: { accept: 'text/html' } })).text).toContain('<title>Plinth</title>');
  });

  it('says which features its rights turn off', async () => {
    const printed = await podman('exec', 'api', 'plinth', 'doctor', '--json').catch((error) => error.stdout as string);
    const { checks } = JSON.parse(printed) as { checks: { part: string; outcome: string; message: string }[] };
    const find = (part: string) => checks.find((check) => check.part === part);
    expect(find('command sandbox')).toMatchObject({ message: expect.stringContaining('root') });
    expect(find('browser')).toMatchObject({ outcome: expect.not.stringMatching(/^works$/) });
    expect(await podman('logs', 'worker')).toContain('files of strangers are not kept apart from this worker');
  });

  it('stops when it is told to', async () => {
    await podman('stop', '--time=60', 'worker', 'api');
    expect(await podman('inspect', '--format={{.State.ExitCode}}', 'worker', 'api')).toBe('0\n0');
  });
});
