// The git host's REST API: maps requests to calls, and defines each call's required rights and response.
import type { IncomingMessage } from 'node:http';
import type { Access, Rights } from './access.ts';
import { createPull, diffPull, type NewPull, type PullRequest, presentPull, Refusal } from './pulls.ts';
import { tryGit } from './repositories.ts';
import type { GitCall, State } from './state.ts';

export interface RestCall {
  readonly call: GitCall;
  readonly repository: string;
  /** `app` requires the App's signature. `none` requires any valid token. */
  readonly needs: keyof Rights | 'app' | 'none';
  run(): Promise<{ readonly status: number; readonly body: unknown; readonly text?: string }>;
}

export interface RestRequest {
  readonly request: IncomingMessage;
  readonly target: URL;
  readonly origin: string;
  /** Parses the body. */
  body(): unknown;
}

export function findCall(state: State, access: Access, { request, target, origin, body }: RestRequest): RestCall {
  const { method } = request;
  if (method === 'POST' && target.pathname === '/api/v3/app/installations/1/access_tokens')
    return {
      call: 'app',
      repository: '',
      needs: 'app',
      run: async () => ({ status: 201, body: { ...access.issueInstallationToken(), permissions: access.appRights } }),
    };
  if (method === 'GET' && target.pathname === '/api/v3/app')
    return {
      call: 'app',
      repository: '',
      needs: 'app',
      run: async () => ({ status: 200, body: { id: Number(access.appId), permissions: access.appRights } }),
    };
  const [, name = '', rest = ''] = /^\/api\/v3\/repos\/([^/]+\/[^/]+)(\/.*)?$/.exec(target.pathname) ?? [];
  const repository = state.getRepository(decodeURIComponent(name)).full_name;
  const folder = state.folderOf(repository);
  const present = (pull: PullRequest) => presentPull(folder, origin, pull);
  const [, number = ''] = /^\/pulls\/(\d+)$/.exec(rest) ?? [];
  const [, branch] = /^\/branches\/(.+)$/.exec(rest) ?? [];
  const route = `${method} ${number !== '' ? '/pulls/n' : branch !== undefined ? '/branches/n' : rest}`;
  const calls: Record<string, Omit<RestCall, 'repository'>> = {
    'GET ': {
      call: 'read',
      needs: 'none',
      run: async () => ({ status: 200, body: presentRepository(state, access, request, origin, repository) }),
    },
    'GET /installation': {
      call: 'app',
      needs: 'app',
      run: async () => ({ status: 200, body: { id: 1, app_id: Number(access.appId), permissions: access.appRights } }),
    },
    'GET /branches/n': {
      call: 'branch',
      needs: 'contents',
      run: async () => ({
        status: 200,
        body: await presentBranch(state, repository, decodeURIComponent(branch ?? '')),
      }),
    },
    'GET /pulls': {
      call: 'list_pulls',
      needs: 'pull_requests',
      run: async () => {
        const listed = filterPulls(state.listPulls(repository), repository, target.searchParams);
        return { status: 200, body: await Promise.all(listed.map(present)) };
      },
    },
    'POST /pulls': {
      call: 'create_pull',
      needs: 'pull_requests',
      run: () =>
        state.inTurn(async () => {
          const pull = await createPull(folder, repository, state.listPulls(repository), body() as NewPull);
          state.record({ event: 'applied', call: 'create_pull', repository, pull_request: pull });
          return { status: 201, body: await present(pull) };
        }),
    },
    'GET /pulls/n': {
      call: 'read_pull',
      needs: 'pull_requests',
      run: async () => {
        const pull = state.getPull(repository, Number(number));
        const wantsDiff = request.headers.accept?.includes('application/vnd.github.diff');
        return { status: 200, body: await present(pull), ...(wantsDiff && { text: await diffPull(folder, pull) }) };
      },
    },
  };
  const found = calls[route];
  if (found === undefined) throw new Refusal(404, 'Not Found');
  return { ...found, repository };
}

export function checkRights(access: Access, request: IncomingMessage, { needs, call }: RestCall): void {
  if (needs === 'app') {
    if (!access.isApp(request)) throw new Refusal(401, 'A JSON web token could not be decoded');
    return;
  }
  const rights = access.findRights(request);
  if (rights === undefined) throw new Refusal(401, 'Bad credentials');
  const wanted = call === 'create_pull' ? 'write' : 'read';
  if (needs === 'none' || rights[needs] === 'write' || rights[needs] === wanted) return;
  throw new Refusal(403, 'Resource not accessible by personal access token', undefined, {
    'x-accepted-github-permissions': `${needs}=${wanted}`,
  });
}

function presentRepository(
  state: State,
  access: Access,
  request: IncomingMessage,
  origin: string,
  fullName: string,
): object {
  const { default_branch } = state.getRepository(fullName);
  const [owner, name] = fullName.split('/');
  const push = access.findRights(request)?.contents === 'write';
  return {
    id: 1,
    name,
    full_name: fullName,
    owner: { login: owner },
    private: true,
    default_branch,
    clone_url: `${origin}/${fullName}.git`,
    html_url: `${origin}/${fullName}`,
    permissions: { admin: false, maintain: false, push, triage: push, pull: true },
  };
}

async function presentBranch(state: State, fullName: string, name: string): Promise<object> {
  const sha = await tryGit(state.folderOf(fullName), 'rev-parse', '--verify', '--quiet', `refs/heads/${name}`);
  if (sha === undefined) throw new Refusal(404, 'Branch not found');
  return { name, commit: { sha }, protected: state.getRepository(fullName).protected.includes(name) };
}

/** Returns the matching pull requests, newest first. */
function filterPulls(pulls: readonly PullRequest[], fullName: string, search: URLSearchParams): PullRequest[] {
  const owner = fullName.split('/')[0];
  const [state, head] = [search.get('state') ?? 'open', search.get('head')];
  return pulls
    .filter((pull) => (state === 'all' || pull.state === state) && (head === null || head === `${owner}:${pull.head}`))
    .toReversed()
    .slice(0, Number(search.get('per_page') ?? 30));
}
