// The folders that commands write to: their owners, sizes and deletion. Their contents are untrusted, so only sandboxed
// tools read them.
import { spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { existsSync } from 'node:fs';
import { chmod, lchown, lstat, mkdir, readdir, rmdir, stat, statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import { isReachableByAll, listToolArguments } from './bubblewrap.ts';

export interface FolderOwner {
  readonly uid: number;
  readonly gid: number;
}

export interface FolderLimits {
  readonly diskBytes: number;
  readonly entries: number;
}

/**
 * The number of user ids, starting at the first. Folders with different owners can't read each other, even if other
 * protections fail.
 */
export const ownerCount = 256;
/** The PATH for the programs that start commands. */
export const programPath = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
const blockBytes = 512;
/**
 * How much free space the disk may lose while a command runs. This is more than one command may write, because others
 * also use the disk.
 */
const lossBytes = 16 * 1024 ** 3;
/** Commands are stopped if less space than this is free, because the machine needs it. */
const reserveBytes = 512 * 1024 * 1024;
const maxOpenFilesLookedAt = 20_000;
const assigned = new Map<string, number>();
const measuredWithinMs = 60_000;
const removedWithinMs = 120_000;

export const isRoot = (): boolean => process.getuid?.() === 0;

export async function createFolder(folder: string, firstUid: number): Promise<void> {
  if (isRoot() && !isReachableByAll(dirname(folder)))
    throw new Error(`commands can't reach ${dirname(folder)}; allow all users to enter it (chmod o+x)`);
  await mkdir(folder, { mode: 0o700 });
  await claimFolder(folder, firstUid);
}

/**
 * Returns the user that commands in this folder run as. If this process is root and none of the sandbox's users owns
 * the folder, one of them is made its owner, but not the owner of its contents.
 */
export async function claimFolder(folder: string, firstUid: number): Promise<FolderOwner> {
  const found = await lstat(folder);
  if (!found.isDirectory()) throw new Error("a command's folder must be a directory");
  if (!isRoot()) return { uid: found.uid, gid: found.gid };
  if (isOurs(found.uid, firstUid)) {
    // A command may have removed its own access to the folder.
    if ((found.mode & 0o700) !== 0o700) await chmod(folder, 0o700);
    return { uid: found.uid, gid: found.uid };
  }
  const uid = assignOwner(folder, firstUid);
  await giveTo(folder, { uid, gid: uid });
  return { uid, gid: uid };
}

/**
 * Chooses a user that owns none of this process's other folders, if there is one, because folders with the same owner
 * share kernel limits.
 */
function assignOwner(folder: string, firstUid: number): number {
  for (const known of assigned.keys()) if (!existsSync(known)) assigned.delete(known);
  const taken = new Set(assigned.values());
  let uid = firstUid + randomInt(ownerCount);
  for (let tries = 0; taken.has(uid) && tries < ownerCount; tries += 1)
    uid = firstUid + ((uid - firstUid + 1) % ownerCount);
  assigned.set(folder, uid);
  return uid;
}

/** Changes the owner of another folder or file that the command may write to. */
export async function giveTo(path: string, owner: FolderOwner): Promise<void> {
  if (!isRoot()) return;
  const found = await lstat(path);
  if (found.uid === owner.uid) return;
  if (found.isDirectory()) await chmod(path, 0o700);
  await lchown(path, owner.uid, owner.gid);
}

const isOurs = (uid: number, firstUid: number): boolean => uid >= firstUid && uid < firstUid + ownerCount;

/** The smallest amount of free space on these folders' disks. */
export async function measureSpace(folders: readonly string[]): Promise<number> {
  const disks = await Promise.all(folders.map((folder) => statfs(folder)));
  return Math.min(...disks.map(({ bavail, bsize }) => bavail * bsize));
}

/**
 * Whether the disk is nearly full, or has lost far more space than one command may write. This check is fast whatever a
 * command does, and includes deleted files that are still open.
 */
export async function lacksSpace(folders: readonly string[], before: number): Promise<boolean> {
  const free = await measureSpace(folders);
  return free < reserveBytes || before - free > lossBytes;
}

/** Whether the folders contain more than the limits allow. Stops counting once a limit is exceeded. */
export async function exceedsDisk(
  bwrap: string,
  folders: readonly string[],
  owner: FolderOwner,
  limits: FolderLimits,
  processes: readonly number[],
): Promise<boolean> {
  let entries = 0;
  let blocks = await countNamelessBlocks(processes);
  let rest = '';
  const outcome = await runTool({
    bwrap,
    folders,
    mount: '--ro-bind',
    owner,
    withinMs: measuredWithinMs,
    command: ['find', ...folders.map((_, index) => `/folders/${index}`), '-printf', '%b\\n'],
    onOutput(text) {
      const lines = (rest + text).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) blocks += Number(line);
      entries += lines.length;
      return entries <= limits.entries && blocks * blockBytes <= limits.diskBytes;
    },
  });
  // If a folder can't be counted within a minute, it contains too much.
  return outcome !== 'done';
}

/**
 * Counts the blocks of files that were deleted while open. Such files are in no folder but take up space until they are
 * closed. If their process hides, only root can see them. The reserve above covers all others, such as files in transit
 * through a socket.
 */
async function countNamelessBlocks(processes: readonly number[]): Promise<number> {
  const blocksByFile = new Map<string, number>();
  let lookedAt = 0;
  for (const pid of processes) {
    for (const descriptor of await readdir(`/proc/${pid}/fd`).catch(() => [])) {
      lookedAt += 1;
      if (lookedAt > maxOpenFilesLookedAt) return sum(blocksByFile);
      const found = await stat(`/proc/${pid}/fd/${descriptor}`).catch(() => undefined);
      if (found?.isFile() && found.nlink === 0) blocksByFile.set(`${found.dev} ${found.ino}`, found.blocks);
    }
  }
  return sum(blocksByFile);
}

const sum = (blocks: ReadonlyMap<string, number>): number =>
  [...blocks.values()].reduce((total, each) => total + each, 0);

/**
 * Deletes the folder's contents with a sandboxed tool, and then the empty folder itself, which the tool can't delete.
 */
export async function removeFolder(bwrap: string, folder: string): Promise<void> {
  const found = await lstat(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  if (found === undefined) return;
  if (!found.isDirectory()) throw new Error('only a folder can be removed');
  const outcome = await runTool({
    bwrap,
    folders: [folder],
    mount: '--bind',
    owner: { uid: found.uid, gid: found.gid },
    withinMs: removedWithinMs,
    command: ['find', '/folders/0', '-mindepth', '1', '-delete'],
  });
  if (outcome === 'stopped') throw new Error(`a command's folder could not be removed within ${removedWithinMs} ms`);
  await rmdir(folder);
}

interface ToolRun {
  readonly bwrap: string;
  readonly folders: readonly string[];
  readonly mount: '--bind' | '--ro-bind';
  readonly owner: FolderOwner;
  readonly withinMs: number;
  readonly command: readonly string[];
  /** Returns false to stop the tool. */
  onOutput?(text: string): boolean;
}

async function runTool({
  bwrap,
  folders,
  mount,
  owner,
  withinMs,
  command,
  onOutput = () => true,
}: ToolRun): Promise<'done' | 'stopped'> {
  const [program = '', ...list] = [
    ...runAs(owner), // normal priority, so a command can't slow down the counting
    ...[bwrap, ...listToolArguments(folders, mount), '--', ...command],
  ];
  const child = spawn(program, list, { stdio: ['ignore', 'pipe', 'pipe'], cwd: '/', env: { PATH: programPath } });
  let isStopped = false;
  const stop = () => {
    isStopped = true;
    child.kill('SIGKILL');
  };
  const timer = setTimeout(stop, withinMs);
  let complaint = '';
  child.stdout.setEncoding('latin1').on('data', (text: string) => {
    if (!isStopped && !onOutput(text)) stop();
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    complaint = (complaint + text).slice(0, 500);
  });
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  }).finally(() => clearTimeout(timer));
  if (isStopped) return 'stopped';
  // While a command runs, files may disappear between being listed and being inspected.
  if (code !== 0 && !complaint.includes('No such file or directory'))
    throw new Error(`a command sandbox tool failed: ${complaint}`);
  return 'done';
}

/** The prefix that makes a program run as the owner. Empty unless this process is root. */
export const runAs = ({ uid, gid }: FolderOwner): string[] =>
  isRoot() && uid !== 0 ? ['setpriv', `--reuid=${uid}`, `--regid=${gid}`, '--clear-groups', '--'] : [];
