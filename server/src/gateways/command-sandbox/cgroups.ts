// The control groups that limit a command's memory, processes and processor time. Supports both cgroup versions.
// Each command has its own group, which also lists all of the command's processes, whatever they do to hide.
import { readFileSync, readlinkSync } from 'node:fs';
import { access, mkdir, readdir, readFile, rmdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';

export interface GroupLimits {
  memoryBytes: number;
  processes: number;
  /** How many processors all of the group's processes may use at a time, in total. */
  processors: number;
}

export interface ControlGroup {
  /** A process joins the group by writing 0 to `cgroup.procs` in each folder. */
  readonly folders: readonly string[];
  /** The limit that was reached, if any. */
  findExcess(): Promise<'out_of_memory' | 'too_many_processes' | undefined>;
  listProcesses(): Promise<number[]>;
  /** Resolves when all processes have exited. Throws if any is still running after 5 s. */
  kill(): Promise<void>;
  remove(): Promise<void>;
}

export interface ControlGroups {
  create(limits: GroupLimits): Promise<ControlGroup>;
  /** Kills and removes groups left behind by Plinth processes that are no longer running. */
  removeLeftovers(): Promise<void>;
}

/** The folders in which this process may create groups. In version 2, they are all the same. */
interface Hierarchy {
  readonly version: 1 | 2;
  readonly pids: string;
  readonly memory: string;
  /** Undefined if this process can't limit processor time. */
  readonly cpu: string | undefined;
}

/** Thrown if there are no usable control groups. The message is for the operator. */
export class NoControlGroups extends Error {}

const pollMs = 10;
const killedWithinMs = 5_000;

/** `configured` is the folder in which to create groups. In version 1, it is relative to each controller's folder. */
export async function openControlGroups(configured: string | undefined): Promise<ControlGroups> {
  const hierarchy = await findHierarchy(configured);
  const { version, pids, memory, cpu } = hierarchy;
  const bases = [...new Set([pids, memory, ...(cpu === undefined ? [] : [cpu])])];
  let count = 0;

  return {
    async create(limits) {
      count += 1;
      const name = `${ownerName()}-${count}`;
      const folders = bases.map((base) => join(base, name));
      try {
        for (const folder of folders) await mkdir(folder);
        await setLimits(version, join(pids, name), join(memory, name), limits);
        if (cpu !== undefined) await setProcessors(version, join(cpu, name), limits.processors);
      } catch (error) {
        await removeFolders(folders);
        throw error;
      }
      return createGroup(version, join(pids, name), join(memory, name), folders);
    },
    async removeLeftovers() {
      for (const base of bases)
        for (const name of await readdir(base))
          if (isAbandoned(name)) {
            const folder = join(base, name);
            await killAll(folder);
            await removeFolders([folder]);
          }
    },
  };
}

function createGroup(version: 1 | 2, pids: string, memory: string, folders: readonly string[]): ControlGroup {
  const oomFile = join(memory, version === 1 ? 'memory.oom_control' : 'memory.events');
  return {
    folders,
    async findExcess() {
      if ((await readCount(oomFile, 'oom_kill')) > 0) return 'out_of_memory';
      return (await readCount(join(pids, 'pids.events'), 'max')) > 0 ? 'too_many_processes' : undefined;
    },
    listProcesses: () => listProcesses(pids),
    async kill() {
      for (const folder of folders) await killAll(folder);
    },
    remove: () => removeFolders(folders),
  };
}

async function setLimits(version: 1 | 2, pids: string, memory: string, limits: GroupLimits): Promise<void> {
  const bytes = String(limits.memoryBytes);
  await writeFile(join(pids, 'pids.max'), String(limits.processes));
  if (version === 1) {
    await writeFile(join(memory, 'memory.limit_in_bytes'), bytes);
    await writeIfThere(join(memory, 'memory.memsw.limit_in_bytes'), bytes); // memory and swap together
  } else {
    await writeFile(join(memory, 'memory.max'), bytes);
    await writeIfThere(join(memory, 'memory.swap.max'), '0');
  }
}

const periodUs = 100_000;

async function setProcessors(version: 1 | 2, cpu: string, processors: number): Promise<void> {
  const quota = String(Math.round(processors * periodUs));
  const set =
    version === 1
      ? writeFile(join(cpu, 'cpu.cfs_period_us'), String(periodUs)).then(() =>
          writeFile(join(cpu, 'cpu.cfs_quota_us'), quota),
        )
      : writeFile(join(cpu, 'cpu.max'), `${quota} ${periodUs}`);
  await set.catch((error: NodeJS.ErrnoException) => {
    // Version 1 rejects a quota higher than a parent group's, such as the container's. The parent's lower quota then
    // applies.
    if (error.code !== 'EINVAL') throw error;
  });
}

/** Kernels without swap accounting do not have this file. */
async function writeIfThere(file: string, text: string): Promise<void> {
  await writeFile(file, text, { flag: 'r+' }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error;
  });
}

/**
 * Example: for `oom_kill_disable 0\noom_kill 3\n` and the name `oom_kill`, returns 3. Returns 0 if the group no longer
 * exists.
 */
async function readCount(file: string, name: string): Promise<number> {
  const text = await readFile(file, 'utf8').catch(() => '');
  return Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(text)?.[1] ?? 0);
}

async function listProcesses(folder: string): Promise<number[]> {
  const text = await readFile(join(folder, 'cgroup.procs'), 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'ENODEV') return '';
    throw error;
  });
  return text.split('\n').filter(Boolean).map(Number);
}

async function killAll(folder: string): Promise<void> {
  // Prevents new processes from starting while the others are killed one at a time.
  await writeFile(join(folder, 'pids.max'), '0', { flag: 'r+' }).catch(() => undefined);
  await writeFile(join(folder, 'cgroup.kill'), '1', { flag: 'r+' }).catch(() => undefined); // version 2
  const startedAt = performance.now();
  for (let left = await listProcesses(folder); left.length > 0; left = await listProcesses(folder)) {
    if (performance.now() - startedAt > killedWithinMs)
      throw new Error(`command processes are still running after SIGKILL: ${left.join(', ')}`);
    for (const pid of left) if (pid > 0) killProcess(pid);
    await wait(pollMs);
  }
}

function killProcess(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // The process has just exited. If it has not, the next listing includes it again.
  }
}

async function removeFolders(folders: readonly string[]): Promise<void> {
  for (const folder of folders) {
    const startedAt = performance.now();
    for (;;) {
      const error = await rmdir(folder).then(
        () => undefined,
        (failure: NodeJS.ErrnoException) => failure,
      );
      if (error === undefined || error.code === 'ENOENT') break;
      // The kernel takes a moment to release a process that has exited.
      if (error.code !== 'EBUSY' || performance.now() - startedAt > killedWithinMs) throw error;
      await wait(pollMs);
    }
  }
}

/** Identifies a process. Its id alone is not enough, because ids are reused and differ between containers. */
function ownerName(pid: number | 'self' = 'self'): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // Example: `1234 (node) S 1 …`. The name in parentheses may contain any character. The 20th value after the
    // parentheses is the start time.
    const startedAt = stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19];
    return `${readNamespace()}-${stat.slice(0, stat.indexOf(' '))}-${startedAt}`;
  } catch {
    return undefined;
  }
}

const readNamespace = (): string => readlinkSync('/proc/self/ns/pid').replace(/\D/g, '');

/** Returns false for groups from other PID namespaces, whose processes are not visible here. */
function isAbandoned(name: string): boolean {
  const [, namespace, pid, startedAt] = /^(\d+)-(\d+)-(\d+)-\d+$/.exec(name) ?? [];
  if (namespace === undefined || namespace !== readNamespace()) return false;
  return ownerName(Number(pid)) !== `${namespace}-${pid}-${startedAt}`;
}

async function findHierarchy(configured: string | undefined): Promise<Hierarchy> {
  const mounts = await readFile('/proc/self/mountinfo', 'utf8').catch(() => '');
  const folderOf = (controller: string) => findMount(mounts, 'cgroup', controller);
  const pids = folderOf('pids');
  const memory = folderOf('memory');
  if (pids !== undefined && memory !== undefined)
    return openVersion1(pids, memory, folderOf('cpu'), configured ?? 'plinth');
  const unified = findMount(mounts, 'cgroup2', undefined);
  if (unified === undefined)
    throw new NoControlGroups('This machine has no control groups for memory and processes (/sys/fs/cgroup).');
  return openVersion2(unified, configured);
}

/** Does not use `recursive`, which retries forever in folders such as `/proc`, where no folder can be created. */
async function makeFolder(folder: string): Promise<void> {
  await mkdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error;
  });
}

/** Example line: `36 25 0:31 / /sys/fs/cgroup/pids rw,nosuid - cgroup cgroup rw,pids`. */
export function findMount(mounts: string, type: string, controller: string | undefined): string | undefined {
  for (const line of mounts.split('\n')) {
    const [place = '', source = ''] = line.split(' - ', 2);
    const [mountedType, , options = ''] = source.split(' ');
    if (mountedType !== type || (controller !== undefined && !options.split(',').includes(controller))) continue;
    return place.split(' ')[4]?.replaceAll('\\040', ' ');
  }
  return undefined;
}

async function openVersion1(
  pids: string,
  memory: string,
  processor: string | undefined,
  name: string,
): Promise<Hierarchy> {
  const wanted = processor === undefined ? undefined : join(processor, name);
  const cpu = wanted !== undefined && (await hasQuota(wanted, 'cpu.cfs_quota_us')) ? wanted : undefined;
  const hierarchy = { version: 1, pids: join(pids, name), memory: join(memory, name), cpu } as const;
  for (const folder of [hierarchy.pids, hierarchy.memory])
    await makeFolder(folder).catch((error: NodeJS.ErrnoException) => {
      throw new NoControlGroups(`The control group ${folder} can't be created (${error.code}).`);
    });
  return hierarchy;
}

/** Whether processor time can be limited here, which some kernels do not support. Creates the folder if possible. */
const hasQuota = (folder: string, file: string): Promise<boolean> =>
  makeFolder(folder)
    .then(() => access(join(folder, file)))
    .then(
      () => true,
      () => false,
    );

/**
 * In version 2, a group can contain either processes or limited child groups, so groups are created beside this
 * process's own group, as with systemd's `DelegateSubgroup=`. If this process is alone in its group, it moves itself
 * into a child group instead.
 */
async function openVersion2(mount: string, configured: string | undefined): Promise<Hierarchy> {
  if (configured !== undefined) return useVersion2(configured);
  const own = join(mount, readOwnGroup());
  const processes = await listProcesses(own).catch(() => []);
  if (own !== mount && processes.length === 1 && processes[0] === process.pid)
    return moveBelow(own).then(() => useVersion2(join(own, 'plinth')));
  return useVersion2(join(own === mount ? own : join(own, '..'), 'plinth'));
}

async function moveBelow(own: string): Promise<void> {
  try {
    await makeFolder(join(own, 'main'));
    await writeFile(join(own, 'main', 'cgroup.procs'), String(process.pid));
  } catch (error) {
    throw notDelegated(own, error);
  }
}

async function useVersion2(folder: string): Promise<Hierarchy> {
  try {
    await makeFolder(folder);
    // The parent may have a different owner, who may already have enabled the controllers.
    await access(join(folder, 'pids.max')).catch(() => enableControllers(join(folder, '..')));
    await enableControllers(folder);
    await access(join(folder, 'pids.max'));
    await access(join(folder, 'memory.max'));
  } catch (error) {
    throw notDelegated(folder, error);
  }
  await enableProcessor(join(folder, '..')).catch(() => undefined);
  await enableProcessor(folder).catch(() => undefined); // if not delegated, commands only get a lower priority
  const cpu = (await hasQuota(folder, 'cpu.max')) ? folder : undefined;
  return { version: 2, pids: folder, memory: folder, cpu };
}

const enableControllers = (folder: string): Promise<void> =>
  writeFile(join(folder, 'cgroup.subtree_control'), '+pids +memory', { flag: 'r+' });

const enableProcessor = (folder: string): Promise<void> =>
  writeFile(join(folder, 'cgroup.subtree_control'), '+cpu', { flag: 'r+' });

const notDelegated = (folder: string, error: unknown): NoControlGroups =>
  new NoControlGroups(
    `The control group ${folder} can't be used (${(error as NodeJS.ErrnoException).code}). Delegate one to the worker (systemd: Delegate=, DelegateSubgroup=).`,
  );

/** The line for version 2, such as `0::/system.slice/plinth-worker.service/main`. */
const readOwnGroup = (): string => /^0::(.*)$/m.exec(readFileSync('/proc/self/cgroup', 'utf8'))?.[1] ?? '/';
