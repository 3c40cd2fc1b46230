// Owns replaying a recording without the model, until its end or the first action that can't be done.
import type { PageAction } from '../../../gateways/browser/session/types.ts';
import { isCheck } from './recording.ts';
import { findLimit, type Run, replayAction, replayCheck } from './step.ts';
import type { Recording, RunResult } from './types.ts';

export type ReplayEnd =
  | { readonly ended: RunResult['ended'] }
  /** The agent has to go on from this step of the recording. */
  | { readonly ended: null; readonly failedAt: number };

export async function replay(run: Run, { steps }: Recording): Promise<ReplayEnd> {
  let checks = 0;
  for (const [index, step] of steps.entries()) {
    const limit = findLimit(run);
    if (limit !== undefined) return { ended: limit };
    if (isCheck(step)) {
      checks += 1;
      await replayCheck(run, checks, step, 'replayed');
      continue;
    }
    // What is wrong already could be what the action would delete.
    if (isDestructive(step.action) && hasFailedCheck(run)) return { ended: 'finished' };
    const { outcome } = await replayAction(run, step.action);
    // A wait decides nothing: the next action or check shows whether what it waited for is needed.
    if (outcome === 'done' || step.action.action === 'wait') continue;
    // The test has failed already. What can't be reached because of that needs no model.
    return hasFailedCheck(run) ? { ended: 'finished' } : { ended: null, failedAt: index };
  }
  return { ended: 'finished' };
}

const isDestructive = (action: PageAction): boolean =>
  'place' in action && 'target' in action.place && action.place.target.is_destructive;

const hasFailedCheck = ({ steps }: Run): boolean => steps.some(({ check }) => check?.holds === false);
