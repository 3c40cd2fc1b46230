// Runs a flow in a browser session. The recording is replayed if there is one, and the agent performs what
// can't be replayed. verdict.ts judges the result.
import type { BrowserSession } from '../../../gateways/browser/session/types.ts';
import { followGoal } from './agent.ts';
import { type RunLimits, runLimits } from './limits.ts';
import { isCheck } from './recording.ts';
import { replay } from './replay.ts';
import { openStart, type Run } from './step.ts';
import type { RunDeps, RunInput, RunResult } from './types.ts';

/** Throws SessionGone if the browser crashed, and any error thrown by `onStep`. */
export async function runFlow(
  session: BrowserSession,
  input: RunInput,
  deps: RunDeps,
  limits: RunLimits = runLimits,
): Promise<RunResult> {
  const overtime = AbortSignal.timeout(limits.runMs);
  const run: Run = {
    session,
    input,
    deps,
    limits,
    deadline: new Date(deps.clock.now().getTime() + limits.runMs),
    signal: AbortSignal.any([deps.signal, overtime]),
    steps: [],
    recorded: [],
    isReplayable: true,
    modelCalls: 0,
    healedTargets: [],
    evaluated: new Set(),
    leftOut: 0,
    lastStep: Promise.resolve(),
  };
  try {
    const ended = await takeSteps(run);
    await run.lastStep;
    return toResult(run, ended);
  } catch (error) {
    if (deps.signal.aborted) return toResult(run, 'cancelled');
    if (overtime.aborted) return toResult(run, 'time_limit');
    throw error;
  } finally {
    await run.lastStep.catch(() => {}); // nothing may continue after the run has ended
  }
}

async function takeSteps(run: Run): Promise<RunResult['ended']> {
  const { recording } = run.input;
  const opened = await openStart(run, recording === null ? 'agent' : 'replayed');
  if (opened.outcome !== 'done') return 'finished';
  if (recording === null) return followGoal(run, null);
  const replayed = await replay(run, recording);
  return replayed.ended ?? followGoal(run, { steps: recording.steps, failedAt: replayed.failedAt });
}

function toResult(run: Run, ended: RunResult['ended']): RunResult {
  const { steps, modelCalls, recorded, isReplayable, limits, input, evaluated, leftOut } = run;
  const isWhole = ended === 'finished' && isReplayable && leftOut === 0 && recorded.length < limits.steps;
  const checks = (input.recording?.steps ?? []).filter(isCheck);
  return {
    ended,
    steps,
    modelCalls,
    recording: isWhole ? { version: 1, steps: recorded } : null,
    uncheckedExpectations: checks.flatMap(({ expectation }, index) => (evaluated.has(index + 1) ? [] : [expectation])),
    leftOut,
  };
}
