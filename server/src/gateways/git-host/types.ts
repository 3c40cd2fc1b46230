// The git host's interface: GitHub's REST protocol, and git over HTTP. Error responses and missing responses are
// returned as results, not thrown.
import type { BareRepository } from '../../kit/git/types.ts';

/** `app` is the App that the operator registered with the git host. */
export type GitCredential = { readonly token: string } | { readonly app: true };

export interface GitHost {
  readonly configured: boolean;
  /** Whether the operator has configured an App. If so, repositories can be connected without a token. */
  readonly hasApp: boolean;
  /** Example: `github.com`. Empty if no git host is configured. */
  readonly host: string;
  /** Whether the host answers and, if there is an App, whether it accepts the App's key. For `plinth doctor`. */
  check(signal?: AbortSignal): Promise<{ readonly outcome: 'works' } | Refused | Unavailable>;
  readRepository(fullName: string, credential: GitCredential, signal?: AbortSignal): Promise<RepositoryRead>;
  readBranch(fullName: string, branch: string, credential: GitCredential, signal?: AbortSignal): Promise<BranchRead>;
  /** Finds the newest pull request for this head branch, in any state. An open pull request takes precedence. */
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
   * Fetches commits into the repository. `refs` are branches (`main`), full refs (`refs/tags/v1`) or full commit ids,
   * which some hosts do not serve.
   */
  fetch(
    repository: BareRepository,
    fullName: string,
    refs: readonly string[],
    credential: GitCredential,
    signal: AbortSignal,
  ): Promise<FetchResult>;
  /**
   * Sets the branch to the commit if the branch is at `expected`, or if `expected` is null and the branch does not
   * exist. Never overwrites others' work.
   */
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
      /** The name as the host spells it. */
      readonly full_name: string;
      readonly default_branch: string;
      /** Which of `contents:write` and `pull_requests:write` the credential is known to lack. */
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
  /** This head branch already has an open pull request, which `findPullRequest` returns. */
  | { readonly outcome: 'exists' }
  /**
   * The host rejected the request, for example because there are no commits. `reason` is the host's text, without
   * secrets.
   */
  | { readonly outcome: 'rejected'; readonly reason: string }
  | Refused
  /** Nothing was created. */
  | Unavailable
  /**
   * The request was sent, but no readable response was received. The pull request may exist, so look for it before you
   * create it again.
   */
  | { readonly outcome: 'unknown' };

export type FetchResult =
  /** Each requested ref's commit. */
  | { readonly outcome: 'fetched'; readonly commits: ReadonlyMap<string, string> }
  | { readonly outcome: 'ref_not_found'; readonly ref: string }
  /** The repository does not exist, or the credential can't access it. */
  | { readonly outcome: 'not_found' }
  | { readonly outcome: 'too_large'; readonly max_bytes: number }
  /** The host did not send a valid repository. */
  | { readonly outcome: 'broken'; readonly reason: string }
  | Refused
  | Unavailable;

export type PushResult =
  | { readonly outcome: 'pushed' }
  /** The branch is already at this commit, because an earlier push succeeded. */
  | { readonly outcome: 'already_there' }
  /** The branch is at neither the expected commit nor the new one. `sha` is null if the branch does not exist. */
  | { readonly outcome: 'moved'; readonly sha: string | null }
  /**
   * The host rejected the push, for example because the branch is protected. `reason` is the host's text, without
   * secrets.
   */
  | { readonly outcome: 'rejected'; readonly reason: string }
  | Refused
  /** Nothing was pushed. */
  | Unavailable
  /** The push was sent, but no readable response was received. Read the branch, or push the same commit again. */
  | { readonly outcome: 'unknown' };

/** The host rejected the credential, either in general or for this call. */
export interface Refused {
  readonly outcome: 'refused';
  /** For people and the log. Example: `Bad credentials`. Contains no secrets. */
  readonly reason: string;
}

/** Nothing was changed. Try again later. */
export interface Unavailable {
  readonly outcome: 'unavailable';
  /** For the log. Examples: `not_configured`, `timeout`, `status_503`, `rate_limited`, `stopped`. */
  readonly reason: string;
}

export interface NewPullRequest {
  readonly title: string;
  readonly body: string;
  /** The branch that contains the commits. */
  readonly head: string;
  readonly base: string;
}

export interface HostPullRequest {
  readonly number: number;
  readonly html_url: string;
  /** The address in the REST API. */
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
