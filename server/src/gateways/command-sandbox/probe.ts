// Checks whether commands can be protected on this machine. It checks the prerequisites, and runs a command that
// tries to exceed its limits.
import { access, constants, lstat, mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { NoControlGroups } from './cgroups.ts';
import { isRoot, ownerCount, removeFolder } from './folders.ts';
import type { CommandRunner, CommandSandboxSettings } from './run.ts';

const probe = {
  prefix: 'plinth-command-probe-',
  leftAfterMs: 60_000,
  processes: 12,
  children: 24,
  timeoutMs: 20_000,
  maxOutputBytes: 2_000,
};

/** Returns the reason why commands can't be run, or undefined if they can. */
export async function findObstacle(
  settings: CommandSandboxSettings,
  runner: CommandRunner,
  closing: AbortSignal,
): Promise<string | undefined> {
  const { bwrap } = settings;
  if (bwrap === undefined) return 'Commands are disabled on this installation (COMMAND_SANDBOX_BWRAP).';
  if (!runner.isSupported) return 'Commands require Linux on x86-64 or arm64.';
  const isThere = await access(bwrap, constants.X_OK).then(
    () => true,
    () => false,
  );
  if (!isThere) return `bubblewrap is not installed (${bwrap}).`;
  if (!isRoot()) return 'Commands require a worker that runs as root, because they run as other users.';
  if (process.cwd().startsWith('/usr/'))
    return `Commands can read /usr, so the worker must not run from a folder in it (${process.cwd()}).`;
  try {
    await runner.openGroups();
    return await probeCommand(settings, runner, closing);
  } catch (error) {
    if (error instanceof NoControlGroups) return error.message;
    return `The command sandbox does not work: ${(error as Error).message}`;
  }
}

/** Runs a command that starts more processes than allowed, and checks the outcome from the outside. */
async function probeCommand(
  { firstUid }: CommandSandboxSettings,
  runner: CommandRunner,
  closing: AbortSignal,
): Promise<string | undefined> {
  const folder = await mkdtemp(join(tmpdir(), probe.prefix));
  const text = `echo >probe; for i in $(seq ${probe.children}); do sleep 5 & done; wait`;
  try {
    const result = await runner.run({
      folder,
      command: ['/bin/sh', '-c', text],
      timeoutMs: probe.timeoutMs,
      maxOutputBytes: probe.maxOutputBytes,
      signal: closing,
      processes: probe.processes,
    });
    if (result.outcome === 'unavailable') return result.reason;
    const written = await stat(join(folder, 'probe')).catch(() => undefined);
    if (written === undefined) return `bubblewrap could not start a command: ${readLastLine(result.output)}`;
    if (result.outcome !== 'too_many_processes')
      return `A command could exceed its process limit (probe outcome: ${result.outcome}).`;
    const isOther = written.uid >= firstUid && written.uid < firstUid + ownerCount;
    return !isOther ? 'Commands would run as root (setpriv).' : undefined;
  } finally {
    await rm(folder, { recursive: true }); // only this probe has written to it
  }
}

/** The reason comes last, such as `bwrap: Can't mount proc on /newroot/proc: Operation not permitted`. */
const readLastLine = (output: string): string => output.trim().split('\n').at(-1) || 'it printed no reason.';

/**
 * Removes the folders of probes whose workers were killed. Other users can write to the temporary folder, so these
 * folders' contents are untrusted.
 */
export async function removeOldProbes(bwrap: string, onProblem: (why: string) => void): Promise<void> {
  const names = (await readdir(tmpdir())).filter((name) => name.startsWith(probe.prefix));
  for (const path of names.map((name) => join(tmpdir(), name))) {
    const found = await lstat(path).catch(() => undefined);
    if (found === undefined || Date.now() - found.mtimeMs < probe.leftAfterMs) continue;
    await removeFolder(bwrap, path).catch((error: Error) => onProblem(error.message));
  }
}
