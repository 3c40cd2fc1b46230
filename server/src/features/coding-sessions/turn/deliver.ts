// Delivers finished work to the git host: one commit per turn, pushed to the session's branch, and one pull
// request for the branch. The commit's id depends only on the work. Every step can be repeated, because it detects what
// earlier attempts have already done.
import { setTimeout as sleep } from 'node:timers/promises';
import type { GitCredential, GitHost, HostPullRequest } from '../../../gateways/git-host/types.ts';
import type { BareRepository } from '../../../kit/git/types.ts';
import type { PullRequest } from '../contract.ts';
import type { SessionRow } from '../store/sessions.ts';
import { toBody, toCommitMessage, toMarker } from './description.ts';
import { SessionFault } from './fault.ts';
import { repeatWhileUnavailable } from './host-calls.ts';

export interface DeliverDeps {
  readonly gitHost: GitHost;
  /** The commits' author. */
  readonly author: { readonly name: string; readonly email: string };
  readonly onBoundary?: ((name: Boundary, sessionId: string) => Promise<void> | void) | undefined;
}

/** The points at which a drill can kill a worker, in order. There is one between any two actions in a session. */
export const boundaries = [
  'claimed',
  'fetched',
  'provisioned',
  'step_inserted',
  'model_answered',
  'tools_ran',
  'checkpoint_stored',
  'step_recorded',
  'committed',
  'pushed',
  'moved_to_opening',
  'pull_request_created',
  'completed',
] as const;
export type Boundary = (typeof boundaries)[number];

/** A turn's finished work. */
export interface FinishedWork {
  readonly repository: BareRepository;
  readonly credential: GitCredential;
  /** The commit where the turn started. */
  readonly base: string;
  readonly tree: string;
  /** The tree after each of the turn's steps. */
  readonly trees: readonly string[];
  readonly summary: string;
}

const maxAttempts = 6;
const pauseMs = (attempt: number): number => Math.min(500 * 2 ** attempt, 8_000);
const pause = (attempt: number, signal: AbortSignal): Promise<void> =>
  sleep(pauseMs(attempt), undefined, { signal }).catch(() => signal.throwIfAborted());

const maxTried = 20;

/**
 * Returns the branch's new head. `remember` stores each commit before it is pushed, because a push that appears to fail
 * may still reach the git host.
 */
export async function pushWork(
  session: SessionRow,
  { repository, credential, base, tree, trees, summary }: FinishedWork,
  remember: (tried: string[]) => Promise<void>,
  { gitHost, author, onBoundary }: DeliverDeps,
  signal: AbortSignal,
): Promise<string> {
  const { repository_full_name, work_branch: branch, existing_branch, head_commit, turn_started_at } = session;
  const date = turn_started_at ?? session.created_date;
  const commitOn = (parent: string, tree: string): Promise<string> =>
    repository.commit({ tree, parents: [parent], message: toCommitMessage(session, summary), author, date });
  let commit = await commitOn(base, tree);
  let tried = session.tried_commits;
  let expected = existing_branch !== null || head_commit !== null ? base : null;
  await onBoundary?.('committed', session.id);
  for (let attempt = 0; attempt < maxAttempts; attempt += 1) {
    if (!tried.includes(commit)) {
      tried = [...tried, commit].slice(-maxTried);
      await remember(tried);
    }
    const push = { commit, branch, expected };
    const result = await repeatWhileUnavailable(signal, () =>
      gitHost.push(repository, repository_full_name, push, credential, signal),
    );
    signal.throwIfAborted();
    switch (result.outcome) {
      case 'pushed':
      case 'already_there':
        await onBoundary?.('pushed', session.id);
        return commit;
      case 'moved': {
        if (result.sha === null && existing_branch !== null) throw branchConflict();
        const joined = result.sha === null ? null : await join(commit);
        if (joined?.isDone) return joined.commit;
        commit = joined?.commit ?? commit;
        expected = joined?.onto ?? null;
        break;
      }
      case 'unknown': // the next push reveals the result
        await pause(attempt, signal);
        break;
      case 'unavailable':
        throw hostUnavailable();
      case 'rejected':
      case 'refused':
        throw new SessionFault(
          'push_rejected',
          `The git host rejected this session's commit: ${result.reason.slice(0, 500)}. Check the branch's protection rules and the credential's permissions.`,
        );
    }
  }
  throw hostUnavailable();

  /** Rebuilds the work on top of a branch that has moved, if git can merge the changes. */
  async function join(commit: string) {
    const fetched = await repeatWhileUnavailable(signal, () =>
      gitHost.fetch(repository, repository_full_name, [branch], credential, signal),
    );
    const onto = fetched.outcome === 'fetched' ? fetched.commits.get(branch) : undefined;
    if (onto === undefined) throw fetched.outcome === 'unavailable' ? hostUnavailable() : branchConflict();
    if (await repository.isAncestor(commit, onto)) return { isDone: true, commit, onto };
    const own = await findOwn(onto);
    if (own === onto && tree !== (await repository.treeOf(onto)))
      return { isDone: false, commit: await commitOn(onto, tree), onto };
    const merged = await repository.merge(own === undefined ? commit : await commitOn(own, tree), onto);
    if (merged.outcome !== 'merged') throw branchConflict();
    // An earlier attempt has already pushed the merged work.
    if (merged.tree === (await repository.treeOf(onto))) return { isDone: true, commit: onto, onto };
    return { isDone: false, commit: await commitOn(onto, merged.tree), onto };
  }

  /**
   * Finds the newest commit that one of this turn's lost workers pushed and that contains only this turn's work. The
   * turn has continued from that commit, so changes that it has since undone must not reappear.
   */
  async function findOwn(head: string): Promise<string | undefined> {
    for (const commit of tried.toReversed())
      if ((await repository.isAncestor(commit, head)) && trees.includes(await repository.treeOf(commit))) return commit;
    return undefined;
  }
}

/** Finds the pull request for the session's branch, or opens one. */
export async function openPullRequest(
  session: SessionRow,
  credential: GitCredential,
  summary: string,
  { gitHost, onBoundary }: DeliverDeps,
  signal: AbortSignal,
): Promise<PullRequest> {
  const { repository_full_name, work_branch, base_branch, title } = session;
  const body = toBody(session, summary);
  for (let attempt = 0; attempt < maxAttempts; attempt += 1) {
    const found = await findPullRequest(session, credential, gitHost, signal);
    if (found !== undefined) return found;
    const created = await repeatWhileUnavailable(signal, () =>
      gitHost.createPullRequest(
        repository_full_name,
        { title, body, head: work_branch, base: base_branch },
        credential,
        signal,
      ),
    );
    signal.throwIfAborted();
    if (created.outcome === 'created') {
      await onBoundary?.('pull_request_created', session.id);
      return present(created.pull_request, true);
    }
    if (created.outcome === 'unavailable') throw hostUnavailable();
    if (created.outcome === 'rejected' || created.outcome === 'refused')
      throw new SessionFault(
        'pull_request_failed',
        `The git host did not open a pull request: ${created.reason.slice(0, 500)}. The commit is on the branch ${work_branch}. Open the pull request yourself, or send a message to try again.`,
      );
    await pause(attempt, signal); // after `exists` or `unknown`, look for it
  }
  throw hostUnavailable();
}

/**
 * Returns undefined if this turn can't use any pull request. A closed or merged pull request is not reused, unless this
 * turn opened it before its worker crashed.
 */
export async function findPullRequest(
  session: SessionRow,
  credential: GitCredential,
  gitHost: GitHost,
  signal: AbortSignal,
): Promise<PullRequest | undefined> {
  const found = await repeatWhileUnavailable(signal, () =>
    gitHost.findPullRequest(session.repository_full_name, session.work_branch, credential, signal),
  );
  signal.throwIfAborted();
  if (found.outcome === 'none') return undefined;
  if (found.outcome === 'refused')
    throw new SessionFault(
      'pull_request_failed',
      `The git host did not list the pull requests: ${found.reason.slice(0, 500)}. The commit is on the branch ${session.work_branch}. Send a message to try again.`,
    );
  if (found.outcome === 'unavailable') throw hostUnavailable();
  const { pull_request } = found;
  const known = session.pull_request as PullRequest | null;
  const isKnown = known?.number === pull_request.number;
  const isOwn = pull_request.body.includes(toMarker(session));
  if (pull_request.state !== 'open' && (isKnown || !isOwn)) return undefined;
  return present(pull_request, isOwn && !isKnown);
}

const present = (pullRequest: HostPullRequest, created: boolean): PullRequest => {
  const { number, html_url, url, title, state, head_branch, base_branch, created_date, updated_date } = pullRequest;
  return { number, html_url, url, title, state, head_branch, base_branch, created, created_date, updated_date };
};

const branchConflict = () =>
  new SessionFault(
    'branch_conflict',
    "Someone else changed this session's branch, and the changes could not be merged. Their changes were not overwritten. Launch a new session from the branch as it is now.",
  );
const hostUnavailable = () =>
  new SessionFault(
    'repository_unavailable',
    'The git host is unavailable. The work so far is kept. Send a message in a few minutes to continue.',
  );
