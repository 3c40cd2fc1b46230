// Owns the shapes of flows, their runs and reports (docs/api/browser-tests.md), and how rows are presented.
import { z } from 'zod';
import {
  answer,
  body,
  clearable,
  count,
  id,
  name,
  oneOf,
  optional,
  pageQuery,
  query,
  queryAnything,
  text,
  timestamp,
  unstoredText,
} from '../../kit/http/shapes.ts';
import type { ExecutionRow } from './store/executions.ts';
import type { FlowRow, FlowWithRun } from './store/flows.ts';
import { type Status, statuses } from './transitions.ts';

export const maxFlows = 250;

/** Of the temporary app user. */
export const roles = ['admin', 'user'] as const;
export type Role = (typeof roles)[number];

const status = z.enum(statuses);

// ---- flows

const flowName = name(1, 200);
const goal = text(1, 4_000);
const role = oneOf(...roles);

export const Flow = answer('Flow', {
  id,
  name: z.string(),
  goal: z.string(),
  role: role.nullable(),
  revision: count,
  created_by: z.string(),
  created_date: timestamp,
  updated_date: timestamp,
  last_execution: answer('LastExecution', { id, status }).nullable(),
});
export type Flow = z.input<typeof Flow>;

export const FlowList = z.array(Flow);

export const NewFlow = body({ name: flowName, goal, role: optional(role) });
export type NewFlow = z.output<typeof NewFlow>;

export const FlowChange = body({ name: optional(flowName), goal: optional(goal), role: clearable(role) });
export type FlowChange = z.output<typeof FlowChange>;

export const GeneratedFlows = answer('GeneratedFlows', { flows: z.array(Flow), no_changes: z.boolean() });
export type GeneratedFlows = z.input<typeof GeneratedFlows>;

export const presentFlow = (flow: FlowRow & Partial<Pick<FlowWithRun, 'last_id' | 'last_status'>>): Flow => ({
  id: flow.id,
  name: flow.name,
  goal: flow.goal,
  role: flow.role,
  revision: flow.revision,
  created_by: flow.created_by,
  created_date: flow.created_date.toISOString(),
  updated_date: flow.updated_date.toISOString(),
  last_execution: flow.last_id ? { id: flow.last_id, status: flow.last_status as Status } : null,
});

// ---- executions

export const Execution = answer('Execution', {
  id,
  flow_id: id,
  flow_name: z.string(),
  flow_revision: count,
  status,
  analysis_status: z.enum(['none', 'pending', 'completed', 'failed']),
  url: z.string(),
  started_at: timestamp.nullable(),
  completed_at: timestamp.nullable(),
  duration_ms: count.nullable(),
  credits_charged: z.number(),
  error_message: z.string().nullable(),
  browser_session_id: id.nullable(),
});
export type Execution = z.input<typeof Execution>;

/** `url` is looked at only once the app is known to be published. */
export const NewExecution = body({
  flow_id: unstoredText(1, 100),
  url: optional(z.unknown()).meta({ json: { type: 'string', format: 'uri', maxLength: 2_048 } }),
});
export type NewExecution = z.output<typeof NewExecution>;

export const ExecutionQuery = query({ ...pageQuery, flow_id: optional(unstoredText(1, 100)) });

export const ExecutionsByFlow = z.record(z.string(), Execution);

export const CancelledExecution = answer('CancelledExecution', { status, already_terminal: z.boolean() });

export const presentExecution = (row: ExecutionRow): Execution => ({
  id: row.id,
  flow_id: row.flow_id,
  flow_name: row.flow_name,
  flow_revision: row.flow_revision,
  status: row.status,
  analysis_status: row.analysis_status,
  url: row.url,
  started_at: row.started_at?.toISOString() ?? null,
  completed_at: row.completed_at?.toISOString() ?? null,
  duration_ms: measureDuration(row),
  credits_charged: row.credits_charged,
  error_message: row.error_message,
  browser_session_id: row.browser_session_id,
});

const measureDuration = ({ started_at, completed_at }: ExecutionRow): number | null =>
  started_at === null || completed_at === null ? null : Math.max(0, completed_at.getTime() - started_at.getTime());

// ---- reports

const TestReportStep = answer('TestReportStep', {
  number: count,
  action: z.string(),
  result: z.string(),
  source: z.enum(['replayed', 'agent']),
  screenshot_url: z.string().nullable(),
  at: timestamp,
});

const TestIssue = answer('TestIssue', {
  severity: z.enum(['low', 'medium', 'high']),
  title: z.string(),
  description: z.string(),
  step_number: count.nullable(),
  screenshot_url: z.string().nullable(),
});

export const TestReport = answer('TestReport', {
  execution_id: id,
  verdict: z.enum(['passed', 'failed', 'inconclusive']),
  summary: z.string(),
  issues: z.array(TestIssue),
  steps: z.array(TestReportStep),
  healed: z.array(answer('HealedStep', { step_number: count, before: z.string(), after: z.string() })),
  trace_url: z.string().nullable(),
  console_errors: z.array(answer('TestConsoleError', { text: z.string(), step_number: count })),
  network_failures: z.array(
    answer('TestNetworkFailure', {
      url: z.string(),
      method: z.string(),
      status: count.nullable(),
      reason: z.string(),
      step_number: count,
    }),
  ),
  created_date: timestamp,
});
export type TestReport = z.input<typeof TestReport>;

/** Anything that is not the address of a file of a report answers 404. */
export const EvidenceQuery = query({ expires: queryAnything, signature: queryAnything });
