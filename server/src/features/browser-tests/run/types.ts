// Owns what a run of a flow takes and returns: its input, its steps, the recording that a later run replays, and its result.
import type { Check, PageAction } from '../../../gateways/browser/session/types.ts';
import type { LanguageModel } from '../../../gateways/language-model/index.ts';
import type { Clock } from '../../../kit/clock.ts';

/** The temporary app user. Its e-mail and password are in no step, recording or prompt: `{{email}}` and `{{password}}` are. */
export interface TestUser {
  readonly email: string;
  readonly password: string;
}

export interface RunInput {
  readonly goal: string;
  /** The role of the temporary app user. */
  readonly role: string;
  /** Where the run begins, on the origin of the published app. */
  readonly url: string;
  readonly testUser: TestUser;
  /** Of the flow's present revision. Null: the agent finds its own way. */
  readonly recording: Recording | null;
}

export interface RunDeps {
  readonly model: LanguageModel;
  readonly clock: Clock;
  /** Cancels the run. */
  readonly signal: AbortSignal;
  /**
   * Stores the step, while the next one is taken. Steps are handled one after the other. The screenshot is a JPEG, or empty if the
   * page hangs and can't be shown. An error that it throws is thrown by `runFlow`.
   */
  onStep(step: RunStep, screenshot: Buffer): Promise<void>;
}

/** What a run that passed did after it had opened the app. Places are targets, and texts have placeholders. */
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
  /** In words. */
  readonly expectation: string;
}

/** A step for the report. Its texts have at most 500 characters. */
export interface RunStep {
  /** From 1. */
  readonly number: number;
  /** `Click button "Add"`. */
  readonly action: string;
  readonly result: string;
  readonly source: 'replayed' | 'agent';
  readonly at: Date;
  /** Null if the step checks nothing. */
  readonly check: StepCheck | null;
  /** What the recording says, and what was done instead. Null if both are the same. */
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
   * `finished`: the recording was replayed to its end, or the agent said that it is done. `step_limit`: too many steps or
   * calls of the model. The others end a run at once.
   */
  readonly ended: 'finished' | 'step_limit' | 'time_limit' | 'model_unavailable' | 'cancelled';
  readonly steps: readonly RunStep[];
  readonly modelCalls: number;
  /** To be kept if the verdict is `passed`. Null: the run can't be replayed. */
  readonly recording: Recording | null;
  /** Of the recording, in words. */
  readonly uncheckedExpectations: readonly string[];
  /** How many actions of the recording were neither repeated nor replaced. */
  readonly leftOut: number;
}
