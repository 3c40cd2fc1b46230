// Owns the folders that commands write to: whom they belong to, how much is in them, and deleting them. Their contents are
// hostile, so only tools inside a sandbox of their own look into them.
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

/** How many user ids follow the first one. Folders that different users own can't be read across, whatever else fails. */
export const ownerCount = 256;
/** Where the programs of the machine are that run commands. */
export const programPath = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
const blockBytes = 512;
/** How much the disk may lose while a command runs. More than one command may write: others use it as well. */
const lossBytes = 16 * 1024 ** 3;
/** With less free on the disk, commands are stopped: the machine needs it. */
const reserveBytes = 512 * 1024 * 1024;
const maxOpenFilesLookedAt = 20_000;
const assigned = new Map<string, number>();
const measuredWithinMs = 60_000;
const removedWithinMs = 120_000;

export const isRoot = (): boolean => process.getuid?.() === 0;

export async function createFolder(folder: string, firstUid: number): Promise<void> {
  if (isRoot() && !isReachableByAll(dirname(folder)))
    throw new Error(`commands can't reach ${dirname(folder)}: let all users enter it (chmod o+x)`);
  await mkdir(folder, { mode: 0o700 });
  await claimFolder(folder, firstUid);
}

/**
 * The user as whom commands on this folder run. As root, a folder that belongs to none of the sandbox's users is given to one
 * of them, its contents excepted.
 */
export async function claimFolder(folder: string, firstUid: number): Promise<FolderOwner> {
  const found = await lstat(folder);
  if (!found.isDirectory()) throw new Error('the folder of a command must be a folder');
  if (!isRoot()) return { uid: found.uid, gid: found.gid };
  if (isOurs(found.uid, firstUid)) {
    // A command may have closed it to itself.
    if ((found.mode & 0o700) !== 0o700) await chmod(folder, 0o700);
    return { uid: found.uid, gid: found.uid };
  }
  const uid = assignOwner(folder, firstUid);
  await giveTo(folder, { uid, gid: uid });
  return { uid, gid: uid };
}

/** One that no other folder of this process has, as long as there are some: users share limits of the kernel. */
function assignOwner(folder: string, firstUid: number): number {
  for (const known of assigned.keys()) if (!existsSync(known)) assigned.delete(known);
  const taken = new Set(assigned.values());
  let uid = firstUid + randomInt(ownerCount);
  for (let tries = 0; taken.has(uid) && tries < ownerCount; tries += 1)
    uid = firstUid + ((uid - firstUid + 1) % ownerCount);
  assigned.set(folder, uid);
  return uid;
}

/** Another folder or file that the same command may write to. */
export async function giveTo(path: string, owner: FolderOwner): Promise<void> {
  if (!isRoot()) return;
  const found = await lstat(path);
  if (found.uid === owner.uid) return;
  if (found.isDirectory()) await chmod(path, 0o700);
  await lchown(path, owner.uid, owner.gid);
}

const isOurs = (uid: number, firstUid: number): boolean => uid >= firstUid && uid < firstUid + ownerCount;

/** The least that is free on a disk of these folders. */
export async function measureSpace(folders: readonly string[]): Promise<number> {
  const disks = await Promise.all(folders.map((folder) => statfs(folder)));
  return Math.min(...disks.map(({ bavail, bsize }) => bavail * bsize));
}

/**
 * Whether the disk is nearly full, or has lost far more than one command may write. Quickly known, whatever a command does: files that
 * have no name are counted too.
 */
export async function lacksSpace(folders: readonly string[], before: number): Promise<boolean> {
  const free = await measureSpace(folders);
  return free < reserveBytes || before - free > lossBytes;
}

/** Whether there is more in the folders than the limits allow. Stops counting as soon as it is known. */
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
  const outcome = await runTool(bwrap, folders, '--ro-bind', owner, measuredWithinMs, {
    command: ['find', ...folders.map((_, index) => `/folders/${index}`), '-printf', '%b\\n'],
    onOutput(text) {
      const lines = (rest + text).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) blocks += Number(line);
      entries += lines.length;
      return entries <= limits.entries && blocks * blockBytes <= limits.diskBytes;
    },
  });
  // What can't be counted in a minute is too much.
  return outcome !== 'done';
}

/**
 * Files that were deleted while open take up space until they are closed, and are in no folder. Only root sees those of a process
 * that hides; the reserve above is for the rest, such as files on their way through a socket.
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

/** Deletes the folder. The tool sees the contents only, so the folder itself is deleted from here, once it is empty. */
export async function removeFolder(bwrap: string, folder: string): Promise<void> {
  const found = await lstat(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  if (found === undefined) return;
  if (!found.isDirectory()) throw new Error('only a folder can be removed');
  const command = ['find', '/folders/0', '-mindepth', '1', '-delete'];
  const owner = { uid: found.uid, gid: found.gid };
  const outcome = await runTool(bwrap, [folder], '--bind', owner, removedWithinMs, { command });
  if (outcome === 'stopped') throw new Error(`a folder of a command could not be removed in ${removedWithinMs} ms`);
  await rmdir(folder);
}

interface Tool {
  command: readonly string[];
  /** Returns false to stop the tool. */
  onOutput?(text: string): boolean;
}

async function runTool(
  bwrap: string,
  folders: readonly string[],
  access: '--bind' | '--ro-bind',
  owner: FolderOwner,
  withinMs: number,
  { command, onOutput = () => true }: Tool,
): Promise<'done' | 'stopped'> {
  const [program = '', ...list] = [
    ...runAs(owner), // no lower priority: a command must not be able to keep it from counting
    ...[bwrap, ...listToolArguments(folders, access), '--', ...command],
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
  // While a command runs, files vanish between being listed and being looked at.
  if (code !== 0 && !complaint.includes('No such file or directory'))
    throw new Error(`a tool of the command sandbox failed: ${complaint}`);
  return 'done';
}

/** What to put before a program so that it runs as the owner. An ordinary user can only be itself. */
export const runAs = ({ uid, gid }: FolderOwner): string[] =>
  isRoot() && uid !== 0 ? ['setpriv', `--reuid=${uid}`, `--regid=${gid}`, '--clear-groups', '--'] : [];
