// Owns bringing finished work to the git host: one commit per turn, whose id depends on nothing but the work, pushed to the branch of the
// session, and one pull request for the branch. Every step of it can be repeated: what is there already is found.
import { setTimeout as sleep } from 'node:timers/promises';
import type { GitCredential, GitHost, HostPullRequest } from '../../gateways/git-host/types.ts';
import type { BareRepository } from '../../kit/git/types.ts';
import type { PullRequest } from './contract.ts';
import { toBody, toCommitMessage, toMarker } from './description.ts';
import { SessionFault } from './fault.ts';
import { repeatWhileUnavailable } from './host-calls.ts';
import type { SessionRow } from './store/sessions.ts';

export interface DeliverDeps {
  readonly gitHost: GitHost;
  /** Who commits. */
  readonly author: { readonly name: string; readonly email: string };
  readonly onBoundary?: ((name: Boundary, sessionId: string) => Promise<void> | void) | undefined;
}

/** Where a worker can be killed in a drill: between any two things that it does for a session, in this order. */
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

/** Work that is done. */
export interface FinishedWork {
  readonly repository: BareRepository;
  readonly credential: GitCredential;
  /** The commit where the turn started. */
  readonly base: string;
  readonly tree: string;
  /** After each step of the turn. */
  readonly trees: readonly string[];
  readonly summary: string;
}

const maxAttempts = 6;
const pauseMs = (attempt: number): number => Math.min(500 * 2 ** attempt, 8_000);
const pause = (attempt: number, signal: AbortSignal): Promise<void> =>
  sleep(pauseMs(attempt), undefined, { signal }).catch(() => signal.throwIfAborted());

const maxTried = 20;

/** Returns the commit that the branch has now. `remember` stores what may arrive at the git host, before it is sent. */
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
      case 'unknown': // the next push finds out
        await pause(attempt, signal);
        break;
      case 'unavailable':
        throw hostUnavailable();
      case 'rejected':
      case 'refused':
        throw new SessionFault(
          'push_rejected',
          `The git host did not accept the commit of this session: ${result.reason.slice(0, 500)}. Check the rules of the branch and what the credentials may do.`,
        );
    }
  }
  throw hostUnavailable();

  /** The branch has moved: the work goes on top of what is there, if git can join both. */
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
    // An earlier try has joined and pushed it.
    if (merged.tree === (await repository.treeOf(onto))) return { isDone: true, commit: onto, onto };
    return { isDone: false, commit: await commitOn(onto, merged.tree), onto };
  }

  /**
   * What a worker of this turn has pushed before it was lost, and nothing else: not joined with the work of others. The work has gone on
   * from there since, so what it has taken back must not come back.
   */
  async function findOwn(head: string): Promise<string | undefined> {
    for (const commit of tried.toReversed())
      if ((await repository.isAncestor(commit, head)) && trees.includes(await repository.treeOf(commit))) return commit;
    return undefined;
  }
}

/** Finds the pull request of the session's branch, or opens it. */
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
    await pause(attempt, signal); // `exists` or `unknown`: look for it
  }
  throw hostUnavailable();
}

/**
 * Undefined: there is none that this turn can use. One that was closed or merged after an earlier turn is over, unless this turn has
 * opened it before its worker crashed.
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
      `The git host did not show its pull requests: ${found.reason.slice(0, 500)}. The commit is on the branch ${session.work_branch}.`,
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
    'Somebody else has changed the branch of this session, and their changes and those of the session can not be joined. Nothing of theirs was overwritten. Launch a new session from the branch as it is now.',
  );
const hostUnavailable = () =>
  new SessionFault(
    'repository_unavailable',
    'The git host is unavailable. What was done is kept: send a message in a few minutes to go on.',
  );
