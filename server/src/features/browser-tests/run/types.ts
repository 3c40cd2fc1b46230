// The types for a run: its input, its steps, the recording that a later run replays, and its result.
import type { Check, PageAction } from '../../../gateways/browser/session/types.ts';
import type { LanguageModel } from '../../../gateways/language-model/index.ts';
import type { Clock } from '../../../kit/clock.ts';

/**
 * The temporary app user. Steps, recordings and prompts never contain the e-mail address or password, only `{{email}}`
 * and `{{password}}`.
 */
export interface TestUser {
  readonly email: string;
  readonly password: string;
}

export interface RunInput {
  readonly goal: string;
  /** The role of the temporary app user. */
  readonly role: string;
  /** The run's start page, on the published app's origin. */
  readonly url: string;
  readonly testUser: TestUser;
  /** The recording for the flow's current revision. If it is null, the agent works without a recording. */
  readonly recording: Recording | null;
}

export interface RunDeps {
  readonly model: Pick<LanguageModel, 'step'>;
  readonly clock: Clock;
  /** Cancels the run. */
  readonly signal: AbortSignal;
  /**
   * Stores a step while the next one runs. Steps are stored one at a time. The screenshot is a JPEG, or empty if the
   * page hangs and can't be shown. `runFlow` rethrows any error thrown here.
   */
  onStep(step: RunStep, screenshot: Buffer): Promise<void>;
}

/** A passed run's steps after it opened the app. Elements are identified by targets, and texts contain placeholders. */
export interface Recording {
  readonly version: 1;
  readonly steps: readonly RecordedStep[];
}

export type RecordedStep = RecordedAction | RecordedCheck;

export interface RecordedAction {
  readonly action: PageAction;
}

export interface RecordedCheck {
  readonly check: Check;
  /** The check in words. */
  readonly expectation: string;
}

/** An entry in the report. Each of its texts has at most 500 characters. */
export interface RunStep {
  /** Starts at 1. */
  readonly number: number;
  /** Example: `Click button "Add"`. */
  readonly action: string;
  readonly result: string;
  readonly source: 'replayed' | 'agent';
  readonly at: Date;
  /** Null if the step checks nothing. */
  readonly check: StepCheck | null;
  /** The recorded step, and what was done instead. Null if the step was performed as recorded. */
  readonly healed: Healing | null;
}

export interface StepCheck {
  readonly holds: boolean;
  readonly expectation: string;
  readonly seen: string;
}

export interface Healing {
  readonly before: string;
  readonly after: string;
}

export interface RunResult {
  /**
   * `finished` means that the recording was fully replayed, or that the agent reported that it was done. `step_limit`
   * means that there were too many steps or model calls. The other values mean that the run was stopped immediately.
   */
  readonly ended: 'finished' | 'step_limit' | 'time_limit' | 'model_unavailable' | 'cancelled';
  readonly steps: readonly RunStep[];
  readonly modelCalls: number;
  /** Kept only if the verdict is `passed`. Null if the run can't be replayed. */
  readonly recording: Recording | null;
  /** The recorded expectations that were not checked, in words. */
  readonly uncheckedExpectations: readonly string[];
  /** The number of recorded actions that were neither repeated nor replaced. */
  readonly leftOut: number;
}
