// Owns the drill's own record of browser processes: everything that workers started, as /proc shows it. A process stays known by
// its session even if the worker that started it is gone, and is told from a later one with the same id by its start time.
import { readdirSync, readFileSync } from 'node:fs';

const everyMs = 100;

interface ProcessLine {
  readonly pid: number;
  readonly program: string;
  /** Z: it has ended, and its parent has not asked yet. */
  readonly state: string;
  readonly parent: number;
  readonly session: number;
  readonly startTime: string;
}

export interface BrowserWatch {
  /** How many browser processes were seen, and how many browsers they belong to. */
  count(): { readonly processes: number; readonly browsers: number };
  /** The browser processes that live now. */
  living(): readonly ProcessLine[];
  /** The first process of each browser that lives now. */
  leaders(): readonly number[];
  stop(): void;
}

/** `workers` names the workers that run now. */
export function watchBrowsers(workers: () => readonly number[]): BrowserWatch {
  const sessions = new Set<number>();
  const known = new Set<string>();
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
    for (const { pid, startTime } of browsers) known.add(`${pid}:${startTime}`);
    return browsers.filter(({ state }) => state !== 'Z' && state !== 'X');
  };
  const timer = setInterval(look, everyMs);
  return {
    count: () => ({ processes: known.size, browsers: sessions.size }),
    living: look,
    leaders: () => look().flatMap(({ pid, session }) => (pid === session ? [pid] : [])),
    stop: () => clearInterval(timer),
  };
}

function listProcesses(): ProcessLine[] {
  return readdirSync('/proc').flatMap((name) => (/^\d+$/.test(name) ? (readProcess(Number(name)) ?? []) : []));
}

/** Undefined if it has ended meanwhile. */
function readProcess(pid: number): ProcessLine | undefined {
  const text = read(`/proc/${pid}/stat`);
  const [, program = '', rest = ''] = /^\d+ \((.*)\) (.*)$/s.exec(text) ?? [];
  const fields = rest.split(' ');
  if (fields.length < 20) return undefined;
  const [state = '', parent, , session] = fields;
  return { pid, program, state, parent: Number(parent), session: Number(session), startTime: fields[19] as string };
}

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
