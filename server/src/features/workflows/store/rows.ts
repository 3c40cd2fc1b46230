// The row types that the workflow stores return, with typed JSON columns.
import type { Selectable } from 'kysely';
import type { AppAccess } from '../../../core/auth/proofs.ts';
import type { Tables } from '../../../tables.ts';

type Row<Name extends keyof Tables, Json extends object> = Omit<Selectable<Tables[Name]>, keyof Json> & Readonly<Json>;

export type WorkflowRow = Row<'workflows', { trigger: Readonly<Record<string, unknown>> }>;
export type WorkflowAccess = AppAccess & { readonly workflow: WorkflowRow };
export type VersionRow = Row<'workflow_versions', { definition: Readonly<Record<string, unknown>> }>;
/** A run without its input and state, which may be large. */
export type RunSummary = Pick<
  Selectable<Tables['workflow_runs']>,
  | 'id'
  | 'workspace_id'
  | 'app_id'
  | 'workflow_id'
  | 'workflow_name'
  | 'version_id'
  | 'trigger_type'
  | 'is_test_run'
  | 'status'
  | 'status_reason'
  | 'started_at'
  | 'completed_at'
  | 'steps_count'
  | 'error_message'
  | 'failed_step'
>;
export type StepRow = Row<
  'workflow_steps',
  { error: { readonly type: string; readonly title: string; readonly status: number; readonly detail: string } | null }
>;

export type WorkflowKey = Pick<WorkflowRow, 'workspace_id' | 'id'>;
