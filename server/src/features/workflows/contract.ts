// The request and response schemas for workflows, versions, runs and steps (docs/api/workflows.md).
import { z } from 'zod';
import {
  answer,
  body,
  clearable,
  count,
  createdDate,
  described,
  id,
  name,
  oneOf,
  openObject,
  openQuery,
  optional,
  pageQuery,
  parameter,
  query,
  queryFlag,
  queryInteger,
  queryTime,
  strictBody,
  text,
  timestamp,
  updatedDate,
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

const nameText = ['The name of the workflow.', 'Order book'] as const;
const statusReasonText = 'Why the platform set this status; null if none of these reasons applies.';
const triggerText = [
  'The trigger that starts the workflow, as `{config, condition?}`.',
  { config: { trigger_type: 'app_publish' } },
] as const;
const definitionText = 'The definition (docs/api/workflows.md#definitions).';

export const Workflow = answer('Workflow', {
  id: described(id, 'The id of the workflow.', '0198c20a-3b71-7e24-9d05-6c1f8a40b7e9'),
  app_id: described(
    id,
    'The id of the app or agent that the workflow belongs to.',
    '0198c1f6-0a5c-7d83-b24e-95f1a3c7d06e',
  ),
  name: described(z.string(), ...nameText),
  description: described(
    z.string().nullable(),
    'What the workflow is for; null if it has no description.',
    'Tells the kitchen about new orders',
  ),
  status: described(
    oneOf(...statuses),
    'The status of the workflow; only an `active` workflow is started by its trigger.',
  ),
  status_reason: described(oneOf(...statusReasons).nullable(), statusReasonText),
  trigger: described(anyObject, ...triggerText),
  current_version_id: described(z.string(), 'The id of the current version of the definition.', '5f2b8c1d9e0a7f36'),
  total_runs: described(count, 'The number of runs that have been started.', 42),
  consecutive_failures: described(
    count,
    'The number of consecutive failed runs; after 20, the workflow becomes inactive.',
    0,
  ),
  last_run_at: described(
    timestamp.nullable(),
    'When the last run was started; null if there has been none.',
    '2026-11-15T09:30:00.000Z',
  ),
  last_run_status: described(
    oneOf('completed', 'failed', 'cancelled').nullable(),
    'The final status of the run that ended last; null if no run has ended.',
  ),
  created_date: createdDate,
  updated_date: updatedDate,
  // Present only when a single workflow is returned.
  definition: described(anyObject.optional(), definitionText),
  hook_url: described(
    z.string().nullable().optional(),
    'The URL that starts the workflow, shown only to editors; treat it as a secret.',
    'https://plinth.example.com/api/hooks/EXAMPLE',
  ),
});

export const WorkflowQuery = query({
  ...pageQuery,
  include_archived: parameter(queryFlag.optional(), 'Whether archived workflows are listed too.'),
});

const summary = text(0, 500);
const description = text(0, 2_000);

const changeSummaryText = ['A summary of what this version changes.', 'Notify only about open orders'] as const;

export const NewWorkflow = strictBody({
  name: described(name(1, 100), ...nameText),
  definition: described(openObject, definitionText),
  trigger: described(openObject, ...triggerText),
  description: described(optional(description), 'What the workflow is for.', 'Tells the kitchen about new orders'),
  change_summary: described(optional(summary), ...changeSummaryText),
});
export type NewWorkflow = z.output<typeof NewWorkflow>;

export const WorkflowChange = strictBody({
  name: described(optional(name(1, 100)), ...nameText),
  definition: described(optional(openObject), definitionText),
  trigger: described(optional(openObject), ...triggerText),
  description: described(
    clearable(description),
    'What the workflow is for; null clears it.',
    'Tells the kitchen about new orders',
  ),
  change_summary: described(optional(summary), ...changeSummaryText),
});
export type WorkflowChange = z.output<typeof WorkflowChange>;

export const DefinitionCheck = strictBody({
  definition: described(openObject, definitionText),
  trigger: described(optional(openObject), ...triggerText),
});

export const Validation = answer('WorkflowValidation', {
  valid: described(z.boolean(), 'Whether the definition and, if it was sent, the trigger are valid.'),
  errors: described(
    z.array(
      answer('WorkflowFault', {
        path: described(
          z.string(),
          'The location of the error, as a JSON pointer into the request body.',
          '/definition/do/0',
        ),
        message: described(z.string(), 'What is wrong at this location.', 'must be an object'),
      }),
    ),
    'The errors that were found, at most 100.',
  ),
  task_types: described(z.array(z.string()), 'The types of the tasks in the definition.', ['call', 'switch']),
  calls: described(z.array(z.string()), 'The kinds of calls that the tasks make.', ['entity.get', 'http']),
});

export const Version = answer('WorkflowVersion', {
  version_id: described(z.string(), 'The SHA-256 of the definition in canonical form.', '5f2b8c1d9e0a7f36'),
  change_summary: described(z.string().nullable(), ...changeSummaryText),
  created_by: described(
    id.nullable(),
    'The id of the user who created the version; null if the account was removed.',
    '0198c1f2-8e5f-7d06-b493-c17a5e2f80d4',
  ),
  created_date: createdDate,
  definition: described(anyObject, definitionText),
});

export const VersionQuery = query({ ...pageQuery });

export const StatusChange = body({
  status: described(
    optional(oneOf('active', 'inactive')),
    'The new status. If it is not sent, the status switches between `active` and `inactive`.',
  ),
});
export type StatusChange = z.output<typeof StatusChange>;
export const WorkflowStatus = answer('WorkflowStatus', {
  id: described(id, 'The id of the workflow.', '0198c20a-3b71-7e24-9d05-6c1f8a40b7e9'),
  status: described(
    oneOf(...statuses),
    'The status of the workflow; only an `active` workflow is started by its trigger.',
  ),
  status_reason: described(oneOf(...statusReasons).nullable(), statusReasonText),
});

export const presentVersion = (row: VersionRow): z.input<typeof Version> => ({
  version_id: row.version_id,
  change_summary: row.change_summary,
  created_by: row.created_by,
  created_date: row.created_date.toISOString(),
  definition: row.definition,
});

/** The maximum size of a run's JSON input, whether it comes from a webhook, a user or an earlier run. */
export const maxInputBytes = 256 * 1024;

export const RunRequest = strictBody({
  input: described(z.unknown().optional(), 'The input of the run, at most 256 KiB.', { order: 1042 }),
  replay_from_run_id: described(
    optional(z.string()),
    'The id of an earlier run of the workflow, whose input is used again.',
    '0198c20b-77c2-7a31-8f4e-02d9b5c6a1f0',
  ),
});
export type RunRequest = z.output<typeof RunRequest>;
export const RunStarted = answer('WorkflowRunStarted', {
  status: described(z.literal('started'), 'Always `started`.'),
  message: described(z.string(), 'A message that confirms the start.', 'The run has started.'),
  run_id: described(id, 'The id of the run.', '0198c20b-77c2-7a31-8f4e-02d9b5c6a1f0'),
});
export const HookReceived = answer('HookReceived', {
  run_id: described(
    id.nullable(),
    "The id of the run that was started; null if the trigger's condition is not met.",
    '0198c20b-77c2-7a31-8f4e-02d9b5c6a1f0',
  ),
});
export const HookQuery = openQuery({});
export const HookBody = z.custom<object>((value) => typeof value === 'object' && value !== null, {
  params: { type: 'dict_type', checksType: true },
  error: 'must be an object or an array',
});

export const Step = answer('WorkflowStep', {
  number: described(count, 'The number of the step in its run, from 1.', 1),
  task_path: described(z.string(), 'The location of the task, as a JSON pointer into the definition.', '/do/0/load'),
  name: described(z.string(), 'The name of the task.', 'load'),
  task_type: described(z.string(), 'The type of the task, as in the definition.', 'call'),
  status: described(oneOf('running', 'completed', 'failed', 'skipped', 'cancelled'), 'The status of the step.'),
  attempt: described(count, 'The number of the attempt, which grows when a `try` retries the task.', 1),
  started_at: described(timestamp, 'When the step was started.', '2026-11-15T09:30:00.000Z'),
  completed_at: described(
    timestamp.nullable(),
    'When the step ended; null while it is running.',
    '2026-11-15T09:30:01.840Z',
  ),
  duration_ms: described(count.nullable(), 'The duration of the step in milliseconds; null while it is running.', 184),
  input: described(z.unknown(), 'The input of the task, with secrets masked.', { order: 1042 }),
  output: described(z.unknown(), 'The output of the task, with secrets masked.', { state: 'open' }),
  error: described(
    answer('WorkflowStepError', {
      type: described(
        z.string(),
        'The type of the error, such as `communication`, or the type that the definition raised.',
        'communication',
      ),
      title: described(z.string(), 'A short title of the error.', 'Server error'),
      status: described(count, 'The HTTP status that corresponds to the error.', 500),
      detail: described(z.string(), 'The full description of the error.', 'The endpoint responded with status 500.'),
    }).nullable(),
    'The error of the step; null if it did not fail.',
  ),
});

export const Run = answer('WorkflowRun', {
  run_id: described(id, 'The id of the run.', '0198c20b-77c2-7a31-8f4e-02d9b5c6a1f0'),
  workflow_id: described(id, 'The id of the workflow.', '0198c20a-3b71-7e24-9d05-6c1f8a40b7e9'),
  workflow_name: described(z.string(), 'The name that the workflow had when the run was started.', 'New orders'),
  trigger_type: described(oneOf(...triggerTypes), 'The type of trigger that started the run.'),
  status: described(oneOf(...runStatuses), 'The status of the run.'),
  status_reason: described(oneOf(...runStatusReasons).nullable(), statusReasonText),
  started_at: described(timestamp, 'When the run was started.', '2026-11-15T09:30:00.000Z'),
  completed_at: described(
    timestamp.nullable(),
    'When the run ended; null while it is running.',
    '2026-11-15T09:30:01.840Z',
  ),
  duration_ms: described(count.nullable(), 'The duration of the run in milliseconds; null while it is running.', 1840),
  steps_count: described(count, 'The number of steps that the run has made so far.', 3),
  error_message: described(z.string().nullable(), 'Why the run failed.', "Task 'notify' failed: timeout"),
  is_test_run: described(z.boolean(), 'Whether a person started the run manually.', false),
  definition_version_id: described(
    z.string(),
    'The id of the version of the definition that the run executes.',
    '5f2b8c1d9e0a7f36',
  ),
  // Present only when a single run is returned.
  steps: described(z.array(Step).optional(), 'The steps in order; only in the response of `getRun`.'),
});

export const RunQuery = query({
  ...pageQuery,
  status: described(oneOf(...runStatuses).optional(), 'Only runs with this status.'),
  since: parameter(
    queryTime.optional(),
    'Only runs that were started at or after this time.',
    '2026-11-15T00:00:00.000Z',
  ),
});
export type RunQuery = z.output<typeof RunQuery>;

export const RunValuesQuery = query({
  values_from: parameter(
    queryInteger(1, 1_000).optional(),
    'The number of the first step whose input and output are included; by default, those of the last 100 steps are.',
    1,
  ),
});

export const RunCancelled = answer('WorkflowRunCancelled', {
  status: described(oneOf(...runStatuses), '`cancelling`, or the final status of a run that had already ended.'),
});

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
