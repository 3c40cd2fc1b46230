// Sessions' processes on this host. The profile folder shows which session a process belongs to, so sessions that
// another Plinth process left behind can also be killed.
import { readlinkSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import type { HostSession } from './types.ts';

export const folderPrefix = 'plinth-session-';
/** Short, because Chromium creates a socket in this folder, and a socket's path has at most 107 characters. */
export const profileOf = (id: string): string => join(tmpdir(), folderPrefix + id.replaceAll('-', ''));

/**
 * Identifies the host and its PID namespace, because two containers can have the same name without seeing each other's
 * processes.
 */
export function nameHost(): string {
  try {
    return `${hostname()} ${readlinkSync('/proc/self/ns/pid')}`;
  } catch {
    return hostname(); // not Linux
  }
}

interface HostProcess {
  readonly pid: number;
  readonly group: number;
  /** Undefined for most of a browser's processes, because they replace their command line and environment. */
  readonly sessionId: string | undefined;
}

const pollMs = 20;
const killedWithinMs = 5_000;

/** All processes in a browser's process group belong to the browser's session. */
export async function listSessionsOnHost(): Promise<readonly HostSession[]> {
  const processes = await listProcesses();
  const idByGroup = new Map<number, string>();
  for (const { group, sessionId } of processes) if (sessionId !== undefined) idByGroup.set(group, sessionId);
  const found = new Map<string, number[]>();
  for (const { pid, group } of processes) {
    const id = idByGroup.get(group);
    if (id !== undefined) found.set(id, [...(found.get(id) ?? []), pid]);
  }
  return [...found].map(([id, processIds]) => ({ id, processIds }));
}

/** Resolves when all of the session's processes have exited. Throws if any is still running after 5 s. */
export async function killSessionOnHost(id: string): Promise<void> {
  await killUntilGone(async () => (await listSessionsOnHost()).find((session) => session.id === id)?.processIds ?? []);
}

/** Like `killSessionOnHost`, but for a browser that this process started, so its group is known. */
export async function killProcessGroup(group: number): Promise<void> {
  kill(-group);
  await killUntilGone(async () => (await listProcesses()).filter((each) => each.group === group).map(({ pid }) => pid));
}

async function killUntilGone(list: () => Promise<readonly number[]>): Promise<void> {
  const startedAt = performance.now();
  for (let left = await list(); left.length > 0; left = await list()) {
    if (performance.now() - startedAt > killedWithinMs)
      throw new Error(`browser processes are still running after SIGKILL: ${left.join(', ')}`);
    for (const pid of left) kill(pid);
    await wait(pollMs);
  }
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // The process has just exited. If it has not, the next listing includes it again.
  }
}

/** Excludes zombies, which are only waiting for their parent to read their exit status. */
async function listProcesses(): Promise<HostProcess[]> {
  const pids = (await readdir('/proc').catch(unlessUnseen([]))).filter((name) => /^\d+$/.test(name));
  const processes = await Promise.all(pids.map(readProcess));
  return processes.filter((each) => each !== undefined);
}

async function readProcess(pid: string): Promise<HostProcess | undefined> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(unlessUnseen(''));
  // Example: `1234 (chromium) S 1 1200 …`. The name in parentheses may contain any character.
  const [state, , group] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  if (stat === '' || state === 'Z' || state === 'X') return undefined;
  return { pid: Number(pid), group: Number(group), sessionId: await readSessionId(pid) };
}

/**
 * Errors meaning that the process has just exited or belongs to another user. Other errors, such as too many open
 * files, are thrown.
 */
const unseen: ReadonlySet<unknown> = new Set(['ENOENT', 'ESRCH', 'EACCES', 'EPERM']);
const unlessUnseen =
  <Nothing>(nothing: Nothing) =>
  (error: NodeJS.ErrnoException): Nothing => {
    if (unseen.has(error.code)) return nothing;
    throw error;
  };

const ownPattern = new RegExp(
  `(?:^|[\\0 ])(?:--user-data-dir|HOME)=${RegExp.escape(join(tmpdir(), folderPrefix))}([0-9a-f]{8})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{12})(?:[\\0 ]|$)`,
);

async function readSessionId(pid: string): Promise<string | undefined> {
  const [command, environment] = await Promise.all([
    readFile(`/proc/${pid}/cmdline`, 'latin1').catch(unlessUnseen('')),
    readFile(`/proc/${pid}/environ`, 'latin1').catch(unlessUnseen('')),
  ]);
  const [, ...parts] = ownPattern.exec(command) ?? ownPattern.exec(environment) ?? [];
  return parts.length === 0 ? undefined : parts.join('-');
}
