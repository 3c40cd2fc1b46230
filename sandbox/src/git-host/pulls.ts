// The git host's pull requests, stored and presented as on GitHub.
import { git, tryGit } from './repositories.ts';

export interface PullRequest {
  readonly repository: string;
  readonly number: number;
  readonly title: string;
  readonly body: string | null;
  readonly state: 'open' | 'closed';
  readonly merged_at: string | null;
  readonly head: string;
  readonly base: string;
  /** The head commit at creation. Used if the branch has since been deleted. */
  readonly head_sha: string;
  readonly created_at: string;
  readonly updated_at: string;
}

/** An error response in GitHub's format. */
export class Refusal extends Error {
  readonly status: number;
  readonly body: object;
  readonly headers: Record<string, string>;

  constructor(status: number, message: string, errors?: readonly object[], headers: Record<string, string> = {}) {
    super(message);
    this.status = status;
    this.body = {
      message,
      ...(errors && { errors }),
      documentation_url: 'https://docs.github.com/rest',
      status: String(status),
    };
    this.headers = headers;
  }
}

const invalid = (error: object) => new Refusal(422, 'Validation Failed', [{ resource: 'PullRequest', ...error }]);

export interface NewPull {
  readonly title?: string;
  readonly body?: string;
  readonly head?: string;
  readonly base?: string;
}

/** Performs GitHub's checks and throws its error messages. */
export async function createPull(
  folder: string,
  repository: string,
  pulls: readonly PullRequest[],
  { title, body, head = '', base = '' }: NewPull,
): Promise<PullRequest> {
  const owner = repository.split('/')[0] ?? '';
  const branch = head.startsWith(`${owner}:`) ? head.slice(owner.length + 1) : head;
  if (!title) throw invalid({ code: 'missing_field', field: 'title' });
  const find = (name: string) => tryGit(folder, 'rev-parse', '--verify', '--quiet', `refs/heads/${name}`);
  const [headSha, baseSha] = [await find(branch), await find(base)];
  if (headSha === undefined) throw invalid({ code: 'invalid', field: 'head' });
  if (baseSha === undefined) throw invalid({ code: 'invalid', field: 'base' });
  if (pulls.some((pull) => pull.state === 'open' && pull.head === branch && pull.base === base))
    throw invalid({ code: 'custom', message: `A pull request already exists for ${owner}:${branch}.` });
  if ((await git(folder, 'rev-list', '--count', `${baseSha}..${headSha}`)) === '0')
    throw invalid({ code: 'custom', message: `No commits between ${base} and ${branch}` });
  const now = new Date().toISOString();
  return {
    repository,
    number: Math.max(0, ...pulls.map(({ number }) => number)) + 1,
    title,
    body: body ?? null,
    state: 'open',
    merged_at: null,
    head: branch,
    base,
    head_sha: headSha,
    created_at: now,
    updated_at: now,
  };
}

export async function presentPull(folder: string, origin: string, pull: PullRequest): Promise<object> {
  const owner = pull.repository.split('/')[0] ?? '';
  const shaOf = async (branch: string) => tryGit(folder, 'rev-parse', '--verify', '--quiet', `refs/heads/${branch}`);
  const side = (ref: string, sha: string | undefined) => ({
    ref,
    label: `${owner}:${ref}`,
    sha: sha ?? null,
    repo: { full_name: pull.repository },
  });
  const { repository, head, base, head_sha, ...fields } = pull;
  return {
    ...fields,
    id: fields.number,
    merged: pull.merged_at !== null,
    draft: false,
    html_url: `${origin}/${repository}/pull/${pull.number}`,
    url: `${origin}/api/v3/repos/${repository}/pulls/${pull.number}`,
    user: { login: 'sandbox' },
    head: side(head, (await shaOf(head)) ?? head_sha),
    base: side(base, await shaOf(base)),
  };
}

/** Returns the branch's changes since it diverged from the base. */
export const diffPull = async (folder: string, { head, base, head_sha }: PullRequest): Promise<string> => {
  const tip = (await tryGit(folder, 'rev-parse', '--verify', '--quiet', `refs/heads/${head}`)) ?? head_sha;
  return (await tryGit(folder, 'diff', '--no-color', `refs/heads/${base}...${tip}`)) ?? '';
};
