// The drill's work: rows in a queue table with several steps, which two releases of the code can run. The second
// release adds the step `check` after the step in which a row waits.
import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import { createQueueTable } from '../../harness/queue-table.ts';
import type { Queue, QueueRow } from '../../server/src/kit/background/queues/queue.ts';

export const tables = `
  create table drill_effects (row_id uuid not null, step text not null, at timestamptz not null default clock_timestamp());
  ${createQueueTable('drill_rollouts', "kind text not null, next_step text not null default 'first'")}`;

/** What a row does between its first step and the later ones. */
export const kinds = ['waits', 'sleeps', 'works'] as const;
export type Kind = (typeof kinds)[number];
export type Release = '1' | '2';
export type Step = 'first' | 'middle' | 'check' | 'second' | 'third';

/** The steps that each release knows, in order. */
export const stepsOf: Readonly<Record<Release, readonly Step[]>> = {
  1: ['first', 'middle', 'second', 'third'],
  2: ['first', 'middle', 'check', 'second', 'third'],
};

/** A journal line, written when a run begins. */
export interface RunLine {
  readonly id: string;
  readonly step: Step;
  readonly release: Release;
}

interface RolloutRow extends QueueRow {
  readonly kind: Kind;
  readonly next_step: Step;
}

/** Longer than the drill, because the drill itself makes these rows due. */
const signalMs = 10 * 60_000;
const waitsAfter: Partial<Record<Step, Partial<Record<Kind, number>>>> = {
  first: { waits: signalMs, sleeps: 6_000 },
  middle: { sleeps: 1_500 },
  second: { sleeps: 2_000 },
};
const workMs = 5_000;

export const createQueue = (release: Release, journal: (line: RunLine) => void): Queue<RolloutRow> => ({
  name: 'drill_rollouts',
  owner: 'owner_id',
  concurrency: 400,
  perOwner: 400,
  timeoutMs: 60_000,
  // Retries without limit. If this release does not know a row's next step, the row fails until a worker with the other
  // release claims it.
  retryMs: () => 200,
  outcomeColumns: { next_step: 'text' },
  async run({ id, kind, next_step: step }) {
    const steps = stepsOf[release];
    if (!steps.includes(step)) throw new Error(`release ${release} does not know the step ${step}`);
    journal({ id, step, release });
    if (kind === 'works' && step === 'middle') await sleep(workMs);
    const next = steps[steps.indexOf(step) + 1];
    return {
      record: async (db) =>
        void (await sql`insert into drill_effects (row_id, step) values (${id}, ${step})`.execute(db)),
      ...(next !== undefined && { columns: { next_step: next }, runAgainInMs: waitsAfter[step]?.[kind] ?? 0 }),
    };
  },
});
