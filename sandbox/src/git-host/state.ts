// What the git host has: repositories on disk, pull requests, and the journal from which it continues when it is started again.
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

/** What faults can be set for, beside `*`. `fetch` also counts each look at the refs, `app` the App's tokens. */
export type GitCall = 'read' | 'branch' | 'list_pulls' | 'read_pull' | 'create_pull' | 'fetch' | 'push' | 'app';

export interface GitHostEntry {
  readonly at: string;
  readonly event: 'received' | 'applied' | 'refused' | 'dropped';
  /** `elsewhere`: by somebody else, not by a request. */
  readonly call: GitCall | 'repository' | 'elsewhere' | 'request';
  readonly repository?: string;
  readonly fault?: string;
  /** What a push changed. */
  readonly refs?: readonly RefChange[];
  /** As it is from now on. */
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

  // One change at a time, so that the journal names what each changed.
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
    /** Records which refs the work changed. */
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
        if (repositories.has(added.full_name.toLowerCase())) return;
        const at = join(root, `${added.full_name}.git`);
        // A process that was killed may have left half of it.
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
