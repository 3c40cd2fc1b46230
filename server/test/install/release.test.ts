// Builds a release, twice, and runs it: the tarball on this machine, the package in a Debian, and the image without rights. Requires Debian's
// packages for containers (.ci/run); where containers can't run, their tests are skipped and say why.
import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
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
import { buildTree } from '../../../deploy/build/tree.ts';
import { freePort } from '../../../harness/ports.ts';
import { formatKeys, newKeys } from '../../src/commands/keys.ts';
import { commandLine } from '../e2e/command.ts';
import { call } from '../support/client.ts';
import { repository } from '../support/copy.ts';
import { cloneTemplate } from '../support/template.ts';
import { openPodman, type Podman, whyNoContainers } from './podman.ts';

const run = promisify(execFile);
const folder = mkdtempSync(join(tmpdir(), 'plinth-release-'));
const [first, second] = [await buildTree(join(folder, 'first')), await buildTree(join(folder, 'second'))];
/** The first one, packed as a tarball and unpacked. */
const unpacked = join(folder, first.name);
afterAll(() => rmSync(folder, { recursive: true }));

const bootstrap = ['bootstrap', '--email', 'ada@acme.example', '--name', 'Ada', '--workspace', 'Acme'];

describe('the tree', () => {
  it('is the same whenever it is built from the same files', async () => {
    expect(await digestTree(second.folder)).toBe(await digestTree(first.folder));
  });

  it('contains the product and its packages, and nothing for development', () => {
    expect(readdirSync(first.folder).sort()).toEqual(
      'CHANGELOG.md LICENSE NOTICE bin client console deploy docs node_modules package.json sbom.cdx.json server'.split(
        ' ',
      ),
    );
    const files = readdirSync(first.folder, { recursive: true }).map(String);
    expect(files.filter((path) => /\.test\.|\.d\.ts$|\.map$|^server\/(test|describe)/.test(path))).toEqual([]);
    for (const name of ['vitest', 'vite', 'react', '@biomejs', '@plinth'])
      expect(existsSync(join(first.folder, 'node_modules', name))).toBe(false);
    for (const path of ['console/dist/index.html', 'client/plinthctl-0.1.0.tgz', 'client/plinth-client-0.1.0.tgz'])
      expect(files).toContain(path);
  });

  it('lists its packages in an SBOM whose number and time derive from the commit', () => {
    const [sbom, other] = [first, second].map(({ folder }) => readFileSync(join(folder, 'sbom.cdx.json'), 'utf8'));
    expect(other).toBe(sbom);
    const { components, metadata } = JSON.parse(sbom ?? '');
    expect(metadata.timestamp).toBe(first.commit.time.toISOString());
    const listed = new Set(components.map(({ name }: { name: string }) => name));
    const packages = join(first.folder, 'node_modules');
    const installed = readdirSync(packages).flatMap((name) =>
      name.startsWith('@') ? readdirSync(join(packages, name)).map((part) => `${name}/${part}`) : [name],
    );
    expect(installed.filter((name) => !name.startsWith('.') && !listed.has(name))).toEqual([]);
    expect(listed).toContain('node');
  });

  it('packed as a tarball, is the same twice, and unpacked it is the tree', async () => {
    const [one, other] = [await packTarball(first), await packTarball(second)];
    expect(await digestFile(other)).toBe(await digestFile(one));
    await run('tar', ['--zstd', '--extract', '--file', one, '--directory', folder]);
    expect(await digestTree(unpacked)).toBe(await digestTree(first.folder));
  });
});

describe('the unpacked tarball, without npm and the repository,', async () => {
  const database = await cloneTemplate();
  afterAll(database.drop);
  const settings = { ...newKeys(), DATABASE_URL: database.url, STORAGE_FOLDER: join(folder, 'storage'), CONSOLE: 'on' };
  const environment = { ...settings, PATH: '/usr/bin:/bin', NODE_COMPILE_CACHE: '' };
  const owner = { ...environment, MIGRATE_DATABASE_URL: database.ownerUrl };
  const plinth = (...args: string[]) => run(join(unpacked, 'bin/plinth'), args, { env: environment, cwd: '/' });
  const { startApi, start } = commandLine(environment, unpacked, '/', [join(unpacked, 'bin/node')]);

  it('runs the commands of both programs', async () => {
    const migrated = await run(join(unpacked, 'bin/plinth'), ['migrate', '--skip-locations'], { env: owner, cwd: '/' });
    expect(migrated.stdout).toBe('no pending migrations\n');
    const { stdout } = await run(join(unpacked, 'bin/plinthctl'), ['--version'], { env: { PATH: '/usr/bin:/bin' } });
    expect(stdout.trim()).toBe(first.version);
  });

  it('serves the API, the console and the reference, and does background work', async () => {
    const { stdout, stderr } = await plinth(...bootstrap);
    expect(stderr).toMatch(/^To sign in, open this link and set a password: http\S+#\S+\n$/);
    const token = stdout.trim();
    const [{ url }] = await Promise.all([startApi(), start('worker', /"msg":"worker started"/)]);
    const html = { headers: { accept: 'text/html' } };
    expect((await call(url, 'GET', '/', html)).text).toContain('<title>Plinth</title>');
    expect((await call(url, 'GET', '/docs', html)).status).toBe(200);
    expect((await call(url, 'GET', '/api/info')).body).toMatchObject({ features: { console: true } });
    const created = await call(url, 'POST', '/api/apps', { as: token, body: { name: 'Shop' } });
    expect(created.status).toBe(200);
    // A worker has sealed the entry.
    const verify = () => call(url, 'GET', '/api/workspace/audit-log/verify', { as: token });
    await expect.poll(async () => (await verify()).body.last_sequence).toBeGreaterThan(0);
  });
});

describe.runIf(process.getuid?.() === 0)('the Debian package', () => {
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

  it('contains units that systemd accepts', async () => {
    // systemd-analyze looks up the paths of programs in the root that it is given.
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
describe.skipIf(why !== undefined)(`the image${why === undefined ? '' : ` (skipped: ${why})`}`, () => {
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
    expect(find('browser')?.outcome).not.toBe('works');
    expect(await podman('logs', 'worker')).toContain('files of strangers are not kept apart from this worker');
  });

  it('stops when it is told to', async () => {
    await podman('stop', '--time=60', 'worker', 'api');
    expect(await podman('inspect', '--format={{.State.ExitCode}}', 'worker', 'api')).toBe('0\n0');
  });
});
