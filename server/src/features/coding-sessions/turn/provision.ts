// A session's workplace on a worker: a folder with a bare repository, the turn's base commit, and the current
// tree. Also finds the base commit, and checks whether the branch can be used.
import { lstat, mkdir, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { CommandSandbox } from '../../../gateways/command-sandbox/types.ts';
import type { FetchResult, GitCredential, GitHost } from '../../../gateways/git-host/types.ts';
import { openBareRepository } from '../../../kit/git/repository.ts';
import type { BareRepository } from '../../../kit/git/types.ts';
import { isUuid } from '../../../kit/ids.ts';
import type { Db } from '../../../tables.ts';
import type { CredentialDeps } from '../repository/repository.ts';
import { asWorker } from '../session/session.ts';
import { findCheckpoint, findNewestCheckpoint, removeCheckpoints } from '../store/checkpoints.ts';
import type { SessionRow } from '../store/sessions.ts';
import { cloneFolders } from '../work/clone.ts';
import { type CheckpointDeps, restoreCheckpoint, saveCheckpoint } from './checkpoint.ts';
import { readCredential } from './credential.ts';
import { SessionFault } from './fault.ts';
import { repeatWhileUnavailable } from './host-calls.ts';

export interface ProvisionDeps extends CheckpointDeps, CredentialDeps {
  readonly gitHost: GitHost;
  readonly commandSandbox: CommandSandbox;
  /** The directory in which workers on this machine create session folders. */
  readonly sessionFolder: string;
}

export interface Workplace {
  readonly folder: string;
  readonly repository: BareRepository;
  readonly credential: GitCredential;
  close(): Promise<void>;
}

/** Opens a folder that only this claim uses. */
export async function openWorkplace(db: Db, deps: ProvisionDeps, session: SessionRow): Promise<Workplace> {
  const credential = await readCredential(db, deps, session);
  if (credential === undefined)
    throw new SessionFault(
      'repository_unavailable',
      "This session's repository is no longer connected to the app. Connect it again, then send a message.",
    );
  const folder = join(deps.sessionFolder, nameFolder(session));
  try {
    await mkdir(folder, { recursive: true, mode: folderMode });
    await checkOwner(deps.sessionFolder);
    const repository = await openBareRepository(join(folder, repositoryName), () =>
      listRepositories(deps.sessionFolder),
    );
    return { folder, repository, credential, close: () => removeWorkplace(folder, deps.commandSandbox) };
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    throw new SessionFault(
      'provisioning_failed',
      'The working folder for this session could not be created. Launch it again with a new Idempotency-Key. If it happens again, contact the operator.',
    );
  }
}

const repositoryName = 'repository.git';

const listRepositories = async (sessionFolder: string): Promise<string[]> =>
  (await readdir(sessionFolder)).map((name) => join(sessionFolder, name, repositoryName));

// If the worker runs as root, commands run as other users. They must be able to enter the folder, but not list it.
const folderMode = process.getuid?.() === 0 ? 0o711 : 0o700;

/** Anyone else with write access could put repositories and links there. */
async function checkOwner(folder: string): Promise<void> {
  const found = await lstat(folder);
  if (!found.isDirectory() || found.uid !== process.getuid?.() || (found.mode & 0o022) !== 0)
    throw new Error('SESSION_FOLDER must be a folder that is owned by the worker and not writable by anyone else');
}

async function removeWorkplace(folder: string, sandbox: CommandSandbox): Promise<void> {
  for (const part of cloneFolders) {
    const path = join(folder, part);
    if ((await lstat(path).catch(() => undefined)) !== undefined) await sandbox.removeFolder(path);
  }
  await rm(folder, { recursive: true, force: true });
}

const nameFolder = ({ id, claims }: Pick<SessionRow, 'id' | 'claims'>): string => `${id}-${claims}`;

const leftoverAgeMs = 60_000;
const maxRemovedAtOnce = 50;

/**
 * Removes the sandbox processes and claim folders left behind by killed workers. Returns the number of folders removed.
 */
export async function removeLeftovers(
  { sessionFolder, commandSandbox }: Pick<ProvisionDeps, 'sessionFolder' | 'commandSandbox'>,
  isRunning: (session: { id: string; claims: number }) => Promise<boolean>,
): Promise<number> {
  await commandSandbox.removeLeftovers();
  const names = await readdir(sessionFolder).catch((): string[] => []);
  let removed = 0;
  for (const name of names.toSorted(() => Math.random() - 0.5).slice(0, 1_000)) {
    const [, id = '', claims = ''] = /^([0-9a-f-]{36})-(\d+)$/.exec(name) ?? [];
    if (!isUuid(id) || removed === maxRemovedAtOnce) continue;
    const path = join(sessionFolder, name);
    const found = await stat(path).catch(() => undefined);
    if (found === undefined || Date.now() - found.mtimeMs < leftoverAgeMs) continue;
    if (await isRunning({ id, claims: Number(claims) })) continue;
    // If one folder can't be removed, the others are still removed. The next run tries it again.
    const isRemoved = await removeWorkplace(path, commandSandbox).then(
      () => true,
      () => false,
    );
    if (isRemoved) removed += 1;
  }
  return removed;
}

/** Finds and fetches a new turn's base commit. */
async function findStart(
  session: SessionRow,
  place: Workplace,
  deps: ProvisionDeps,
  signal: AbortSignal,
): Promise<{ base: string; head_commit: string | null; note?: string }> {
  const { existing_branch, work_branch, head_commit, base_commit, turn } = session;
  if (existing_branch !== null && turn === 1)
    return { base: await fetchOne(session, place, work_branch, deps, signal, branchGone), head_commit: null };
  const branch = await repeatWhileUnavailable(signal, () =>
    deps.gitHost.readBranch(session.repository_full_name, work_branch, place.credential, signal),
  );
  if (branch.outcome === 'refused') throw refused();
  if (branch.outcome === 'unavailable') throw unavailable();
  if (branch.outcome === 'found') {
    if (existing_branch === null && base_commit === null) throw branchTaken(); // none of its turns has started yet
    if (existing_branch !== null && branch.is_protected) throw branchProtected();
    const base = await fetchOne(session, place, work_branch, deps, signal, branchGone);
    const own = head_commit ?? base_commit;
    if (own !== null && !(await contains(session, place, own, base, deps, signal))) throw branchRewritten();
    return { base, head_commit: (await hasOwn(session, place, base)) ? base : null };
  }
  if (existing_branch !== null) throw branchGone();
  if (head_commit !== null) {
    const note = `The branch ${work_branch} no longer exists. This turn starts from ${session.base_branch} again.`;
    const base = await fetchOne(session, place, session.base_branch, deps, signal, baseGone);
    return { base, head_commit: null, note };
  }
  // Nothing has been pushed yet, so an unfinished turn continues from its original commit.
  if (base_commit !== null) return { base: await fetchBase(session, base_commit, place, deps, signal), head_commit };
  return { base: await fetchSource(session, place, deps, signal), head_commit };
}

/** Whether the branch contains any of the session's work. Only the session pushes to a branch that it created. */
async function hasOwn(
  { existing_branch, head_commit, tried_commits }: SessionRow,
  { repository }: Workplace,
  head: string,
): Promise<boolean> {
  if (existing_branch === null || head_commit !== null) return true;
  for (const commit of tried_commits) if (await repository.isAncestor(commit, head)) return true;
  return false;
}

/** Whether the base branch contains the commit. If so, no pull request can be opened for it. */
export async function isOnBaseBranch(
  session: SessionRow,
  place: Workplace,
  commit: string,
  deps: ProvisionDeps,
  signal: AbortSignal,
): Promise<boolean> {
  const fetched = await fetchRef(session, place, session.base_branch, deps, signal);
  const head = fetched.outcome === 'fetched' ? fetched.commits.get(session.base_branch) : undefined;
  return head !== undefined && (head === commit || (await place.repository.isAncestor(commit, head)));
}

/** Fetches an existing turn's base commit. */
async function fetchBase(
  session: SessionRow,
  base: string,
  place: Workplace,
  deps: ProvisionDeps,
  signal: AbortSignal,
): Promise<string> {
  const { base_branch, source_ref, work_branch } = session;
  // Some hosts do not serve commits by id, so the branches that may contain the commit are fetched as well.
  for (const ref of [base, work_branch, source_ref, base_branch]) {
    if (ref === null) continue;
    const fetched = await fetchRef(session, place, ref, deps, signal);
    if (fetched.outcome !== 'fetched' && fetched.outcome !== 'ref_not_found') throw toFault(fetched);
    if ((await place.repository.resolve(base)) === base) return base;
  }
  throw new SessionFault(
    'branch_conflict',
    'The commit that this session started from is no longer in the repository. Launch a new session.',
  );
}

/** A turn's base commit and initial tree. */
export interface TurnStart {
  readonly base: string;
  readonly tree: string;
  /** Lines for the session's log. */
  readonly notes: readonly string[];
}

export interface NewTurn extends TurnStart {
  /** The branch's head, if it contains any of the session's work. */
  readonly head_commit: string | null;
}

/**
 * Prepares a new turn, which includes an earlier turn's unfinished work, merged with what others have pushed since.
 * `unfinished` is the tree after the last recorded step.
 */
export async function prepareTurn(
  db: Db,
  deps: ProvisionDeps,
  session: SessionRow,
  place: Workplace,
  unfinished: string | null,
  signal: AbortSignal,
): Promise<NewTurn> {
  const { base, head_commit, note } = await findStart(session, place, deps, signal);
  const notes = note === undefined ? [] : [note];
  const baseTree = await place.repository.treeOf(base);
  const { base_commit: oldBase } = session;
  const left = unfinished === null || oldBase === null ? undefined : await findLeft(db, session, unfinished);
  if (oldBase === null || left === undefined || left === baseTree) return { base, head_commit, tree: baseTree, notes };
  const checkpointPlace = { repository: place.repository, base: oldBase, folder: place.folder };
  if (base !== oldBase) await fetchBase(session, oldBase, place, deps, signal);
  if (!(await restoreCheckpoint(db, deps, session, checkpointPlace, left)))
    return { base, head_commit, tree: baseTree, notes: [...notes, workLost] };
  if (left !== unfinished) notes.push(stepsLost);
  if (base === oldBase) return { base, head_commit, tree: left, notes };
  const tree = await joinTrees(place.repository, left, oldBase, base);
  if (tree === undefined) {
    await asWorker(db, session, (db) => removeCheckpoints(db, session));
    throw unfinishedConflict();
  }
  if (tree !== baseTree)
    await saveCheckpoint(db, deps, { session, place: { ...checkpointPlace, base }, step: 0, tree });
  return { base, head_commit, tree, notes };
}

/** Applies the tree's changes since the old base to the new base. Returns undefined if git can't merge them. */
async function joinTrees(repository: BareRepository, tree: string, oldBase: string, base: string) {
  const author = { name: 'plinth', email: 'plinth@localhost' };
  const commit = await repository.commit({
    tree,
    parents: [oldBase],
    message: 'unfinished',
    author,
    date: new Date(0),
  });
  const merged = await repository.merge(commit, base);
  return merged.outcome === 'merged' ? merged.tree : undefined;
}

/**
 * Finds the unfinished turn's last tree, or an earlier one if the last could not be stored. Returns undefined if the
 * turn ended successfully.
 */
const findLeft = async (db: Db, session: SessionRow, unfinished: string): Promise<string | undefined> =>
  ((await findCheckpoint(db, session, unfinished)) ?? (await findNewestCheckpoint(db, session)))?.tree;

const stepsLost =
  'The last steps of the previous turn could not be stored. This turn continues from the last stored step.';
const workLost =
  "The previous turn's unfinished work could not be found. This turn starts from the branch as it is now.";

/** Fetches a turn's base commit and newest tree, so this worker can continue the turn. */
export async function restoreTurn(
  db: Db,
  deps: ProvisionDeps,
  session: SessionRow,
  place: Workplace,
  recorded: string | null,
  signal: AbortSignal,
): Promise<TurnStart> {
  const { base_commit } = session;
  if (base_commit === null) throw new Error('a running session has no base commit');
  const base = await fetchBase(session, base_commit, place, deps, signal);
  const baseTree = await place.repository.treeOf(base);
  const tree = recorded ?? session.checkpoint_tree ?? baseTree;
  if (tree === baseTree) return { base, tree, notes: [] };
  const { repository, folder } = place;
  if (await restoreCheckpoint(db, deps, session, { repository, base, folder }, tree)) return { base, tree, notes: [] };
  throw new SessionFault(
    'sandbox_lost',
    "This session's worker was lost before the last steps were saved. Send a message to repeat them.",
  );
}

/** `source_ref` may be a branch, a tag or a commit. */
async function fetchSource(session: SessionRow, place: Workplace, deps: ProvisionDeps, signal: AbortSignal) {
  const { source_ref, base_branch } = session;
  if (source_ref === null) return fetchOne(session, place, base_branch, deps, signal, baseGone);
  const isCommit = /^[0-9a-f]{40}$/.test(source_ref);
  const refs = isCommit
    ? [source_ref]
    : source_ref.startsWith('refs/')
      ? [source_ref]
      : [source_ref, `refs/tags/${source_ref}`];
  for (const ref of refs) {
    const fetched = await fetchRef(session, place, ref, deps, signal);
    const commit = fetched.outcome === 'fetched' ? fetched.commits.get(ref) : undefined;
    if (commit !== undefined) return commit;
    if (fetched.outcome !== 'ref_not_found') throw toFault(fetched);
  }
  throw new SessionFault(
    'source_ref_not_found',
    'The repository has no branch, tag or commit that matches source_ref. Launch a new session with an existing one.',
  );
}

async function fetchOne(
  session: SessionRow,
  place: Workplace,
  ref: string,
  deps: ProvisionDeps,
  signal: AbortSignal,
  missing: () => SessionFault,
): Promise<string> {
  const fetched = await fetchRef(session, place, ref, deps, signal);
  if (fetched.outcome === 'ref_not_found') throw missing();
  const commit = fetched.outcome === 'fetched' ? fetched.commits.get(ref) : undefined;
  if (commit === undefined) throw toFault(fetched);
  return commit;
}

const fetchRef = (
  session: SessionRow,
  place: Workplace,
  ref: string,
  { gitHost }: ProvisionDeps,
  signal: AbortSignal,
): Promise<FetchResult> =>
  repeatWhileUnavailable(signal, () =>
    gitHost.fetch(place.repository, session.repository_full_name, [ref], place.credential, signal),
  );

/** Whether a fetched branch contains the commit, which may have to be fetched first. */
async function contains(
  session: SessionRow,
  place: Workplace,
  commit: string,
  head: string,
  deps: ProvisionDeps,
  signal: AbortSignal,
): Promise<boolean> {
  if (commit === head || (await place.repository.isAncestor(commit, head))) return true;
  const fetched = await fetchRef(session, place, commit, deps, signal);
  return fetched.outcome === 'fetched' && (await place.repository.isAncestor(commit, head));
}

// ---- faults

function toFault(result: FetchResult): SessionFault {
  if (result.outcome === 'too_large' || result.outcome === 'broken')
    return new SessionFault(
      'checkout_failed',
      result.outcome === 'too_large'
        ? `The repository is larger than ${Math.floor(result.max_bytes / 2 ** 20)} MiB, so it can't be fetched.`
        : "The repository is corrupt, so it can't be fetched. Repair it, then launch a new session.",
    );
  if (result.outcome === 'refused' || result.outcome === 'not_found') return refused();
  return unavailable();
}

const refused = () =>
  new SessionFault(
    'repository_unavailable',
    "The git host refused this repository's credentials. Connect the repository again, then launch a new session or send a message.",
  );
const unavailable = () =>
  new SessionFault(
    'repository_unavailable',
    'The git host is unavailable. Launch a new session or send a message in a few minutes.',
  );
const branchGone = () =>
  new SessionFault(
    'branch_not_found',
    "This session's branch does not exist in the repository. Launch a new session with an existing branch.",
  );
const baseGone = () =>
  new SessionFault(
    'branch_not_found',
    'The base branch does not exist in the repository. Connect the repository again with an existing branch.',
  );
const branchTaken = () =>
  new SessionFault(
    'branch_conflict',
    'The branch that this session would create already exists. Delete it, or launch a session with that branch as existing_branch.',
  );
const branchProtected = () =>
  new SessionFault(
    'push_rejected',
    "This session's branch is now protected. Remove the protection and send a message, or launch a new session without existing_branch.",
  );
const branchRewritten = () =>
  new SessionFault(
    'branch_conflict',
    'The branch was rewritten and no longer contains the commit that this session worked on. Launch a new session.',
  );
const unfinishedConflict = () =>
  new SessionFault(
    'branch_conflict',
    "Someone else changed the branch, and this session's unpushed work could not be merged, and was discarded. Send a message to start from the branch as it is now.",
  );
