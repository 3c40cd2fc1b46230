// Starts Node programs that handle files of strangers. If this process runs as root, they run as the user `nobody`,
// without network and without a way to gain privileges, so a fault in a decoder or parser reaches nothing of this process:
// not its environment, its files or its connections.
import { type ChildProcess, type ForkOptions, fork, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** The user and group `nobody`. */
export const nobodyId = 65534;

const findTool = (name: string): string | undefined =>
  ['/usr/bin', '/bin'].map((folder) => `${folder}/${name}`).find(existsSync);

/** Commands that end by running another one in their place, so the process id and the parent stay the same. */
const listWrappers = (): string[][] => {
  const [setpriv, unshare] = [findTool('setpriv'), findTool('unshare')];
  if (process.getuid?.() !== 0 || setpriv === undefined) return [];
  const identity = [setpriv, `--reuid=${nobodyId}`, `--regid=${nobodyId}`, '--clear-groups', '--no-new-privs', '--'];
  // Containers often forbid new namespaces. The other user is the more important half.
  return unshare === undefined ? [identity] : [[unshare, '--net', '--ipc', '--', ...identity], identity];
};

let chosen: readonly string[] | undefined;

/** Returns the first wrapper that works here and can run this Node on this file. Empty if there is none. */
function chooseWrapper(file: string): readonly string[] {
  const test = findTool('test') ?? 'test';
  const works = ([tool = '', ...args]: string[]) =>
    spawnSync(tool, [...args, test, '-x', process.execPath, '-a', '-r', file], { env: {}, timeout: 5_000 }).status ===
    0;
  return listWrappers().find(works) ?? [];
}

/**
 * Like `fork`, with the given environment only. Not for code that is trusted with anything: it may not be able to read
 * files of this user.
 */
export function forkUnprivileged(
  module: URL,
  args: readonly string[],
  { execArgv = [], ...options }: ForkOptions & { readonly env: Readonly<Record<string, string>> },
): ChildProcess {
  const file = fileURLToPath(module);
  chosen ??= chooseWrapper(file);
  const [execPath, ...command] = [...chosen, process.execPath, ...execArgv];
  return fork(file, args, { ...options, ...(execPath !== undefined && { execPath }), execArgv: command });
}
