// The drill's git host: the sandbox's git host with faults drawn from the seed, and the final state of its journal
// and repositories.
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import type { Random } from '../../harness/random.ts';
import { type GitHostEntry, startGitHost } from '../../sandbox/src/git-host/server.ts';
import { openJournal } from '../../sandbox/src/journal.ts';
import { baseFiles } from './plays.ts';
import { drawGitFaults } from './scripts.ts';

export interface DrillGitHost {
  readonly settings: Readonly<Record<string, string>>;
  /** The repositories' full names. */
  readonly repositories: readonly string[];
  /** Starts injecting faults into calls. */
  startFaults(): void;
  stopFaults(): void;
  read(): HostView;
  close(): Promise<void>;
}

export interface BranchAtHost {
  readonly repository: string;
  readonly name: string;
  /** The commits that the branch has pointed to, in order. */
  readonly commits: readonly (string | null)[];
  /** The number of commits that are not on the base branch. */
  readonly added: number;
  readonly files: ReadonlyMap<string, string>;
}

export interface PullAtHost {
  readonly repository: string;
  readonly number: number;
  readonly head: string;
}

/** The git host's state, from its journal and repositories. */
export interface HostView {
  /** All branches that a push ever created. */
  readonly branches: readonly BranchAtHost[];
  readonly pulls: readonly PullAtHost[];
  readonly faults: readonly { readonly call: string; readonly fault: string }[];
  /** The number of pushes received, including pushes that changed nothing. */
  readonly pushes: number;
  readonly creates: number;
}

export async function startDrillGitHost(
  folder: string,
  { token, apps, rounds }: { token: string; apps: number; rounds: number },
  random: Random,
): Promise<DrillGitHost> {
  const host = await startGitHost({ folder });
  host.addToken(token);
  const repositories = Array.from({ length: apps }, (_, index) => `drill/repository-${index + 1}`);
  for (const full_name of repositories) await host.addRepository({ full_name, files: Object.fromEntries(baseFiles) });
  return {
    settings: { GIT_HOST_URL: host.url, GIT_HOST_CLONE_URL: host.cloneUrl },
    repositories,
    startFaults: () => host.setFaults(...drawGitFaults(rounds, random)),
    stopFaults: () => host.setFaults(),
    read: () => readHost(folder),
    close: host.close,
  };
}

function readHost(folder: string): HostView {
  const journal = openJournal<GitHostEntry>(join(folder, 'git-host.jsonl'));
  const { entries } = journal;
  journal.close();
  const count = (call: string) => entries.filter((entry) => entry.event === 'received' && entry.call === call).length;
  const changes = entries.flatMap(({ call, repository = '', refs = [] }) =>
    call === 'push' ? refs.map((change) => ({ repository, ...change })) : [],
  );
  const branches = [...Map.groupBy(changes, ({ repository, ref }) => `${repository} ${ref}`).values()].map((each) => {
    const { repository = '', ref = '' } = each[0] ?? {};
    const git = (...args: string[]) =>
      execFileSync('git', ['-c', 'safe.directory=*', ...args], {
        cwd: join(folder, 'repositories', `${repository}.git`),
        encoding: 'utf8',
      });
    const paths = git('ls-tree', '-r', '--name-only', ref).split('\n').filter(Boolean);
    return {
      repository,
      name: ref.replace('refs/heads/', ''),
      commits: each.map((change) => change.new),
      added: Number(git('rev-list', '--count', `refs/heads/main..${ref}`)),
      files: new Map(paths.map((path) => [path, git('show', `${ref}:${path}`)])),
    };
  });
  const created = entries.flatMap(({ call, event, pull_request }) =>
    call === 'create_pull' && event === 'applied' && pull_request !== undefined ? [pull_request] : [],
  );
  const faults = entries.flatMap(({ event, call, fault }) =>
    event === 'received' && fault !== undefined ? [{ call, fault }] : [],
  );
  return { branches, pulls: created, faults, pushes: count('push'), creates: count('create_pull') };
}
