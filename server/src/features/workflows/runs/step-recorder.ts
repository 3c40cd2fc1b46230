// Owns recording the steps of all runs of a worker. Steps that are done while others are being recorded share the next statement:
// at a high rate, one commit per step would be most of the work. A run goes on only when its own step has been committed.
import { classifyFailure } from '../../../kit/db/failures.ts';
import type { Db } from '../../../tables.ts';
import { insertSteps, type RunStatus, type SentStep } from '../store/steps.ts';

/** Records a step. In a transaction it is recorded alone, and committed with it. */
export type RecordStep = (db: Db, sent: SentStep) => Promise<RunStatus>;

interface WaitingStep extends SentStep {
  readonly recorded: PromiseWithResolvers<RunStatus>;
}

const maxSteps = 64;
/** A step alone may be larger. */
const maxBytes = 1024 * 1024;

export function createStepRecorder(): RecordStep {
  let waiting: WaitingStep[] = [];
  let isRecording = false;

  const recordWaiting = async (db: Db) => {
    isRecording = true;
    while (waiting.length > 0) {
      const batch = waiting.slice(0, countFitting(waiting));
      waiting = waiting.slice(batch.length);
      await recordBatch(db, batch);
    }
    isRecording = false;
  };

  return async (db, sent) => {
    if (db.isTransaction) return (await insertSteps(db, [sent])).get(sent.run.id);
    const recorded = Promise.withResolvers<RunStatus>();
    waiting.push({ ...sent, recorded });
    if (!isRecording) void recordWaiting(db);
    return recorded.promise;
  };
}

function countFitting(steps: readonly WaitingStep[]): number {
  let bytes = 0;
  const tooMany = steps.findIndex(({ stored, step }, index) => {
    const { length } = [stored.state, stored.state_sealed, step.input, step.output].join('');
    bytes += length;
    return index === maxSteps || (index > 0 && bytes > maxBytes);
  });
  return tooMany < 0 ? steps.length : tooMany;
}

/** If something in a batch can't be recorded, each step is recorded alone, so that no run fails because of another. */
async function recordBatch(db: Db, batch: readonly WaitingStep[]): Promise<void> {
  try {
    const statuses = await insertSteps(db, batch);
    for (const { run, recorded } of batch) recorded.resolve(statuses.get(run.id));
  } catch (error) {
    if (batch.length > 1 && classifyFailure(error) !== 'connection_lost')
      for (const step of batch) await recordBatch(db, [step]);
    else for (const { recorded } of batch) recorded.reject(error);
  }
}
