// Owns the command sandbox: running commands that nobody trusts with bubblewrap, as another user, in a control group, without
// network, and seeing to it that nothing of them is left. A command that can't be protected is not run.
import { access, constants, lstat, mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { prepareBubblewrap } from './bubblewrap.ts';
import { type ControlGroup, type ControlGroups, NoControlGroups, openControlGroups } from './cgroups.ts';
import {
  claimFolder,
  createFolder,
  exceedsDisk,
  giveTo,
  isRoot,
  lacksSpace,
  measureSpace,
  ownerCount,
  removeFolder,
} from './folders.ts';
import { type Ending, startCommand } from './process.ts';
import { createSyscallFilter } from './seccomp.ts';
import type { Availability, CommandRequest, CommandResult, CommandSandbox } from './types.ts';

export interface CommandSandboxSettings {
  /** Path of bubblewrap. Undefined: commands are not run. */
  readonly bwrap: string | undefined;
  /** The first of the user ids as which commands run. */
  readonly firstUid: number;
  /** Control group below which those of commands are made. Undefined: see cgroups.ts. */
  readonly cgroup: string | undefined;
  readonly memoryMb: number;
  readonly processes: number;
  /** How many processors a command may use at a time. */
  readonly processors: number;
  /** For the log. */
  readonly onProblem: (why: string) => void;
  /** Set by tests. */
  readonly diskBytes?: number;
  readonly entries?: number;
}

const megabyte = 1024 * 1024;
const defaults = { diskBytes: 2048 * megabyte, entries: 500_000 };
const checkedForMs = 60_000;
const probe = {
  prefix: 'plinth-command-probe-',
  leftAfterMs: 60_000,
  processes: 12,
  children: 24,
  timeoutMs: 20_000,
  maxOutputBytes: 2_000,
};
const maxArgumentBytes = 100_000;

export function openCommandSandbox(settings: CommandSandboxSettings): CommandSandbox {
  const limits = { ...defaults, ...definedOnly(settings) };
  const closing = new AbortController();
  const running = new Set<Promise<unknown>>();
  const filter = createSyscallFilter();
  let groups: Promise<ControlGroups> | undefined;
  let checked: { at: number; answer: Promise<Availability> } | undefined;

  /** One try per check: an operator may have delegated a group meanwhile. */
  function openGroups(): Promise<ControlGroups> {
    groups ??= openControlGroups(settings.cgroup).then(async (opened) => {
      await opened.removeLeftovers().catch((error: Error) => settings.onProblem(error.message));
      return opened;
    });
    groups.catch(() => {
      groups = undefined;
    });
    return groups;
  }

  function check(): Promise<Availability> {
    if (checked === undefined || performance.now() - checked.at > checkedForMs) {
      const answer = findObstacle().then((reason): Availability => {
        if (reason === undefined) return { available: true };
        settings.onProblem(reason);
        return { available: false, reason };
      });
      checked = { at: performance.now(), answer };
    }
    return checked.answer;
  }

  async function findObstacle(): Promise<string | undefined> {
    const { bwrap } = settings;
    if (bwrap === undefined) return 'Commands are switched off on this installation (COMMAND_SANDBOX_BWRAP).';
    if (process.platform !== 'linux' || filter === undefined) return 'Commands need Linux on x86-64 or arm64.';
    const isThere = await access(bwrap, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (!isThere) return `bubblewrap is not installed (${bwrap}).`;
    if (!isRoot()) return 'Commands need a worker that runs as root, so that they can run as other users than its own.';
    if (process.cwd().startsWith('/usr/'))
      return `Commands can read /usr, so the worker must not have its folder there (${process.cwd()}).`;
    try {
      await openGroups();
      return await probeCommand();
    } catch (error) {
      if (error instanceof NoControlGroups) return error.message;
      return `The command sandbox does not work: ${(error as Error).message}`;
    }
  }

  /** Runs a command that starts more processes than it may, and looks from outside at what became of it. */
  async function probeCommand(): Promise<string | undefined> {
    const folder = await mkdtemp(join(tmpdir(), probe.prefix));
    const text = `echo >probe; for i in $(seq ${probe.children}); do sleep 5 & done; wait`;
    try {
      const result = await runProtected({
        folder,
        command: ['/bin/sh', '-c', text],
        timeoutMs: probe.timeoutMs,
        maxOutputBytes: probe.maxOutputBytes,
        signal: closing.signal,
        processes: probe.processes,
      });
      if (result.outcome === 'unavailable') return result.reason;
      if (result.outcome !== 'too_many_processes')
        return `A command could start more processes than it may (the probe: ${result.outcome}).`;
      const { uid } = await stat(join(folder, 'probe'));
      const isOther = uid >= settings.firstUid && uid < settings.firstUid + ownerCount;
      return !isOther ? 'Commands would run as root (setpriv).' : undefined;
    } finally {
      await rm(folder, { recursive: true }); // only this probe has written to it
    }
  }

  async function runProtected(request: CommandRequest & { processes?: number }): Promise<CommandResult> {
    if (settings.bwrap === undefined || filter === undefined)
      throw new Error('the sandbox must be checked before it is used');
    if (request.command.some((each) => Buffer.byteLength(each) > maxArgumentBytes || each.includes('\0')))
      throw new Error(`an argument of a command must be shorter than ${maxArgumentBytes} bytes`);
    const owner = await claimFolder(request.folder, settings.firstUid);
    const { readOnly = [], writable = [], environment = {} } = request;
    for (const { path } of writable) await giveTo(path, owner);
    const folders = [request.folder, ...writable.map(({ path }) => path)];
    const bubblewrap = prepareBubblewrap(
      settings.bwrap,
      {
        readOnly,
        writable: [{ path: request.folder, at: '/repo' }, ...writable],
        environment,
        tmpBytes: Math.floor((settings.memoryMb * megabyte) / 4),
        processor: process.execPath,
      },
      filter,
    );
    const bwrap = settings.bwrap;
    const group = await (await openGroups()).create({
      memoryBytes: settings.memoryMb * megabyte,
      processes: request.processes ?? settings.processes,
      processors: settings.processors,
    });
    try {
      const freeBefore = await measureSpace(folders);
      const ending = await startCommand({
        bubblewrap,
        request,
        owner,
        group,
        fileBytes: limits.diskBytes,
        signal: AbortSignal.any([request.signal, closing.signal]),
        lacksSpace: () => lacksSpace(folders, freeBefore),
        exceedsDisk: (processes) => exceedsDisk(bwrap, folders, owner, limits, processes),
      });
      return present(ending);
    } finally {
      await removeGroup(group);
    }
  }

  /** Removes the folders of probes whose workers were killed. Others may write to the folder: what is in them is not trusted. */
  async function removeOldProbes(bwrap: string): Promise<void> {
    const names = (await readdir(tmpdir())).filter((name) => name.startsWith(probe.prefix));
    for (const path of names.map((name) => join(tmpdir(), name))) {
      const found = await lstat(path).catch(() => undefined);
      if (found === undefined || Date.now() - found.mtimeMs < probe.leftAfterMs) continue;
      await removeFolder(bwrap, path).catch((error: Error) => settings.onProblem(error.message));
    }
  }

  async function removeGroup(group: ControlGroup): Promise<void> {
    try {
      await group.kill();
      await group.remove();
    } catch (error) {
      settings.onProblem((error as Error).message);
    }
  }

  async function track<Value>(work: Promise<Value>): Promise<Value> {
    running.add(work);
    try {
      return await work;
    } finally {
      running.delete(work);
    }
  }

  return {
    check,
    async run(request) {
      const answer = await check();
      if (!answer.available) return { outcome: 'unavailable', reason: answer.reason };
      return track(runProtected(request));
    },
    createFolder: (folder) => createFolder(folder, settings.firstUid),
    removeFolder: (folder) => {
      if (settings.bwrap === undefined) throw new Error('the command sandbox is switched off');
      return track(removeFolder(settings.bwrap, folder));
    },
    async removeLeftovers() {
      if (settings.bwrap === undefined) return;
      try {
        await (await openGroups()).removeLeftovers();
        await track(removeOldProbes(settings.bwrap));
      } catch (error) {
        if (!(error instanceof NoControlGroups)) throw error; // without them, no command has run
      }
    },
    async close() {
      closing.abort();
      await Promise.allSettled([...running, checked?.answer]);
    },
  };
}

function present({ outcome, exitCode, ...printed }: Ending): CommandResult {
  if (outcome === 'not_started')
    return {
      outcome: 'unavailable',
      reason: `The command sandbox did not start: ${printed.output.trim().slice(0, 300)}`,
    };
  return outcome === 'exited' ? { outcome, exit_code: exitCode, ...printed } : { outcome, ...printed };
}

const definedOnly = ({ diskBytes, entries }: CommandSandboxSettings) => ({
  ...(diskBytes === undefined ? {} : { diskBytes }),
  ...(entries === undefined ? {} : { entries }),
});
