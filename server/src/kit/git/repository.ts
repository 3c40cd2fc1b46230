// A bare repository on the local disk. It has no work tree, no hooks, and only our settings, so none of its
// contents are ever run.
import { existsSync } from 'node:fs';
import { chown, mkdir, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { chooseRepositoryId, mayEnter, wrapAsUser } from '../unprivileged.ts';
import { readBundle, writeBundle } from './bundle.ts';
import { changesSubmodules, diff, listChangedPaths } from './diff.ts';
import { GitError, requireGit, runGit } from './run.ts';
import { search } from './search.ts';
import { checkId, listTree, readBlob, writeTree } from './trees.ts';
import { type BareRepository, BundleRefused, type MergeResult, type NewCommit } from './types.ts';

/**
 * Creates the repository if it does not exist, with an owner that none of the other repositories has. Object ids are
 * SHA-1.
 */
export async function openBareRepository(
  folder: string,
  listOthers: () => Promise<readonly string[]> = async () => [],
): Promise<BareRepository> {
  if (!existsSync(join(folder, 'HEAD'))) {
    await mkdir(folder, { recursive: true });
    await requireGit(folder, ['init', '--quiet', '--bare', '--template=', '--object-format=sha1', '.']);
    await giveAway(folder, await listOthers());
  }

  const resolve = async (ref: string): Promise<string | undefined> => {
    const result = await runGit(folder, ['rev-parse', '--verify', '--quiet', '--end-of-options', `${ref}^{commit}`]);
    const id = result.stdout.toString('utf8').trim();
    return result.status === 0 && /^[0-9a-f]{40}$/.test(id) ? id : undefined;
  };
  const treeOf = async (commit: string): Promise<string> =>
    (await requireGit(folder, ['rev-parse', '--verify', `${checkId(commit)}^{tree}`])).toString('utf8').trim();

  return {
    folder,
    resolve,
    treeOf,
    listTree: (tree, path, limit) => listTree(folder, tree, path, limit),
    readBlob: (tree, path, maxBytes) => readBlob(folder, tree, path, maxBytes),
    search: (tree, pattern, options) => search(folder, tree, pattern, options),
    writeTree: (tree, changes) => writeTree(folder, tree, changes),
    diff: (from, to, options) => diff(folder, from, to, options),
    listChangedPaths: (from, to, isWanted) => listChangedPaths(folder, from, to, isWanted),
    changesSubmodules: (from, to) => changesSubmodules(folder, from, to),
    commit: (commit) => writeCommit(folder, commit),
    async isAncestor(ancestor, descendant) {
      const args = ['merge-base', '--is-ancestor', checkId(ancestor), checkId(descendant)];
      const result = await runGit(folder, args);
      if (result.status === 0 || result.status === 1) return result.status === 0;
      // A commit that this repository lacks is not an ancestor of one that it has.
      if ((await resolve(ancestor)) === undefined) return false;
      throw new GitError('merge-base', result);
    },
    merge: (ours, theirs) => merge(folder, checkId(ours), checkId(theirs)),
    async createBundle(file, tree, base) {
      const commit = await writeCommit(folder, { tree, parents: [base], message: 'checkpoint', ...checkpointAuthor });
      await writeBundle(folder, file, commit, base);
    },
    async readBundle(file, maxBytes) {
      const commit = await readBundle(folder, file, maxBytes);
      if ((await resolve(commit)) === undefined)
        throw new BundleRefused('The bundle does not contain the commit that it names.');
      return treeOf(commit);
    },
    measurePacks: () => measurePacks(join(folder, 'objects/pack')),
    remove: () => rm(folder, { recursive: true, force: true }),
  };
}

/**
 * Nothing of a stranger is in the repository yet. Later commands run as its owner, never as root. Throws if the owner
 * can't enter it.
 */
async function giveAway(folder: string, others: readonly string[]): Promise<void> {
  const userId = chooseRepositoryId(new Set(await Promise.all(others.map(readOwner))));
  if (wrapAsUser(userId, { hasNetwork: false }).length === 0) return;
  const names = await readdir(folder, { recursive: true });
  for (const path of ['', ...names]) await chown(join(folder, path), userId, userId);
  if (!mayEnter(userId, folder)) throw new Error(`git can't enter ${folder}; allow all users to do so (chmod o+x)`);
}

/** 0 if it has been removed. */
const readOwner = (folder: string): Promise<number> =>
  stat(folder).then(
    ({ uid }) => uid,
    () => 0,
  );

async function measurePacks(folder: string): Promise<number> {
  let bytes = 0;
  for (const name of await readdir(folder)) bytes += (await stat(join(folder, name))).size;
  return bytes;
}

const checkpointAuthor = { author: { name: 'plinth', email: 'plinth@localhost' }, date: new Date(0) };

async function writeCommit(folder: string, { tree, parents, message, author, date }: NewCommit): Promise<string> {
  const when = `@${Math.floor(date.getTime() / 1000)} +0000`;
  const args = ['commit-tree', checkId(tree), ...parents.flatMap((parent) => ['-p', checkId(parent)]), '-F', '-'];
  const output = await requireGit(folder, args, {
    input: message.replaceAll('\0', ''),
    environment: {
      GIT_AUTHOR_NAME: author.name,
      GIT_AUTHOR_EMAIL: author.email,
      GIT_AUTHOR_DATE: when,
      GIT_COMMITTER_NAME: author.name,
      GIT_COMMITTER_EMAIL: author.email,
      GIT_COMMITTER_DATE: when,
    },
  });
  return output.toString('utf8').trim();
}

async function merge(folder: string, ours: string, theirs: string): Promise<MergeResult> {
  const based = await runGit(folder, ['merge-base', ours, theirs]);
  if (based.status === 1) return { outcome: 'unrelated' };
  if (based.status !== 0) throw new GitError('merge-base', based);
  const base = based.stdout.toString('utf8').trim();
  const merged = await runGit(folder, [
    'merge-tree',
    '--write-tree',
    '-z',
    '--name-only',
    '--no-messages',
    ours,
    theirs,
  ]);
  if (merged.status !== 0 && merged.status !== 1) throw new GitError('merge-tree', merged);
  const [tree = '', ...paths] = merged.stdout
    .toString('utf8')
    .split('\0')
    .filter((part) => part !== '');
  return merged.status === 0 ? { outcome: 'merged', tree, base } : { outcome: 'conflicts', paths, base };
}
