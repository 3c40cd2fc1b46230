// Judges a soak by what its workers wrote down and by what is in the database.
import type { Run } from './journal.ts';
import { limits } from './settings.ts';

export interface Period {
  readonly from: number;
  readonly to: number;
}

export interface SoakRecord {
  readonly runs: readonly Run[];
  /** How often each row was opened, minus how often it was cancelled. */
  readonly expected: ReadonlyMap<string, number>;
  /** The runs that were completed. */
  readonly completions: readonly { readonly id: string; readonly claims: number; readonly again: boolean }[];
  /** The acknowledged commits that opened each row: from the commit's being sent to its answer. */
  readonly commits: ReadonlyMap<string, readonly Period[]>;
  /** The processes that were killed or lost the database, with the times of that. */
  readonly interrupted: ReadonlyMap<number, number>;
  /** From a kill to the recovery of the worker's slot, and from a crash of the database until a worker runs again. */
  readonly faults: readonly Period[];
}

/** A completion may be lost for this long: PostgreSQL writes asynchronous commits to the disk within 0.6 s. */
const lostMs = 2_000;
export const lateBarMs = 2_000;

export function judgeRuns(record: SoakRecord) {
  const byRow = Map.groupBy(record.runs, ({ id }) => id);
  return {
    wrongly_completed: listWronglyCompleted(record),
    overlapping: [...byRow.values()].filter(doOverlap).map(([run]) => run?.id),
    repeated: listRepeated(record),
    most_of_owner: countMost(record.runs, ({ owner }) => owner),
    most_of_key: countMost(record.runs, ({ key }) => key),
    late: listLate(record, byRow),
  };
}

function listWronglyCompleted({ expected, completions }: SoakRecord): string[] {
  const done = new Map<string, number>();
  for (const { id, again } of completions) if (!again) done.set(id, (done.get(id) ?? 0) + 1);
  return [...new Set([...expected.keys(), ...done.keys()])].filter(
    (id) => (expected.get(id) ?? 0) !== (done.get(id) ?? 0),
  );
}

function doOverlap(runs: readonly Run[]): boolean {
  const sorted = runs.toSorted((a, b) => a.startedAt - b.startedAt);
  return sorted.some((run, n) => n > 0 && run.startedAt < (sorted[n - 1] as Run).endedAt);
}

/** Lists the rows that ran more often than they were completed, and whether each such run was interrupted. */
function listRepeated({ runs, completions, interrupted }: SoakRecord) {
  const nameOf = ({ id, claims }: { id: string; claims: number }) => `${id} ${claims}`;
  const completed = Map.groupBy(completions, nameOf);
  return [...Map.groupBy(runs, nameOf)].flatMap(([name, same]) => {
    const repeats = same.length - (completed.get(name)?.length ?? 0);
    if (repeats === 0) return [];
    const explained = same.filter(({ process, endedAt }) => {
      const at = interrupted.get(process);
      return at !== undefined && endedAt >= at - lostMs;
    });
    return [{ id: (same[0] as Run).id, repeats, is_explained: repeats > 0 && explained.length >= repeats }];
  });
}

type Step = readonly [at: number, change: 1 | -1];

/** Lists the starts and ends of runs. What ends at the same time as another starts comes first. */
const listSteps = (runs: readonly Run[]): Step[] =>
  runs
    .flatMap(({ startedAt, endedAt }): Step[] => [
      [startedAt, 1],
      [endedAt, -1],
    ])
    .sort(([at, change], [otherAt, otherChange]) => at - otherAt || change - otherChange);

function countMost(runs: readonly Run[], nameOf: (run: Run) => string): number {
  const counts = [...Map.groupBy(runs, nameOf).values()].map((ofName) => {
    let [now, most] = [0, 0];
    for (const [, change] of listSteps(ofName)) {
      now += change;
      most = Math.max(most, now);
    }
    return most;
  });
  return Math.max(0, ...counts);
}

/** Returns the periods in which as many of these runs as the limit were running. */
function listFull(runs: readonly Run[], limit: number): Period[] {
  const full: Period[] = [];
  let now = 0;
  let from = 0;
  for (const [at, change] of listSteps(runs)) {
    now += change;
    if (change === 1 && now === limit) from = at;
    if (change === -1 && now === limit - 1) full.push({ from, to: at });
  }
  return full;
}

/**
 * Lists the runs before which nothing held the row for more than `lateBarMs` on end: it was due and committed, its last
 * run was over, its owner and its key were below their limits, and there was no fault.
 */
function listLate({ runs, commits, faults }: SoakRecord, byRow: ReadonlyMap<string, readonly Run[]>) {
  const [byOwner, byKey] = [Map.groupBy(runs, ({ owner }) => owner), Map.groupBy(runs, ({ key }) => key)];
  return runs.flatMap((run) => {
    // A worker may start a row before its commit is answered.
    const opened = (commits.get(run.id) ?? []).filter(({ from }) => from <= run.startedAt).map(({ to }) => to);
    const ended = (byRow.get(run.id) ?? []).map(({ endedAt }) => endedAt).filter((at) => at <= run.startedAt);
    const waits = { from: Math.max(run.dueAt, ...opened, ...ended), to: run.startedAt };
    if (waits.to - waits.from <= lateBarMs || run.crashes > 1) return []; // a quarantined row runs alone
    const held = [
      ...faults,
      ...listFull(byOwner.get(run.owner) ?? [], limits.perOwner),
      ...listFull(byKey.get(run.key) ?? [], limits.perKey),
    ];
    const freeMs = findLongestGap(waits, held);
    return freeMs > lateBarMs ? [{ id: run.id, late_ms: Math.round(freeMs) }] : [];
  });
}

/** Returns the longest part of the period that none of the others touch. */
function findLongestGap({ from, to }: Period, others: readonly Period[]): number {
  let longest = 0;
  let end = from;
  for (const other of others.toSorted((a, b) => a.from - b.from)) {
    longest = Math.max(longest, Math.min(other.from, to) - end);
    end = Math.max(end, other.to);
  }
  return Math.max(longest, to - end);
}
