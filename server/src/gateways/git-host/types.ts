// Owns the interface of the git host: GitHub's REST protocol, and git over HTTP. What the host answers, or that it does not, is a
// result, not an exception.
import type { BareRepository } from '../../kit/git/types.ts';

/** `app`: the App that the operator registered at the git host. */
export type GitCredential = { readonly token: string } | { readonly app: true };

export interface GitHost {
  readonly configured: boolean;
  /** Whether the operator configured an App, so that a repository can be connected without a token. */
  readonly hasApp: boolean;
  /** Such as `github.com`. Empty if no git host is configured. */
  readonly host: string;
  readRepository(fullName: string, credential: GitCredential, signal?: AbortSignal): Promise<RepositoryRead>;
  readBranch(fullName: string, branch: string, credential: GitCredential, signal?: AbortSignal): Promise<BranchRead>;
  /** The newest pull request with this head branch, of whatever state; an open one comes before closed ones. */
  findPullRequest(
    fullName: string,
    headBranch: string,
    credential: GitCredential,
    signal?: AbortSignal,
  ): Promise<PullRequestFound>;
  createPullRequest(
    fullName: string,
    pullRequest: NewPullRequest,
    credential: GitCredential,
    signal?: AbortSignal,
  ): Promise<PullRequestCreated>;
  readPullRequest(
    fullName: string,
    number: number,
    credential: GitCredential,
    signal?: AbortSignal,
  ): Promise<PullRequestRead>;
  /**
   * Brings commits into the repository. `refs` are branches (`main`), full refs (`refs/tags/v1`), or complete commit ids, which
   * some hosts do not serve.
   */
  fetch(
    repository: BareRepository,
    fullName: string,
    refs: readonly string[],
    credential: GitCredential,
    signal: AbortSignal,
  ): Promise<FetchResult>;
  /** Sets the branch to the commit if it is at `expected` (null: does not exist). Never overwrites the work of others. */
  push(
    repository: BareRepository,
    fullName: string,
    push: { readonly commit: string; readonly branch: string; readonly expected: string | null },
    credential: GitCredential,
    signal: AbortSignal,
  ): Promise<PushResult>;
  close(): Promise<void>;
}

export type RepositoryRead =
  | {
      readonly outcome: 'found';
      /** As the host spells it. */
      readonly full_name: string;
      readonly default_branch: string;
      /** Of `contents:write` and `pull_requests:write`, those that the credential is known to lack. */
      readonly missing_permissions: readonly string[];
    }
  | { readonly outcome: 'not_found' }
  | Refused
  | Unavailable;

export type BranchRead =
  | { readonly outcome: 'found'; readonly sha: string; readonly is_protected: boolean }
  | { readonly outcome: 'not_found' }
  | Refused
  | Unavailable;

export type PullRequestFound =
  | { readonly outcome: 'found'; readonly pull_request: HostPullRequest }
  | { readonly outcome: 'none' }
  | Refused
  | Unavailable;

export type PullRequestRead =
  | { readonly outcome: 'found'; readonly pull_request: HostPullRequest }
  | { readonly outcome: 'not_found' }
  | Refused
  | Unavailable;

export type PullRequestCreated =
  | { readonly outcome: 'created'; readonly pull_request: HostPullRequest }
  /** There is an open one with this head branch: find it. */
  | { readonly outcome: 'exists' }
  /** The host does not want it, such as without commits. `reason` is the host's text, without secrets. */
  | { readonly outcome: 'rejected'; readonly reason: string }
  | Refused
  /** No connection, so that nothing was sent. */
  | Unavailable
  /** Sent, without a readable answer: it may exist. Find it before you create it again. */
  | { readonly outcome: 'unknown' };

export type FetchResult =
  /** The commit of each ref that was asked for. */
  | { readonly outcome: 'fetched'; readonly commits: ReadonlyMap<string, string> }
  | { readonly outcome: 'ref_not_found'; readonly ref: string }
  /** The repository does not exist, or the credential does not reach it. */
  | { readonly outcome: 'not_found' }
  | { readonly outcome: 'too_large'; readonly max_bytes: number }
  /** What the host sent is not a sound repository. */
  | { readonly outcome: 'broken'; readonly reason: string }
  | Refused
  | Unavailable;

export type PushResult =
  | { readonly outcome: 'pushed' }
  /** The branch is at this commit already: an earlier push arrived. */
  | { readonly outcome: 'already_there' }
  /** The branch is neither where it was expected nor at the commit. Null: it does not exist. */
  | { readonly outcome: 'moved'; readonly sha: string | null }
  /** The host does not accept the push, such as on a protected branch. `reason` is the host's text, without secrets. */
  | { readonly outcome: 'rejected'; readonly reason: string }
  | Refused
  /** No connection, so that nothing was sent. */
  | Unavailable
  /** Sent, without a readable answer: read the branch, or push the same again. */
  | { readonly outcome: 'unknown' };

/** The host does not accept the credential, or not for this. */
export interface Refused {
  readonly outcome: 'refused';
  /** For the log and for people: such as `Bad credentials`. Without secrets. */
  readonly reason: string;
}

/** Nothing was changed. Try again later. */
export interface Unavailable {
  readonly outcome: 'unavailable';
  /** For the log: `not_configured`, `timeout`, `status_503`, `rate_limited`, `stopped` and the like. */
  readonly reason: string;
}

export interface NewPullRequest {
  readonly title: string;
  readonly body: string;
  /** The branch with the commits. */
  readonly head: string;
  readonly base: string;
}

export interface HostPullRequest {
  readonly number: number;
  readonly html_url: string;
  /** Of the REST API. */
  readonly url: string;
  readonly title: string;
  readonly body: string;
  readonly state: 'open' | 'closed' | 'merged';
  readonly head_branch: string;
  readonly head_sha: string;
  readonly base_branch: string;
  readonly created_date: string;
  readonly updated_date: string;
}
