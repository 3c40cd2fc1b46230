// Tests the git host's client over the network: REST and git, against the sandbox's host, with injected faults.
import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type GitHostSandbox, startGitHost } from '../../../../sandbox/src/git-host/server.ts';
import { systemClock } from '../../kit/clock.ts';
import { openBareRepository } from '../../kit/git/repository.ts';
import type { BareRepository } from '../../kit/git/types.ts';
import { type GitHostSettings, openGitHost } from './index.ts';
import type { GitCredential, GitHost } from './types.ts';

let sandbox: GitHostSandbox;
let host: GitHost;
let folder: string;
let closedUrl: string;
let shared: BareRepository;
let sharedBase: string;
const never = new AbortController().signal;
const name = 'acme/shop';
let credential: GitCredential;

const open = (settings: Partial<GitHostSettings> = {}) =>
  openGitHost({
    url: sandbox.url,
    cloneUrl: sandbox.cloneUrl,
    app: { id: sandbox.appId, privateKey: sandbox.appPrivateKey },
    maxRepositoryBytes: 50_000_000,
    clock: systemClock,
    ...settings,
  });

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'plinth-git-host-test-'));
  await chmod(folder, 0o711); // git runs as another user if this is root
  sandbox = await startGitHost({ folder: join(folder, 'host') });
  await sandbox.addRepository({ full_name: name, files: { 'README.md': '# Shop\n' }, protected: ['release'] });
  await sandbox.commit(name, 'release', { version: '1' });
  const closed = createServer();
  await new Promise<void>((resolve) => closed.listen(0, '127.0.0.1', resolve));
  closedUrl = `http://127.0.0.1:${(closed.address() as AddressInfo).port}`;
  await new Promise((resolve) => closed.close(resolve));
  host = open();
  credential = { token: sandbox.token };
  shared = await newRepository();
  const fetched = await host.fetch(shared, name, ['main'], credential, never);
  if (fetched.outcome !== 'fetched') throw new Error(fetched.outcome);
  sharedBase = fetched.commits.get('main') ?? '';
});
afterAll(async () => {
  await host?.close();
  await sandbox?.close();
  await rm(folder, { recursive: true, force: true });
});
beforeEach(() => sandbox.setFaults());

const newRepository = () => openBareRepository(join(folder, `clone-${randomBytes(6).toString('hex')}.git`));
const newBranch = () => `work/${randomBytes(6).toString('hex')}`;

/** Creates a commit on top of main, in a local repository. */
async function prepareCommit() {
  const [repository, base] = [shared, sharedBase];
  return { repository, base, commit: await commitOn(repository, base, { 'new.txt': randomBytes(8).toString('hex') }) };
}

async function commitOn(repository: BareRepository, base: string, files: Record<string, string>) {
  const changes = Object.entries(files).map(([path, content]) => ({ path, content: Buffer.from(content) }));
  const tree = await repository.writeTree(await repository.treeOf(base), changes);
  const author = { name: 'Plinth', email: 'plinth@example.com' };
  return repository.commit({ tree, parents: [base], message: 'Work', author, date: new Date(0) });
}

/** Pushes a new branch with one commit to the host. */
async function pushNew() {
  const { repository, base, commit } = await prepareCommit();
  const branch = newBranch();
  expect(await host.push(repository, name, { commit, branch, expected: null }, credential, never)).toEqual({
    outcome: 'pushed',
  });
  return { repository, base, commit, branch };
}

/** Creates a branch with one commit on the host. */
async function commitThere() {
  const branch = newBranch();
  return { branch, commit: await sandbox.commit(name, branch, { 'new.txt': branch }) };
}

describe('readRepository', () => {
  it('returns the name as the host spells it, the default branch, and which permissions are missing', async () => {
    const found = { outcome: 'found', full_name: name, default_branch: 'main' };
    expect(await host.readRepository('ACME/Shop', credential)).toEqual({ ...found, missing_permissions: [] });
    sandbox.addToken('reader', { contents: 'read', pull_requests: 'none' });
    expect(await host.readRepository(name, { token: 'reader' })).toEqual({
      ...found,
      missing_permissions: ['contents:write', 'pull_requests:write'],
    });
    sandbox.setAppRights({ contents: 'write', pull_requests: 'read' });
    expect(await open().readRepository(name, { app: true })).toEqual({
      ...found,
      missing_permissions: ['pull_requests:write'],
    });
    sandbox.setAppRights({ contents: 'write', pull_requests: 'write' });
  });

  it('tells apart a repository that is not there, a token that is refused, and a host that does not answer', async () => {
    expect(await host.readRepository('acme/none', credential)).toEqual({ outcome: 'not_found' });
    expect(await host.readRepository(name, { token: 'wrong' })).toEqual({
      outcome: 'refused',
      reason: 'Bad credentials',
    });
    sandbox.setFaults(
      { call: 'read', fault: 'drop_before', times: 1 },
      { call: 'read', fault: 'error_before', times: 1 },
    );
    expect(await host.readRepository(name, credential)).toMatchObject({ outcome: 'unavailable' });
    expect(await host.readRepository(name, credential)).toEqual({ outcome: 'unavailable', reason: 'status_500' });
    const slow = open({ timeoutMs: 100 });
    sandbox.setFaults({ call: 'read', fault: 'delay', delay_ms: 300, times: 1 });
    expect(await slow.readRepository(name, credential)).toEqual({ outcome: 'unavailable', reason: 'timeout' });
    const closed = open({ url: closedUrl });
    expect(await closed.readRepository(name, credential)).toEqual({ outcome: 'unavailable', reason: 'econnrefused' });
    const absent = open({ url: undefined });
    expect(absent).toMatchObject({ configured: false, hasApp: false });
    expect(await absent.readRepository(name, credential)).toEqual({ outcome: 'unavailable', reason: 'not_configured' });
  });

  it.each([
    '..',
    '../..',
    'acme/..',
    './shop',
    'acme/shop/../x',
    'acme',
    'acme/shop?x=',
    'acme/%2e%2e',
    'acme/sh op',
    '/acme/shop',
  ])('sends nothing for the name %j', async (fullName) => {
    const before = sandbox.journal.length;
    expect(await host.readRepository(fullName, credential)).toEqual({ outcome: 'not_found' });
    expect(await host.fetch(await newRepository(), fullName, ['main'], credential, never)).toEqual({
      outcome: 'not_found',
    });
    expect(sandbox.journal.length).toBe(before);
  });

  it('follows no redirect to another host', async () => {
    const received: string[] = [];
    const elsewhere = createServer((request, response) => {
      received.push(request.url ?? '');
      response.end('{}');
    });
    const redirecting = createServer((request, response) => {
      const { port } = elsewhere.address() as AddressInfo;
      response.writeHead(301, { location: `http://127.0.0.1:${port}${request.url}` }).end();
    });
    for (const server of [elsewhere, redirecting])
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(redirecting.address() as AddressInfo).port}`;
    const moved = open({ url, cloneUrl: url });
    expect(await moved.readRepository(name, credential)).toMatchObject({ outcome: 'not_found' });
    expect(await moved.fetch(await newRepository(), name, ['main'], credential, never)).toMatchObject({
      outcome: 'unavailable',
    });
    expect(received).toEqual([]);
    await moved.close();
    for (const server of [elsewhere, redirecting]) server.close();
  });
});

describe('the App', () => {
  it('signs in once, and again shortly before its token expires', async () => {
    let now = Date.now();
    const app = open({ clock: { now: () => new Date(now) } });
    const asked = () => sandbox.journal.filter(({ event, call }) => event === 'received' && call === 'app').length;
    const before = asked();
    expect(app.hasApp).toBe(true);
    expect(await app.readBranch(name, 'main', { app: true })).toMatchObject({ outcome: 'found' });
    const { repository } = await prepareCommit();
    expect(await app.fetch(repository, name, ['main'], { app: true }, never)).toMatchObject({ outcome: 'fetched' });
    expect(asked() - before).toBe(2);
    now += 56 * 60_000;
    // The sandbox's clock is now behind the signing clock, so the sandbox rejects the signature. This proves that a new
    // token was requested.
    expect(await app.readBranch(name, 'main', { app: true })).toMatchObject({ outcome: 'refused' });
    expect(await open({ app: undefined }).readBranch(name, 'main', { app: true })).toMatchObject({
      outcome: 'refused',
    });
  });
});

describe('readBranch', () => {
  it('returns the commit and whether the branch is protected', async () => {
    expect(await host.readBranch(name, 'main', credential)).toEqual({
      outcome: 'found',
      sha: await sandbox.readBranch(name, 'main'),
      is_protected: false,
    });
    expect(await host.readBranch(name, 'release', credential)).toMatchObject({ is_protected: true });
    for (const branch of ['none', '../main', '', 'a b', '-x'])
      expect(await host.readBranch(name, branch, credential)).toEqual({ outcome: 'not_found' });
  });
});

describe('fetch', () => {
  it('brings branches, tags and commits, and says which is missing', async () => {
    const repository = await newRepository();
    const release = await sandbox.readBranch(name, 'release');
    const fetched = await host.fetch(
      repository,
      name,
      ['main', 'refs/heads/release', release ?? ''],
      credential,
      never,
    );
    expect(fetched).toEqual({
      outcome: 'fetched',
      commits: new Map([
        ['main', await sandbox.readBranch(name, 'main')],
        ['refs/heads/release', release],
        [release, release],
      ]),
    });
    const tree = await repository.treeOf(release ?? '');
    expect(await repository.readBlob(tree, 'version', 10)).toMatchObject({ content: Buffer.from('1') });
    for (const ref of ['none', 'f'.repeat(40), '--upload-pack=x', 'a..b'])
      expect(await host.fetch(repository, name, ['main', ref], credential, never)).toEqual({
        outcome: 'ref_not_found',
        ref,
      });
    expect(await host.fetch(repository, 'acme/none', ['main'], credential, never)).toEqual({ outcome: 'not_found' });
    expect(await host.fetch(repository, name, ['main'], { token: 'wrong' }, never)).toMatchObject({
      outcome: 'refused',
    });
  });

  it('stops at the limit of size, and needs no memory for it', async () => {
    await sandbox.addRepository({
      full_name: 'acme/large',
      files: { 'a.bin': randomBytes(1_500_000).toString('base64') },
    });
    const small = open({ maxRepositoryBytes: 500_000 });
    const repository = await newRepository();
    expect(await small.fetch(repository, 'acme/large', ['main'], credential, never)).toEqual({
      outcome: 'too_large',
      max_bytes: 500_000,
    });
  });

  it('continues after it was cut off, and is stopped at once', async () => {
    const repository = await newRepository();
    for (const fault of ['drop_before', 'drop_after', 'error_before'] as const) {
      // Fetching reads the refs first.
      sandbox.setFaults({ call: 'fetch', fault, times: 1, after: 1 });
      expect(await host.fetch(repository, name, ['main'], credential, never)).toMatchObject({ outcome: 'unavailable' });
    }
    sandbox.setFaults({ call: 'fetch', fault: 'delay', delay_ms: 5_000 });
    const stop = new AbortController();
    setTimeout(() => stop.abort(), 50);
    expect(await host.fetch(repository, name, ['main'], credential, stop.signal)).toEqual({
      outcome: 'unavailable',
      reason: 'stopped',
    });
    sandbox.setFaults();
    expect(await host.fetch(repository, name, ['main'], credential, never)).toMatchObject({ outcome: 'fetched' });
  });

  it('brings a part of a long history, from which work is pushed and joined with what others pushed', async () => {
    await sandbox.addRepository({ full_name: 'acme/old' });
    for (let index = 0; index < 4; index += 1) await sandbox.commit('acme/old', 'main', { log: String(index) });
    const repository = await newRepository();
    const shallow = open({ depth: 2 });
    const read = async () => {
      const fetched = await shallow.fetch(repository, 'acme/old', ['main'], credential, never);
      return fetched.outcome === 'fetched' ? (fetched.commits.get('main') ?? '') : '';
    };
    const base = await read();
    expect(readFileSync(join(repository.folder, 'shallow'), 'utf8')).not.toBe('');
    const commit = await commitOn(repository, base, { ours: 'x' });
    const theirs = await sandbox.commit('acme/old', 'main', { theirs: 'y' });
    const push = (id: string, expected: string) =>
      host.push(repository, 'acme/old', { commit: id, branch: 'main', expected }, credential, never);
    expect(await push(commit, base)).toEqual({ outcome: 'moved', sha: theirs });
    expect(await read()).toBe(theirs);
    const merged = await repository.merge(commit, theirs);
    if (merged.outcome !== 'merged') throw new Error(merged.outcome);
    const author = { name: 'Plinth', email: 'plinth@example.com' };
    const joined = await repository.commit({
      tree: merged.tree,
      parents: [theirs, commit],
      message: 'Join',
      author,
      date: new Date(0),
    });
    expect(await push(joined, theirs)).toEqual({ outcome: 'pushed' });
    expect(await sandbox.readFile('acme/old', 'main', 'ours')).toBe('x');
  });
});

describe('push', () => {
  it('sets a branch once, whatever is repeated', async () => {
    const { repository, commit, branch } = await pushNew();
    expect(await sandbox.readBranch(name, branch)).toBe(commit);
    expect(await host.push(repository, name, { commit, branch, expected: null }, credential, never)).toEqual({
      outcome: 'already_there',
    });
    const next = await commitOn(repository, commit, { more: '1' });
    expect(await host.push(repository, name, { commit: next, branch, expected: commit }, credential, never)).toEqual({
      outcome: 'pushed',
    });
    const pushes = sandbox.journal.filter(({ refs }) => refs?.some(({ ref }) => ref === `refs/heads/${branch}`));
    expect(pushes.map(({ refs }) => refs)).toEqual([
      [{ ref: `refs/heads/${branch}`, old: null, new: commit }],
      [{ ref: `refs/heads/${branch}`, old: commit, new: next }],
    ]);
  });

  it('never overwrites what others pushed', async () => {
    const { repository, base, commit, branch } = await pushNew();
    const theirs = await sandbox.commit(name, branch, { theirs: '1' });
    const next = await commitOn(repository, commit, { more: '1' });
    const push = (id: string, expected: string | null) =>
      host.push(repository, name, { commit: id, branch, expected }, credential, never);
    expect(await push(next, commit)).toEqual({ outcome: 'moved', sha: theirs });
    expect(await push(next, null)).toEqual({ outcome: 'moved', sha: theirs });
    expect(await push(base, commit)).toMatchObject({ outcome: 'rejected' });
    await sandbox.deleteBranch(name, branch);
    expect(await push(next, commit)).toEqual({ outcome: 'moved', sha: null });
  });

  it('returns what the host says when it refuses', async () => {
    const { repository, commit, base } = await prepareCommit();
    const release = await sandbox.commit(name, 'release', { version: '2' });
    await host.fetch(repository, name, ['release'], credential, never);
    const onRelease = await commitOn(repository, release, { version: '3' });
    const rejected = await host.push(
      repository,
      name,
      { commit: onRelease, branch: 'release', expected: release },
      credential,
      never,
    );
    expect(rejected).toEqual({
      outcome: 'rejected',
      reason: expect.stringContaining('Protected branch update failed'),
    });
    sandbox.addToken('reader', { contents: 'read' });
    const push = { commit, branch: newBranch(), expected: null };
    expect(await host.push(repository, name, push, { token: 'reader' }, never)).toEqual({
      outcome: 'refused',
      reason: expect.stringContaining('Permission to acme/shop.git denied'),
    });
    expect(await host.push(repository, name, push, { token: 'wrong' }, never)).toMatchObject({ outcome: 'refused' });
    expect(await host.push(repository, 'acme/none', push, credential, never)).toMatchObject({ outcome: 'refused' });
    expect(await host.push(repository, name, { ...push, branch: 'a b' }, credential, never)).toMatchObject({
      outcome: 'rejected',
    });
    const closed = open({ cloneUrl: closedUrl });
    expect(await closed.push(repository, name, push, credential, never)).toMatchObject({ outcome: 'unavailable' });
    expect(
      await host.push(repository, name, { ...push, branch: 'main', expected: base }, credential, AbortSignal.abort()),
    ).toMatchObject({ outcome: 'unavailable' });
  });

  it.each([
    ['drop_before', 'unknown', 'pushed'],
    ['drop_after', 'unknown', 'already_there'],
    ['error_before', 'unknown', 'pushed'],
    ['error_after', 'unknown', 'already_there'],
    ['refuse', 'refused', 'pushed'],
    ['duplicate', 'already_there', 'already_there'],
  ] as const)('with %s ends %s; pushing the same again then ends %s', async (fault, first, second) => {
    const { repository, commit } = await prepareCommit();
    const branch = newBranch();
    const push = () => host.push(repository, name, { commit, branch, expected: null }, credential, never);
    // Curl repeats the request if a reused connection is closed without a response.
    sandbox.setFaults({ call: 'push', fault, times: fault.startsWith('drop') ? 2 : 1 });
    expect(await push()).toMatchObject({ outcome: first });
    expect(await push()).toEqual({ outcome: second });
    expect(await sandbox.readBranch(name, branch)).toBe(commit);
    expect(sandbox.journal.filter(({ refs }) => refs?.some(({ ref }) => ref.endsWith(branch)))).toHaveLength(1);
  });

  it('is not known if it was refused because the network sent it twice, and the branch could not be read', async () => {
    const { repository, commit } = await prepareCommit();
    const push = { commit, branch: newBranch(), expected: null };
    sandbox.setFaults(
      { call: 'push', fault: 'duplicate', times: 1 },
      { call: 'fetch', fault: 'error_before', times: 1 },
    );
    expect(await host.push(repository, name, push, credential, never)).toEqual({ outcome: 'unknown' });
    expect(await host.push(repository, name, push, credential, never)).toEqual({ outcome: 'already_there' });
  });

  it('does not know what became of a push that it stopped', async () => {
    const { repository, commit } = await prepareCommit();
    sandbox.setFaults({ call: 'push', fault: 'delay', delay_ms: 400, times: 1 });
    const hasty = open({ transferTimeoutMs: 300 });
    const push = { commit, branch: newBranch(), expected: null };
    expect(await hasty.push(repository, name, push, credential, never)).toEqual({ outcome: 'unknown' });
  });
});

describe('pull requests', () => {
  const text = { title: 'Add a file', body: 'Summary\n<!-- plinth: 1 -->', base: 'main' };

  it('are created once, found by their branch, and read', async () => {
    const { branch, commit } = await commitThere();
    expect(await host.findPullRequest(name, branch, credential)).toEqual({ outcome: 'none' });
    const created = await host.createPullRequest(name, { ...text, head: branch }, credential);
    if (created.outcome !== 'created') throw new Error(created.outcome);
    const { number } = created.pull_request;
    expect(created.pull_request).toEqual({
      number,
      html_url: `${sandbox.cloneUrl}/${name}/pull/${number}`,
      url: `${sandbox.url}/repos/${name}/pulls/${number}`,
      title: text.title,
      body: text.body,
      state: 'open',
      head_branch: branch,
      head_sha: commit,
      base_branch: 'main',
      created_date: expect.stringMatching(/^\d{4}-.*Z$/),
      updated_date: expect.stringMatching(/^\d{4}-.*Z$/),
    });
    expect(await host.createPullRequest(name, { ...text, head: branch }, credential)).toEqual({ outcome: 'exists' });
    expect(await host.findPullRequest(name, branch, credential)).toEqual({
      outcome: 'found',
      pull_request: created.pull_request,
    });
    sandbox.setPullRequestState(name, number, 'merged');
    expect(await host.readPullRequest(name, number, credential)).toMatchObject({
      outcome: 'found',
      pull_request: { state: 'merged' },
    });
    expect(await host.readPullRequest(name, 9_999, credential)).toEqual({ outcome: 'not_found' });
  });

  it('are found open before closed', async () => {
    const { branch } = await commitThere();
    const numbers = [];
    for (let round = 0; round < 2; round += 1) {
      const created = await host.createPullRequest(name, { ...text, head: branch }, credential);
      if (created.outcome !== 'created') throw new Error(created.outcome);
      numbers.push(created.pull_request.number);
      sandbox.setPullRequestState(name, created.pull_request.number, 'closed');
    }
    expect(await host.findPullRequest(name, branch, credential)).toMatchObject({
      pull_request: { number: numbers[1], state: 'closed' },
    });
    sandbox.setPullRequestState(name, numbers[0] ?? 0, 'open');
    expect(await host.findPullRequest(name, branch, credential)).toMatchObject({
      pull_request: { number: numbers[0] },
    });
  });

  it('are rejected in the words of the host, and refused without the right', async () => {
    const { branch } = await commitThere();
    const create = (change: object, as = credential) =>
      host.createPullRequest(name, { ...text, head: branch, ...change }, as);
    expect(await create({ head: 'main' })).toEqual({
      outcome: 'rejected',
      reason: 'Validation Failed: No commits between main and main',
    });
    expect(await create({ base: 'none' })).toEqual({ outcome: 'rejected', reason: 'Validation Failed: base invalid' });
    sandbox.addToken('pusher', { pull_requests: 'read' });
    expect(await create({}, { token: 'pusher' })).toMatchObject({ outcome: 'refused' });
    expect(await create({}, { token: 'wrong' })).toMatchObject({ outcome: 'refused' });
    expect(await open({ url: closedUrl }).createPullRequest(name, { ...text, head: branch }, credential)).toMatchObject(
      { outcome: 'unavailable' },
    );
    sandbox.setFaults({ call: 'list_pulls', fault: 'error_before' });
    expect(await host.findPullRequest(name, branch, credential)).toMatchObject({ outcome: 'unavailable' });
  });

  it.each([
    ['drop_before', 'unknown', 'none'],
    ['drop_after', 'unknown', 'found'],
    ['error_before', 'unknown', 'none'],
    ['error_after', 'unknown', 'found'],
    ['refuse', 'refused', 'none'],
    ['duplicate', 'exists', 'found'],
  ] as const)('with %s end %s; finding by the branch then ends %s', async (fault, first, second) => {
    const { branch } = await commitThere();
    sandbox.setFaults({ call: 'create_pull', fault, times: 1 });
    expect(await host.createPullRequest(name, { ...text, head: branch }, credential)).toMatchObject({ outcome: first });
    expect(await host.findPullRequest(name, branch, credential)).toMatchObject({ outcome: second });
  });
});

describe('the token', () => {
  const token = `ghp_${'secret'.repeat(5)}`;
  const encoded = Buffer.from(`x-access-token:${token}`).toString('base64');

  it('is in no command line and no file while git runs and afterwards', async () => {
    sandbox.addToken(token);
    const { repository, commit } = await prepareCommit();
    sandbox.setFaults({ call: 'push', fault: 'delay', delay_ms: 600, times: 1 });
    const pushing = host.push(repository, name, { commit, branch: newBranch(), expected: null }, { token }, never);
    let seen = 0;
    let isDone = false;
    void pushing.finally(() => {
      isDone = true;
    });
    while (!isDone) {
      for (const line of commandLines()) {
        if (!line.includes('git')) continue;
        seen += line.includes('push') ? 1 : 0;
        expect(line).not.toContain(token);
        expect(line).not.toContain(encoded);
      }
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    expect(await pushing).toEqual({ outcome: 'pushed' });
    expect(seen).toBeGreaterThan(0);
    const found = spawnSync('grep', ['-rlE', `${token}|${encoded}`, repository.folder], { encoding: 'utf8' });
    expect(found).toMatchObject({ status: 1, stdout: '' });
  });

  it('is in no result, even if the host repeats it', async () => {
    const echo = createServer((request, response) => {
      request.resume();
      const message = `You sent ${request.headers.authorization} (${token})`;
      if (request.url?.startsWith('/repos'))
        response.writeHead(403, { 'content-type': 'application/json' }).end(JSON.stringify({ message }));
      else response.writeHead(403, { 'content-type': 'text/plain' }).end(`${message}\n`);
    });
    await new Promise<void>((resolve) => echo.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(echo.address() as AddressInfo).port}`;
    const echoing = open({ url, cloneUrl: url });
    const { repository, commit } = await prepareCommit();
    const results = [
      await echoing.readRepository(name, { token }),
      await echoing.createPullRequest(name, { title: 'x', body: '', head: 'a', base: 'main' }, { token }),
      await echoing.fetch(repository, name, ['main'], { token }, never),
      await echoing.push(repository, name, { commit, branch: 'a', expected: null }, { token }, never),
    ];
    for (const result of results) {
      expect(result).toMatchObject({ outcome: 'refused', reason: expect.stringContaining('***') });
      expect(JSON.stringify(result)).not.toContain(token);
      expect(JSON.stringify(result)).not.toContain(encoded);
    }
    await echoing.close();
    echo.close();
  });
});

/** The command lines of all processes on this machine. */
const commandLines = (): string[] =>
  readdirSync('/proc')
    .filter((entry) => /^\d+$/.test(entry))
    .map((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
      } catch {
        return ''; // the process has ended
      }
    });
