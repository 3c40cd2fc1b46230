// Runs commands on real files, in a clone that exists only in the sandbox. Before a command, a script updates
// the clone to the current tree. After the command, another script saves a snapshot as a bundle, which is imported into
// our repository. Both scripts run in the sandbox, with a git folder that the command can't see. Git reads no other git
// folder, so a command's changes to git folders in the clone do not affect us.
import { lstat, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { CommandResult, CommandSandbox } from '../../../gateways/command-sandbox/types.ts';
import { GitError } from '../../../kit/git/run.ts';
import { type BareRepository, BundleRefused } from '../../../kit/git/types.ts';

export type CommandRun =
  | {
      readonly tree: string;
      /** A sentence describing how the command ended. */
      readonly ended: string;
      readonly output: string;
      readonly isCut: boolean;
      readonly notes: readonly string[];
    }
  /** Set if the command was not run or its result can't be read. */
  | { readonly reason: string };

export interface Clone {
  run(tree: string, command: string, timeoutMs: number, signal: AbortSignal): Promise<CommandRun>;
}

const maxOutputBytes = 30_000;
const maxBundleBytes = 200 * 1024 * 1024;
/**
 * The combined limit for all of a claim's commands, because their changes stay in the repository on the worker's disk.
 */
const maxImportedBytes = 1024 * 1024 * 1024;
const scriptMs = 120_000;

/** These folders have untrusted contents, so only the sandbox may delete them. */
export const cloneFolders = ['clone', 'snapshots'] as const;

export interface CloneSettings {
  readonly sandbox: CommandSandbox;
  readonly repository: BareRepository;
  /** The snapshots' base commit, which the repository contains. */
  readonly base: string;
  /** The folder for the clone and its snapshots. */
  readonly folder: string;
  /** Set by tests. */
  readonly maxImportedBytes?: number;
}

export function createClone({ sandbox, repository, base, folder, ...bounds }: CloneSettings): Clone {
  const [clone, state] = cloneFolders.map((name) => join(folder, name)) as [string, string];
  const source = { path: repository.folder, at: '/source.git' };
  const created = new Set<string>();
  let packsBefore: number | undefined;

  const create = async (): Promise<boolean> => {
    try {
      for (const path of [clone, state]) {
        if (created.has(path)) continue;
        await sandbox.createFolder(path);
        created.add(path);
      }
      return true;
    } catch {
      return false;
    }
  };
  const runScript = (script: string, tree: string, signal: AbortSignal) =>
    sandbox.run({
      folder: clone,
      command: ['/bin/sh', '-c', script],
      readOnly: [source],
      writable: [{ path: state, at: '/state' }],
      environment: { ...gitEnvironment, GIT_DIR: '/state/git', GIT_WORK_TREE: '/repo', TREE: tree, BASE: base },
      timeoutMs: scriptMs,
      maxOutputBytes: 4_000,
      signal,
    });

  return {
    async run(tree, command, timeoutMs, signal) {
      const available = await untilAborted(sandbox.check(), signal); // the probe may take several seconds
      if (!available.available) return { reason: unavailable(available.reason) };
      if (!(await create())) return { reason: unavailable(noFolder) };
      const prepared = await runScript(prepareScript, tree, signal);
      const notPrepared = findFault(prepared, 'The files could not be prepared for the command');
      if (notPrepared !== undefined) return { reason: notPrepared };
      const ran = await sandbox.run({
        folder: clone,
        command: ['/bin/sh', '-c', command],
        readOnly: [source],
        environment: { GIT_TERMINAL_PROMPT: '0', CI: '1' },
        timeoutMs,
        maxOutputBytes,
        signal,
      });
      signal.throwIfAborted();
      if (ran.outcome === 'unavailable') return { reason: unavailable(ran.reason) };
      const shown = { ended: describeEnd(ran, timeoutMs), output: ran.output.trimEnd(), isCut: ran.is_cut };
      const snapshot = await runScript(snapshotScript, tree, signal);
      const lost = findFault(snapshot, 'What the command changed could not be read');
      if (lost !== undefined) return { ...shown, tree, notes: [`${lost} The files are as before the command.`] };
      packsBefore ??= await repository.measurePacks();
      const left = packsBefore + (bounds.maxImportedBytes ?? maxImportedBytes) - (await repository.measurePacks());
      return { ...shown, ...(await readSnapshot(repository, join(state, 'out.bundle'), tree, left)) };
    },
  };
}

function untilAborted<Result>(work: Promise<Result>, signal: AbortSignal): Promise<Result> {
  const aborted = Promise.withResolvers<never>();
  const abort = () => aborted.reject(signal.reason);
  if (signal.aborted) abort();
  signal.addEventListener('abort', abort);
  return Promise.race([work, aborted.promise]).finally(() => signal.removeEventListener('abort', abort));
}

/** `left` is the number of bytes that this claim's commands may still add to the repository. */
async function readSnapshot(
  repository: BareRepository,
  bundle: string,
  tree: string,
  left: number,
): Promise<{ tree: string; notes: string[] }> {
  // The script writes no bundle if the files are unchanged.
  if ((await lstat(bundle).catch(() => undefined)) === undefined) return { tree, notes: [] };
  try {
    if (left <= 0) throw new BundleRefused(importedTooMuch);
    const changed = await repository.readBundle(bundle, Math.min(maxBundleBytes, left));
    if (await repository.changesSubmodules(tree, changed)) throw new BundleRefused(submodulesChanged);
    return { tree: changed, notes: changed === tree ? [] : [await describeChanges(repository, tree, changed)] };
  } catch (error) {
    if (!(error instanceof BundleRefused)) throw error;
    return { tree, notes: [`What the command changed was not kept. ${error.message} The files are as before it.`] };
  } finally {
    await rm(bundle, { force: true, recursive: true });
  }
}

const importedTooMuch = 'The commands of this turn have changed too many bytes in all.';
const submodulesChanged =
  'It put a repository in the place of files, or changed a submodule. Submodules cannot be changed here.';

const maxShownFiles = 50;

async function describeChanges(repository: BareRepository, from: string, to: string): Promise<string> {
  try {
    const { files, file_count } = await repository.diff(from, to, { maxFiles: maxShownFiles });
    const shown = files.slice(0, maxShownFiles).map(({ path, status }) => `${status} ${path}`);
    if (file_count > shown.length) shown.push(`and ${file_count - shown.length} more files`);
    return `Files that the command changed:\n${shown.join('\n')}`;
  } catch (error) {
    // The command determines how many files there are and how long their names are.
    if (!(error instanceof GitError)) throw error;
    return 'The command changed very many files. See which with list_files.';
  }
}

const noFolder =
  'A folder for the files could not be made. The operator must let all users enter SESSION_FOLDER, and see that its disk is not full.';

const unavailable = (reason: string): string =>
  `Commands can't be run here: ${reason} Continue with the other tools, and say in your summary what you could not check.`;

/** Describes why the script failed. Returns undefined if it succeeded. */
function findFault(result: CommandResult, what: string): string | undefined {
  if (result.outcome === 'unavailable') return unavailable(result.reason);
  if (result.outcome === 'exited')
    return result.exit_code === 0 ? undefined : `${what}: ${result.output.trim().slice(0, 500)}.`;
  return `${what}: ${describeOutcome[result.outcome]}.`;
}

const describeOutcome = {
  timed_out: 'it took too long',
  out_of_memory: 'it needed too much memory',
  too_many_processes: 'it started too many processes',
  disk_full: 'it wrote too much to the disk',
  stopped: 'it was stopped',
} as const;

function describeEnd(result: Exclude<CommandResult, { outcome: 'unavailable' }>, timeoutMs: number): string {
  if (result.outcome === 'exited') return `Exit code ${result.exit_code}.`;
  if (result.outcome === 'timed_out') return `Stopped after ${Math.round(timeoutMs / 1_000)} seconds.`;
  return `Stopped: ${describeOutcome[result.outcome]}.`;
}

// Nothing outside the sandbox is at risk, but the repository's own settings must not affect a snapshot.
const gitEnvironment = {
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_TERMINAL_PROMPT: '0',
  GIT_ATTR_NOSYSTEM: '1',
  GIT_AUTHOR_NAME: 'snapshot',
  GIT_AUTHOR_EMAIL: 'snapshot@localhost',
  GIT_COMMITTER_NAME: 'snapshot',
  GIT_COMMITTER_EMAIL: 'snapshot@localhost',
  GIT_AUTHOR_DATE: '2000-01-01T00:00:00Z',
  GIT_COMMITTER_DATE: '2000-01-01T00:00:00Z',
} as const;

// `/repo/.git` is only for the command, which may run `git log` and `git diff`. We never read it. The attributes make
// git store files unchanged, whatever the repository's settings.
const prepareScript = `set -eu
if [ ! -f /state/ready ]; then
  (unset GIT_DIR GIT_WORK_TREE; git init -q --bare --template= /state/git)
  mkdir -p /state/git/info
  git config core.bare false
  git config core.autocrlf false
  git config core.fsmonitor false
  git config core.hooksPath /dev/null
  git config core.untrackedCache false
  git config submodule.recurse false
  git config gc.auto 0
  echo '* -text -ident -filter !eol !working-tree-encoding' > /state/git/info/attributes
  echo /source.git/objects > /state/git/objects/info/alternates
  : > /state/ready
fi
if [ -f /source.git/shallow ]; then cp /source.git/shallow /state/git/shallow; fi
rm -f /state/git/index.lock
find /repo -type d ! -perm -u+rwx -exec chmod u+rwx {} \\; || true
git read-tree --reset -u "$TREE"
if [ ! -e /repo/.git ] && [ ! -L /repo/.git ]; then
  unset GIT_DIR GIT_WORK_TREE
  git init -q /repo
  echo /source.git/objects > /repo/.git/objects/info/alternates
  if [ -f /source.git/shallow ]; then cp /source.git/shallow /repo/.git/shallow; fi
  git -C /repo update-ref HEAD "$BASE"
  git -C /repo read-tree "$BASE"
fi
`;

// Nested repositories are excluded, because git would record them as submodules that no one else has. The repository's
// own submodules are left unchanged, because checking one for changes would run git in it, with settings that the
// command controls. The bundle contains only objects that are new since the command started.
const snapshotScript = `set -eu
rm -rf /state/out.bundle /state/git/index.lock
find /repo -mindepth 2 -name .git -prune -print0 > /state/nested
if [ "$(tr -cd '\\n' < /state/nested | wc -c)" -gt 0 ]; then
  echo 'a folder with a line end in its name contains a repository; remove it'; exit 1
fi
tr '\\0' '\\n' < /state/nested | sed -e 's|^/repo||' -e 's|/\\.git$||' -e 's|[][\\\\*?!# ]|\\\\&|g' > /state/git/info/exclude
git ls-files -s -z | { grep -z '^160000' || true; } | cut -z -f2 | git update-index -z --skip-worktree --stdin
git add -A
tree=$(git write-tree)
if [ "$tree" = "$TREE" ]; then exit 0; fi
commit=$(git commit-tree -m snapshot -p "$BASE" "$tree")
printf '# v2 git bundle\\n-%s base\\n%s refs/heads/snapshot\\n\\n' "$BASE" "$commit" > /state/out.bundle
printf '%s\\n^%s\\n^%s\\n' "$commit" "$BASE" "$TREE" | git pack-objects -q --revs --thin --delta-base-offset --stdout >> /state/out.bundle
`;
