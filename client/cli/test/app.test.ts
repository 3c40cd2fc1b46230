// The commands about one app, with the real server: creating, pushing, publishing, secrets.
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { startWorld } from '../../../server/test/support/world.ts';
import { openTerminal, problemOf } from './plinthctl.ts';

const world = await startWorld();
const ada = await world.person('ada@example.com');
const workspace = await world.workspace(ada, 'enterprise');
const token = await world.token(ada, workspace);
const { run, inTerminal, folder } = await openTerminal({ PLINTH_URL: world.url, PLINTH_TOKEN: token });

/** A folder with an app of its own, and its files. */
async function createProject(name: string, files: Readonly<Record<string, string | Uint8Array>>) {
  const cwd = join(folder, name);
  await mkdir(join(cwd, 'public'), { recursive: true });
  for (const [path, content] of Object.entries(files)) await writeFile(join(cwd, path), content);
  const created = await run(['app', 'create', name], { cwd });
  const command = (args: readonly string[], input = '') => run(args, { cwd, input });
  return { cwd, app: created.json, command };
}

const pathsOf = ({ json }: { json: { items: { path: string }[] } }) => json.items.map(({ path }) => path);

describe.concurrent('app create', () => {
  it('names the app in plinth.json, which later commands in the folder and below it use', async () => {
    const { cwd, app } = await createProject('Named', {});
    expect(JSON.parse(await readFile(join(cwd, 'plinth.json'), 'utf8'))).toEqual({ app_id: app.id, url: world.url });
    const below = await run(['app', 'status'], { cwd: join(cwd, 'public') });
    expect([below.status, below.json.name]).toEqual([0, 'Named']);
    const again = await run(['app', 'create', 'Second'], { cwd });
    expect([again.status, problemOf(again).code]).toEqual([2, 'file_exists']);
  });

  it('is found elsewhere by its name', async () => {
    await createProject('Found by name', {});
    expect((await run(['app', 'status', '--app', 'Found by name'])).json.name).toBe('Found by name');
    const missing = await run(['app', 'status', '--app', 'Found by nam']);
    expect([missing.status, problemOf(missing).detail]).toMatchObject([
      2,
      /^There is no app "Found by nam"\. Did you mean "Found by name"/,
    ]);
  });
});

describe.concurrent('app list', () => {
  it('lists the apps, and says if there are more', async () => {
    for (const name of ['Listed one', 'Listed two']) await world.appOf(ada, workspace, { name });
    const { json, stderr } = await run(['app', 'list', '--search', 'listed']);
    expect([json.items.map(({ name }: { name: string }) => name).toSorted(), stderr]).toEqual([
      ['Listed one', 'Listed two'],
      '',
    ]);
    const cut = await run(['app', 'list', '--search', 'listed', '--limit', '1']);
    expect([cut.json.items.length, cut.stderr]).toEqual([1, 'There are more than 1 apps. Pass --limit or --search.\n']);
  });
});

describe.concurrent('app push', () => {
  const page = '<!doctype html><title>Hello</title>';

  it('uploads what has changed in one revision, with bytes as they are, and without what is ignored', async () => {
    const { cwd, command } = await createProject('Pushed', {
      'public/index.html': page,
      'public/logo.bin': Uint8Array.from([0, 255, 1]),
      'notes.txt': 'not for the app',
      '.env': 'SECRET=1',
      '.editorconfig': 'root = true',
      'workspace.tar.gz': 'an export',
      'public/archive.tar.gz': 'a download',
      '.plinthignore': '# comment\nnotes.txt\n',
    });
    const first = await command(['app', 'push']);
    expect(first.json).toMatchObject({
      created: ['public/archive.tar.gz', 'public/index.html', 'public/logo.bin'],
      updated: [],
      deleted: [],
    });
    const content = await command(['call', 'getAppFile', '--path', 'public/logo.bin', '--jq', '.content']);
    expect(content.stdout.trim()).toBe(Buffer.from([0, 255, 1]).toString('base64'));
    await writeFile(join(cwd, 'public/index.html'), `${page}!`);
    const second = await command(['app', 'push']);
    expect(second.json).toMatchObject({ updated: ['public/index.html'], revision: first.json.revision + 1 });
    expect((await command(['app', 'push'])).json).toMatchObject({ revision: second.json.revision, updated: [] });
  });

  it('publishes with --publish', async () => {
    const { command } = await createProject('Published', { 'public/index.html': page });
    const { json, status } = await command(['app', 'push', '.', '--publish']);
    expect([status, json.published.changes]).toEqual([0, { added: 1, changed: 0, removed: 0 }]);
    expect((await command(['app', 'status'])).json.published.url).toBe(json.published.url);
    expect((await command(['app', 'open'])).json).toEqual({ url: json.published.url });
  });

  it('says what was pushed even if publishing fails, and that nothing of it is served', async () => {
    const { command } = await createProject('Unpublished', { 'index.html': page });
    const pushed = await command(['app', 'push', '--publish']);
    expect([pushed.status, problemOf(pushed).code]).toEqual([7, 'nothing_to_publish']);
    expect(pushed.json).toMatchObject({ created: ['index.html'], published: null });
    expect(pushed.stderr).toContain('Move its pages to public/.');
    expect(pushed.stderr).toMatch(/pushed, as revision \d+, but they are not published.*plinthctl app publish/);
  });

  it('serves files in .well-known, and says which files are stored only', async () => {
    const { cwd } = await createProject('Half served', { 'public/index.html': page, 'notes.txt': 'notes' });
    await mkdir(join(cwd, 'public/.well-known'));
    await writeFile(join(cwd, 'public/.well-known/security.txt'), 'Contact: mailto:a@example.com');
    const { screen } = await inTerminal(['app', 'push'], { cwd });
    expect(screen).toContain('3 created, 0 updated, 0 removed.');
    expect(screen).toContain('Stored, but not served: notes.txt.');
  });

  it('replaces nothing that others have changed since the last push, except with --force', async () => {
    const { cwd, app, command } = await createProject('Contested', { 'public/index.html': page, 'public/a.txt': 'a' });
    await command(['app', 'push']);
    const change = { path: `/api/apps/${app.id}/files/content?path=public/index.html`, body: { content: 'theirs' } };
    expect((await world.call('PUT', change.path, { as: token, body: change.body })).status).toBe(200);
    await writeFile(join(cwd, 'public/a.txt'), 'mine');
    await writeFile(join(cwd, 'public/index.html'), 'mine');
    const refused = await command(['app', 'push']);
    expect([refused.status, problemOf(refused)]).toMatchObject([7, { code: 'files_changed' }]);
    expect(problemOf(refused).detail).toContain('public/index.html');
    expect(problemOf(refused).detail).not.toContain('a.txt');
    expect((await command(['app', 'push', '--force'])).json.updated.toSorted()).toEqual([
      'public/a.txt',
      'public/index.html',
    ]);
  });

  it('removes files of the app only with --delete, and asks before', async () => {
    const { cwd, command } = await createProject('Smaller', { 'public/index.html': page, 'public/old.txt': 'old' });
    await command(['app', 'push']);
    await rm(join(cwd, 'public/old.txt'));
    expect((await command(['app', 'push'])).json.kept).toEqual(['public/old.txt']);
    const asked = await command(['app', 'push', '--delete']);
    expect([asked.status, problemOf(asked).code]).toEqual([2, 'not_confirmed']);
    expect((await command(['app', 'push', '--delete', '--yes'])).json.deleted).toEqual(['public/old.txt']);
    expect(pathsOf(await command(['call', 'listAppFiles']))).toEqual(['public/index.html']);
  });

  it.for([
    ['', []],
    [' with --delete', ['--delete']],
    [' with --delete, --yes and --force', ['--delete', '--yes', '--force']],
  ] as const)('neither lists nor removes files of the app that it never pushes%s', async ([, flags], { expect }) => {
    const { cwd, command } = await createProject(`Left out${flags.join('')}`, {
      'public/index.html': page,
      '.plinthignore': 'notes.txt\n/drafts/\n',
    });
    const leftOut = [
      '.github/workflows/check.yml',
      'archive.tar.gz',
      'drafts/2026/plan.txt',
      'node_modules/tea/index.js',
      'plinth.json',
      'public/.htaccess',
      'public/notes.txt',
    ];
    const files = leftOut.map((path) => ({ path, content: 'of the app' }));
    expect((await command(['call', 'syncAppFiles', '--files', JSON.stringify(files)])).status).toBe(0);
    await mkdir(join(cwd, 'node_modules/tea'), { recursive: true });
    await writeFile(join(cwd, 'node_modules/tea/index.js'), 'of the folder');
    const pushed = await command(['app', 'push', ...flags]);
    expect([pushed.status, pushed.json]).toMatchObject([0, { created: ['public/index.html'], kept: [], deleted: [] }]);
    expect(pathsOf(await command(['call', 'listAppFiles']))).toEqual([...leftOut, 'public/index.html'].toSorted());
  });

  it('counts files that only the app has, and that it never pushes, as served', async () => {
    const { command } = await createProject('Built elsewhere', {
      'index.html': page,
      '.plinthignore': '/dist\n',
    });
    const files = JSON.stringify([{ path: 'dist/index.html', content: page }]);
    expect((await command(['call', 'syncAppFiles', '--files', files])).status).toBe(0);
    const pushed = await command(['app', 'push', '--delete', '--publish']);
    expect([pushed.status, pushed.stderr]).toEqual([0, '']);
    expect(pushed.json.published.changes).toEqual({ added: 1, changed: 0, removed: 0 });
  });

  it('pushes more than one request carries only with --split', async () => {
    const big = (letter: string) => letter.repeat(4_900_000);
    const { command } = await createProject('Big', { 'public/a.txt': big('a'), 'public/b.txt': big('b') });
    const refused = await command(['app', 'push']);
    expect([refused.status, problemOf(refused).code]).toEqual([2, 'too_large']);
    expect((await command(['app', 'push', '--split'])).json.created).toEqual(['public/a.txt', 'public/b.txt']);
  });
});

describe.concurrent('app revisions, restore and preview', () => {
  it('list the revisions, and make an earlier one the present one after a confirmation', async () => {
    const { cwd, command } = await createProject('Restored', { 'public/index.html': 'one' });
    const { json: first } = await command(['app', 'push']);
    await writeFile(join(cwd, 'public/index.html'), 'two');
    await command(['app', 'push']);
    const listed = await command(['app', 'revisions', '--limit', '2']);
    expect(listed.json).toMatchObject([
      { revision: first.revision + 1, cause: 'sync', files: { changed: 1 } },
      { revision: first.revision, cause: 'sync', files: { added: 1 } },
    ]);
    const restore = ['app', 'restore', String(first.revision)];
    const planned = await command([...restore, '--dry-run']);
    expect(planned.json).toMatchObject({ changes: { files: { updated: ['public/index.html'] } } });
    const unconfirmed = await command(restore);
    expect([unconfirmed.status, problemOf(unconfirmed).code]).toEqual([2, 'not_confirmed']);
    const asked = await inTerminal(restore, { cwd, input: 'n\n' });
    expect(asked.status).toBe(2);
    expect(asked.screen).toContain('files changed  public/index.html\n');
    expect(asked.screen).toContain(`like revision ${first.revision} was. Records stay as they are. Continue? [y/N]`);
    const restored = await command([...restore, '--yes']);
    expect(restored.json).toMatchObject({ revision: first.revision + 2, restored_revision: first.revision });
    const content = await command(['call', 'getAppFile', '--path', 'public/index.html', '--jq', '.content']);
    expect(content.stdout.trim()).toBe('one');
    const missing = await command(['app', 'restore', '99', '--yes']);
    expect([missing.status, problemOf(missing).code]).toEqual([1, 'revision_not_found']);
  });

  it('shows a revision as a user, by their address', async () => {
    const { app, command } = await createProject('Previewed', { 'public/index.html': 'one' });
    const { json: pushed } = await command(['app', 'push']);
    await world.call('POST', `/api/apps/${app.id}/users`, { as: token, body: { email: 'eve@shop.example' } });
    const shown = await command(['app', 'preview', String(pushed.revision), '--as', 'eve@shop.example']);
    expect(shown.json).toMatchObject({
      revision: pushed.revision,
      follows: false,
      url: expect.stringContaining('preview--'),
    });
    const following = await command(['app', 'preview']);
    expect(following.json).toMatchObject({ follows: true, signed_in_as: null });
    const unknown = await command(['app', 'preview', '--as', 'none@shop.example']);
    expect([unknown.status, problemOf(unknown).code]).toEqual([2, 'not_found']);
  });
});

describe.concurrent('secret set', () => {
  it('stores what stdin contains', async () => {
    const { command } = await createProject('Secretive', {});
    const { json, stdout } = await command(['secret', 'set', 'API_KEY'], 'sk-live-0123456789-5678\n');
    expect([json.name, json.last4]).toEqual(['API_KEY', '5678']);
    expect(stdout).not.toContain('sk-live');
    const empty = await command(['secret', 'set', 'API_KEY']);
    expect([empty.status, problemOf(empty).code]).toEqual([2, 'no_value']);
  });

  it.for([
    ['a value', ['API_KEY', 'sk_live_0123456789']],
    ['a value with a comma and two lines', ['API_KEY', 'one, sk_live_01\n(sk_live_02)']],
    ['a value after an empty name', ['', 'sk_live_0123456789']],
  ] as const)('does not repeat %s from the command line', async ([, args], { expect }) => {
    const refused = await run(['secret', 'set', ...args]);
    expect([refused.status, refused.stdout, problemOf(refused)]).toEqual([
      2,
      '',
      {
        code: 'usage',
        detail:
          "Too many arguments for 'set'. Expected 1 argument but got 2. Append --help to see how the command is used.",
      },
    ]);
  });
});
