// Finds out what a turn that ended early left on the git host. A push or a pull request may have reached the
// host even though the call was interrupted or the worker crashed.
import type { Db } from '../../../tables.ts';
import type { PullRequest } from '../contract.ts';
import type { CredentialDeps } from '../repository/repository.ts';
import type { Move } from '../session/session.ts';
import type { SessionRow } from '../store/sessions.ts';
import { readCredential } from './credential.ts';
import { type DeliverDeps, findPullRequest } from './deliver.ts';

export interface Kept {
  readonly change: Pick<
    NonNullable<Extract<Move, { to: 'cancelled' }>['change']>,
    'head_commit' | 'pull_request' | 'pull_request_read_at'
  >;
  /** Text for the session's log. */
  readonly text: string;
}

const lookMs = 5_000;

export async function findKept(
  db: Db,
  deps: CredentialDeps & Pick<DeliverDeps, 'gitHost'> & { readonly clock: { now(): Date } },
  session: SessionRow,
): Promise<Kept> {
  const { gitHost, clock } = deps;
  const { work_branch, head_commit, tried_commits, repository_full_name } = session;
  if (head_commit === null && tried_commits.length === 0) return nothing;
  const signal = AbortSignal.timeout(lookMs);
  const credential = await readCredential(db, deps, session);
  if (credential === undefined) return { change: {}, text: notAsked(work_branch) };
  const branch = await gitHost.readBranch(repository_full_name, work_branch, credential, signal);
  switch (branch.outcome) {
    case 'found': {
      const isOwn = isOwnHead(session, branch.sha);
      if (isOwn === 'unknown') return { change: {}, text: mayHaveCommit(work_branch) };
      if (!isOwn) return nothing;
      const found = await findPullRequest(session, credential, gitHost, signal).catch(() => undefined);
      return describe(session, branch.sha, found, clock.now());
    }
    case 'not_found':
      return head_commit === null ? nothing : { change: {}, text: `The branch ${work_branch} no longer exists.` };
    default:
      return { change: {}, text: notAsked(work_branch) };
  }
}

/** Only the session pushes to a branch that it created. Others may push to a branch that existed before. */
function isOwnHead(
  { existing_branch, head_commit, base_commit, tried_commits }: SessionRow,
  sha: string,
): boolean | 'unknown' {
  if (existing_branch === null || head_commit !== null || tried_commits.includes(sha)) return true;
  return sha === base_commit ? false : 'unknown';
}

function describe(session: SessionRow, head_commit: string, found: PullRequest | undefined, now: Date): Kept {
  const known = session.pull_request as PullRequest | null;
  const shown = found ?? known;
  const kept = [`the branch ${session.work_branch}`, ...(shown === null ? [] : [`the pull request ${shown.html_url}`])];
  const text = `Kept: ${kept.join(' and ')}.`;
  if (found === undefined) return { change: { head_commit }, text };
  // If the session created this pull request, it stays marked as created when a later turn finds it.
  const created = known?.number === found.number ? known.created : found.created;
  const pull_request = JSON.stringify({ ...found, created });
  return { change: { head_commit, pull_request, pull_request_read_at: now }, text };
}

const nothing: Kept = { change: {}, text: 'Nothing was pushed.' };
const mayHaveCommit = (branch: string) =>
  `The branch ${branch} has changed in the meantime and may contain a commit from this session.`;
const notAsked = (branch: string) =>
  `It could not be confirmed whether this session's latest work reached the branch ${branch}. Check the branch on the git host.`;
