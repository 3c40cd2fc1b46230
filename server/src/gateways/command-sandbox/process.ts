// Runs one command: joining its control group before it runs any code, its file descriptors, and monitoring its
// time, output, memory, processes and disk usage.
import { type ChildProcess, spawn } from 'node:child_process';
import { availableParallelism } from 'node:os';
import type { Readable, Writable } from 'node:stream';
import { setTimeout as wait } from 'node:timers/promises';
import type { InputDescriptor } from './bubblewrap.ts';
import { statusDescriptor } from './bubblewrap.ts';
import type { ControlGroup } from './cgroups.ts';
import { type FolderOwner, isRoot, programPath, runAs } from './folders.ts';
import { collectOutput } from './output.ts';
import type { CommandRequest } from './types.ts';

interface CommandStart {
  readonly bubblewrap: { command: readonly string[]; inputs: readonly InputDescriptor[] };
  readonly request: CommandRequest;
  readonly owner: FolderOwner;
  readonly group: ControlGroup;
  /** The maximum size of a single file. */
  readonly fileBytes: number;
  readonly signal: AbortSignal;
  lacksSpace(): Promise<boolean>;
  /** `processes` are the command's processes. Their open files are also counted. */
  exceedsDisk(processes: readonly number[]): Promise<boolean>;
}

type Verdict = 'timed_out' | 'out_of_memory' | 'too_many_processes' | 'disk_full' | 'stopped';

export interface Ending {
  outcome: 'exited' | 'not_started' | Verdict;
  exitCode: number;
  output: string;
  is_cut: boolean;
  duration_ms: number;
}

const watchMs = 200;
const diskWatchMs = 1_000;
const closeWaitMs = 300;
/**
 * The wait between measurements is this many times longer than a measurement, so measuring takes a limited share of the
 * time, however many files there are.
 */
const diskWatchPauses = 5;
const maxDiskPauseMs = 5_000;
/** Output beyond the limit is read and discarded. If a command exceeds the limit by this much, it is stopped. */
const floodBytes = 64 * 1024 * 1024;
/** Kernel memory for open files has no other limit. */
const maxOpenFiles = 4_096;
/** The limit for each process, which may use all processors for as long as the command may run. */
const cpuSeconds = (timeoutMs: number): number => Math.ceil(timeoutMs / 1_000) * availableParallelism();

/**
 * The shell closes all other inherited descriptors, joins the groups (0 means the writing process) and becomes the
 * program. The output goes through a real pipe that the command's user owns. Node's pipes are sockets, and neither a
 * socket nor another user's pipe can be reopened as /dev/stdout. Using a single pipe also preserves the order of
 * standard output and standard error.
 */
const starter = `
last=$1 owner=$2; shift 2
for path in /proc/self/fd/*; do
  descriptor=\${path##*/}
  if ((descriptor > last)); then eval "exec $descriptor>&-"; fi
done
{
  while [ "$1" != -- ]; do echo 0 >"$1/cgroup.procs" || exit 70; shift; done
  shift
  if [ "$owner" != - ]; then chown "$owner" /proc/self/fd/1 || exit 70; fi
  exec "$@"
} 2>&1 | exec cat`;

export async function startCommand(start: CommandStart): Promise<Ending> {
  const { request, group, signal } = start;
  const startedAt = performance.now();
  if (signal.aborted) return { outcome: 'stopped', exitCode: 137, output: '', is_cut: false, duration_ms: 0 };
  const collector = collectOutput(request.maxOutputBytes, request.onOutput);
  const done = new AbortController();
  let verdict: Verdict | undefined;
  const stop = (why: Verdict) => {
    if (verdict !== undefined || done.signal.aborted) return;
    verdict = why;
    void group.kill().catch(() => undefined); // repeated at the end, where failures are reported
  };
  const onAbort = () => stop('stopped');

  const child = spawnInGroup(start);
  const timer = setTimeout(() => stop('timed_out'), request.timeoutMs);
  signal.addEventListener('abort', onAbort);
  const watches = [watchGroup(start, stop, done.signal), watchDisk(start, stop, done.signal)];
  child.stdout?.on('data', (bytes: Buffer) => {
    collector.add(bytes);
    if (verdict === undefined && collector.received > request.maxOutputBytes + floodBytes) {
      collector.note('stopped: the command printed too much');
      stop('stopped');
    }
  });
  const status = readStatus(child);
  try {
    await closed(child, async () => {
      if (verdict === undefined) return;
      await group.kill();
      killStarter(child);
    });
  } finally {
    done.abort();
    clearTimeout(timer);
    signal.removeEventListener('abort', onAbort);
    await group.kill();
    await Promise.allSettled(watches);
  }
  verdict ??= await group.findExcess();
  if (verdict === undefined && (await start.exceedsDisk([]))) verdict = 'disk_full';
  const { hasStarted, exitCode } = status();
  return {
    outcome: verdict ?? (exitCode === undefined && !hasStarted ? 'not_started' : 'exited'),
    exitCode: exitCode ?? 137, // bubblewrap itself was killed
    ...collector.end(),
    duration_ms: Math.round(performance.now() - startedAt),
  };
}

function spawnInGroup({ bubblewrap, request, owner, group, fileBytes }: CommandStart): ChildProcess {
  const limits = [
    `--core=0`,
    `--nofile=${maxOpenFiles}`,
    `--fsize=${fileBytes}`,
    `--cpu=${cpuSeconds(request.timeoutMs)}`,
  ];
  const command = [
    'nice',
    '-n',
    '10',
    'prlimit',
    ...limits,
    ...runAs(owner),
    ...bubblewrap.command,
    ...request.command,
  ];
  // If this process dies, so does the shell, and with it bubblewrap.
  const last = Math.max(statusDescriptor, ...bubblewrap.inputs.map(({ descriptor }) => descriptor));
  const values = [String(last), isRoot() ? String(owner.uid) : '-', ...group.folders, '--', ...command];
  const child = spawn('setpriv', ['--pdeathsig', 'KILL', 'bash', '-c', starter, 'bash', ...values], {
    stdio: ['ignore', 'pipe', 'ignore', ...Array.from({ length: last - 2 }, () => 'pipe' as const)],
    cwd: '/',
    env: { PATH: programPath },
    detached: true,
  });
  for (const { descriptor, content } of bubblewrap.inputs) {
    const input = child.stdio[descriptor] as Writable;
    input.on('error', () => undefined); // it exited without reading
    input.end(content);
  }
  return child;
}

/** Example: `{ "child-pid": 12 }\n{ "exit-code": 0 }\n`. No process inside the sandbox can write to this descriptor. */
function readStatus(child: ChildProcess): () => { hasStarted: boolean; exitCode: number | undefined } {
  let text = '';
  const stream = child.stdio[statusDescriptor] as Readable;
  stream.setEncoding('utf8').on('data', (piece: string) => {
    text = (text + piece).slice(0, 10_000);
  });
  return () => {
    const code = /"exit-code": (\d+)/.exec(text)?.[1];
    return { hasStarted: text.includes('"child-pid"'), exitCode: code === undefined ? undefined : Number(code) };
  };
}

/** Resolves when the output has ended. In the meantime, `onWait` is called at intervals. */
async function closed(child: ChildProcess, onWait: () => Promise<void>): Promise<void> {
  const failed = new Promise<never>((_, reject) => child.once('error', reject));
  const ended = new Promise<'ended'>((resolve) => child.once('close', () => resolve('ended')));
  while ((await Promise.race([ended, failed, wait(closeWaitMs)])) !== 'ended') await onWait();
}

/** Needed because a command that is stopped right after its start may join its group only afterwards. */
function killStarter(child: ChildProcess): void {
  try {
    if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
  } catch {
    // The process has just exited.
  }
}

async function watchGroup(start: CommandStart, stop: (why: Verdict) => void, done: AbortSignal): Promise<void> {
  while (await pause(watchMs, done)) {
    const excess = await start.group.findExcess();
    if (excess !== undefined) stop(excess);
    if (await start.lacksSpace()) stop('disk_full');
  }
}

async function watchDisk(start: CommandStart, stop: (why: Verdict) => void, done: AbortSignal): Promise<void> {
  let pauseMs = diskWatchMs;
  let failures = 0;
  while (await pause(pauseMs, done)) {
    const startedAt = performance.now();
    const processes = await start.group.listProcesses();
    const measured = await start.exceedsDisk(processes).catch(() => undefined);
    failures = measured === undefined ? failures + 1 : 0;
    // If measuring fails twice in a row, the command is stopped.
    if (measured === true || failures === 2) stop('disk_full');
    pauseMs = Math.min(maxDiskPauseMs, Math.max(diskWatchMs, diskWatchPauses * (performance.now() - startedAt)));
  }
}

/** Resolves to false if the command has ended. */
const pause = (ms: number, signal: AbortSignal): Promise<boolean> => wait(ms, true, { signal }).catch(() => false);
