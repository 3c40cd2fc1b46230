// Owns what a worker holds of a run while it executes it: the state in memory, and how it is stored. Every change goes through
// `record`, which stores the step and the state after it in one statement.
import type { DataAccess } from '../../../core/auth/proofs.ts';
import { findJsonExcess } from '../../../kit/json-excess.ts';
import type { Secrets } from '../../../kit/secrets.ts';
import type { Db } from '../../../tables.ts';
import type { Definition } from '../definition/model.ts';
import { type RunData, type RunRow, type StoredState, saveState } from '../store/runs.ts';
import type { RunStatus, StepRecord } from '../store/steps.ts';
import type { RunDeps } from './deps.ts';
import { ClaimLost, fail } from './errors.ts';
import type { Mask } from './mask.ts';
import type { RunState } from './state.ts';
import type { RecordStep } from './step-recorder.ts';

export interface Execution {
  readonly db: Db;
  readonly run: RunRow;
  readonly definition: Definition;
  readonly deps: RunDeps;
  /** The app, as which the run acts. */
  readonly access: DataAccess;
  /** The secrets that the definition reads, by name. */
  readonly secrets: Readonly<Record<string, string>>;
  /** Hides these, and their earlier values. */
  readonly mask: Mask;
  readonly recordStep: RecordStep;
  /** Aborted if the worker stops, or the run takes too long in this claim. */
  readonly signal: AbortSignal;
  /** When this claim should end, so that other runs of the app get their turn. */
  readonly sliceEndsAt: number;
  state: RunState;
  /** The credits of a call that has begun and has no step yet. */
  reservationId: string | null;
  /** Whether this claim has recorded anything. */
  hasProgress: boolean;
  /** Somebody has cancelled the run. */
  isCancelled: boolean;
  notifiedAt: number;
}

const maxStateBytes = 1024 * 1024;
/** In memory a small value takes many times its text. */
const maxStateValues = 50_000;

const stateLocation = (id: string) => ['workflow_runs', id, 'state_sealed'] as const;

/** A definition that reads secrets may have put them into its data. */
export function toStoredState({ run, definition, deps }: Execution, state: RunState): StoredState {
  const { secretValues, ...own } = state;
  const text = JSON.stringify(own);
  if (
    text.length > maxStateValues &&
    findJsonExcess(Buffer.from(text), maxStateValues, Number.POSITIVE_INFINITY) !== undefined
  )
    throw fail(
      'runtime',
      'The run holds more than 50,000 values: its context, its data and the items of its loops. Keep less.',
      { cause: 'too_large' },
    );
  if (text.length * 3 > maxStateBytes && Buffer.byteLength(text) > maxStateBytes)
    throw fail(
      'runtime',
      'The run holds more than 1 MiB: its context, its data and the items of its loops. Keep less.',
      {
        cause: 'too_large',
      },
    );
  if (definition.secretNames.length === 0) return { state: text, state_sealed: null };
  const sealed =
    secretValues === undefined ? text : `${text.slice(0, -1)},"secretValues":${JSON.stringify(secretValues)}}`;
  return { state: null, state_sealed: deps.secrets.seal(sealed, stateLocation(run.id)) };
}

/** The state that was stored; undefined if the run has none yet. */
export function openState(
  { id }: Pick<RunRow, 'id'>,
  { state, state_sealed }: Omit<RunData, 'input'>,
  secrets: Secrets,
): RunState | undefined {
  if (state_sealed !== null) return JSON.parse(secrets.open(state_sealed, stateLocation(id))) as RunState;
  return (state ?? undefined) as RunState | undefined;
}

/** The same state under the current master key; undefined if it already is. */
export const rewrapState = (
  { id, state_sealed }: { readonly id: string; readonly state_sealed: string },
  secrets: Secrets,
) => secrets.rewrap(state_sealed, stateLocation(id));

/** Records a step and the state after it. In a transaction, call `keep` once that has committed. */
export async function recordStep(
  execution: Execution,
  db: Db,
  step: StepRecord,
  stored: StoredState,
): Promise<RunStatus> {
  const status = await execution.recordStep(db, { run: execution.run, stored, step });
  if (status === undefined) throw new ClaimLost();
  return status;
}

/** What is in memory follows what was stored. A step ends the call that it is about. */
export function keep(
  execution: Execution,
  state: RunState,
  status: RunStatus,
  reservationId: string | null = null,
): void {
  execution.state = state;
  execution.reservationId = reservationId;
  execution.hasProgress = true;
  if (status === 'cancelling') execution.isCancelled = true;
}

/** Stores where the run is, without a step. Call `keep` once that has committed. */
export async function recordState(
  execution: Execution,
  db: Db,
  state: RunState,
  reservationId: string | null,
): Promise<RunStatus> {
  const status = await saveState(db, execution.run, toStoredState(execution, state), reservationId);
  if (status === undefined) throw new ClaimLost();
  return status;
}

const notifyEveryMs = 100;

export const toRunTopic = (id: string): string => `run:${id}`;

/** Tells those who follow the run. Without `always` at most ten times a second: a run that goes on tells them soon again. */
export function notifyFollowers(execution: Execution, always: boolean): void {
  const now = performance.now();
  if (!always && now - execution.notifiedAt < notifyEveryMs) return;
  execution.notifiedAt = now;
  execution.deps.wake.notify(toRunTopic(execution.run.id));
}
