// The drill's own record of the processes that Plinth's processes start: git, bubblewrap, and the programs inside
// it, as listed in /proc. A process stays in the record after the worker that started it has ended. The start time
// distinguishes it from later processes with the same id.
import { readdirSync, readFileSync } from 'node:fs';

const everyMs = 250;

export interface DescendantWatch {
  /** The number of processes seen so far, by program. */
  count(): Record<string, number>;
  /** Lists the processes that are currently alive. */
  living(): string[];
  /** Programs whose arguments contained one of the secrets. */
  readonly leaks: ReadonlySet<string>;
  stop(): void;
}

interface ProcessLine {
  readonly pid: number;
  readonly program: string;
  /** Z means that the process has ended but has not been reaped by its parent. */
  readonly state: string;
  readonly parent: number;
  readonly startTime: string;
}

/** `parents` returns the ids of Plinth's running processes. */
export function watchDescendants(parents: () => readonly number[], secrets: readonly string[]): DescendantWatch {
  /** Each process's last known program, by process id and start time. */
  const known = new Map<string, string>();
  const leaks = new Set<string>();
  const look = () => {
    const all = listProcesses();
    const own = new Set(parents());
    const members = new Set(own);
    for (const line of all) if (known.has(keyOf(line))) members.add(line.pid);
    // Repeats, because a child may precede its parent in the list.
    for (let size = -1; size !== members.size; ) {
      size = members.size;
      for (const { pid, parent } of all) if (members.has(parent)) members.add(pid);
    }
    for (const line of all) {
      if (!members.has(line.pid) || own.has(line.pid)) continue;
      const isNew = known.get(keyOf(line)) !== line.program;
      known.set(keyOf(line), line.program);
      if (isNew && hasSecret(line.pid, secrets)) leaks.add(line.program);
    }
    return all;
  };
  const timer = setInterval(look, everyMs);
  return {
    count: () =>
      Object.fromEntries(
        Map.groupBy(known.values(), (program) => program)
          .entries()
          .map(([name, each]) => [name, each.length]),
      ),
    living() {
      const isLiving = (line: ProcessLine) => known.has(keyOf(line)) && line.state !== 'Z' && line.state !== 'X';
      return look()
        .filter(isLiving)
        .map(({ pid, program }) => `${program} ${pid}`);
    },
    leaks,
    stop: () => clearInterval(timer),
  };
}

const keyOf = ({ pid, startTime }: ProcessLine): string => `${pid}:${startTime}`;

const listProcesses = (): ProcessLine[] =>
  readdirSync('/proc').flatMap((name) => (/^\d+$/.test(name) ? (readProcess(Number(name)) ?? []) : []));

/** Returns undefined if the process has ended. */
function readProcess(pid: number): ProcessLine | undefined {
  const [, program = '', rest = ''] = /^\d+ \((.*)\) (.*)$/s.exec(read(`/proc/${pid}/stat`)) ?? [];
  const fields = rest.split(' ');
  const [state = '', parent] = fields;
  return fields.length < 20
    ? undefined
    : { pid, program, state, parent: Number(parent), startTime: fields[19] as string };
}

const hasSecret = (pid: number, secrets: readonly string[]): boolean => {
  const command = read(`/proc/${pid}/cmdline`);
  return secrets.some((secret) => command.includes(secret));
};

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
