// The git host's client. It uses GitHub's REST protocol and git over HTTP, at the operator's configured addresses,
// with a caller's token or the operator's App. The host's responses and failures are returned as results, not thrown.
// The client never repeats a request.
import type { Clock } from '../../kit/clock.ts';
import { type AppSettings, type Authorization, createCredentials } from './credentials.ts';
import { isFullName, isRefName } from './names.ts';
import { notConfigured } from './not-configured.ts';
import { createPullRequest, findPullRequest, readPullRequest, type SendToRepository } from './pull-requests.ts';
import { asObject, asText, findGeneralOutcome, openRest, type RestAnswer } from './rest.ts';
import { fetchRefs, pushCommit } from './transfer.ts';
import type { BranchRead, GitCredential, GitHost, Refused, RepositoryRead, Unavailable } from './types.ts';

export type { GitHost } from './types.ts';

export interface GitHostSettings {
  /** The REST API's address, such as `https://api.github.com`. Undefined if no git host is configured. */
  readonly url: string | undefined;
  /** The address for git over HTTP, such as `https://github.com`. */
  readonly cloneUrl: string | undefined;
  readonly app?: AppSettings;
  /** The maximum amount of data fetched from a repository. */
  readonly maxRepositoryBytes: number;
  readonly clock: Clock;
  /** How many commits of history the first fetch includes. Default: 50. */
  readonly depth?: number;
  /** The timeout for each REST call. Default: 10,000. */
  readonly timeoutMs?: number;
  /** The timeout for each fetch or push. Default: 10 minutes. */
  readonly transferTimeoutMs?: number;
}

export function openGitHost(settings: GitHostSettings): GitHost {
  const { url, cloneUrl } = settings;
  return url === undefined || cloneUrl === undefined ? notConfigured : openConfigured(settings, url, cloneUrl);
}

type Authorized = Extract<Authorization, { outcome: 'authorized' }>;

function openConfigured(settings: GitHostSettings, url: string, cloneUrl: string): GitHost {
  const { app, clock, timeoutMs = 10_000, transferTimeoutMs = 10 * 60_000 } = settings;
  const limits = { maxBytes: settings.maxRepositoryBytes, depth: settings.depth ?? 50 };
  const rest = openRest(url, timeoutMs);
  const credentials = createCredentials(rest, app, clock);
  const closing = new AbortController();

  /** Runs a call with a token. If there is no token, returns the reason. */
  const authorized = async <Result>(
    fullName: string,
    credential: GitCredential,
    signal: AbortSignal | undefined,
    run: (authorization: Authorized) => Promise<Result>,
  ): Promise<Result | { readonly outcome: 'not_found' } | Refused | Unavailable> => {
    if (!isFullName(fullName)) return { outcome: 'not_found' };
    const authorization = await credentials.authorize(fullName, credential, signal);
    if (authorization.outcome !== 'authorized') return authorization;
    const result = await run(authorization);
    if ((result as { outcome?: string }).outcome === 'refused') credentials.forget(fullName);
    return result;
  };
  const sendTo =
    (fullName: string, { token }: Authorized): SendToRepository =>
    async ({ parameters, ...request }) => {
      const [owner, repo] = fullName.split('/');
      const answer = await rest.send({ ...request, parameters: { ...parameters, owner, repo }, token });
      return hideToken(answer, token);
    };
  const remoteOf = (fullName: string, { token }: Authorized, signal: AbortSignal) => ({
    url: `${cloneUrl.replace(/\/+$/, '')}/${fullName}.git`,
    token,
    signal: AbortSignal.any([signal, closing.signal]),
    timeoutMs: transferTimeoutMs,
  });

  return {
    configured: true,
    hasApp: app !== undefined,
    host: new URL(cloneUrl).host,
    check: credentials.check,
    readRepository: (fullName, credential, signal) =>
      authorized(fullName, credential, signal, (authorization) =>
        readRepository(sendTo(fullName, authorization), authorization, signal),
      ),
    readBranch: (fullName, branch, credential, signal) =>
      authorized(fullName, credential, signal, (authorization) =>
        readBranch(sendTo(fullName, authorization), branch, signal),
      ),
    findPullRequest: async (fullName, headBranch, credential, signal) =>
      refuseMissing(
        await authorized(fullName, credential, signal, (authorization) =>
          findPullRequest(sendTo(fullName, authorization), fullName, headBranch, signal),
        ),
      ),
    createPullRequest: async (fullName, pullRequest, credential, signal) =>
      refuseMissing(
        await authorized(fullName, credential, signal, (authorization) =>
          createPullRequest(sendTo(fullName, authorization), pullRequest, signal),
        ),
      ),
    readPullRequest: (fullName, number, credential, signal) =>
      authorized(fullName, credential, signal, (authorization) =>
        readPullRequest(sendTo(fullName, authorization), number, signal),
      ),
    fetch: (repository, fullName, refs, credential, signal) =>
      authorized(fullName, credential, signal, (authorization) =>
        fetchRefs(repository, refs, remoteOf(fullName, authorization, signal), limits),
      ),
    push: async (repository, fullName, push, credential, signal) =>
      refuseMissing(
        await authorized(fullName, credential, signal, (authorization) =>
          pushCommit(repository, push, remoteOf(fullName, authorization, signal)),
        ),
      ),
    async close() {
      closing.abort();
      await rest.close();
    },
  };
}

/** For calls in which a missing repository can only mean that the credential has lost access to it. */
const refuseMissing = <Result>(
  result: Result | { readonly outcome: 'not_found' },
): Exclude<Result, { outcome: 'not_found' }> | Refused =>
  (result as { outcome: string }).outcome === 'not_found'
    ? { outcome: 'refused', reason: "the repository was not found, or the credential can't access it" }
    : (result as Exclude<Result, { outcome: 'not_found' }>);

async function readRepository(
  send: SendToRepository,
  { permissions }: Authorized,
  signal: AbortSignal | undefined,
): Promise<RepositoryRead> {
  const answer = await send({ method: 'GET', path: '/repos/{owner}/{repo}', signal });
  const general = findGeneralOutcome(answer);
  if (general !== undefined) return general;
  if (answer.outcome !== 'answered' || answer.status !== 200) return { outcome: 'not_found' };
  const body = asObject(answer.body);
  const found = { full_name: asText(body.full_name), default_branch: asText(body.default_branch) };
  if (!isFullName(found.full_name) || !isRefName(found.default_branch))
    return { outcome: 'unavailable', reason: 'unreadable_answer' };
  if (permissions !== undefined) return { outcome: 'found', ...found, missing_permissions: listMissing(permissions) };

  const canPush = asObject(body.permissions).push !== false && hasScope(answer.headers['x-oauth-scopes']);
  // Whether a token has access to pull requests can be found out only by requesting them.
  const pulls = await send({ method: 'GET', path: '/repos/{owner}/{repo}/pulls', parameters: { per_page: 1 }, signal });
  const failed = findGeneralOutcome(pulls);
  if (failed?.outcome === 'unavailable') return failed;
  const canOpen = pulls.outcome === 'answered' && pulls.status === 200 && hasScope(answer.headers['x-oauth-scopes']);
  const missing_permissions = [...(canPush ? [] : ['contents:write']), ...(canOpen ? [] : ['pull_requests:write'])];
  return { outcome: 'found', ...found, missing_permissions };
}

/**
 * Lists the permissions that the App's installation lacks. Example of `permissions`: `{contents: 'write',
 * pull_requests: 'read', …}`.
 */
const listMissing = (permissions: Readonly<Record<string, unknown>>): string[] =>
  ['contents', 'pull_requests'].filter((name) => permissions[name] !== 'write').map((name) => `${name}:write`);

/** Only classic tokens have scopes. */
const hasScope = (scopes: unknown): boolean =>
  typeof scopes !== 'string' || scopes.split(/, */).some((scope) => scope === 'repo' || scope === 'public_repo');

async function readBranch(
  send: SendToRepository,
  branch: string,
  signal: AbortSignal | undefined,
): Promise<BranchRead> {
  if (!isRefName(branch)) return { outcome: 'not_found' };
  const path = '/repos/{owner}/{repo}/branches/{branch}';
  const answer = await send({ method: 'GET', path, parameters: { branch }, signal });
  const general = findGeneralOutcome(answer);
  if (general !== undefined) return general;
  if (answer.outcome !== 'answered' || answer.status !== 200) return { outcome: 'not_found' };
  const body = asObject(answer.body);
  const sha = asText(asObject(body.commit).sha);
  // The host redirects a renamed branch to its new name.
  if (asText(body.name) !== branch) return { outcome: 'not_found' };
  if (!/^[0-9a-f]{40}$/.test(sha)) return { outcome: 'unavailable', reason: 'unreadable_answer' };
  return { outcome: 'found', sha, is_protected: body.protected === true };
}

/** Removes the token from error responses, in case the host repeats it. */
function hideToken(answer: RestAnswer, token: string): RestAnswer {
  if (answer.outcome !== 'answered' || answer.status < 400) return answer;
  const text = JSON.stringify(answer.body) ?? '';
  // This happens before the text is cut, because a cut could leave part of the token.
  return text.includes(token) ? { ...answer, body: JSON.parse(text.replaceAll(token, '***')) } : answer;
}
