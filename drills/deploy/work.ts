// What the workers of the deploy drill do: rows of a queue table with several steps, by the code of one of two releases. The
// second release adds the step `check` after the one in which a row waits.
import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import type { Queue, QueueRow } from '../../server/src/kit/background/queues/queue.ts';
import { createQueueTable } from '../lib/queue-table.ts';

export const tables = `
  create table drill_effects (row_id uuid not null, step text not null, at timestamptz not null default clock_timestamp());
  ${createQueueTable('drill_rollouts', "kind text not null, next_step text not null default 'first'")}`;

/** What a row does between its first step and the others. */
export const kinds = ['waits', 'sleeps', 'works'] as const;
export type Kind = (typeof kinds)[number];
export type Release = '1' | '2';
export type Step = 'first' | 'middle' | 'check' | 'second' | 'third';

/** Which steps a release knows, in order. */
export const stepsOf: Readonly<Record<Release, readonly Step[]>> = {
  1: ['first', 'middle', 'second', 'third'],
  2: ['first', 'middle', 'check', 'second', 'third'],
};

/** One line of the journal: a run began. */
export interface RunLine {
  readonly id: string;
  readonly step: Step;
  readonly release: Release;
}

interface RolloutRow extends QueueRow {
  readonly kind: Kind;
  readonly next_step: Step;
}

/** Longer than the drill: it makes these rows due itself. */
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
  // Without end: a row whose next step this release doesn't know fails until a worker of the other release claims it.
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
