// Owns following a run: a stream of events while a worker runs it. Any process can follow any run, and the run does not depend on
// being followed.
import { Readable } from 'node:stream';
import { WakeableSleep, type WakeUps } from '../../../kit/background/workers/wake.ts';
import type { Clock } from '../../../kit/clock.ts';
import type { AnyDb } from '../../../kit/db/database.ts';
import { classifyFailure } from '../../../kit/db/failures.ts';
import { type Answer, answerWithFollowUp, eventStream } from '../../../kit/http/answer.ts';
import { ValidationError } from '../../../kit/http/faults.ts';
import { presentRun, presentStep } from '../contract.ts';
import { toRunTopic } from '../runs/execution.ts';
import type { RunSummary, StepRow } from '../store/rows.ts';
import { findRun, listStepsFrom } from '../store/run-reads.ts';

export interface ProgressDeps {
  readonly wake: Pick<WakeUps, 'listen' | 'pollMs'>;
  readonly clock: Clock;
  /** Aborted when this process shuts down. */
  readonly shutdownSignal: AbortSignal;
}

/**
 * Where a caller is in the events of a run. A step that takes longer has two: phase 0 while it runs, phase 1 when it has ended.
 * The id of an event is `run:number:phase`, which a caller sends back as `Last-Event-ID`.
 */
interface Position {
  readonly number: number;
  readonly phase: number;
}

export const streamSeconds = 300;
const maxStepsAtOnce = 50;
const pingMs = 15_000;

/** Ends with the run, after five minutes, or when the process shuts down; a caller who wants more resumes. */
export function answerWithProgress(
  run: RunSummary,
  hasValues: boolean,
  lastEventId: unknown,
  deps: ProgressDeps,
): Answer<never> {
  const from = parsePosition(run, lastEventId);
  return answerWithFollowUp({} as never, async (db) => {
    const closed = new AbortController();
    const body = Readable.from(followRun(db, run, hasValues, from, deps, closed.signal), { objectMode: false });
    body.once('close', () => closed.abort());
    return eventStream(body, hasValues ? {} : { partial: ['step_values'] });
  });
}

async function* followRun(
  db: AnyDb,
  run: RunSummary,
  hasValues: boolean,
  from: Position,
  { wake, clock, shutdownSignal }: ProgressDeps,
  closed: AbortSignal,
): AsyncGenerator<string> {
  const idle = new WakeableSleep();
  const unlisten = wake.listen(toRunTopic(run.id), idle.wake);
  const stop = AbortSignal.any([closed, shutdownSignal]);
  const endsAt = clock.now().getTime() + streamSeconds * 1000;
  let position = from;
  let lastEventAt = clock.now().getTime();
  try {
    while (!stop.aborted) {
      const progress = await readProgress(db, run, position);
      for (const step of progress?.steps ?? []) {
        const phase = step.completed_at === null ? 0 : 1;
        if (!isAfter({ number: step.number, phase }, position)) continue;
        position = { number: step.number, phase };
        lastEventAt = clock.now().getTime();
        yield writeEvent(
          run,
          position,
          'run.step',
          presentStep(hasValues ? step : { ...step, input: null, output: null }),
        );
      }
      if (progress?.steps.length === maxStepsAtOnce) continue; // there may be more
      if (progress !== undefined && progress.run === undefined) return; // removed
      if (progress?.run?.completed_at) {
        const end = { number: position.number, phase: 2 };
        return yield writeEvent(run, end, `run.${progress.run.status}`, presentRun(progress.run));
      }
      const now = clock.now().getTime();
      if (now >= endsAt) return;
      if (now - lastEventAt >= pingMs) {
        lastEventAt = now;
        yield ': ping\n\n';
      }
      await idle.sleep(Math.min(wake.pollMs(), endsAt - now), stop);
    }
  } finally {
    unlisten();
  }
}

interface Progress {
  readonly run: RunSummary | undefined;
  readonly steps: readonly StepRow[];
}

/** The run before its steps: if it has ended, all its steps are there. Undefined while the database is unavailable. */
async function readProgress(db: AnyDb, run: RunSummary, { number }: Position): Promise<Progress | undefined> {
  try {
    const current = await findRun(db, { workspace_id: run.workspace_id, id: run.workflow_id }, run.id);
    return { run: current, steps: await listStepsFrom(db, run, number, maxStepsAtOnce) };
  } catch (error) {
    if (classifyFailure(error) === undefined) throw error;
    return undefined;
  }
}

const isAfter = (a: Position, b: Position): boolean =>
  a.number > b.number || (a.number === b.number && a.phase > b.phase);

const writeEvent = ({ id }: RunSummary, { number, phase }: Position, event: string, data: object): string =>
  `id: ${id}:${number}:${phase}\nevent: ${event}\ndata: ${JSON.stringify(data)}\n\n`;

const idForm = /^([0-9a-f-]{36}):(\d{1,4}):([0-2])$/;

function parsePosition(run: RunSummary, header: unknown): Position {
  if (header === undefined) return { number: 0, phase: 2 };
  const [, runId, number, phase] = idForm.exec(String(header)) ?? [];
  if (runId !== run.id)
    throw new ValidationError([
      { loc: ['header', 'Last-Event-ID'], msg: 'must be the id of an event of this run', type: 'value_error' },
    ]);
  return { number: Number(number), phase: Number(phase) };
}
