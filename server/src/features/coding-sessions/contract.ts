// The schemas for repositories, coding sessions and messages (docs/api/coding-sessions.md), and how rows are
// presented.
import { z } from 'zod';
import {
  answer,
  body,
  count,
  createdDate,
  described,
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

const repositoryFullNameText = ['The repository, as `owner/name`.', 'acme/flower-shop'] as const;

export const Repository = answer('Repository', {
  repository_full_name: described(z.string(), ...repositoryFullNameText),
  base_branch: described(
    z.string(),
    'The branch that new branches start from and pull requests are opened against.',
    'main',
  ),
  host: described(z.string(), 'The git host of the repository.', 'github.com'),
  connected_by: described(z.string(), 'The person who connected the repository.', 'ada@example.com'),
  connected_at: described(timestamp, 'When the repository was connected.', '2026-11-15T09:30:00.000Z'),
  permissions_ok: described(z.boolean(), 'Whether `missing_permissions` is empty.'),
  missing_permissions: described(z.array(z.string()), 'Permissions that sessions need but the credential lacks.', [
    'pull_requests:write',
  ]),
});
export type Repository = z.input<typeof Repository>;

export const NewRepository = body({
  repository_full_name: described(repositoryName, ...repositoryFullNameText),
  base_branch: described(
    optional(text(1, 255)),
    'The branch that new branches start from and pull requests are opened against; if omitted, the default branch.',
    'main',
  ),
  credentials: described(
    optional(
      body({
        token: described(
          pattern(/^[!-~]+$/, 2_000),
          'A token for the git host. It is stored encrypted.',
          'github_pat_11EXAMPLE',
        ),
      }),
    ),
    "The credential for the git host. If omitted, the operator's App is used, if there is one.",
  ),
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

const state = described(z.enum(states), 'The state of the session.');
const reference = pattern(/^[A-Za-z0-9_.:-]+$/, 200);

export const PullRequest = answer('PullRequest', {
  number: described(count, 'The number of the pull request in the repository.', 17),
  html_url: described(z.string(), 'The web page of the pull request.', 'https://github.com/acme/flower-shop/pull/17'),
  url: described(
    z.string(),
    'The address of the pull request in the API of the git host.',
    'https://api.github.com/repos/acme/flower-shop/pulls/17',
  ),
  title: described(z.string(), 'The title of the pull request.', 'Fix the total'),
  state: described(
    z.enum(['open', 'closed', 'merged']),
    'The state of the pull request; `getSession` refreshes it if it is older than a minute.',
  ),
  head_branch: described(z.string(), 'The branch that contains the commits.', 'plinth/k3v9tq2m4x-fix-the-total'),
  base_branch: described(z.string(), 'The branch that the pull request is to be merged into.', 'main'),
  created: described(z.boolean(), 'Whether the session opened the pull request; false if it existed before.'),
  created_date: described(timestamp, 'When the pull request was opened.', '2026-11-15T09:40:00.000Z'),
  updated_date: described(timestamp, 'When the pull request was last changed.', '2026-11-15T09:41:00.000Z'),
});
export type PullRequest = z.input<typeof PullRequest>;

export const CodingSession = answer('CodingSession', {
  id: described(id, 'The id of the session, a UUID of version 7.', '0198c204-0d5e-7ad2-b861-08f4c7e93a5b'),
  title: described(z.string(), 'The title that the session was launched with.', 'Fix the total'),
  state,
  message_id: described(
    id.nullable(),
    'The id of the message that started the current turn; null until work starts.',
    '0198c217-2a14-7e0b-9c3d-4f5061728394',
  ),
  repository_full_name: described(z.string(), ...repositoryFullNameText),
  branch_id: described(
    id.nullable(),
    'The id of the branch; null until the branch is ready.',
    '0198c217-3b25-7f1c-8d4e-5061728394a5',
  ),
  branch_name: described(
    z.string().nullable(),
    'The name of the branch; null until the branch is ready.',
    'plinth/k3v9tq2m4x-fix-the-total',
  ),
  session_url: described(
    z.string().nullable(),
    'A web page that shows the session; null until the branch is ready.',
    'https://plinth.example/editor/0198c20a/sessions/0198c217',
  ),
  pull_request: described(PullRequest.nullable(), 'The pull request of the session; null until there is one.'),
  error_code: described(z.string().nullable(), 'Why the session failed; null if it did not fail.', null),
  launch_key: described(
    z.string().nullable(),
    'The `Idempotency-Key` of the request that launched the session.',
    'order-4711',
  ),
  client_reference: described(
    z.string().nullable(),
    'The label that you gave the session; null if you gave none.',
    'TICKET-812',
  ),
  input_request_id: described(
    id.nullable(),
    'The id of the open question or approval; null if there is none.',
    '0198c218-4c36-7a2d-9e5f-61728394a5b6',
  ),
  outcome: described(
    z.enum(['pull_request', 'answer']).nullable(),
    'Whether the session ended with a pull request or only an answer; null until it is `completed`.',
  ),
  summary: described(
    z.string().nullable(),
    'The final reply of the agent in Markdown, at most 10,000 characters.',
    'The total now includes the discount.',
  ),
});
export type CodingSession = z.input<typeof CodingSession>;

export const Launch = body({
  prompt: described(
    text(1, 99_611),
    'The task that the agent carries out.',
    'The total of an order ignores the discount. Fix it, and add a test.',
  ),
  title: described(text(1, 200), 'The title of the pull request.', 'Fix the total'),
  existing_branch: described(
    optional(text(1, 255)),
    "A branch to work on. If null, a new branch is created. It can't be the base branch, the default branch or a protected branch.",
    'fix-the-total',
  ),
  source_ref: described(
    optional(text(1, 255)),
    'The git ref that the new branch starts from; if null, the base branch. Ignored if `existing_branch` is set.',
    'v1.4.0',
  ),
  pull_request_body: described(
    optional(text(0, 20_000)),
    'Markdown to append to the description of the pull request.',
    'Closes #812.',
  ),
  commit_message: described(
    optional(text(1, 2_000)),
    'The commit message. If null, it is made from the title and the summary.',
    'Apply the discount',
  ),
  client_reference: described(
    optional(reference),
    'A label of your choice, by which you can list sessions.',
    'TICKET-812',
  ),
  expected_repository_full_name: described(
    optional(repositoryName),
    "The repository that the app must be connected to; if it isn't, the launch is refused.",
    'acme/flower-shop',
  ),
});
export type Launch = z.output<typeof Launch>;

export const SessionQuery = query({
  ...pageQuery,
  state: described(optional(oneOf(...states)), 'Only sessions in this state.'),
  client_reference: described(optional(text(1, 200)), 'Only sessions with this label.', 'TICKET-812'),
});

export const presentSession = (row: ListedSession, baseUrl: string): CodingSession => ({
  id: row.id,
  title: row.title,
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

const InputOption = answer('InputOption', {
  label: described(z.string(), 'The label to send if this option is chosen.', '19 %'),
  description: described(z.string(), 'What the option means.', 'The usual rate.'),
});

const InputQuestion = answer('InputQuestion', {
  question_index: described(count, 'The index of the question, to be sent with its answer.', 0),
  text: described(z.string(), 'The text of the question.', 'Which tax rate applies?'),
  options: described(z.array(InputOption), 'The options to choose from.'),
  multi_select: described(z.boolean(), 'Whether several options can be chosen, in `selected_labels`.'),
  allow_custom_text: described(z.boolean(), 'Whether the question can be answered with `custom_text`.'),
});

const InputApproval = answer('InputApproval', {
  title: described(z.string(), 'What the agent asks to do.', 'Run npm install'),
  description: described(z.string(), 'The reason for the action.', 'The tests need it.'),
  action: described(z.enum(['run_command', 'delete_files', 'plan']), 'The kind of action.'),
  details: described(
    z.string(),
    'The command, the paths of the files, or the plan to approve.',
    'npm install --no-save vitest',
  ),
});

export const InputRequest = answer('InputRequest', {
  input_request_id: described(id, 'The id of the question or approval.', '0198c218-4c36-7a2d-9e5f-61728394a5b6'),
  kind: described(
    z.enum(['question', 'approval']),
    'Whether the session waits for `answers` (`question`) or for `approve` (`approval`).',
  ),
  created_date: described(timestamp, 'When the agent asked.', '2026-11-15T09:35:00.000Z'),
  expires_at: described(timestamp, 'When the session fails if it has no answer.', '2026-11-22T09:35:00.000Z'),
  questions: described(z.array(InputQuestion), 'The questions to answer; empty for an approval.'),
  approval: described(InputApproval.nullable(), 'The action to approve; null for questions.'),
});
export type InputRequest = z.input<typeof InputRequest>;

export const SessionLogLine = answer('SessionLogLine', {
  text: described(z.string(), 'What the agent did, or what a person sent to it.', 'Ran npm test.'),
  input_request_id: described(
    id.optional(),
    'The id of the question that the line answers; left out if it answers none.',
    '0198c218-4c36-7a2d-9e5f-61728394a5b6',
  ),
});

export const OpenInputRequest = answer('OpenInputRequest', {
  input_request: described(InputRequest.nullable(), 'The open question or approval; null if there is none.'),
  launched_by: described(
    z.string().nullable(),
    'The person who launched the session. Only this person can answer. Null if the account was removed.',
    'ada@example.com',
  ),
});

// ---- messages

const SessionAnswer = body({
  question_index: described(z.int().min(0).max(99), 'The index of the question that is answered.', 0),
  selected_label: described(optional(text(1, 200)), 'The label of the chosen option.', '19 %'),
  selected_labels: described(
    optional(list(text(1, 200), 1, 20)),
    'The labels of the chosen options, if several can be chosen.',
    ['19 %'],
  ),
  custom_text: described(
    optional(text(1, 4_000)),
    'An answer in your own words, if the question allows it.',
    '7 %, it is a book.',
  ),
});
export type SessionAnswer = z.output<typeof SessionAnswer>;

export const NewSessionMessage = body({
  text: described(optional(text(1, 99_611)), 'A message to the agent.', 'Also update the changelog.'),
  answers: described(optional(list(SessionAnswer, 1, 20)), 'The answers, one for each question.'),
  approve: described(
    optional(z.boolean()),
    'Whether you approve the action. If false, the agent continues without it.',
  ),
  input_request_id: described(
    optional(unstoredText(1, 100)),
    'The id of the question or approval that you answer; required with `answers` and `approve`.',
    '0198c218-4c36-7a2d-9e5f-61728394a5b6',
  ),
  author: described(optional(text(0, 200)), 'The person on whose behalf you write, for the record.', 'Ada'),
});
export type NewSessionMessage = z.output<typeof NewSessionMessage>;

export const SessionMessage = answer('SessionMessage', {
  input_id: described(id, 'The id of the message.', '0198c219-5d47-7b3e-af60-728394a5b6c7'),
  session_id: described(id, 'The id of the session.', '0198c217-1903-7d0a-8b2c-3e4f50617283'),
  state: described(
    z.enum(['pending', 'delivered', 'failed']),
    'Whether the agent has read the message; `pending` if not yet.',
  ),
  error_code: described(
    z.enum(['input_request_changed', 'session_busy', 'cancelled', 'delivery_interrupted']).nullable(),
    'Why the message was not read; null unless its state is `failed`.',
    null,
  ),
  created_date: createdDate,
});
export type SessionMessage = z.input<typeof SessionMessage>;

export const presentMessage = (row: MessageRow): SessionMessage => ({
  input_id: row.id,
  session_id: row.session_id,
  state: row.state,
  error_code: row.error_code,
  created_date: row.created_date.toISOString(),
});
