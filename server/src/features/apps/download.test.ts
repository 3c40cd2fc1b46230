// Tests that archives of an app's files are complete and consistent, with the programs that people unpack them with.
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { sql } from 'kysely';
import { afterAll, describe, expect, it } from 'vitest';
import { startWorld } from '../../../test/support/world.ts';
import { fileBytes } from '../../core/auth/limits.ts';
import type { AppRow } from '../../core/auth/proofs.ts';
import { countWorkspaceBytes } from '../../core/auth/rate-limits/byte-budget.ts';
import { openDownloads } from './download.ts';

const run = promisify(execFile);
const world = await startWorld();
const owner = await world.person('owner@example.com');
const workspace = await world.workspace(owner, 'enterprise');
const as = await world.token(owner, workspace);
const folder = await mkdtemp(join(tmpdir(), 'download-'));
afterAll(() => rm(folder, { recursive: true }));

type Contents = Readonly<Record<string, Buffer>>;

const save = (app: AppRow, files: Contents) =>
  world.call('PUT', `/api/apps/${app.id}/files`, {
    as,
    body: {
      files: Object.entries(files).map(([path, content]) => ({
        path,
        content: content.toString('base64'),
        encoding: 'base64',
      })),
    },
  });

async function appWith(files: Contents): Promise<AppRow> {
  const app = await world.appOf(owner, workspace);
  expect((await save(app, files)).status).toBe(200);
  return app;
}

const download = (app: AppRow, { query = '', accept }: { query?: string; accept?: string } = {}) =>
  fetch(`${world.url}/api/apps/${app.id}/files/archive${query}`, {
    headers: { authorization: `Bearer ${as}`, ...(accept && { accept }) },
  });

const zip = { accept: 'application/zip' };

/** Unpacks an archive with `tar` or `unzip` and reads what it contained. */
async function unpack(response: Response): Promise<Contents> {
  expect(response.status).toBe(200);
  const isZip = response.headers.get('content-type') === 'application/zip';
  const target = await mkdtemp(join(folder, 'unpacked-'));
  const file = `${target}.archive`;
  await writeFile(file, Buffer.from(await response.arrayBuffer()));
  if (isZip) await run('unzip', ['-q', file, '-d', target], { env: { PATH: '/usr/bin:/bin', LC_ALL: 'C.UTF-8' } });
  else await run('tar', ['-xzf', file, '-C', target], { env: { PATH: '/usr/bin:/bin', LC_ALL: 'C.UTF-8' } });
  const entries = await readdir(target, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  return Object.fromEntries(
    await Promise.all(files.map(async (path) => [path.slice(target.length + 1), await readFile(path)] as const)),
  );
}

const long = `${Array.from({ length: 7 }, (_, index) => `${index}${'folder'.repeat(8)}`).join('/')}/file.ts`;

/** Paths at the edges of what the formats can say, and what an app may have. */
const awkward: Contents = Object.fromEntries(
  [
    'index.html',
    'a',
    `${'x'.repeat(100)}`,
    `${'x'.repeat(99)}/y`,
    `b/${'y'.repeat(98)}`,
    `b/${'y'.repeat(99)}`,
    long,
    `${'ü'.repeat(120)}`,
    'src/Größe.ts',
    'ā/日本語/🙂.txt',
    'with space/and "quotes" \'too\'.txt',
    '-rf',
    '--checkpoint=1',
    '$(touch x)',
    'C:',
    '.env',
    '..hidden/...',
    'path=/etc/passwd',
    'PaxHeader',
    'star*?[a].js',
  ].map((path, index) => [path, Buffer.from(`content ${index} of ${path}\n`)]),
);

describe('downloadAppFiles', () => {
  it.each([
    ['tar', {}, 'application/gzip', 'tar.gz'],
    ['zip', zip, 'application/zip', 'zip'],
  ])('packs every path that an app may have (%s)', async (_, options, type, ending) => {
    const files = { ...awkward, 'empty.txt': Buffer.alloc(0), 'logo.png': randomBytes(70_000) };
    const app = await appWith(files);
    const response = await download(app, options);
    expect(response.headers.get('content-type')).toBe(type);
    expect(response.headers.get('x-app-revision')).toBe('2'); // an app begins with revision 1
    expect(response.headers.get('content-disposition')).toBe(`attachment; filename="${app.slug}-r2.${ending}"`);
    expect(await unpack(response)).toEqual(files);
  });

  it.each([
    ['tar', {}],
    ['zip', zip],
  ])('is the same for the same revision, with files that everybody may read (%s)', async (_, options) => {
    const app = await appWith({ 'src/a.ts': Buffer.from('1') });
    const archives = await Promise.all(
      [0, 1].map(async () => Buffer.from(await (await download(app, options)).arrayBuffer())),
    );
    expect(archives[0]?.equals(archives[1] as Buffer)).toBe(true);
    const target = await mkdtemp(join(folder, 'modes-'));
    await writeFile(join(target, 'archive'), archives[0] as Buffer);
    await mkdir(join(target, 'out'));
    const [program, ...args] =
      options === zip ? ['unzip', '-q', 'archive', '-d', 'out'] : ['tar', 'xzf', 'archive', '-C', 'out'];
    await run(program as string, args, { cwd: target });
    expect((await stat(join(target, 'out/src/a.ts'))).mode & 0o777).toBe(0o644);
  });

  it.each([
    ['tar', {}],
    ['zip', zip],
  ])('answers an archive without files for an app that has none (%s)', async (_, options) => {
    const app = await world.appOf(owner, workspace);
    const response = await download(app, options);
    const bytes = Buffer.from(await response.arrayBuffer());
    expect(response.status).toBe(200);
    expect(bytes.length).toBeGreaterThan(20);
    expect(bytes.length).toBeLessThan(100);
  });

  it('reads an earlier revision, and refuses one that is not kept', async () => {
    const app = await appWith({ 'a.ts': Buffer.from('1') });
    await save(app, { 'a.ts': Buffer.from('2'), 'b.ts': Buffer.from('b') });
    const earlier = await download(app, { query: '?revision=2' });
    expect(earlier.headers.get('x-app-revision')).toBe('2');
    expect(await unpack(earlier)).toEqual({ 'a.ts': Buffer.from('1') });
    expect(Object.keys(await unpack(await download(app)))).toEqual(['a.ts', 'b.ts']);
    for (const query of ['?revision=4', '?revision=2000000000']) {
      const refused = await download(app, { query });
      expect(refused.status).toBe(404);
      expect(await refused.json()).toMatchObject({ code: 'revision_not_found' });
    }
    await sql`update app_revisions set is_kept = false where app_id = ${app.id} and revision = 2`.execute(world.db);
    expect((await download(app, { query: '?revision=2' })).status).toBe(404);
  });

  it('contains one revision even if the files are changed meanwhile, and is cut if it is given up', async () => {
    const app = await world.appOf(owner, workspace);
    // More than one batch, and more than what connections buffer.
    const files = Object.fromEntries(
      [0, 1, 2, 3, 4, 5].map((part) => [`part-${part}.bin`, randomBytes(4 * 1024 * 1024)]),
    );
    for (const [path, content] of Object.entries(files)) await save(app, { [path]: content });
    // Nothing of the answers is read yet, so the server waits with most of them.
    const [kept, cut] = [await download(app), await download(app)];
    const changed = Object.fromEntries(Object.keys(files).map((path) => [path, Buffer.from('changed')]));
    expect((await save(app, { ...changed, 'new.ts': Buffer.from('new') })).body.revision).toBe(8);
    expect(kept.headers.get('x-app-revision')).toBe('7');
    const unpacked = await unpack(kept);
    expect(Object.keys(unpacked).sort()).toEqual(Object.keys(files).sort());
    for (const [path, content] of Object.entries(files)) expect(unpacked[path]?.equals(content)).toBe(true);
    await sql`update app_revisions set is_kept = false where app_id = ${app.id} and revision = 7`.execute(world.db);
    await expect(cut.arrayBuffer()).rejects.toThrow('terminated');
  });

  it('is refused while the budget of bytes is used up', async () => {
    const other = await world.workspace(owner, 'enterprise');
    const app = await world.appOf(owner, other);
    const credential = await world.token(owner, other);
    await countWorkspaceBytes(world.app.counters, fileBytes, other, 100 * 1024 ** 3);
    const refused = await world.call('GET', `/api/apps/${app.id}/files/archive`, { as: credential });
    expect(refused).toMatchObject({ status: 429, body: { code: 'rate_limited' } });
  });
});

describe('downloads that are not read', () => {
  const large = Object.fromEntries(['a', 'b', 'c'].map((name) => [name, randomBytes(4 * 1024 * 1024)]));

  it('are limited in number, until one is closed', async () => {
    const app = await world.appOf(owner, workspace);
    for (const [name, content] of Object.entries(large))
      expect((await save(app, { [name]: content })).status).toBe(200);
    const all = await Promise.all(Array.from({ length: openDownloads.ofCredential + 2 }, () => download(app)));
    const [open, refused] = [all.filter(({ ok }) => ok), all.filter(({ ok }) => !ok)];
    expect(open).toHaveLength(openDownloads.ofCredential);
    expect(refused.map(({ status }) => status)).toEqual([429, 429]);
    expect(await refused[0]?.json()).toMatchObject({
      code: 'too_many_streams',
      limit: openDownloads.ofCredential,
      of: 'credential',
      detail: 'This credential has too many downloads open. Wait until one has ended, or close one.',
    });
    await Promise.all(open.map(({ body }) => body?.cancel()));
    await expect
      .poll(async () => {
        const again = await download(app);
        await again.body?.cancel();
        return again.status;
      })
      .toBe(200);
  });
});
