// Owns recording the steps of all runs of a worker. Steps that are done while others are being recorded share the next statement:
// at a high rate, one commit per step would be most of the work. A run goes on only when its own step has been committed.
import { gather } from '../../../kit/background/gather.ts';
import { classifyFailure } from '../../../kit/db/failures.ts';
import type { Db } from '../../../tables.ts';
import { insertSteps, type RunStatus, type SentStep } from '../store/steps.ts';

/** Records a step. In a transaction it is recorded alone, and committed with it. */
export type RecordStep = (db: Db, sent: SentStep) => Promise<RunStatus>;

interface WaitingStep extends SentStep {
  readonly db: Db;
  readonly recorded: PromiseWithResolvers<RunStatus>;
}

const maxSteps = 64;
/** Of the texts of a batch. A step alone may have more. */
const maxLength = 1024 * 1024;

export function createStepRecorder(): RecordStep {
  const add = gather<WaitingStep>({ handle: recordBatch, countFitting });
  return async (db, sent) => {
    if (db.isTransaction) return (await insertSteps(db, [sent])).get(sent.run.id);
    const recorded = Promise.withResolvers<RunStatus>();
    add({ ...sent, db, recorded });
    return recorded.promise;
  };
}

function countFitting(steps: readonly WaitingStep[]): number {
  let length = 0;
  const beyond = steps.findIndex((step, index) => {
    length += measure(step);
    return index === maxSteps || (index > 0 && length > maxLength);
  });
  return beyond < 0 ? steps.length : beyond;
}

const measure = ({ stored, step }: SentStep): number =>
  [stored.state, stored.state_sealed, step.input, step.output].reduce((sum, text) => sum + (text?.length ?? 0), 0);

/** If something in a batch can't be recorded, each step is recorded alone, so that no run fails because of another. */
async function recordBatch(batch: readonly WaitingStep[]): Promise<void> {
  const [first] = batch;
  if (first === undefined) return;
  try {
    const statuses = await insertSteps(first.db, batch);
    for (const { run, recorded } of batch) recorded.resolve(statuses.get(run.id));
  } catch (error) {
    if (batch.length > 1 && classifyFailure(error) !== 'connection_lost')
      for (const step of batch) await recordBatch([step]);
    else for (const { recorded } of batch) recorded.reject(error);
  }
}
