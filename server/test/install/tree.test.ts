// Builds the tree of a release, and runs it: what the tarball, the Debian package and the image contain.
import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, describe, expect, it } from 'vitest';
import { buildTree } from '../../../deploy/build/tree.ts';
import { newKeys } from '../../src/commands/keys.ts';
import { commandLine } from '../e2e/command.ts';
import { call } from '../support/client.ts';
import { cloneTemplate } from '../support/template.ts';

const run = promisify(execFile);
const folder = mkdtempSync(join(tmpdir(), 'plinth-tree-'));
const tree = await buildTree(folder);
afterAll(() => rmSync(folder, { recursive: true }));

const bootstrap = ['bootstrap', '--email', 'ada@acme.example', '--name', 'Ada', '--workspace', 'Acme'];

describe('the tree', () => {
  it('contains the product and its packages, and nothing for development', () => {
    expect(readdirSync(tree.folder).sort()).toEqual(
      'CHANGELOG.md LICENSE NOTICE bin client console deploy docs node_modules package.json sbom.cdx.json server'.split(
        ' ',
      ),
    );
    const files = readdirSync(tree.folder, { recursive: true }).map(String);
    expect(files.filter((path) => /\.test\.|\.d\.ts$|\.map$|^server\/(test|describe)/.test(path))).toEqual([]);
    for (const name of ['vitest', 'vite', 'react', '@biomejs', '@plinth'])
      expect(existsSync(join(tree.folder, 'node_modules', name))).toBe(false);
    for (const path of ['console/dist/index.html', 'client/plinthctl-0.1.0.tgz', 'client/plinth-client-0.1.0.tgz'])
      expect(files).toContain(path);
  });

  it('lists its packages in an SBOM whose number and time derive from the commit', () => {
    const { components, metadata } = JSON.parse(readFileSync(join(tree.folder, 'sbom.cdx.json'), 'utf8'));
    expect(metadata.timestamp).toBe(tree.commit.time.toISOString());
    const listed = new Set(components.map(({ name }: { name: string }) => name));
    const packages = join(tree.folder, 'node_modules');
    const installed = readdirSync(packages).flatMap((name) =>
      name.startsWith('@') ? readdirSync(join(packages, name)).map((part) => `${name}/${part}`) : [name],
    );
    expect(installed.filter((name) => !name.startsWith('.') && !listed.has(name))).toEqual([]);
    expect(listed).toContain('node');
  });
});

describe('the tree, without npm and the repository,', async () => {
  const database = await cloneTemplate();
  afterAll(database.drop);
  const settings = { ...newKeys(), DATABASE_URL: database.url, STORAGE_FOLDER: join(folder, 'storage'), CONSOLE: 'on' };
  const environment = { ...settings, PATH: '/usr/bin:/bin', NODE_COMPILE_CACHE: '' };
  const owner = { ...environment, MIGRATE_DATABASE_URL: database.ownerUrl };
  const plinth = (...args: string[]) => run(join(tree.folder, 'bin/plinth'), args, { env: environment, cwd: '/' });
  const { startApi, start } = commandLine(environment, tree.folder, '/', [join(tree.folder, 'bin/node')]);

  it('runs the commands of both programs', async () => {
    const migrated = await run(join(tree.folder, 'bin/plinth'), ['migrate', '--skip-locations'], {
      env: owner,
      cwd: '/',
    });
    expect(migrated.stdout).toBe('no pending migrations\n');
    const { stdout } = await run(join(tree.folder, 'bin/plinthctl'), ['--version'], { env: { PATH: '/usr/bin:/bin' } });
    expect(stdout.trim()).toBe(tree.version);
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
