// Runs one command with all protections: with bubblewrap, as another user, and in its own control group.
import { prepareBubblewrap } from './bubblewrap.ts';
import { type ControlGroup, type ControlGroups, openControlGroups } from './cgroups.ts';
import { claimFolder, exceedsDisk, giveTo, lacksSpace, measureSpace } from './folders.ts';
import { type Ending, startCommand } from './process.ts';
import { createSyscallFilter } from './seccomp.ts';
import type { CommandRequest, CommandResult } from './types.ts';

export interface CommandSandboxSettings {
  /** The path of bubblewrap. If undefined, commands are not run. */
  readonly bwrap: string | undefined;
  /** The first user id that commands may run as. */
  readonly firstUid: number;
  /** The control group in which commands' groups are created. If undefined, cgroups.ts chooses one. */
  readonly cgroup: string | undefined;
  readonly memoryMb: number;
  readonly processes: number;
  /** The number of processors that a command may use at a time. */
  readonly processors: number;
  /** Reports problems to the log. */
  readonly onProblem: (why: string) => void;
  /** Set by tests. */
  readonly diskBytes?: number;
  readonly entries?: number;
}

const megabyte = 1024 * 1024;
const defaults = { diskBytes: 2048 * megabyte, entries: 500_000 };
const maxArgumentBytes = 100_000;

export type CommandRunner = ReturnType<typeof createCommandRunner>;

/** `closing` stops all commands. */
export function createCommandRunner(settings: CommandSandboxSettings, closing: AbortSignal) {
  const limits = { ...defaults, ...definedOnly(settings) };
  const filter = createSyscallFilter();
  let groups: Promise<ControlGroups> | undefined;

  /** Failures are not cached, because the operator may delegate a group later. */
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

  async function run(request: CommandRequest & { processes?: number }): Promise<CommandResult> {
    if (settings.bwrap === undefined || filter === undefined)
      throw new Error('the sandbox must be checked before it is used');
    if (request.command.some((each) => Buffer.byteLength(each) > maxArgumentBytes || each.includes('\0')))
      throw new Error(`a command argument must be shorter than ${maxArgumentBytes} bytes`);
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
        signal: AbortSignal.any([request.signal, closing]),
        lacksSpace: () => lacksSpace(folders, freeBefore),
        exceedsDisk: (processes) => exceedsDisk(bwrap, folders, owner, limits, processes),
      });
      return present(ending);
    } finally {
      await removeGroup(group);
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

  return { isSupported: process.platform === 'linux' && filter !== undefined, openGroups, run };
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
