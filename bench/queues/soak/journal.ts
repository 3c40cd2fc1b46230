// What the workers of the soak write down, outside the database: which runs they started and ended. Each worker appends to
// a file of its own, which outlives a killed process.
import { appendFileSync, openSync, readFileSync } from 'node:fs';

export interface Run {
  readonly id: string;
  /** The number of the claim. After a crash of the database, which may lose a claim, it can be given again. */
  readonly claims: number;
  readonly owner: string;
  readonly key: string;
  /** In milliseconds since 1970. */
  readonly dueAt: number;
  readonly startedAt: number;
  /** When it ended, or when its process did. */
  readonly endedAt: number;
  /** Whether it ended before its process. */
  readonly hasEnded: boolean;
  /** How often a worker had crashed while running the row. */
  readonly crashes: number;
  /** The worker process. */
  readonly process: number;
}

type Line =
  | (Pick<Run, 'id' | 'claims' | 'owner' | 'key' | 'dueAt' | 'crashes'> & { readonly startedAt: number })
  | { readonly id: string; readonly claims: number; readonly endedAt: number };

export function openJournal(path: string) {
  const file = openSync(path, 'a');
  return { write: (line: Line) => appendFileSync(file, `${JSON.stringify(line)}\n`) };
}

/** Reads a worker's journal. `processEndedAt` ends the runs that were interrupted. */
export function readJournal(path: string, process: number, processEndedAt: number): Run[] {
  const runs = new Map<string, Run>();
  // The last line may be cut off, because its process was killed.
  const lines = readFileSync(path, 'utf8').split('\n').slice(0, -1);
  for (const line of lines.map((text) => JSON.parse(text) as Line)) {
    const name = `${line.id} ${line.claims}`;
    if ('startedAt' in line) runs.set(name, { ...line, endedAt: processEndedAt, hasEnded: false, process });
    else runs.set(name, { ...(runs.get(name) as Run), endedAt: line.endedAt, hasEnded: true });
  }
  return [...runs.values()];
}
