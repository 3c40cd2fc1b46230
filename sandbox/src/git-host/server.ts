// A git host for development and tests: the part of GitHub's REST protocol that Plinth uses, git over HTTP with real
// repositories, web pages, fault switches, and a journal on disk. A server restarted with the same folder continues
// where it stopped.
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createFaultSwitches, type Fault } from '../faults.ts';
import { notFoundPage, sendPage, wantsPage } from '../pages/page.ts';
import { createAccess, type Rights, sandboxToken } from './access.ts';
import { answerWithFault, readBody, sendJson } from './answers.ts';
import { toHomePage, toPullPage, toRepositoryPage } from './page.ts';
import { diffPull, type PullRequest, Refusal } from './pulls.ts';
import { commitFiles, git, listRefs, type NewRepository, protectBranches, tryGit } from './repositories.ts';
import { checkRights, findCall } from './rest.ts';
import { type GitHostEntry, openState } from './state.ts';
import { createTransport, isGitPath, type TakeFault } from './transport.ts';

export type { GitHostEntry } from './state.ts';

export interface GitHostSandbox {
  /** The value for `GIT_HOST_URL`. */
  readonly url: string;
  /** The value for `GIT_HOST_CLONE_URL`. The host's web pages have the same URL. */
  readonly cloneUrl: string;
  /** A token with all rights. */
  readonly token: string;
  /** The values for `GIT_HOST_APP_ID` and `GIT_HOST_APP_PRIVATE_KEY`. Each process generates a new key. */
  readonly appId: string;
  readonly appPrivateKey: string;
  readonly folder: string;
  readonly journal: readonly GitHostEntry[];
  setFaults(...faults: Fault[]): void;
  /** Does nothing if the repository already exists. */
  addRepository(repository: NewRepository): Promise<void>;
  addToken(token: string, rights?: Partial<Rights>): void;
  removeToken(token: string): void;
  setAppRights(rights: Rights): void;
  /** Commits to a branch as another user would. A new branch starts at the default branch. Returns the commit id. */
  commit(
    fullName: string,
    branch: string,
    files: Readonly<Record<string, string | null>>,
    message?: string,
  ): Promise<string>;
  deleteBranch(fullName: string, branch: string): Promise<void>;
  /** Moves a branch, as a user would by merging manually without a merge commit. */
  moveBranch(fullName: string, branch: string, to: string): Promise<void>;
  protect(fullName: string, branches: readonly string[]): void;
  /** Returns the branch's commit id, or null if the branch does not exist. */
  readBranch(fullName: string, branch: string): Promise<string | null>;
  listBranches(fullName: string): Promise<string[]>;
  /** Returns a file's content on a branch or at a commit. Undefined if the file does not exist. */
  readFile(fullName: string, ref: string, path: string): Promise<string | undefined>;
  listPullRequests(fullName: string): PullRequest[];
  /** Closes, merges or reopens a pull request, as a user would on its page. Merging does not change the branches. */
  setPullRequestState(fullName: string, number: number, state: 'open' | 'closed' | 'merged'): void;
  close(): Promise<void>;
}

export interface GitHostOptions {
  readonly port?: number;
  /** Defaults to a temporary folder, which is removed when the server closes. */
  readonly folder?: string;
  /** The sandbox's start page, to which the pages link. */
  readonly startPage?: string;
}

const maxJsonBytes = 16 * 1024 * 1024;

export async function startGitHost({
  port = 0,
  folder: kept,
  startPage,
}: GitHostOptions = {}): Promise<GitHostSandbox> {
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
    const [, name = '', number] = /^\/([^/]+\/[^/]+)(?:\/pull\/(\d+))?$/.exec(decodePath(pathname)) ?? [];
    const home = {
      repositories: [...state.repositories.values()],
      pulls: [...state.pulls.values()],
      origin,
      startPage,
    };
    if (pathname === '/') return sendPage(response, toHomePage(home));
    const repository = state.getRepository(name);
    if (number === undefined) return sendPage(response, toRepositoryPage(repository, home));
    const pull = state.getPull(repository.full_name, Number(number));
    sendPage(response, toPullPage(pull, await diffPull(state.folderOf(name), pull), startPage));
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
      if (response.headersSent) return;
      if (error.status === 404 && wantsPage(request)) sendPage(response, notFoundPage(startPage), 404);
      else sendJson(response, error.status, error.body, error.headers);
    });
  });
  // Listens before it opens the journal, because two servers must not write to the same journal.
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

/** Returns the path as it is if it is not encoded correctly. */
function decodePath(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}
