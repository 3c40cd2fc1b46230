// The schemas for flows, runs and reports (docs/api/browser-tests.md), and how rows are presented.
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
  optional,
  pageQuery,
  query,
  queryAnything,
  text,
  timestamp,
  unstoredText,
  updatedDate,
} from '../../kit/http/shapes.ts';
import type { ExecutionRow } from './store/executions.ts';
import type { FlowRow, FlowWithRun } from './store/flows.ts';
import { type Status, statuses } from './transitions.ts';

export const maxFlows = 250;

/** The roles of the temporary app user. */
export const roles = ['admin', 'user'] as const;
export type Role = (typeof roles)[number];

const status = z.enum(statuses);

// ---- flows

const flowName = name(1, 200);
const goal = text(1, 4_000);
const role = oneOf(...roles);

const idField = described(id, 'The id, a UUID of version 7.', '0198c204-0d5e-7ad2-b861-08f4c7e93a5b');
const nameText = ['The name of the test.', 'Place an order'] as const;
const goalText = [
  'What the agent does in the app, and what must be visible afterwards.',
  'Order two roses. The total must be 18.50.',
] as const;

export const Flow = answer('Flow', {
  id: idField,
  name: described(z.string(), ...nameText),
  goal: described(z.string(), ...goalText),
  role: described(role.nullable(), 'The role of the temporary app user; if null, the goal decides.'),
  revision: described(count, 'The revision of the test, which increases with each change.', 2),
  created_by: described(z.string(), 'Who created the test.', 'ada@example.com'),
  created_date: createdDate,
  updated_date: updatedDate,
  last_execution: described(
    answer('LastExecution', { id: idField, status: described(status, 'The status of the run.') }).nullable(),
    'The newest run of the test; null if there is none.',
  ),
});
export type Flow = z.input<typeof Flow>;

export const FlowList = z.array(Flow);

export const NewFlow = body({
  name: described(flowName, ...nameText),
  goal: described(goal, ...goalText),
  role: described(
    optional(role),
    'The role of the temporary app user; by default, the role that the name or the goal mentions, or else `user`.',
  ),
});
export type NewFlow = z.output<typeof NewFlow>;

export const FlowChange = body({
  name: described(optional(flowName), ...nameText),
  goal: described(optional(goal), ...goalText),
  role: described(clearable(role), 'The role of the temporary app user; if null, the goal decides at each run.'),
});
export type FlowChange = z.output<typeof FlowChange>;

export const GeneratedFlows = answer('GeneratedFlows', {
  flows: described(z.array(Flow), 'The tests that were created.'),
  no_changes: described(z.boolean(), 'Whether the model found nothing new to test.'),
});
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

const flowIdText = ['The id of the test.', '0198c215-4a07-7c3e-8b12-90d4e6f1a2c7'] as const;

export const Execution = answer('Execution', {
  id: idField,
  flow_id: described(id, ...flowIdText),
  flow_name: described(z.string(), 'The name of the test when the run was started.', 'Place an order'),
  flow_revision: described(count, 'The revision of the test when the run was started.', 2),
  status: described(status, 'The status of the run.'),
  analysis_status: described(
    z.enum(['none', 'pending', 'completed', 'failed']),
    'The status of the report; `completed` once it can be read.',
  ),
  url: described(z.string(), 'The address at which the run starts.', 'https://flower-shop.apps.example/'),
  started_at: described(
    timestamp.nullable(),
    'When the run first had a browser; null until then.',
    '2026-11-15T09:30:00.000Z',
  ),
  completed_at: described(timestamp.nullable(), 'When the run ended; null until then.', '2026-11-15T09:31:00.000Z'),
  duration_ms: described(
    count.nullable(),
    'The milliseconds from `started_at` to `completed_at`; null until both are set.',
    60000,
  ),
  credits_charged: described(z.number(), 'How many credits the run has cost.', 3),
  error_message: described(
    z.string().nullable(),
    'Why the run could not finish; null unless its status is `error`.',
    null,
  ),
  browser_session_id: described(
    id.nullable(),
    'The id of the last browser session of the run; null until there is one.',
    '0198c216-1c42-7a6b-8d31-28f9e4c6b7a5',
  ),
});
export type Execution = z.input<typeof Execution>;

/** `url` is not validated until the app is known to be published. */
export const NewExecution = body({
  flow_id: described(unstoredText(1, 100), ...flowIdText),
  url: described(
    optional(z.unknown()).meta({ json: { type: 'string', format: 'uri', maxLength: 2_048 } }),
    'The address in the published app at which the run starts; by default, the first page.',
    'https://flower-shop.apps.example/',
  ),
});
export type NewExecution = z.output<typeof NewExecution>;

export const ExecutionQuery = query({
  ...pageQuery,
  flow_id: described(optional(unstoredText(1, 100)), ...flowIdText),
});

export const ExecutionsByFlow = z.record(z.string(), Execution);

export const CancelledExecution = answer('CancelledExecution', {
  status: described(status, 'The current status of the run.'),
  already_terminal: described(z.boolean(), 'Whether the run had ended before the request.'),
});

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
  number: described(count, 'The number of the step, from 1.', 4),
  action: described(z.string(), 'The action that was taken.', 'Click button "Order"'),
  result: described(z.string(), 'The result of the action.', 'Done.'),
  source: described(
    z.enum(['replayed', 'agent']),
    'Whether the step was replayed from an earlier run or chosen by the agent.',
  ),
  screenshot_url: described(
    z.string().nullable(),
    'The address of a screenshot of the step; null if there is none or it is older than 30 days.',
    null,
  ),
  at: described(timestamp, 'When the step was taken.', '2026-11-15T09:30:10.000Z'),
});

const stepNumberText = ['The number of the step; 0 or null if there is none.', 4] as const;

const TestIssue = answer('TestIssue', {
  severity: described(
    z.enum(['low', 'medium', 'high']),
    'The severity of the problem; `medium` and `high` fail the run.',
  ),
  title: described(z.string(), 'A short title of the problem.', 'Check failed: the page shows "18.50"'),
  description: described(z.string(), 'What was seen in the browser.', 'Total: 9.25'),
  step_number: described(count.nullable(), ...stepNumberText),
  screenshot_url: described(
    z.string().nullable(),
    'The address of a screenshot of the step; null if there is none or it is older than 30 days.',
    null,
  ),
});

export const TestReport = answer('TestReport', {
  execution_id: described(id, 'The id of the run.', '0198c216-0b31-7f5a-9c20-17e8d3b5a6f4'),
  verdict: described(
    z.enum(['passed', 'failed', 'inconclusive']),
    'The verdict, computed from the checks and from what the browser reported.',
  ),
  summary: described(z.string(), 'A summary of the run in a few sentences.', 'Failed: 2 of 3 checks passed.'),
  issues: described(z.array(TestIssue), 'The problems that were found.'),
  steps: described(z.array(TestReportStep), 'The steps of the run.'),
  healed: described(
    z.array(
      answer('HealedStep', {
        step_number: described(count, ...stepNumberText),
        before: described(z.string(), 'What was recorded.', 'button "Buy"'),
        after: described(z.string(), 'What was done instead.', 'button "Order", found by its test id'),
      }),
    ),
    'The steps that could no longer be done as they were recorded.',
  ),
  trace_url: described(
    z.string().nullable(),
    "The address of a trace for Playwright's trace viewer; null if there is none.",
    null,
  ),
  console_errors: described(
    z.array(
      answer('TestConsoleError', {
        text: described(z.string(), 'The text of the error.', 'TypeError: total is undefined'),
        step_number: described(count, ...stepNumberText),
      }),
    ),
    'Exceptions of the page and errors in its console.',
  ),
  network_failures: described(
    z.array(
      answer('TestNetworkFailure', {
        url: described(z.string(), 'The address of the request.', '/api/orders'),
        method: described(z.string(), 'The HTTP method of the request.', 'POST'),
        status: described(count.nullable(), 'The HTTP status of the response; null if there was none.', 500),
        reason: described(z.string(), 'Why the request failed.', 'HTTP 500'),
        step_number: described(count, ...stepNumberText),
      }),
    ),
    'The requests that failed.',
  ),
  created_date: createdDate,
});
export type TestReport = z.input<typeof TestReport>;

/** Accepts anything, because an invalid address must return 404. */
export const EvidenceQuery = query({
  expires: described(queryAnything, 'When the address expires, in seconds since 1970.', '1794735000'),
  signature: described(queryAnything, 'The signature, which proves that Plinth made the address.', 'EXAMPLE'),
});
