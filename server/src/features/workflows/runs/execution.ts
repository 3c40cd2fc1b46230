// The state of a run that a worker is executing, in memory and as stored. `recordStep` stores a step and the
// resulting state in one statement.
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
  /** The app's access, because the run acts as the app. */
  readonly access: DataAccess;
  /** The secrets that the definition reads, keyed by name. */
  readonly secrets: Readonly<Record<string, string>>;
  /** Hides these secrets' current and earlier values. */
  readonly mask: Mask;
  readonly recordStep: RecordStep;
  /** Aborted if the worker stops, or if this claim takes too long. */
  readonly signal: AbortSignal;
  /** When this claim should end, so the app's other runs get a turn. */
  readonly sliceEndsAt: number;
  state: RunState;
  /** The credit reservation for a call that has started but has not recorded its step. */
  reservationId: string | null;
  /** Whether this claim has stored any progress. */
  hasProgress: boolean;
  /** Whether the run has been cancelled. */
  isCancelled: boolean;
  notifiedAt: number;
}

const maxStateBytes = 1024 * 1024;
/** In memory, a small value takes up many times the size of its JSON. */
const maxStateValues = 50_000;

const stateLocation = (id: string) => ['workflow_runs', id, 'state_sealed'] as const;

/** If the definition reads secrets, the state is sealed, because its data may contain copies of them. */
export function toStoredState({ run, definition, deps }: Execution, state: RunState): StoredState {
  const { secretValues, ...own } = state;
  const text = JSON.stringify(own);
  if (
    text.length > maxStateValues &&
    findJsonExcess(Buffer.from(text), maxStateValues, Number.POSITIVE_INFINITY) !== undefined
  )
    throw fail(
      'runtime',
      "The run's context, data and loop items contain more than 50,000 values in total. Keep less data.",
      { cause: 'too_large' },
    );
  if (text.length * 3 > maxStateBytes && Buffer.byteLength(text) > maxStateBytes)
    throw fail('runtime', "The run's context, data and loop items are larger than 1 MiB in total. Keep less data.", {
      cause: 'too_large',
    });
  if (definition.secretNames.length === 0) return { state: text, state_sealed: null };
  const sealed =
    secretValues === undefined ? text : `${text.slice(0, -1)},"secretValues":${JSON.stringify(secretValues)}}`;
  return { state: null, state_sealed: deps.secrets.seal(sealed, stateLocation(run.id)) };
}

/** Returns the stored state, or undefined if none has been stored yet. */
export function openState(
  { id }: Pick<RunRow, 'id'>,
  { state, state_sealed }: Omit<RunData, 'input'>,
  secrets: Secrets,
): RunState | undefined {
  if (state_sealed !== null) return JSON.parse(secrets.open(state_sealed, stateLocation(id))) as RunState;
  return (state ?? undefined) as RunState | undefined;
}

/** Returns the state sealed with the current master key, or undefined if it already uses that key. */
export const rewrapState = (
  { id, state_sealed }: { readonly id: string; readonly state_sealed: string },
  secrets: Secrets,
) => secrets.rewrap(state_sealed, stateLocation(id));

/** Records a step and the resulting state. In a transaction, call `keep` after the commit. */
export async function recordStep(
  db: Db,
  execution: Execution,
  step: StepRecord,
  stored: StoredState,
): Promise<RunStatus> {
  const status = await execution.recordStep(db, { run: execution.run, stored, step });
  if (status === undefined) throw new ClaimLost();
  return status;
}

/** Replaces the state in memory with the stored state. Recording a step ends the call that it belongs to. */
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

/** Stores the run's state without a step. Call `keep` after the commit. */
export async function recordState(
  db: Db,
  execution: Execution,
  state: RunState,
  reservationId: string | null,
): Promise<RunStatus> {
  const status = await saveState(db, execution.run, toStoredState(execution, state), reservationId);
  if (status === undefined) throw new ClaimLost();
  return status;
}

const notifyEveryMs = 100;

export const toRunTopic = (id: string): string => `run:${id}`;

/**
 * Notifies the run's followers. Unless `always` is set, it does so at most ten times a second, because a run that
 * continues will soon notify them again.
 */
export function notifyFollowers(execution: Execution, always: boolean): void {
  const now = performance.now();
  if (!always && now - execution.notifiedAt < notifyEveryMs) return;
  execution.notifiedAt = now;
  execution.deps.wake.notify(toRunTopic(execution.run.id));
}
