// The git host's state: repositories on disk, pull requests, and the journal from which the state is restored
// after a restart.
import { existsSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { openJournal } from '../journal.ts';
import { type PullRequest, Refusal } from './pulls.ts';
import {
  compareRefs,
  createRepository,
  listRefs,
  type NewRepository,
  type RefChange,
  type Repository,
} from './repositories.ts';

/**
 * The calls that faults can affect, besides `*`. `fetch` includes listing refs, and `app` includes the App's tokens.
 */
export type GitCall = 'read' | 'branch' | 'list_pulls' | 'read_pull' | 'create_pull' | 'fetch' | 'push' | 'app';

export interface GitHostEntry {
  readonly at: string;
  readonly event: 'received' | 'applied' | 'refused' | 'dropped';
  /** `elsewhere` is a change that another user makes directly, not through a request. */
  readonly call: GitCall | 'repository' | 'elsewhere' | 'request';
  readonly repository?: string;
  readonly fault?: string;
  /** The refs that a push changed. */
  readonly refs?: readonly RefChange[];
  /** The pull request's new state. */
  readonly pull_request?: PullRequest;
  readonly created?: Repository;
  readonly status?: number;
}

export type State = ReturnType<typeof openState>;

export function openState(folder: string) {
  const root = join(folder, 'repositories');
  mkdirSync(root, { recursive: true });
  const journal = openJournal<GitHostEntry>(join(folder, 'git-host.jsonl'));
  const repositories = new Map<string, Repository>();
  const pulls = new Map<string, PullRequest>();
  for (const entry of journal.entries) apply(entry);

  function apply({ created, pull_request }: Omit<GitHostEntry, 'at'>): void {
    if (created !== undefined) repositories.set(created.full_name.toLowerCase(), created);
    if (pull_request !== undefined) pulls.set(`${pull_request.repository}#${pull_request.number}`, pull_request);
  }
  const record = (entry: Omit<GitHostEntry, 'at'>): void => {
    journal.append({ at: new Date().toISOString(), ...entry });
    apply(entry);
  };
  const getRepository = (fullName: string): Repository => {
    const found = repositories.get(fullName.toLowerCase());
    if (found === undefined) throw new Refusal(404, 'Not Found');
    return found;
  };
  const folderOf = (fullName: string) => join(root, `${getRepository(fullName).full_name}.git`);

  // Changes run one at a time, so the journal can record the refs that each of them changed.
  let last: Promise<unknown> = Promise.resolve();
  const inTurn = <T>(work: () => Promise<T>): Promise<T> => {
    const done = last.then(work, work);
    last = done.catch(() => {});
    return done;
  };

  return {
    root,
    journal,
    repositories,
    pulls,
    record,
    getRepository,
    folderOf,
    inTurn,
    listPulls: (fullName: string) => [...pulls.values()].filter(({ repository }) => repository === fullName),
    getPull(fullName: string, number: number): PullRequest {
      const found = pulls.get(`${fullName}#${number}`);
      if (found === undefined) throw new Refusal(404, 'Not Found');
      return found;
    },
    /** Runs `work` and records the refs that it changed. */
    changeRefs: <T>(call: 'push' | 'elsewhere', fullName: string, work: () => Promise<T>): Promise<T> =>
      inTurn(async () => {
        const at = folderOf(fullName);
        const before = await listRefs(at);
        const result = await work();
        const refs = compareRefs(before, await listRefs(at));
        if (refs.length > 0) record({ event: 'applied', call, repository: getRepository(fullName).full_name, refs });
        return result;
      }),
    addRepository: (added: NewRepository): Promise<void> =>
      inTurn(async () => {
        if (!/^(?!\.\.?\/)[^/]+\/(?!\.\.?$)[^/]+$/.test(added.full_name))
          throw new Refusal(422, 'full_name must have the form owner/name');
        if (repositories.has(added.full_name.toLowerCase())) return;
        const at = join(root, `${added.full_name}.git`);
        // A killed process may have left an incomplete repository.
        if (existsSync(at)) rmSync(at, { recursive: true });
        const created = await createRepository(at, added);
        record({ event: 'applied', call: 'repository', repository: created.full_name, created });
      }),
    async close() {
      await last;
      journal.close();
    },
  };
}
