// Starts programs that handle files of strangers. If this process runs as root, they run as another user, in namespaces
// of their own and without a way to gain privileges, so a fault in a decoder or parser reaches nothing of this process:
// not its environment, its files or its connections.
import { type ChildProcess, type ForkOptions, fork, spawnSync } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { existsSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The user and group `nobody`. */
export const nobodyId = 65534;
/** The first of 256 users. Repositories that exist at the same time have different ones, so git of one can't look at git of another. */
export const firstRepositoryId = 65_024;
const repositoryIds = 256;

/** Chooses a user that none of these has, unless all are taken. */
export function chooseRepositoryId(taken: ReadonlySet<number>): number {
  const ids = Array.from({ length: repositoryIds }, (_, index) => firstRepositoryId + index);
  const free = ids.filter((id) => !taken.has(id));
  const choice = free.length > 0 ? free : ids;
  return choice[randomInt(choice.length)] as number;
}

const isRoot = (): boolean => process.getuid?.() === 0;

const findTool = (name: string): string | undefined =>
  ['/usr/bin', '/bin'].map((folder) => `${folder}/${name}`).find(existsSync);

/** A command that ends by running another one in its place. */
type Wrapper = readonly string[];

/**
 * The namespaces that a program gets. A Node program keeps the process id of the wrapper, because it talks with its
 * parent. With `alone`, all of the program's processes end with the wrapper, and it with this process.
 */
interface Separation {
  readonly hasNetwork: boolean;
  readonly alone: boolean;
}

/** The wrappers in order of preference. Containers often forbid new namespaces. The other user is the more important half. */
function listWrappers(userId: number, { hasNetwork, alone }: Separation): Wrapper[] {
  const [setpriv, unshare] = [findTool('setpriv'), findTool('unshare')];
  if (!isRoot() || setpriv === undefined) return [];
  // The kernel forgets this setting of a process when its user changes, so `unshare --kill-child` would have no effect.
  const ending = alone ? ['--pdeathsig=KILL'] : [];
  const rights = [`--reuid=${userId}`, `--regid=${userId}`, '--clear-groups', '--no-new-privs'];
  const identity = [setpriv, ...rights, ...ending, '--'];
  if (unshare === undefined) return [identity];
  const namespaces = ['--ipc', ...(hasNetwork ? [] : ['--net']), ...(alone ? ['--pid', '--fork'] : [])];
  return [[...(alone ? [setpriv, ...ending, '--'] : []), unshare, ...namespaces, '--', ...identity], identity];
}

/** Whether this wrapper can run a harmless command here, with the test's arguments. */
function isUsable([tool = '', ...args]: Wrapper, test: readonly string[]): boolean {
  return spawnSync(tool, [...args, findTool('test') ?? 'test', ...test], { env: {}, timeout: 30_000 }).status === 0;
}

const usable = new Map<string, number>();

/** Returns the first wrapper that works on this machine. Empty if there is none. */
function chooseWrapper(userId: number, separation: Separation, test: readonly string[]): Wrapper {
  const key = JSON.stringify([separation, test]);
  const wrappers = listWrappers(userId, separation);
  const index = usable.get(key) ?? wrappers.findIndex((wrapper) => isUsable(wrapper, test));
  usable.set(key, index);
  return wrappers[index] ?? [];
}

const nodeProgram: Separation = { hasNetwork: false, alone: false };
/** Whether `nobody` can run this Node on files of this installation. */
const nodeTest = ['-x', process.execPath, '-a', '-r', fileURLToPath(import.meta.url)];

/**
 * Like `fork`, with the given environment only. Not for code that is trusted with anything: it may not be able to read
 * files of this user.
 */
export function forkUnprivileged(
  module: URL,
  args: readonly string[],
  { execArgv = [], ...options }: ForkOptions & { readonly env: Readonly<Record<string, string>> },
): ChildProcess {
  const [execPath, ...command] = [...chooseWrapper(nobodyId, nodeProgram, nodeTest), process.execPath, ...execArgv];
  return fork(fileURLToPath(module), args, {
    ...options,
    ...(execPath !== undefined && { execPath }),
    execArgv: command,
  });
}

const anything = ['-d', '/'];

/** Returns the command that runs a program of the system as this user. Empty if this process can't or need not. */
export const wrapAsUser = (userId: number, { hasNetwork }: { readonly hasNetwork: boolean }): Wrapper =>
  chooseWrapper(userId, { hasNetwork, alone: true }, anything);

/** Whether programs of this user can enter the folder, or would be able to if it existed. */
export function mayEnter(userId: number, folder: string): boolean {
  const existing = existsSync(folder) ? folder : dirname(folder);
  if (existing !== folder && existing !== dirname(existing)) return mayEnter(userId, existing);
  const wrapper = wrapAsUser(userId, { hasNetwork: true });
  return wrapper.length === 0 || isUsable(wrapper, ['-x', existing]);
}

/**
 * Says in sentences what does not keep files of strangers away from this process. Empty if everything does. An ordinary
 * user can't start programs as another one. Repositories are below `repositoryFolder`.
 */
export function listGaps(repositoryFolder: string): string[] {
  if (!isRoot())
    return ['Logos, code and repositories of strangers are read as the user of this process, who is not root.'];
  const reading = wrapAsUser(firstRepositoryId, { hasNetwork: false });
  const noTool = 'setpriv is missing or not permitted. Install util-linux.';
  const why = reading.length === 0 ? noTool : 'not every user may read Node and Plinth.';
  return [
    ...describeGap('Logos are decoded and code is scanned', chooseWrapper(nobodyId, nodeProgram, nodeTest), why),
    ...describeGap('Repositories are read', reading, noTool),
    ...(mayEnter(firstRepositoryId, repositoryFolder)
      ? []
      : [`Coding sessions fail, because not every user may enter ${repositoryFolder}. Allow it (chmod o+x).`]),
  ];
}

function describeGap(what: string, wrapper: Wrapper, why: string): string[] {
  if (wrapper.length === 0) return [`${what} by root: ${why}`];
  return wrapper.includes('--net') ? [] : [`${what} with access to the network: unshare is missing or not permitted.`];
}
