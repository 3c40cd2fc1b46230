// Owns finding out what a turn that ends early has left at the git host. Calls that push or open a pull request may have arrived
// although they were stopped, or although their worker crashed.
import type { Db } from '../../tables.ts';
import type { PullRequest } from './contract.ts';
import { type CredentialDeps, readCredential } from './credential.ts';
import { type DeliverDeps, findPullRequest } from './deliver.ts';
import type { Move } from './session.ts';
import type { SessionRow } from './store/sessions.ts';

export interface Kept {
  readonly change: Pick<
    NonNullable<Extract<Move, { to: 'cancelled' }>['change']>,
    'head_commit' | 'pull_request' | 'pull_request_read_at'
  >;
  /** For those who follow the session. */
  readonly text: string;
}

const lookMs = 5_000;

export async function findKept(
  db: Db,
  session: SessionRow,
  { gitHost, secrets, clock }: CredentialDeps & Pick<DeliverDeps, 'gitHost'> & { readonly clock: { now(): Date } },
): Promise<Kept> {
  const { work_branch, head_commit, tried_commits, repository_full_name } = session;
  if (head_commit === null && tried_commits.length === 0) return nothing;
  const signal = AbortSignal.timeout(lookMs);
  const credential = await readCredential(db, session, { secrets });
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

/** Nobody else creates the branch of a session, but others may push to one that existed before. */
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
  // Whether a session has created it does not change because a later turn has found it.
  const created = known?.number === found.number ? known.created : found.created;
  const pull_request = JSON.stringify({ ...found, created });
  return { change: { head_commit, pull_request, pull_request_read_at: now }, text };
}

const nothing: Kept = { change: {}, text: 'Nothing was pushed.' };
const mayHaveCommit = (branch: string) =>
  `The branch ${branch} has changed meanwhile: it may have a commit of this session.`;
const notAsked = (branch: string) =>
  `The git host could not be asked whether the last work of this session has arrived on the branch ${branch}.`;
