// Tests a bare repository with real git: trees built from random changes, hostile paths and bundles, and search limits.
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { chmod, link, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { firstRepositoryId } from '../unprivileged.ts';
import { openBareRepository } from './repository.ts';
import { requireGit, runGit } from './run.ts';
import { writeEmptyTree } from './trees.ts';
import { type BareRepository, BundleRefused, PathRefused, type TreeChange } from './types.ts';

let folder: string;
let repository: BareRepository;
let empty: string;
const author = { name: 'Ada', email: 'ada@example.com' };
const date = new Date('2026-03-01T10:00:00.900Z');

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'plinth-git-'));
  await chmod(folder, 0o777); // git runs as another user if this is root
  repository = await openBareRepository(join(folder, 'repository.git'));
  empty = await writeEmptyTree(repository.folder);
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const write = (files: Record<string, string | null>, tree = empty) =>
  repository.writeTree(
    tree,
    Object.entries(files).map(([path, content]) => ({ path, content: content === null ? null : Buffer.from(content) })),
  );
const commitOf = (tree: string, parents: string[] = [], message = 'work') =>
  repository.commit({ tree, parents, message, author, date });
/** Creates a tree with entries that writeTree can't create. */
const mktree = async (lines: string) =>
  (await requireGit(repository.folder, ['mktree'], { input: lines })).toString('utf8').trim();
const blobOf = async (content: string) =>
  (await requireGit(repository.folder, ['hash-object', '-w', '--stdin'], { input: content })).toString('utf8').trim();

describe('writeTree', () => {
  it('makes the tree that a reference model has after any changes, and the same id whatever the order', async () => {
    const names = ['a', 'b', 'src/a', 'src/b', 'src/deep/c d', 'src/deep/é"q', '.gitignore', 'x.git/y'];
    const change = fc.record({
      path: fc.constantFrom(...names),
      content: fc.option(fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes))),
      mode: fc.constantFrom<TreeChange['mode'][]>(undefined, '100644', '100755'),
    });
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.uniqueArray(change, { selector: ({ path }) => path }), { maxLength: 3 }),
        async (rounds) => {
          let tree = empty;
          const model = new Map<string, { content: Buffer; mode: string }>();
          for (const changes of rounds) {
            const forward = await repository.writeTree(tree, changes);
            expect(await repository.writeTree(tree, changes.toReversed())).toBe(forward);
            tree = forward;
            for (const { path, content, mode } of changes) {
              if (content === null) model.delete(path);
              else model.set(path, { content, mode: mode ?? model.get(path)?.mode ?? '100644' });
            }
          }
          const listed = await repository.listTree(tree);
          expect(new Map(listed.map(({ path, mode, size_bytes }) => [path, `${mode} ${size_bytes}`]))).toEqual(
            new Map([...model].map(([path, { mode, content }]) => [path, `${mode} ${content.length}`])),
          );
          for (const [path, expected] of model)
            expect(await repository.readBlob(tree, path, 100)).toEqual({ outcome: 'found', ...expected });
        },
      ),
      { numRuns: 8 },
    );
  });

  it('leaves no ref, and no folder that has become empty', async () => {
    const tree = await write({ 'a/b/c': '1', d: '2' });
    const rest = await write({ 'a/b/c': null }, tree);
    expect((await repository.listTree(rest)).map(({ path }) => path)).toEqual(['d']);
    expect(await write({ d: null }, rest)).toBe(empty);
    expect((await requireGit(repository.folder, ['for-each-ref'])).toString()).toBe('');
  });

  it.each([
    '',
    '/etc/passwd',
    '..',
    '../x',
    'a/../b',
    './a',
    'a//b',
    'a/',
    'a\\b',
    'a\0b',
    'a\nb',
    '.git',
    '.git/config',
    'sub/.GIT/hooks/pre-commit',
    '.Git/x',
    '.git /x',
    '.git./x',
    '.git . /x',
    '.git::$INDEX_ALLOCATION/x',
    '.git:x',
    'git~1/config',
    'GIT~1',
    '.g\u200cit/config',
    '.\ufeffgit',
    '\u200e.GI\u202aT',
    'x'.repeat(256),
    `${'a/'.repeat(2048)}b`,
    '\ud800',
  ])('refuses the path %j', async (path) => {
    await expect(write({ [path]: 'x' })).rejects.toThrow(PathRefused);
  });

  it('refuses every path that git refuses in an index with the protections for all file systems', async () => {
    const part = fc.oneof(
      fc.constantFrom('.git', '.GIT', 'git~1', '.', '..', '', 'a', '.gitx', '.git.', '.git ', '.g\u200cit', '.git:a'),
      fc.string({ maxLength: 4 }),
    );
    const blob = await blobOf('x');
    await fc.assert(
      fc.asyncProperty(fc.array(part, { minLength: 1, maxLength: 3 }), async (parts) => {
        const path = parts.join('/');
        const accepted = await write({ [path]: 'x' }).then(
          () => true,
          () => false,
        );
        if (!accepted) return;
        const args = ['update-index', '-z', '--add', '--index-info'];
        const environment = { GIT_INDEX_FILE: join(folder, 'index') };
        const git = await runGit(repository.folder, args, { input: `100644 ${blob}\t${path}\0`, environment });
        expect(git).toMatchObject({ status: 0, stderr: '' });
        await rm(join(folder, 'index'), { force: true });
      }),
      { numRuns: 25 },
    );
  });

  it('writes nothing below a file, a symbolic link or a submodule, but replaces a link', async () => {
    const blob = await blobOf('/etc');
    const sub = await commitOf(empty);
    const tree = await mktree(`120000 blob ${blob}\tlink\n160000 commit ${sub}\tsub\n100644 blob ${blob}\tfile\n`);
    for (const path of ['link/passwd', 'file/x', 'sub/x', 'sub'])
      await expect(write({ [path]: 'x' }, tree)).rejects.toThrow(PathRefused);
    await expect(write({ a: '1', 'a/b': '2' })).rejects.toThrow(PathRefused);
    await expect(write({ 'd/e': '1' }).then((below) => write({ d: 'x' }, below))).rejects.toThrow(PathRefused);
    const replaced = await write({ link: 'text' }, tree);
    expect(await repository.readBlob(replaced, 'link', 10)).toMatchObject({ outcome: 'found', mode: '100644' });
    const turned = await write({ file: null, 'file/x': 'y' }, tree);
    expect(await repository.readBlob(turned, 'file/x', 10)).toMatchObject({ outcome: 'found' });
  });

  it('takes no longer in a tree of 20,000 files', async () => {
    const changes = Array.from({ length: 20_000 }, (_, index) => ({
      path: `d${index % 200}/s${index % 7}/f${index}`,
      content: Buffer.from(''),
    }));
    const large = await repository.writeTree(empty, changes);
    const small = await write({ 'd1/s1/a': '1' });
    const timeOf = async (tree: string) => {
      const started = performance.now();
      for (let round = 0; round < 3; round += 1) await write({ 'd1/s1/new': String(round) }, tree);
      return performance.now() - started;
    };
    await timeOf(small);
    expect(await timeOf(large)).toBeLessThan(3 * (await timeOf(small)) + 200);
  });
});

describe('reading', () => {
  it('tells what a path is when it is not a file of the wanted size', async () => {
    const blob = await blobOf('0123456789');
    const tree = await mktree(`120000 blob ${blob}\tlink\n100755 blob ${blob}\trun.sh\n`);
    const at = (path: string, maxBytes = 10) => repository.readBlob(tree, path, maxBytes);
    expect(await at('run.sh')).toMatchObject({ outcome: 'found', mode: '100755' });
    expect(await at('run.sh', 9)).toEqual({ outcome: 'too_large', size_bytes: 10 });
    expect(await at('link')).toEqual({ outcome: 'not_a_file', kind: 'symlink' });
    expect(await at('link/x')).toEqual({ outcome: 'missing' });
    for (const path of ['nothing', '../x', '/run.sh', 'run.sh/', '*', ':(top)run.sh', '-r'])
      expect(await at(path)).toEqual({ outcome: 'missing' });
    expect(await repository.readBlob(await write({ 'a/b': '' }), 'a', 10)).toEqual({
      outcome: 'not_a_file',
      kind: 'folder',
    });
  });

  it('lists a folder, and at most as many entries as wanted', async () => {
    const tree = await write({ 'src/a': '1', 'src/b/c': '22', srcx: '3' });
    expect((await repository.listTree(tree, 'src')).map(({ path }) => path)).toEqual(['src/a', 'src/b/c']);
    expect(await repository.listTree(tree, undefined, 1)).toHaveLength(1);
    expect(await repository.listTree(tree, 'none')).toEqual([]);
  });
});

describe('search', () => {
  it('finds lines by text and by expression, below a folder, and says when there are more', async () => {
    const tree = await write({ 'a.ts': 'one\nTwo: x=1\n', 'src/b.ts': 'two\ntwo\n', bin: 'two\0' });
    const two = { path: 'src/b.ts', text: 'two' };
    expect(await repository.search(tree, 'two')).toEqual({
      outcome: 'searched',
      hits: [
        { ...two, line: 1 },
        { ...two, line: 2 },
      ],
      isComplete: true,
    });
    expect(
      await repository.search(tree, '^t.o(:|$)', { syntax: 'extended', ignoreCase: true, maxHits: 2 }),
    ).toMatchObject({
      hits: [{ path: 'a.ts', line: 2, text: 'Two: x=1' }, two],
      isComplete: false,
    });
    expect(await repository.search(tree, 'two', { path: 'a.ts' })).toMatchObject({ hits: [], isComplete: true });
    expect(await repository.search(tree, '-e')).toMatchObject({ hits: [] });
    for (const path of ['..', '../src', 'a/../../x', '.', '/etc', 'a\0b'])
      expect(await repository.search(tree, 'two', { path })).toEqual({
        outcome: 'searched',
        hits: [],
        isComplete: true,
      });
  });

  it('says that it cannot read a pattern', async () => {
    const tree = await write({ a: 'x' });
    for (const pattern of ['(a', '[a', 'a\\'])
      expect(await repository.search(tree, pattern, { syntax: 'extended' })).toMatchObject({
        outcome: 'invalid_pattern',
      });
    expect(await repository.search(tree, 'x'.repeat(1_001))).toMatchObject({ outcome: 'invalid_pattern' });
  });

  it('ends in time on a pattern that takes forever', async () => {
    const tree = await write({ a: `${'a'.repeat(40_000)}\n`.repeat(20) });
    const pattern = '(a*)*(a*)*(a*)*\\1\\2\\3b';
    const found = await repository.search(tree, pattern, { syntax: 'extended', timeoutMs: 300 });
    expect(found).toMatchObject({ outcome: 'searched', isComplete: false });
  });
});

describe('diff, commit and merge', () => {
  it('counts lines and cuts the patch at the end of a line', async () => {
    const from = await write({ a: '1\n2\n', b: 'x\n', bin: '\0' });
    const to = await write({ a: '1\n3\n4\n', b: null, 'new "file"': 'n\n', bin: '\0\0' }, from);
    const whole = await repository.diff(from, to, { maxPatchBytes: 10_000 });
    expect(whole).toMatchObject({
      files: [
        { path: 'a', status: 'modified', added: 2, removed: 1 },
        { path: 'b', status: 'deleted', added: 0, removed: 1 },
        { path: 'bin', status: 'modified', added: null, removed: null },
        { path: 'new "file"', status: 'added', added: 1, removed: 0 },
      ],
      file_count: 4,
      added: 3,
      removed: 2,
      is_patch_cut: false,
    });
    expect(whole.patch).toContain('\n+3\n+4\n');
    const cut = await repository.diff(from, to, { maxPatchBytes: 60, maxFiles: 1 });
    expect(cut).toMatchObject({ file_count: 4, is_patch_cut: true, patch: whole.patch.slice(0, cut.patch.length) });
    expect(cut.files).toHaveLength(1);
    expect(cut.patch).toMatch(/\n$/);
  });

  it('gives the same commit the same id in another repository', async () => {
    const tree = await write({ a: '1' });
    const message = 'Subject\n\nBody: "$(id)" -m\n';
    const first = await commitOf(tree, [], message);
    const other = await openBareRepository(join(folder, 'other.git'));
    const same = await other.writeTree(await writeEmptyTree(other.folder), [{ path: 'a', content: Buffer.from('1') }]);
    expect(await other.commit({ tree: same, parents: [], message, author, date })).toBe(first);
    expect(await repository.resolve(first)).toBe(first);
    expect(await repository.treeOf(first)).toBe(tree);
    expect(await repository.resolve('--all')).toBeUndefined();
    expect(await repository.resolve('nothing')).toBeUndefined();
    expect((await requireGit(other.folder, ['cat-file', 'commit', first])).toString()).toContain(message);
    await other.remove();
    await expect(readdir(other.folder)).rejects.toThrow('ENOENT');
  });

  it('joins what two commits changed, and names what both changed', async () => {
    const base = await commitOf(await write({ a: '1\n', b: '1\n' }));
    const baseTree = await repository.treeOf(base);
    const ours = await commitOf(await write({ a: '2\n' }, baseTree), [base]);
    const theirs = await commitOf(await write({ b: '2\n' }, baseTree), [base]);
    expect(await repository.merge(ours, theirs)).toEqual({
      outcome: 'merged',
      base,
      tree: await write({ a: '2\n', b: '2\n' }),
    });
    const clash = await commitOf(await write({ a: '3\n' }, baseTree), [base]);
    expect(await repository.merge(ours, clash)).toEqual({ outcome: 'conflicts', base, paths: ['a'] });
    expect(await repository.merge(ours, await commitOf(baseTree, [], 'apart'))).toEqual({ outcome: 'unrelated' });
    expect(await repository.isAncestor(base, ours)).toBe(true);
    expect(await repository.isAncestor(ours, base)).toBe(false);
    expect(await repository.isAncestor('1'.repeat(40), ours)).toBe(false);
  });
});

it('tells whether a submodule is added, moved or removed', async () => {
  const file = `100644 blob ${await blobOf('x')}\t`;
  const none = await mktree(`${file}a\n`);
  const withSubmodule = (id: string, more = '') => mktree(`${file}a\n${more}160000 commit ${id.repeat(40)}\tsub\n`);
  const [one, two] = [await withSubmodule('1'), await withSubmodule('2')];
  expect(await repository.changesSubmodules(none, one)).toBe(true);
  expect(await repository.changesSubmodules(one, two)).toBe(true);
  expect(await repository.changesSubmodules(two, none)).toBe(true);
  const other = await withSubmodule('1', `${file}":160000 160000 "\n`);
  expect(await repository.changesSubmodules(one, other)).toBe(false);
});

/** Git reads another repository only if both have the same owner. */
async function openBeside(name: string): Promise<BareRepository> {
  const other = await openBareRepository(join(folder, name));
  const { uid } = await stat(repository.folder);
  spawnSync('chown', ['-R', `${uid}:${uid}`, other.folder]);
  return other;
}

describe('bundles', () => {
  const file = () => join(folder, 'checkpoint.bundle');

  it('carry a tree to a repository that has the base, and are bundles to git', async () => {
    const base = await commitOf(await write({ a: 'x'.repeat(5_000) }));
    const tree = await write({ a: `${'x'.repeat(5_000)}y`, b: 'new' }, await repository.treeOf(base));
    await repository.createBundle(file(), tree, base);
    const other = await openBeside('reader.git');
    await expect(other.readBundle(file(), 1_000_000)).rejects.toThrow(BundleRefused);
    await requireGit(other.folder, ['fetch', '--quiet', repository.folder, `${base}:refs/heads/main`], {
      config: { 'protocol.file.allow': 'always' },
    });
    await requireGit(other.folder, ['bundle', 'verify', '--quiet', file()]);
    expect(await other.readBundle(file(), 1_000_000)).toBe(tree);
    expect(await other.readBlob(tree, 'b', 10)).toMatchObject({ outcome: 'found' });
    await expect(other.readBundle(file(), 100)).rejects.toThrow(BundleRefused);
  });

  it('are refused when they are cut, changed, or contain what a repository must not', async () => {
    const base = await commitOf(await write({ a: '1' }));
    await repository.createBundle(file(), await write({ a: '2', c: 'other' }), base);
    const bytes = await readFile(file());
    const broken = [
      bytes.subarray(0, bytes.length - 30),
      Buffer.concat([bytes.subarray(0, -25), Buffer.from('?'), bytes.subarray(-24)]),
      Buffer.from('# v2 git bundle\n\n'),
      Buffer.from('no bundle'),
      Buffer.alloc(0),
    ];
    for (const each of broken) {
      await writeFile(file(), each);
      await expect(repository.readBundle(file(), 1_000_000)).rejects.toThrow(BundleRefused);
    }
    const reader = await openBeside('strict.git');
    await requireGit(reader.folder, ['fetch', '--quiet', repository.folder, `${base}:refs/heads/main`], {
      config: { 'protocol.file.allow': 'always' },
    });
    const hostile = await mktree(`040000 tree ${await mktree(`100644 blob ${await blobOf('x')}\tconfig\n`)}\t.GIT\n`);
    await repository.createBundle(file(), hostile, base);
    await expect(reader.readBundle(file(), 1_000_000)).rejects.toThrow(BundleRefused);
  });

  it('are refused without waiting if something else stands in their place', async () => {
    const base = await commitOf(await write({ a: '1' }));
    const real = join(folder, 'real.bundle');
    await repository.createBundle(real, await write({ a: '2' }), base);
    const place = (name: string) => join(folder, name);
    await symlink(real, place('link'));
    await link(real, place('second-name'));
    await mkdir(place('folder'));
    spawnSync('mkfifo', [place('pipe')]);
    for (const name of ['link', 'second-name', 'folder', 'pipe', 'missing'])
      await expect(repository.readBundle(place(name), 1_000_000), name).rejects.toThrow(BundleRefused);
  });
});

it('runs nothing that a repository is set up to run, and contacts nothing', async () => {
  const marker = join(folder, 'ran');
  const trap = await openBareRepository(join(folder, 'trap.git'));
  const evil = `sh -c 'touch ${marker}'`;
  await writeFile(
    join(trap.folder, 'config'),
    `${await readFile(join(trap.folder, 'config'), 'utf8')}
[core]\n\tfsmonitor = ${evil}\n\thooksPath = ${folder}\n\tsshCommand = ${evil}
[diff "x"]\n\ttextconv = ${evil}\n\tcommand = ${evil}
[remote "origin"]\n\turl = ext::${evil}\n[credential]\n\thelper = !${evil}\n`,
  );
  const tree = await trap.writeTree(await writeEmptyTree(trap.folder), [
    { path: '.gitattributes', content: Buffer.from('* diff=x filter=x\n') },
    { path: 'a', content: Buffer.from('text\n') },
  ]);
  const next = await trap.writeTree(tree, [{ path: 'a', content: Buffer.from('other\n') }]);
  await trap.diff(tree, next, { maxPatchBytes: 1_000 });
  await trap.search(next, 'other');
  for (const url of ['origin', `ext::${evil}`, `file://${repository.folder}`, 'http://127.0.0.1:9/x.git'])
    expect(await runGit(trap.folder, ['ls-remote', url])).toMatchObject({
      status: 128,
      stderr: expect.stringContaining('not allowed'),
    });
  await expect(readFile(marker)).rejects.toThrow('ENOENT');
});

it('is stopped with everything that it started', async () => {
  const stop = new AbortController();
  setTimeout(() => stop.abort(), 100);
  const result = await runGit(repository.folder, ['cat-file', '--batch'], {
    signal: stop.signal,
    input: Readable.from(neverEnding()),
  });
  expect(result).toMatchObject({ end: 'stopped', status: null });
});

async function* neverEnding() {
  for (;;) {
    yield 'HEAD\n';
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

describe.runIf(process.getuid?.() === 0)('git of a worker that is root', () => {
  /** Runs a shell as git would run its own programs. */
  const runShell = async (script: string, network: boolean) =>
    (await requireGit(repository.folder, ['-c', `alias.x=!${script}`, 'x'], { network })).toString('utf8').trim();
  const readEnvironment = `cat /proc/${process.pid}/environ >/dev/null 2>&1 && echo read || echo refused`;

  it('runs as a user of the repository, without privileges, and reads nothing of the worker', async () => {
    const script = `id -u; id -G; grep -E "^(NoNewPrivs|CapEff)" /proc/self/status; ${readEnvironment}`;
    const { uid } = await stat(repository.folder);
    expect(uid).toBeGreaterThanOrEqual(firstRepositoryId);
    for (const network of [false, true])
      expect((await runShell(script, network)).split('\n')).toEqual([
        String(uid),
        String(uid),
        'CapEff:\t0000000000000000',
        'NoNewPrivs:\t1',
        'refused',
      ]);
    const owners = await Promise.all(
      (await readdir(repository.folder)).map(async (name) => (await stat(join(repository.folder, name))).uid),
    );
    expect(new Set(owners)).toEqual(new Set([uid]));
  });

  it('belongs to a user that no other repository has', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'plinth-owners-'));
    await chmod(folder, 0o711);
    const owners: number[] = [];
    const names = () => Promise.resolve(owners.map((_, index) => join(folder, String(index))));
    for (let index = 0; index < 40; index += 1) {
      const { folder: opened } = await openBareRepository(join(folder, String(index)), names);
      owners.push((await stat(opened)).uid);
    }
    expect(new Set(owners).size).toBe(40);
    await rm(folder, { recursive: true });
  });

  it('has network only if it needs it', async () => {
    const list =
      'tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d " "; cat /proc/net/fib_trie | grep -c 127.0.0.1 || true';
    expect((await runShell(list, false)).split('\n')).toEqual(['lo', '0']);
    const [, ...rest] = (await runShell(list, true)).split('\n');
    expect(Number(rest.at(-1))).toBeGreaterThan(0);
  });

  it('leaves no process behind', async () => {
    const before = Date.now();
    await runShell('setsid sleep 300 >/dev/null 2>&1 & true', false);
    const { uid } = await stat(repository.folder);
    await expect.poll(() => listSleeping(uid)).toEqual([]);
    expect(Date.now() - before).toBeLessThan(60_000);
  });

  it.each(['timed_out', 'stopped'] as const)(
    'leaves no process behind that has left the group and is %s',
    async (end) => {
      const stop = new AbortController();
      const running = runGit(repository.folder, ['-c', 'alias.x=!setsid sleep 300', 'x'], {
        timeoutMs: end === 'timed_out' ? 1_500 : 60_000,
        signal: stop.signal,
      });
      const { uid } = await stat(repository.folder);
      await expect.poll(() => listSleeping(uid), { interval: 20 }).not.toEqual([]);
      if (end === 'stopped') stop.abort();
      expect((await running).end).toBe(end);
      await expect.poll(() => listSleeping(uid)).toEqual([]);
    },
  );
});

/** The ids of a user's processes that run `sleep`. A killed process can be listed until the kernel has ended it. */
const listSleeping = (uid: number): readonly string[] =>
  readdirSync('/proc').filter((id) => {
    try {
      return statSync(`/proc/${id}`).uid === uid && readFileSync(`/proc/${id}/comm`, 'utf8') === 'sleep\n';
    } catch {
      return false; // it has ended
    }
  });
