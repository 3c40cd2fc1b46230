// A git host for development and tests: the part of GitHub's REST protocol that Plinth uses, git over HTTP on real repositories, pages
// for people, fault switches, and a journal on disk. Started again with the same folder, it continues where it was.
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createFaultSwitches, type Fault } from '../faults.ts';
import { createAccess, type Rights, sandboxToken } from './access.ts';
import { answerWithFault, readBody, sendHtml, sendJson } from './answers.ts';
import { renderHome, renderPull } from './page.ts';
import { diffPull, type PullRequest, Refusal } from './pulls.ts';
import { commitFiles, git, listRefs, type NewRepository, protectBranches, tryGit } from './repositories.ts';
import { checkRights, findCall } from './rest.ts';
import { type GitHostEntry, openState } from './state.ts';
import { createTransport, isGitPath, type TakeFault } from './transport.ts';

export type { GitHostEntry } from './state.ts';

export interface GitHostSandbox {
  /** For `GIT_HOST_URL`. */
  readonly url: string;
  /** For `GIT_HOST_CLONE_URL`. Also the address of the pages for people. */
  readonly cloneUrl: string;
  /** A token with all rights. */
  readonly token: string;
  /** For `GIT_HOST_APP_ID` and `GIT_HOST_APP_PRIVATE_KEY`. The key changes with every start. */
  readonly appId: string;
  readonly appPrivateKey: string;
  readonly folder: string;
  readonly journal: readonly GitHostEntry[];
  setFaults(...faults: Fault[]): void;
  /** Does nothing if it exists. */
  addRepository(repository: NewRepository): Promise<void>;
  addToken(token: string, rights?: Partial<Rights>): void;
  removeToken(token: string): void;
  setAppRights(rights: Rights): void;
  /** As somebody else commits to a branch, which begins at the default branch if it is new. Returns the commit. */
  commit(
    fullName: string,
    branch: string,
    files: Readonly<Record<string, string | null>>,
    message?: string,
  ): Promise<string>;
  deleteBranch(fullName: string, branch: string): Promise<void>;
  /** As somebody merges a branch by hand who needs no merge commit. */
  moveBranch(fullName: string, branch: string, to: string): Promise<void>;
  protect(fullName: string, branches: readonly string[]): void;
  /** Null if the branch does not exist. */
  readBranch(fullName: string, branch: string): Promise<string | null>;
  listBranches(fullName: string): Promise<string[]>;
  /** The text of a file at a branch or commit. Undefined if there is none. */
  readFile(fullName: string, ref: string, path: string): Promise<string | undefined>;
  listPullRequests(fullName: string): PullRequest[];
  /** As somebody closes, merges (without changing the branches) or reopens it on the host's page. */
  setPullRequestState(fullName: string, number: number, state: 'open' | 'closed' | 'merged'): void;
  close(): Promise<void>;
}

export interface GitHostOptions {
  readonly port?: number;
  /** Default: a temporary one, removed at the end. */
  readonly folder?: string;
}

const maxJsonBytes = 16 * 1024 * 1024;

export async function startGitHost({ port = 0, folder: kept }: GitHostOptions = {}): Promise<GitHostSandbox> {
  const access = createAccess();
  const faults = createFaultSwitches();
  const takeFault: TakeFault = (call, repository) => {
    const fault = faults.take(call);
    state.record({ event: 'received', call, repository, ...(fault && { fault: fault.fault }) });
    return fault;
  };

  async function answerApi(request: IncomingMessage, response: ServerResponse, target: URL): Promise<void> {
    const text = (await readBody(request, maxJsonBytes)).toString('utf8');
    const call = findCall(state, access, { request, target, origin, body: () => JSON.parse(text) });
    checkRights(access, request, call);
    await answerWithFault(state, takeFault(call.call, call.repository), call, response, async () => {
      const { status, body, text } = await call.run();
      return () =>
        text === undefined
          ? sendJson(response, status, body)
          : response.writeHead(status, { 'content-type': 'application/vnd.github.diff; charset=utf-8' }).end(text);
    });
  }

  async function answerPage(response: ServerResponse, { pathname }: URL): Promise<void> {
    const [, name, number] = /^\/([^/]+\/[^/]+)\/pull\/(\d+)$/.exec(pathname) ?? [];
    if (name === undefined) {
      if (pathname !== '/') state.getRepository(pathname.slice(1));
      return sendHtml(response, renderHome([...state.repositories.values()], [...state.pulls.values()]));
    }
    const pull = state.getPull(state.getRepository(name).full_name, Number(number));
    sendHtml(response, renderPull(pull, await diffPull(state.folderOf(name), pull)));
  }

  async function answerSandbox(request: IncomingMessage, response: ServerResponse, path: string): Promise<void> {
    if (path === '/sandbox/journal') return sendJson(response, 200, state.journal.entries);
    const sent: unknown = JSON.parse((await readBody(request, maxJsonBytes)).toString('utf8'));
    if (path === '/sandbox/faults') faults.set(sent as Fault[]);
    else if (path === '/sandbox/repositories') await state.addRepository(sent as NewRepository);
    else throw new Refusal(404, 'Not Found');
    sendJson(response, 200, {});
  }

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const target = new URL(request.url ?? '/', origin);
    if (target.pathname.startsWith('/sandbox/')) return answerSandbox(request, response, target.pathname);
    if (target.pathname.startsWith('/api/v3/')) return answerApi(request, response, target);
    if (isGitPath(target.pathname)) return answerGit(request, response, target);
    return answerPage(response, target);
  }

  const server = createServer((request, response) => {
    answer(request, response).catch((error: unknown) => {
      if (!(error instanceof Refusal)) {
        console.error('git host', error);
        return void response.destroy();
      }
      state.record({ event: 'refused', call: 'request', status: error.status });
      if (!response.headersSent) sendJson(response, error.status, error.body, error.headers);
    });
  });
  // Before the journal is opened: two servers must not write to one.
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(port, '127.0.0.1', resolve));
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const folder = resolve(kept ?? mkdtempSync(join(tmpdir(), 'plinth-git-host-')));
  const state = openState(folder);
  const answerGit = createTransport(state, access, takeFault);
  const findBranch = (fullName: string, branch: string) =>
    tryGit(state.folderOf(fullName), 'rev-parse', '--verify', '--quiet', `refs/heads/${branch}`);

  return {
    url: `${origin}/api/v3`,
    cloneUrl: origin,
    token: sandboxToken,
    appId: access.appId,
    appPrivateKey: access.appPrivateKey,
    folder,
    journal: state.journal.entries,
    setFaults: (...list) => faults.set(list),
    addRepository: state.addRepository,
    addToken: access.addToken,
    removeToken: access.removeToken,
    setAppRights: access.setAppRights,
    commit: (fullName, branch, files, message = 'Change by somebody else') =>
      state.changeRefs('elsewhere', fullName, async () => {
        const from = (await findBranch(fullName, branch)) === undefined ? 'HEAD' : undefined;
        return commitFiles(state.folderOf(fullName), branch, files, message, from);
      }),
    deleteBranch: (fullName, branch) =>
      state.changeRefs('elsewhere', fullName, async () => {
        await git(state.folderOf(fullName), 'update-ref', '-d', `refs/heads/${branch}`);
      }),
    moveBranch: (fullName, branch, to) =>
      state.changeRefs('elsewhere', fullName, async () => {
        await git(state.folderOf(fullName), 'update-ref', `refs/heads/${branch}`, `refs/heads/${to}`);
      }),
    protect(fullName, branches) {
      protectBranches(state.folderOf(fullName), branches);
      const created = { ...state.getRepository(fullName), protected: branches };
      state.record({ event: 'applied', call: 'repository', repository: created.full_name, created });
    },
    readBranch: async (fullName, branch) => (await findBranch(fullName, branch)) ?? null,
    listBranches: async (fullName) =>
      [...(await listRefs(state.folderOf(fullName))).keys()].flatMap(
        (ref) => /^refs\/heads\/(.*)$/.exec(ref)?.[1] ?? [],
      ),
    readFile: (fullName, ref, path) => tryGit(state.folderOf(fullName), 'show', `${ref}:${path}`),
    listPullRequests: (fullName) => state.listPulls(state.getRepository(fullName).full_name),
    setPullRequestState(fullName, number, wanted) {
      const now = new Date().toISOString();
      const pull = state.getPull(state.getRepository(fullName).full_name, number);
      const change = {
        state: wanted === 'open' ? ('open' as const) : ('closed' as const),
        merged_at: wanted === 'merged' ? now : null,
        updated_at: now,
      };
      const { repository } = pull;
      state.record({ event: 'applied', call: 'elsewhere', repository, pull_request: { ...pull, ...change } });
    },
    async close() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
      await state.close();
      if (kept === undefined) rmSync(folder, { recursive: true, force: true });
    },
  };
}
