// Git over HTTP: fetching into and pushing from one of our bare repositories. The token is passed only in git's
// environment.
import { createHash } from 'node:crypto';
import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { type GitResult, runGit } from '../../kit/git/run.ts';
import type { BareRepository } from '../../kit/git/types.ts';
import { candidatesFor, isCommitId, isRefName } from './names.ts';
import { cleanReason } from './rest.ts';
import type { FetchResult, PushResult, Refused, Unavailable } from './types.ts';

export interface Remote {
  readonly url: string;
  readonly token: string;
  readonly signal: AbortSignal;
  readonly timeoutMs: number;
}

export interface FetchLimits {
  readonly maxBytes: number;
  /**
   * How many commits of history the first fetch includes. Most of a repository's size is history that is never read.
   * Commits can be pushed and merged without it, because they are based on fetched commits.
   */
  readonly depth: number;
}

const watchMs = 200;
const maxRefs = 10;

export async function fetchRefs(
  repository: BareRepository,
  names: readonly string[],
  remote: Remote,
  limits: FetchLimits,
): Promise<FetchResult> {
  if (names.length > maxRefs) throw new Error(`at most ${maxRefs} refs are fetched at a time`);
  const listed = await listRemote(
    repository.folder,
    names.filter((name) => !isCommitId(name)).flatMap(candidatesFor),
    remote,
  );
  if (listed.outcome !== 'listed') return listed;
  const sources = new Map<string, string>();
  for (const name of names) {
    const source = isCommitId(name) ? name : candidatesFor(name).find((ref) => listed.refs.has(ref));
    if (source === undefined) return { outcome: 'ref_not_found', ref: name };
    sources.set(name, source);
  }
  const fetched = await runFetch(repository.folder, [...new Set(sources.values())], remote, limits);
  if (fetched !== undefined) {
    if (fetched.outcome !== 'ref_not_found') return fetched;
    return { ...fetched, ref: names.find((name) => sources.get(name) === fetched.ref) ?? names[0] ?? '' };
  }
  const commits = new Map<string, string>();
  for (const [name, source] of sources) {
    const commit = await repository.resolve(localRef(source));
    if (commit === undefined) return { outcome: 'ref_not_found', ref: name }; // a tag that does not point to a commit
    commits.set(name, commit);
  }
  return { outcome: 'fetched', commits };
}

/** Returns undefined on success. */
async function runFetch(
  folder: string,
  sources: readonly string[],
  remote: Remote,
  { maxBytes, depth }: FetchLimits,
): Promise<Exclude<FetchResult, { outcome: 'fetched' }> | undefined> {
  const isFirst = (await runGit(folder, ['for-each-ref', '--count=1', 'refs/fetched/'])).stdout.length === 0;
  const args = [
    'fetch',
    '--quiet',
    '--no-tags',
    '--no-write-fetch-head',
    '--no-recurse-submodules',
    '--no-auto-maintenance',
  ];
  const refspecs = sources.map((source) => `+${source}:${localRef(source)}`);
  const tooLarge = new AbortController();
  const packs = join(folder, 'objects', 'pack');
  const stopWatching = watchSize(packs, maxBytes, () => tooLarge.abort());
  const result = await runGit(folder, [...args, ...(isFirst ? [`--depth=${depth}`] : []), remote.url, ...refspecs], {
    ...networkOptions(remote),
    signal: AbortSignal.any([remote.signal, tooLarge.signal]),
    maxFileBytes: maxBytes,
  }).finally(stopWatching);
  if (result.end === 'exited' && result.status === 0) return undefined;
  // When its file reaches the limit, index-pack is killed and leaves the file behind.
  const isTooLarge = tooLarge.signal.aborted || (await sizeOf(packs)) >= maxBytes;
  await removeUnfinished(packs);
  if (isTooLarge) return { outcome: 'too_large', max_bytes: maxBytes };
  const missing = /couldn't find remote ref (\S+)|not our ref ([0-9a-f]{40})/.exec(result.stderr);
  if (missing !== null) return { outcome: 'ref_not_found', ref: missing[1] ?? missing[2] ?? '' };
  if (/did not contain|unadvertised object/.test(result.stderr))
    return { outcome: 'ref_not_found', ref: sources[0] ?? '' };
  const isCut = /early EOF|unexpected disconnect|RPC failed|hung up/.test(result.stderr);
  if (result.end === 'exited' && !isCut && /fsck|corrupt|invalid|bad object|missing|malformed/i.test(result.stderr))
    return { outcome: 'broken', reason: reasonOf(result, remote) };
  return describeFailure(result, remote);
}

/** Local refs are named by hashes, because one ref's name could be a folder in another ref's name. */
const localRef = (source: string): string =>
  `refs/fetched/${createHash('sha256').update(source).digest('hex').slice(0, 20)}`;

/** Needed because git can't limit a fetch's size. */
function watchSize(folder: string, maxBytes: number, onTooLarge: () => void): () => void {
  const timer = setInterval(async () => {
    if ((await sizeOf(folder)) > maxBytes) onTooLarge();
  }, watchMs);
  return () => clearInterval(timer);
}

async function sizeOf(folder: string): Promise<number> {
  const names = await readdir(folder).catch(() => []);
  const sizes = names.map((name) =>
    stat(join(folder, name)).then(
      ({ size }) => size,
      () => 0, // removed in the meantime
    ),
  );
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
}

/** Removes files that git leaves behind when it is stopped. */
async function removeUnfinished(folder: string): Promise<void> {
  const names = await readdir(folder).catch(() => []);
  for (const name of names.filter((each) => each.startsWith('tmp_'))) await rm(join(folder, name), { force: true });
}

type Listing =
  | { readonly outcome: 'listed'; readonly refs: ReadonlyMap<string, string> }
  | { readonly outcome: 'not_found' }
  | Refused
  | Unavailable;

async function listRemote(folder: string, refs: readonly string[], remote: Remote): Promise<Listing> {
  if (refs.length === 0) return { outcome: 'listed', refs: new Map() };
  const result = await runGit(folder, ['ls-remote', '--quiet', '--refs', remote.url, ...refs], networkOptions(remote));
  if (result.end !== 'exited' || result.status !== 0) return describeFailure(result, remote);
  const lines = result.stdout
    .toString('utf8')
    .split('\n')
    .filter((line) => line !== '');
  const found = new Map(lines.map((line) => [line.slice(41), line.slice(0, 40)] as const));
  return { outcome: 'listed', refs: found };
}

export async function pushCommit(
  repository: BareRepository,
  { commit, branch, expected }: { commit: string; branch: string; expected: string | null },
  remote: Remote,
): Promise<PushResult> {
  if (!isCommitId(commit) || (expected !== null && !isCommitId(expected))) throw new Error('not a commit id');
  if (!isRefName(branch)) return { outcome: 'rejected', reason: 'the branch name is not valid' };
  if (expected !== null && !(await repository.isAncestor(expected, commit)))
    return { outcome: 'rejected', reason: "the commit is not based on the branch's latest commit" };
  if (remote.signal.aborted) return { outcome: 'unavailable', reason: 'stopped' };
  const ref = `refs/heads/${branch}`;
  // The host compares the branch with the expected commit and updates it in one atomic step.
  const lease = `--force-with-lease=${ref}:${expected ?? ''}`;
  const args = ['push', '--porcelain', '--no-verify', '--recurse-submodules=no', lease, remote.url, `${commit}:${ref}`];
  const result = await runGit(repository.folder, args, networkOptions(remote));
  const [, flag, summary = ''] = /^([ +*=!-])\t[^\t\n]*\t(.*)$/m.exec(result.stdout.toString('utf8')) ?? [];
  if (flag === '=') return { outcome: 'already_there' };
  if (result.end === 'exited' && result.status === 0 && flag !== undefined && flag !== '!')
    return { outcome: 'pushed' };
  if (flag !== '!' || /remote failure/.test(summary)) return describeUnpushed(result, remote);

  // Git rejected the push, either locally or on the host. If the network sent our push twice, the first copy may have
  // succeeded.
  const listed = await listRemote(repository.folder, [ref], remote);
  const isRejectedThere = summary.startsWith('[remote rejected]');
  const rejected = { outcome: 'rejected', reason: reasonOf(result, remote) || cleanReason(summary) } as const;
  if (listed.outcome === 'unavailable') return { outcome: 'unknown' };
  if (listed.outcome !== 'listed') return isRejectedThere ? rejected : { outcome: 'unknown' };
  const sha = listed.refs.get(ref) ?? null;
  if (sha === commit) return { outcome: 'already_there' };
  if (sha !== expected) return { outcome: 'moved', sha };
  return /cannot lock ref/.test(result.stderr) ? { outcome: 'unknown' } : rejected; // another push is in progress
}

/** Git reports "unable to access" only if it could not read the refs, which happens before it sends anything. */
function describeUnpushed(result: GitResult, remote: Remote): PushResult {
  const failure = describeFailure(result, remote);
  if (failure.outcome === 'refused') return failure;
  if (failure.outcome === 'not_found') return { outcome: 'refused', reason: 'the repository was not found' };
  const isBefore =
    result.end === 'exited' && /unable to access/.test(result.stderr) && !/RPC failed/.test(result.stderr);
  return isBefore ? failure : { outcome: 'unknown' };
}

function describeFailure(result: GitResult, remote: Remote): { readonly outcome: 'not_found' } | Refused | Unavailable {
  const { stderr, end } = result;
  if (end === 'timed_out') return { outcome: 'unavailable', reason: 'timeout' };
  if (end === 'stopped') return { outcome: 'unavailable', reason: 'stopped' };
  if (/repository '[^']*' not found/.test(stderr)) return { outcome: 'not_found' };
  const status = /(?:returned error:|HTTP) (\d{3})/.exec(stderr)?.[1];
  if (/Authentication failed|could not read Username/.test(stderr) || status === '401' || status === '403')
    return { outcome: 'refused', reason: reasonOf(result, remote) || 'the git host refused the credentials' };
  if (/No space left/.test(stderr)) return { outcome: 'unavailable', reason: 'disk_full' };
  if (/unable to update url base from redirection/.test(stderr)) return { outcome: 'unavailable', reason: 'redirect' };
  return { outcome: 'unavailable', reason: status === undefined ? 'network' : `status_${status}` };
}

/** The host's message (`remote: …`) or, if there is none, git's, without the token. */
function reasonOf({ stderr }: GitResult, { token, url }: Remote): string {
  const lines = stderr.split('\n').map((line) => line.trim());
  const said = lines.flatMap((line) => /^remote: (.+)$/.exec(line)?.[1]?.trim() ?? []);
  const own = lines.filter((line) => /^(fatal|error): /.test(line));
  const text = (said.length > 0 ? said : own).join(' ');
  return cleanReason(
    text.replaceAll(encodeBasic(token), '***').replaceAll(token, '***').replaceAll(url, 'the repository'),
  );
}

const encodeBasic = (token: string): string => Buffer.from(`x-access-token:${token}`).toString('base64');

const networkOptions = ({ url, token, signal, timeoutMs }: Remote) => ({
  network: true,
  signal,
  timeoutMs,
  config: { [`http.${url}.extraHeader`]: `Authorization: Basic ${encodeBasic(token)}` },
});
