// The drill's own record of browser processes: every process that workers started, as listed in /proc. Processes
// are identified by their session even after the worker that started them has ended. Helpers with their own session are
// identified by the browser's profile folder. The start time distinguishes a process from later processes with the same
// id.
import { readdirSync, readFileSync } from 'node:fs';

const everyMs = 100;

interface ProcessLine {
  readonly pid: number;
  readonly program: string;
  /** Z means that the process has ended but has not been reaped by its parent. */
  readonly state: string;
  readonly parent: number;
  readonly session: number;
  readonly startTime: string;
}

export interface BrowserWatch {
  /** The number of browser processes seen so far, and the number of browsers they belong to. */
  count(): { readonly processes: number; readonly browsers: number };
  /** Lists the browser processes that are currently alive. */
  living(): readonly ProcessLine[];
  /**
   * Finds the main process of a session's browser, and the worker that owns it. Undefined if the browser is not
   * running.
   */
  findBySession(id: string): { readonly pid: number; readonly parent: number } | undefined;
  stop(): void;
}

/** `workers` returns the ids of the running workers. */
export function watchBrowsers(workers: () => readonly number[]): BrowserWatch {
  const sessions = new Set<number>();
  const folders = new Set<string>();
  const known = new Set<string>();
  /**
   * Main processes whose profile folder is not yet known, because a newly forked process still has its parent's command
   * line.
   */
  const withoutFolder = new Set<number>();
  const look = (): ProcessLine[] => {
    const all = listProcesses();
    const parents = new Set(workers());
    const byId = new Map(all.map((line) => [line.pid, line]));
    const isBelowWorker = ({ parent }: ProcessLine): boolean => {
      for (let id = parent; id > 1; id = byId.get(id)?.parent ?? 0) if (parents.has(id)) return true;
      return false;
    };
    const ownSessions = new Set([...parents].map((pid) => byId.get(pid)?.session));
    for (const line of all) if (!ownSessions.has(line.session) && isBelowWorker(line)) sessions.add(line.session);
    const browsers = all.filter(({ session }) => sessions.has(session));
    for (const { pid, startTime, session } of browsers) {
      if (pid === session && !known.has(`${pid}:${startTime}`)) withoutFolder.add(pid);
      known.add(`${pid}:${startTime}`);
    }
    for (const pid of withoutFolder) {
      const folder = /--user-data-dir=([^\0 ]+)/.exec(read(`/proc/${pid}/cmdline`))?.[1];
      if (folder !== undefined) folders.add(folder);
      if (folder !== undefined || !all.some((line) => line.pid === pid)) withoutFolder.delete(pid);
    }
    return browsers.filter(({ state }) => state !== 'Z' && state !== 'X');
  };
  const timer = setInterval(look, everyMs);
  return {
    count: () => ({ processes: known.size, browsers: sessions.size }),
    living() {
      const living = look();
      const isHelper = ({ pid, session }: ProcessLine) => !sessions.has(session) && namesFolder(pid, folders);
      const isAlive = ({ state }: ProcessLine) => state !== 'Z' && state !== 'X';
      return [...living, ...listProcesses().filter((line) => isAlive(line) && isHelper(line))];
    },
    findBySession(id) {
      const folder = `plinth-session-${id.replaceAll('-', '')}`;
      return look().find(({ pid, session }) => pid === session && read(`/proc/${pid}/cmdline`).includes(folder));
    },
    stop: () => clearInterval(timer),
  };
}

function listProcesses(): ProcessLine[] {
  return readdirSync('/proc').flatMap((name) => (/^\d+$/.test(name) ? (readProcess(Number(name)) ?? []) : []));
}

/** Returns undefined if the process has ended. */
function readProcess(pid: number): ProcessLine | undefined {
  const text = read(`/proc/${pid}/stat`);
  const [, program = '', rest = ''] = /^\d+ \((.*)\) (.*)$/s.exec(text) ?? [];
  const fields = rest.split(' ');
  if (fields.length < 20) return undefined;
  const [state = '', parent, , session] = fields;
  return { pid, program, state, parent: Number(parent), session: Number(session), startTime: fields[19] as string };
}

const namesFolder = (pid: number, folders: ReadonlySet<string>): boolean => {
  const command = read(`/proc/${pid}/cmdline`);
  return [...folders].some((folder) => command.includes(folder));
};

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
