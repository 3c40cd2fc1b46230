// Owns the shapes of workflows, versions, runs and steps that a caller sees (docs/api/workflows.md).
import { z } from 'zod';
import {
  answer,
  body,
  clearable,
  count,
  id,
  name,
  oneOf,
  openObject,
  openQuery,
  optional,
  pageQuery,
  query,
  queryFlag,
  queryInteger,
  queryTime,
  strictBody,
  text,
  timestamp,
} from '../../kit/http/shapes.ts';
import type { RunSummary, StepRow, VersionRow, WorkflowRow } from './store/rows.ts';

export const statuses = ['active', 'inactive', 'archived'] as const;
export const statusReasons = [
  'consecutive_failures',
  'end_condition_reached',
  'workflows_not_available',
  'definition_invalid',
] as const;
export const triggerTypes = [
  'manual',
  'entity',
  'scheduled',
  'webhook',
  'app_publish',
  'agent_message',
  'event',
] as const;
const runStatuses = ['running', 'cancelling', 'completed', 'failed', 'cancelled'] as const;
const runStatusReasons = [
  'insufficient_credits',
  'timeout',
  'step_limit',
  'loop_stopped',
  'cancelled_by_user',
] as const;

const anyObject = z.record(z.string(), z.unknown());

export const Workflow = answer('Workflow', {
  id,
  app_id: id,
  name: z.string(),
  description: z.string().nullable(),
  status: oneOf(...statuses),
  status_reason: oneOf(...statusReasons).nullable(),
  trigger: anyObject,
  current_version_id: z.string(),
  total_runs: count,
  consecutive_failures: count,
  last_run_at: timestamp.nullable(),
  last_run_status: oneOf('completed', 'failed', 'cancelled').nullable(),
  created_date: timestamp,
  updated_date: timestamp,
  // Only in the answers about one workflow.
  definition: anyObject.optional(),
  hook_url: z.string().nullable().optional(),
});

export const WorkflowQuery = query({ ...pageQuery, include_archived: queryFlag.optional() });

const summary = text(0, 500);
const description = text(0, 2_000);

export const NewWorkflow = strictBody({
  name: name(1, 100),
  definition: openObject,
  trigger: openObject,
  description: optional(description),
  change_summary: optional(summary),
});
export type NewWorkflow = z.output<typeof NewWorkflow>;

export const WorkflowChange = strictBody({
  name: optional(name(1, 100)),
  definition: optional(openObject),
  trigger: optional(openObject),
  description: clearable(description),
  change_summary: optional(summary),
});
export type WorkflowChange = z.output<typeof WorkflowChange>;

export const DefinitionCheck = strictBody({ definition: openObject, trigger: optional(openObject) });

export const Validation = answer('WorkflowValidation', {
  valid: z.boolean(),
  errors: z.array(answer('WorkflowFault', { path: z.string(), message: z.string() })),
  task_types: z.array(z.string()),
  calls: z.array(z.string()),
});

export const Version = answer('WorkflowVersion', {
  version_id: z.string(),
  change_summary: z.string().nullable(),
  created_by: id.nullable(),
  created_date: timestamp,
  definition: anyObject,
});

export const VersionQuery = query({ ...pageQuery });

export const StatusChange = body({ status: optional(oneOf('active', 'inactive')) });
export type StatusChange = z.output<typeof StatusChange>;
export const WorkflowStatus = answer('WorkflowStatus', {
  id,
  status: oneOf(...statuses),
  status_reason: oneOf(...statusReasons).nullable(),
});

export const presentVersion = (row: VersionRow): z.input<typeof Version> => ({
  version_id: row.version_id,
  change_summary: row.change_summary,
  created_by: row.created_by,
  created_date: row.created_date.toISOString(),
  definition: row.definition,
});

/** What a run gets from a webhook, a person or an earlier run, as JSON. */
export const maxInputBytes = 256 * 1024;

export const RunRequest = strictBody({ input: z.unknown().optional(), replay_from_run_id: optional(z.string()) });
export type RunRequest = z.output<typeof RunRequest>;
export const RunStarted = answer('WorkflowRunStarted', {
  status: z.literal('started'),
  message: z.string(),
  run_id: id,
});
export const HookReceived = answer('HookReceived', { run_id: id.nullable() });
export const HookQuery = openQuery({});
export const HookBody = z.custom<object>((value) => typeof value === 'object' && value !== null, {
  params: { type: 'dict_type', checksType: true },
  error: 'must be an object or an array',
});

export const Step = answer('WorkflowStep', {
  number: count,
  task_path: z.string(),
  name: z.string(),
  task_type: z.string(),
  status: oneOf('running', 'completed', 'failed', 'skipped', 'cancelled'),
  attempt: count,
  started_at: timestamp,
  completed_at: timestamp.nullable(),
  duration_ms: count.nullable(),
  input: z.unknown(),
  output: z.unknown(),
  error: answer('WorkflowStepError', {
    type: z.string(),
    title: z.string(),
    status: count,
    detail: z.string(),
  }).nullable(),
});

export const Run = answer('WorkflowRun', {
  run_id: id,
  workflow_id: id,
  workflow_name: z.string(),
  trigger_type: oneOf(...triggerTypes),
  status: oneOf(...runStatuses),
  status_reason: oneOf(...runStatusReasons).nullable(),
  started_at: timestamp,
  completed_at: timestamp.nullable(),
  duration_ms: count.nullable(),
  steps_count: count,
  error_message: z.string().nullable(),
  is_test_run: z.boolean(),
  definition_version_id: z.string(),
  // Only in the answer about one run.
  steps: z.array(Step).optional(),
});

export const RunQuery = query({
  ...pageQuery,
  status: oneOf(...runStatuses).optional(),
  since: queryTime.optional(),
});
export type RunQuery = z.output<typeof RunQuery>;

export const RunValuesQuery = query({ values_from: queryInteger(1, 1_000).optional() });

export const RunCancelled = answer('WorkflowRunCancelled', { status: oneOf(...runStatuses) });

const isoOrNull = (time: Date | null): string | null => time?.toISOString() ?? null;

export const presentWorkflow = (row: WorkflowRow): z.input<typeof Workflow> => ({
  id: row.id,
  app_id: row.app_id,
  name: row.name,
  description: row.description,
  status: row.status,
  status_reason: row.status_reason,
  trigger: row.trigger,
  current_version_id: row.current_version_id,
  total_runs: row.total_runs,
  consecutive_failures: row.consecutive_failures,
  last_run_at: isoOrNull(row.last_run_at),
  last_run_status: row.last_run_status,
  created_date: row.created_date.toISOString(),
  updated_date: row.updated_date.toISOString(),
});

export const presentStatus = ({ id, status, status_reason }: WorkflowRow): z.input<typeof WorkflowStatus> => ({
  id,
  status,
  status_reason,
});

const durationOf = ({ started_at, completed_at }: { started_at: Date; completed_at: Date | null }): number | null =>
  completed_at && Math.max(0, completed_at.getTime() - started_at.getTime());

export const presentRun = (row: RunSummary): z.input<typeof Run> => ({
  run_id: row.id,
  workflow_id: row.workflow_id,
  workflow_name: row.workflow_name,
  trigger_type: row.trigger_type,
  status: row.status,
  status_reason: row.status_reason,
  started_at: row.started_at.toISOString(),
  completed_at: isoOrNull(row.completed_at),
  duration_ms: durationOf(row),
  steps_count: row.steps_count,
  error_message: row.error_message,
  is_test_run: row.is_test_run,
  definition_version_id: row.version_id,
});

export const presentStep = (row: StepRow): z.input<typeof Step> => ({
  number: row.number,
  task_path: row.task_path,
  name: row.name,
  task_type: row.task_type,
  status: row.status,
  attempt: row.attempt,
  started_at: row.started_at.toISOString(),
  completed_at: isoOrNull(row.completed_at),
  duration_ms: durationOf(row),
  input: row.input,
  output: row.output,
  error: row.error,
});
