// Records steps for all of a worker's runs. Steps that finish while others are being recorded share the next
// statement, because at a high rate one commit per step would take up most of the time. A run continues only once its
// own step has been committed.
import { gather } from '../../../kit/background/gather.ts';
import { classifyFailure } from '../../../kit/db/failures.ts';
import type { Db } from '../../../tables.ts';
import { insertSteps, type RunStatus, type SentStep } from '../store/steps.ts';

/** Records a step. In a transaction, the step is recorded alone and is committed with the transaction. */
export type RecordStep = (db: Db, sent: SentStep) => Promise<RunStatus>;

interface WaitingStep extends SentStep {
  readonly db: Db;
  readonly recorded: PromiseWithResolvers<RunStatus>;
}

const maxSteps = 64;
/** The maximum combined length of the JSON in a batch. A single step may be longer. */
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

/** If a batch can't be recorded, each step is recorded alone, so one run's step can't make another run fail. */
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
