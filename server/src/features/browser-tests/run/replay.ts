// Replays a recording without the model, until it ends or an action can't be performed.
import type { PageAction } from '../../../gateways/browser/session/types.ts';
import { isCheck } from './recording.ts';
import { findLimit, type Run, replayAction, replayCheck } from './step.ts';
import type { Recording, RunResult } from './types.ts';

export type ReplayEnd =
  | { readonly ended: RunResult['ended'] }
  /** The index of the recorded step from which the agent must continue. */
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
    // After a failed check, a destructive action could delete the wrong data.
    if (isDestructive(step.action) && hasFailedCheck(run)) return { ended: 'finished' };
    const { outcome } = await replayAction(run, step.action);
    // A failed wait does not end the replay. The next action or check will show whether it mattered.
    if (outcome === 'done' || step.action.action === 'wait') continue;
    // The test has already failed, and the remaining steps may be unreachable for the same reason, so the model is not
    // called.
    return hasFailedCheck(run) ? { ended: 'finished' } : { ended: null, failedAt: index };
  }
  return { ended: 'finished' };
}

const isDestructive = (action: PageAction): boolean =>
  'place' in action && 'target' in action.place && action.place.target.is_destructive;

const hasFailedCheck = ({ steps }: Run): boolean => steps.some(({ check }) => check?.holds === false);
