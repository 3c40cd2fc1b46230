// Pull requests on the git host: finding, creating and reading them.
import { asObject, asText, findGeneralOutcome, messageOf, type RestAnswer, type RestRequest } from './rest.ts';
import type {
  HostPullRequest,
  NewPullRequest,
  PullRequestCreated,
  PullRequestFound,
  PullRequestRead,
} from './types.ts';

/** Sends a request with the repository's token and parameters. */
export type SendToRepository = (
  request: Pick<RestRequest, 'method' | 'path' | 'parameters' | 'signal'>,
) => Promise<RestAnswer>;

export async function findPullRequest(
  send: SendToRepository,
  fullName: string,
  headBranch: string,
  signal?: AbortSignal,
): Promise<PullRequestFound> {
  const [owner] = fullName.split('/');
  const parameters = {
    head: `${owner}:${headBranch}`,
    state: 'all',
    sort: 'created',
    direction: 'desc',
    per_page: 100,
  };
  const answer = await send({ method: 'GET', path: '/repos/{owner}/{repo}/pulls', parameters, signal });
  const general = findGeneralOutcome(answer);
  if (general !== undefined) return general;
  if (answer.outcome !== 'answered' || answer.status !== 200) return { outcome: 'refused', reason: describe(answer) };
  if (!Array.isArray(answer.body)) return { outcome: 'unavailable', reason: 'unreadable_answer' };
  // Filtered again, because the host ignores a filter that it can't parse.
  const own = answer.body.flatMap((each) => readPull(each) ?? []).filter((pull) => pull.head_branch === headBranch);
  const chosen = own.find(({ state }) => state === 'open') ?? own[0];
  return chosen === undefined ? { outcome: 'none' } : { outcome: 'found', pull_request: chosen };
}

export async function createPullRequest(
  send: SendToRepository,
  { title, body, head, base }: NewPullRequest,
  signal?: AbortSignal,
): Promise<PullRequestCreated> {
  const parameters = { title, body, head, base };
  const answer = await send({ method: 'POST', path: '/repos/{owner}/{repo}/pulls', parameters, signal });
  if (answer.outcome === 'answered' && answer.status === 201) {
    const pull_request = readPull(answer.body);
    return pull_request === undefined ? { outcome: 'unknown' } : { outcome: 'created', pull_request };
  }
  if (answer.outcome === 'answered' && answer.status === 422 && /already exists/i.test(messageOf(answer)))
    return { outcome: 'exists' };
  return findCreateFailure(answer);
}

export async function readPullRequest(
  send: SendToRepository,
  number: number,
  signal?: AbortSignal,
): Promise<PullRequestRead> {
  const parameters = { pull_number: number };
  const answer = await send({ method: 'GET', path: '/repos/{owner}/{repo}/pulls/{pull_number}', parameters, signal });
  const general = findGeneralOutcome(answer);
  if (general !== undefined) return general;
  if (answer.outcome !== 'answered' || answer.status !== 200) return { outcome: 'not_found' };
  const pull_request = readPull(answer.body);
  return pull_request === undefined
    ? { outcome: 'unavailable', reason: 'unreadable_answer' }
    : { outcome: 'found', pull_request };
}

/** A host that fails while responding may still have created the pull request. */
function findCreateFailure(
  answer: RestAnswer,
): Extract<PullRequestCreated, { outcome: 'rejected' | 'refused' | 'unavailable' | 'unknown' }> {
  if (answer.outcome === 'failed')
    return answer.sent ? { outcome: 'unknown' } : { outcome: 'unavailable', reason: answer.reason };
  if (answer.status >= 500) return { outcome: 'unknown' };
  const general = findGeneralOutcome(answer);
  if (general !== undefined) return general;
  // The host also returns 404 if the token lacks this permission.
  if (answer.status === 404) return { outcome: 'refused', reason: messageOf(answer) };
  return { outcome: 'rejected', reason: messageOf(answer) };
}

const describe = (answer: RestAnswer): string => (answer.outcome === 'answered' ? messageOf(answer) : answer.reason);

/** Returns undefined if the value is not a pull request. */
function readPull(value: unknown): HostPullRequest | undefined {
  const pull = asObject(value);
  const [head, base] = [asObject(pull.head), asObject(pull.base)];
  if (typeof pull.number !== 'number' || asText(pull.html_url) === '') return undefined;
  const isMerged = pull.merged === true || asText(pull.merged_at) !== '';
  return {
    number: pull.number,
    html_url: asText(pull.html_url),
    url: asText(pull.url),
    title: asText(pull.title),
    body: asText(pull.body),
    state: isMerged ? 'merged' : pull.state === 'open' ? 'open' : 'closed',
    head_branch: asText(head.ref),
    head_sha: asText(head.sha),
    base_branch: asText(base.ref),
    created_date: asText(pull.created_at),
    updated_date: asText(pull.updated_at),
  };
}
