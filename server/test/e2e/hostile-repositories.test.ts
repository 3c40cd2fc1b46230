// Tests hostile repositories that a command leaves in its clone. Our scripts prepare and read back the clone inside the
// sandbox, and our git processes the result outside it, exactly as in coding sessions. Canaries outside the sandbox
// detect an escape. Needs root, bubblewrap and control groups.
import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type CommandRun, cloneFolders, createClone } from '../../src/features/coding-sessions/work/clone.ts';
import { openCommandSandbox } from '../../src/gateways/command-sandbox/index.ts';
import type { CommandSandbox } from '../../src/gateways/command-sandbox/types.ts';
import { openBareRepository } from '../../src/kit/git/repository.ts';
import { requireGit } from '../../src/kit/git/run.ts';
import type { BareRepository } from '../../src/kit/git/types.ts';
import { type Canaries, openCanaries } from '../support/canaries.ts';
import { repositories } from '../support/escape-kit/repositories.ts';
import { serverUrl } from '../support/template.ts';

const firstUid = 60_000_000 + (process.pid % 100_000) * 256;
const emptyTree = '4b825dc642cb6eb9a060e54bf8d69288fbee4904';
const author = { name: 'test', email: 'test@example.com' };
const signal = new AbortController().signal;
let canaries: Canaries;
let sandbox: CommandSandbox;
let repository: BareRepository;
let base: string;
let baseTree: string;
/** The submodule `sub`'s commit in the base. */
let submodule: string;
let count = 0;
const commitAnything = 'git -c user.name=a -c user.email=a@example.com commit -q --allow-empty -m x';

beforeAll(async () => {
  canaries = await openCanaries(firstUid, serverUrl);
  sandbox = openCommandSandbox({
    bwrap: '/usr/bin/bwrap',
    firstUid,
    cgroup: undefined,
    memoryMb: 256,
    processors: 2,
    processes: 64,
    onProblem: (why) => expect.fail(why),
  });
  expect(await sandbox.check()).toEqual({ available: true });
  repository = await openBareRepository(join(canaries.folder, 'source.git'));
  const files = await repository.writeTree(emptyTree, [{ path: 'README', content: Buffer.from('text\n') }]);
  const empty = await repository.writeTree(files, [{ path: 'README', content: null }]);
  submodule = await repository.commit({ tree: empty, parents: [], message: 'sub', author, date: new Date(0) });
  const entries = await requireGit(repository.folder, ['ls-tree', files]);
  const made = await requireGit(repository.folder, ['mktree'], {
    input: `${entries}160000 commit ${submodule}\tsub\n`,
  });
  baseTree = made.toString('utf8').trim();
  base = await repository.commit({ tree: baseTree, parents: [], message: 'first', author, date: new Date(0) });
});

afterAll(async () => {
  await sandbox.close();
  await canaries.close();
});

function makeSession(): { folder: string; run: (tree: string, text: string) => Promise<CommandRun> } {
  count += 1;
  const folder = join(canaries.folder, `session${count}`);
  mkdirSync(folder);
  chmodSync(folder, 0o711);
  const clone = createClone({ sandbox, repository, base, folder });
  const exported = Object.entries(canaries.environment).map(([key, value]) => `export ${key}='${value}'`);
  const run = (tree: string, text: string) => clone.run(tree, `${exported.join('\n')}\n${text}`, 20_000, signal);
  return { folder, run };
}

/** Lists the canaries that were reached, and whether a program ran inside our scripts, which can write to `/state`. */
async function judge(folder: string, runs: readonly CommandRun[]): Promise<string[]> {
  const tripped = await canaries.judge(runs.map((each) => JSON.stringify(each)).join('\n'), folder);
  return existsSync(join(folder, 'snapshots/owned')) ? [...tripped, 'ran something in a script'] : tripped;
}

async function takeOver(folder: string, tree: string): Promise<void> {
  const commit = await repository.commit({ tree, parents: [base], message: 'x', author, date: new Date(0) });
  await repository.diff(base, commit);
  await repository.search(tree, 'text');
  await repository.listTree(tree);
  for (const part of cloneFolders) await sandbox.removeFolder(join(folder, part));
}

test.each(repositories)('a repository that $name makes our git run nothing', async ({ script, then = 'true' }) => {
  const { folder, run } = makeSession();
  const first = await run(baseTree, script);
  if (!('tree' in first)) throw new Error(first.reason);
  const second = await run(first.tree, then);
  expect(await judge(folder, [first, second])).toEqual([]);
  // The snapshot was taken despite the attack. It contains the program that git was configured to run.
  expect(await repository.readBlob(first.tree, 'payload.sh', 10_000)).toMatchObject({ outcome: 'found' });
  await takeOver(folder, 'tree' in second ? second.tree : first.tree);
  expect(await judge(folder, [])).toEqual([]);
});

/** Turns the submodule `sub` into a repository whose settings run the program, at the commit that the base names. */
const takeSubmodule = () => `cat >payload.sh <<'END'
#!/bin/sh
touch /state/owned
rm -f /state/out.bundle; ln -s /repo/pipe /state/out.bundle
END
chmod 755 payload.sh; mkfifo pipe; mkdir -p sub; cd sub; git init -q .
echo /source.git/objects >.git/objects/info/alternates; echo ${submodule} >.git/HEAD
git config core.fsmonitor /repo/payload.sh`;

test('a submodule that a command makes its own runs nothing, and stays as it was', async () => {
  const { folder, run } = makeSession();
  const first = await run(baseTree, takeSubmodule());
  const tree = 'tree' in first ? first.tree : baseTree;
  const second = await run(tree, `cd sub && ${commitAnything}; echo more >../more`);
  expect(await judge(folder, [first, second])).toEqual([]);
  const after = 'tree' in second ? second.tree : '';
  expect(await repository.listTree(after, 'sub')).toMatchObject([{ kind: 'submodule', blob: submodule }]);
  expect(await repository.readBlob(after, 'more', 10)).toMatchObject({ outcome: 'found' });
  await takeOver(folder, after);
});

test('a repository in the place of a file is not taken over as a submodule', async () => {
  const { folder, run } = makeSession();
  const ran = await run(baseTree, `rm README; git init -q README; cd README; ${commitAnything}`);
  expect(ran).toMatchObject({ tree: baseTree, notes: [expect.stringContaining('submodule')] });
  await takeOver(folder, baseTree);
});

// The same attacks without our protection, to show that the tests above would detect them.

const unprotected = {
  'our git in the clone, in a script': { script: 'git status', environment: {} },
  'our git with a folder of its own, but with an eye on submodules': {
    script: 'git add -A',
    environment: { GIT_DIR: '/state/git', GIT_WORK_TREE: '/repo' },
  },
};

test.each(Object.entries(unprotected))('%s would be noticed', async (_, { script, environment }) => {
  const { folder, run } = makeSession();
  await run(baseTree, `${takeSubmodule()}; cd ..; git config core.fsmonitor /repo/payload.sh`);
  const [clone, state] = cloneFolders.map((part) => join(folder, part)) as [string, string];
  await sandbox.run({
    folder: clone,
    command: ['/bin/sh', '-c', `git update-index --no-skip-worktree sub; ${script}`],
    readOnly: [{ path: repository.folder, at: '/source.git' }],
    writable: [{ path: state, at: '/state' }],
    environment,
    timeoutMs: 20_000,
    maxOutputBytes: 1_000,
    signal,
  });
  expect(await judge(folder, [])).toContain('ran something in a script');
});

test('our git in the clone, outside the sandbox, would be noticed', async () => {
  const { folder, run } = makeSession();
  const monitor = repositories.find(({ name }) => name.includes('monitor'));
  await run(baseTree, monitor?.script ?? '');
  const cwd = join(folder, 'clone');
  spawnSync('git', ['-c', 'safe.directory=*', 'status'], { cwd, env: { PATH: '/usr/bin:/bin', HOME: '/nonexistent' } });
  expect(await judge(folder, [])).toContain('changed files outside');
  await canaries.restore();
});
