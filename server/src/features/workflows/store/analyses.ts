// The queries on explanations of failed runs, and on the leases that keep two processes from generating the same
// explanation.
import { sql } from 'kysely';
import { preparedForPartition } from '../../../kit/background/partitions.ts';
import { prepared } from '../../../kit/db/database.ts';
import type { Db } from '../../../tables.ts';
import { stepPartitions } from './steps.ts';

interface RunKey {
  readonly workspace_id: string;
  readonly id: string;
}

export interface StoredExplanation {
  readonly explanation: string;
  readonly generated_at: Date;
}

/**
 * The stored explanation, or the lease held by the process that is generating it. Both may be undefined. A lease that
 * is failed belonged to a generation without a usable answer, and stays for an hour.
 */
export interface AnalysisState {
  readonly stored: StoredExplanation | undefined;
  readonly lease: { readonly holder: string; readonly is_expired: boolean; readonly is_failed: boolean } | undefined;
}

/** The error that ended the run. */
export interface RecordedFailure {
  /** One of our types, or a type specified by a `raise`. */
  readonly type: string;
  readonly status: number;
  /** The technical cause. */
  readonly cause?: string;
  /** The platform's error code. */
  readonly code?: string;
}

/** The part of a step that is used to explain a failure. */
export interface EvidenceStep {
  readonly number: number;
  readonly task_path: string;
  readonly name: string;
  readonly task_type: string;
  readonly status: string;
  readonly attempt: number;
  readonly input: unknown;
  readonly output: unknown;
  readonly error: unknown;
}

/** Returns the failure that was recorded when the run ended. */
export async function findFailure(db: Db, { workspace_id, id }: RunKey): Promise<RecordedFailure | null> {
  const row = await db
    .selectFrom('workflow_runs')
    .where('workspace_id', '=', workspace_id)
    .where('id', '=', id)
    .select('failure')
    .executeTakeFirst();
  return (row?.failure ?? null) as RecordedFailure | null; // runs/end.ts writes the column from this type
}

interface StateRow {
  readonly explanation: string | null;
  readonly generated_at: Date;
  readonly holder: string | null;
  readonly is_expired: boolean;
  readonly is_failed: boolean;
}

// A single statement, so an explanation that is stored just before its lease ends is never missed.
const selectState = prepared<StateRow, [workspaceId: string, runId: string]>(
  'find analysis of workflow run',
  `select a.explanation, a.generated_at, l.holder, l.expires_at < clock_timestamp() as is_expired,
     (l.retry_at > clock_timestamp()) is true as is_failed
   from workflow_runs r
   left join workflow_analyses a on a.workspace_id = $1 and a.run_id = r.id
   left join workflow_analysis_leases l on l.workspace_id = $1 and l.run_id = r.id
   where r.workspace_id = $1 and r.id = $2`,
);

/** Returns undefined if the run was removed. */
export async function findAnalysisState(db: Db, { workspace_id, id }: RunKey): Promise<AnalysisState | undefined> {
  const [row] = await selectState(db, workspace_id, id);
  if (row === undefined) return undefined;
  const { explanation, generated_at, holder, is_expired, is_failed } = row;
  return {
    stored: explanation === null ? undefined : { explanation, generated_at },
    lease: holder === null ? undefined : { holder, is_expired, is_failed },
  };
}

const upsertLease = prepared<object, [workspaceId: string, runId: string, holder: string, seconds: number]>(
  'take lease of workflow analysis',
  `insert into workflow_analysis_leases as l (workspace_id, run_id, holder, expires_at)
   select workspace_id, id, $3, clock_timestamp() + $4::integer * interval '1 second'
   from workflow_runs where workspace_id = $1 and id = $2
   on conflict (run_id) do update
   set holder = excluded.holder, expires_at = excluded.expires_at, retry_at = null
   where l.workspace_id = $1 and l.expires_at < clock_timestamp() and (l.retry_at < clock_timestamp()) is not false
   returning 1`,
);

/** Returns whether `holder` now has the lease. The lease must be free or expired. */
export const takeLease = async (
  db: Db,
  { workspace_id, id }: RunKey,
  holder: string,
  seconds: number,
): Promise<boolean> => (await upsertLease(db, workspace_id, id, holder, seconds)).length > 0;

export async function releaseLease(db: Db, { workspace_id, id }: RunKey, holder: string): Promise<void> {
  await db
    .deleteFrom('workflow_analysis_leases')
    .where('workspace_id', '=', workspace_id)
    .where('run_id', '=', id)
    .where('holder', '=', holder)
    .execute();
}

/** Ends the lease without an explanation. Until `seconds` have passed, nobody may take it. */
export async function failLease(db: Db, { workspace_id, id }: RunKey, holder: string, seconds: number): Promise<void> {
  await sql`update workflow_analysis_leases
    set expires_at = clock_timestamp(), retry_at = clock_timestamp() + ${seconds}::integer * interval '1 second'
    where workspace_id = ${workspace_id} and run_id = ${id} and holder = ${holder}`.execute(db);
}

export interface NewExplanation {
  readonly explanation: string;
  readonly model: string;
  readonly prompt_version: number;
  readonly input_hash: string;
}

const insertRow = prepared<object, readonly unknown[]>(
  'store workflow analysis',
  `insert into workflow_analyses (workspace_id, run_id, explanation, model, prompt_version, input_hash, generated_at)
   select workspace_id, id, $3, $4, $5::integer, $6, $7::timestamptz from workflow_runs where workspace_id = $1 and id = $2
   on conflict (run_id) do nothing returning 1`,
);

/** Returns whether the explanation was stored. It isn't if the run was removed or has already been explained. */
export async function insertExplanation(
  db: Db,
  { workspace_id, id }: RunKey,
  stored: NewExplanation,
  now: Date,
): Promise<boolean> {
  const { explanation, model, prompt_version, input_hash } = stored;
  return (await insertRow(db, workspace_id, id, explanation, model, prompt_version, input_hash, now)).length > 0;
}

/** Returns a run's last steps, oldest first. */
export const listLastSteps = async (db: Db, { workspace_id, id }: RunKey, limit: number): Promise<EvidenceStep[]> =>
  (await selectLastSteps(id)(db, workspace_id, id, limit)).reverse();

const selectLastSteps = preparedForPartition<EvidenceStep, [workspaceId: string, runId: string, limit: number]>(
  'list last steps of workflow run',
  stepPartitions,
  (
    isInPartition,
  ) => `select number, task_path, name, task_type, status, attempt, input, output, error from workflow_steps
   where workspace_id = $1 and run_id = $2 and ${isInPartition} order by number desc limit $3`,
);
