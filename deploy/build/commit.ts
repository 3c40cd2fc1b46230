// The commit that a release is built from. Everything that a release contains besides its files, such as times and
// ids, derives from it, and two builds of one commit are equal.
import { root } from './root.ts';
import { run } from './run.ts';

export interface Commit {
  readonly id: string;
  readonly time: Date;
}

export async function readCommit(): Promise<Commit> {
  const [id = '', seconds = ''] = (await run('git', ['log', '-1', '--format=%H %ct'], root)).trim().split(' ');
  return { id, time: new Date(Number(seconds) * 1000) };
}

export async function listCommittedFiles(): Promise<string[]> {
  return (await run('git', ['ls-files', '-z'], root)).split('\0').filter((path) => path !== '');
}

/** Returns the paths of files that differ from the commit, or are not in it. */
export async function listChanges(): Promise<string[]> {
  return (await run('git', ['status', '--porcelain', '-z'], root)).split('\0').filter((line) => line !== '');
}
