// Owns the shapes of repositories, coding sessions and their messages (docs/api/coding-sessions.md), and how rows are presented.
import { z } from 'zod';
import {
  answer,
  body,
  count,
  id,
  list,
  oneOf,
  optional,
  pageQuery,
  pattern,
  query,
  text,
  timestamp,
  unstoredText,
} from '../../kit/http/shapes.ts';
import type { MessageRow } from './store/messages.ts';
import type { RepositoryRow } from './store/repositories.ts';
import type { ListedSession } from './store/sessions.ts';
import { states } from './transitions.ts';

// ---- repositories

const repositoryName = pattern(/^[A-Za-z0-9_.-]+\/[A-Za-z0-9_.-]+$/, 201);

export const Repository = answer('Repository', {
  repository_full_name: z.string(),
  base_branch: z.string(),
  host: z.string(),
  connected_by: z.string(),
  connected_at: timestamp,
  permissions_ok: z.boolean(),
  missing_permissions: z.array(z.string()),
});
export type Repository = z.input<typeof Repository>;

export const NewRepository = body({
  repository_full_name: repositoryName,
  base_branch: optional(text(1, 255)),
  credentials: optional(body({ token: pattern(/^[!-~]+$/, 2_000) })),
});
export type NewRepository = z.output<typeof NewRepository>;

export const presentRepository = (row: RepositoryRow): Repository => ({
  repository_full_name: row.repository_full_name,
  base_branch: row.base_branch,
  host: row.host,
  connected_by: row.connected_by,
  connected_at: row.connected_at.toISOString(),
  permissions_ok: row.missing_permissions.length === 0,
  missing_permissions: row.missing_permissions,
});

// ---- sessions

const state = z.enum(states);
const reference = pattern(/^[A-Za-z0-9_.:-]+$/, 200);

export const PullRequest = answer('PullRequest', {
  number: count,
  html_url: z.string(),
  url: z.string(),
  title: z.string(),
  state: z.enum(['open', 'closed', 'merged']),
  head_branch: z.string(),
  base_branch: z.string(),
  created: z.boolean(),
  created_date: timestamp,
  updated_date: timestamp,
});
export type PullRequest = z.input<typeof PullRequest>;

export const CodingSession = answer('CodingSession', {
  id,
  state,
  message_id: id.nullable(),
  repository_full_name: z.string(),
  branch_id: id.nullable(),
  branch_name: z.string().nullable(),
  session_url: z.string().nullable(),
  pull_request: PullRequest.nullable(),
  error_code: z.string().nullable(),
  launch_key: z.string().nullable(),
  client_reference: z.string().nullable(),
  input_request_id: id.nullable(),
  outcome: z.enum(['pull_request', 'answer']).nullable(),
  summary: z.string().nullable(),
});
export type CodingSession = z.input<typeof CodingSession>;

export const Launch = body({
  prompt: text(1, 99_611),
  title: text(1, 200),
  existing_branch: optional(text(1, 255)),
  source_ref: optional(text(1, 255)),
  pull_request_body: optional(text(0, 20_000)),
  commit_message: optional(text(1, 2_000)),
  client_reference: optional(reference),
  expected_repository_full_name: optional(repositoryName),
});
export type Launch = z.output<typeof Launch>;

export const SessionQuery = query({
  ...pageQuery,
  state: optional(oneOf(...states)),
  client_reference: optional(text(1, 200)),
});

export const presentSession = (row: ListedSession, baseUrl: string): CodingSession => ({
  id: row.id,
  state: row.state,
  message_id: row.message_id,
  repository_full_name: row.repository_full_name,
  branch_id: row.branch_id,
  branch_name: row.branch_name,
  session_url: row.branch_id === null ? null : toSessionUrl(row, baseUrl),
  pull_request: row.pull_request as PullRequest | null,
  error_code: row.error_code,
  launch_key: row.launch_key,
  client_reference: row.client_reference,
  input_request_id: row.input_request_id,
  outcome: row.outcome,
  summary: row.summary,
});

const toSessionUrl = ({ app_id, id }: Pick<ListedSession, 'app_id' | 'id'>, baseUrl: string): string =>
  `${baseUrl.replace(/\/$/, '')}/editor/${app_id}/sessions/${id}`;

// ---- questions and approvals

const InputOption = answer('InputOption', { label: z.string(), description: z.string() });

const InputQuestion = answer('InputQuestion', {
  question_index: count,
  text: z.string(),
  options: z.array(InputOption),
  multi_select: z.boolean(),
  allow_custom_text: z.boolean(),
});

const InputApproval = answer('InputApproval', {
  title: z.string(),
  description: z.string(),
  action: z.enum(['run_command', 'delete_files', 'plan']),
  details: z.string(),
});

export const InputRequest = answer('InputRequest', {
  input_request_id: id,
  kind: z.enum(['question', 'approval']),
  created_date: timestamp,
  expires_at: timestamp,
  questions: z.array(InputQuestion),
  approval: InputApproval.nullable(),
});
export type InputRequest = z.input<typeof InputRequest>;

export const OpenInputRequest = answer('OpenInputRequest', { input_request: InputRequest.nullable() });

// ---- messages

const SessionAnswer = body({
  question_index: z.int().min(0).max(99),
  selected_label: optional(text(1, 200)),
  selected_labels: optional(list(text(1, 200), 1, 20)),
  custom_text: optional(text(1, 4_000)),
});
export type SessionAnswer = z.output<typeof SessionAnswer>;

export const NewSessionMessage = body({
  text: optional(text(1, 99_611)),
  answers: optional(list(SessionAnswer, 1, 20)),
  approve: optional(z.boolean()),
  input_request_id: optional(unstoredText(1, 100)),
  author: optional(text(0, 200)),
});
export type NewSessionMessage = z.output<typeof NewSessionMessage>;

export const SessionMessage = answer('SessionMessage', {
  input_id: id,
  session_id: id,
  state: z.enum(['pending', 'delivered', 'failed']),
  error_code: z.enum(['input_request_changed', 'session_busy', 'cancelled', 'delivery_interrupted']).nullable(),
  created_date: timestamp,
});
export type SessionMessage = z.input<typeof SessionMessage>;

export const presentMessage = (row: MessageRow): SessionMessage => ({
  input_id: row.id,
  session_id: row.session_id,
  state: row.state,
  error_code: row.error_code,
  created_date: row.created_date.toISOString(),
});
