// Owns the texts of the OpenAPI document: what each field and parameter means, in one sentence, and an example of its value.
// `Schema.field` overrules `field`, and `operation.parameter` overrules `parameter`. A field's own `description` in its
// contract overrules both.
import { orderSchema } from './body-examples.ts';

export interface FieldText {
  readonly text: string;
  /** Left out where the type says enough: a boolean, an enumeration, a nested object. */
  readonly example?: unknown;
}

export const fields: Readonly<Record<string, FieldText>> = {
  'HookReceived.run_id': {
    text: "The run that was started; null if the trigger's condition is not met.",
    example: '0198c20b-77c2-7a31-8f4e-02d9b5c6a1f0',
  },
  hook_url: {
    text: 'The address that starts the workflow, for editors; treat it as a secret.',
    example: 'https://plinth.example.com/api/hooks/EXAMPLE',
  },
  current_version_id: { text: 'The version of the definition.', example: '5f2b8c1d9e0a7f36' },
  definition_version_id: { text: 'The version of the definition that it runs.', example: '5f2b8c1d9e0a7f36' },
  version_id: { text: 'The SHA-256 of the definition in canonical form.', example: '5f2b8c1d9e0a7f36' },
  change_summary: { text: 'What this version changes, for people.', example: 'Notify only about open orders' },
  total_runs: { text: 'How many runs were started.', example: 42 },
  last_run_at: { text: 'When a run was last started; null if none was.', example: '2026-11-15T09:30:00.000Z' },
  last_run_status: { text: 'How the run that ended last has ended; null if none has.' },
  trigger: {
    text: 'What starts the workflow: `{config, condition?}`.',
    example: { config: { trigger_type: 'app_publish' } },
  },
  definition: { text: 'The tasks: docs/api/workflows.md#definitions.' },
  'Workflow.description': {
    text: 'What the workflow is for; null if that was not said.',
    example: 'Tells the kitchen about new orders',
  },
  'CreateWorkflowBody.description': {
    text: 'What the workflow is for.',
    example: 'Tells the kitchen about new orders',
  },
  'UpdateWorkflowBody.description': {
    text: 'What the workflow is for; null clears it.',
    example: 'Tells the kitchen about new orders',
  },
  'Workflow.id': { text: 'The workflow.', example: '0198c20a-3b71-7e24-9d05-6c1f8a40b7e9' },
  'WorkflowStatus.id': { text: 'The workflow.', example: '0198c20a-3b71-7e24-9d05-6c1f8a40b7e9' },
  'Workflow.status': { text: 'Whether its trigger starts runs.' },
  'WorkflowStatus.status': { text: 'Whether its trigger starts runs.' },
  'ToggleWorkflowBody.status': { text: 'The status to set; without it, the other one.' },
  status_reason: { text: 'Why the platform set this status; null if it did not.' },
  'Workflow.consecutive_failures': { text: 'How many runs in a row failed; 20 make it inactive.', example: 0 },
  'WorkflowValidation.errors': { text: 'What is wrong, at most 100 of it.' },
  'WorkflowFault.path': { text: 'Where, as a JSON pointer into the body.', example: '/definition/do/0' },
  'WorkflowFault.message': { text: 'What is wrong there.', example: 'must be an object' },
  task_types: { text: 'The types of tasks that the definition has.', example: ['call', 'switch'] },
  calls: { text: 'What its tasks call.', example: ['entity.get', 'http'] },
  'WorkflowVersion.created_by': {
    text: 'Who made the version; null if their account was removed.',
    example: '0198c1f2-8e5f-7d06-b493-c17a5e2f80d4',
  },
  'RunWorkflowBody.input': { text: 'The input of the run, at most 256 KiB.', example: { order: 1042 } },
  replay_from_run_id: {
    text: 'An earlier run of the workflow, with whose input to start.',
    example: '0198c20b-77c2-7a31-8f4e-02d9b5c6a1f0',
  },
  'WorkflowRunStarted.status': { text: 'Always `started`.' },
  'WorkflowRunStarted.message': { text: 'What happens now.', example: 'The run has started.' },
  run_id: { text: 'The run.', example: '0198c20b-77c2-7a31-8f4e-02d9b5c6a1f0' },
  workflow_id: { text: 'The workflow.', example: '0198c20a-3b71-7e24-9d05-6c1f8a40b7e9' },
  workflow_name: { text: 'The name that the workflow had when the run was started.', example: 'New orders' },
  trigger_type: { text: 'What started the run.' },
  'WorkflowRun.status': { text: 'How far the run is, or how it has ended.' },
  'WorkflowRunCancelled.status': { text: '`cancelling`, or how the run had ended before.' },
  'WorkflowRun.error_message': { text: 'Why the run failed.', example: "Task 'notify' failed: timeout" },
  steps_count: { text: 'How many steps it has made.', example: 3 },
  is_test_run: { text: 'Whether a person started the run by hand.', example: false },
  'WorkflowRun.steps': { text: 'The steps in their order; only in the response of `getRun`.' },
  'WorkflowStep.number': { text: 'The number of the step in its run, from 1.', example: 1 },
  task_path: { text: 'Where the task is, as a JSON pointer into the definition.', example: '/do/0/load' },
  'WorkflowStep.name': { text: 'The name of the task.', example: 'load' },
  task_type: { text: 'The type of the task, as in the definition.', example: 'call' },
  'WorkflowStep.status': { text: 'How the step has ended, or that it runs.' },
  'WorkflowStep.attempt': { text: 'The number of the attempt, if a `try` retries.', example: 1 },
  'WorkflowStep.input': { text: 'What the task was given; secrets are masked.', example: { order: 1042 } },
  'WorkflowStep.output': { text: 'What came out of it; secrets are masked.', example: { state: 'open' } },
  'WorkflowStep.error': { text: 'What failed; null if nothing did.' },
  'WorkflowStepError.type': {
    text: 'The type of error, such as `communication`, or the one that the definition raised.',
    example: 'communication',
  },
  'WorkflowStepError.title': { text: 'What failed, in a few words.', example: 'Server error' },
  'WorkflowStepError.status': { text: 'A status of HTTP that describes it.', example: 500 },
  'WorkflowStepError.detail': { text: 'What failed, in full.', example: 'the endpoint answered 500' },
  'WorkflowRun.duration_ms': { text: 'How long the run took; null while it goes on.', example: 1840 },
  'WorkflowStep.duration_ms': { text: 'How long the step took; null while it runs.', example: 184 },
  started_at: { text: 'When it was started.', example: '2026-11-15T09:30:00.000Z' },
  completed_at: { text: 'When it ended; null while it goes on.', example: '2026-11-15T09:30:01.840Z' },
  accept_url: {
    text: 'The link to pass on if no mail was sent; null if the mail was sent, and in an idempotent replay.',
    example: 'https://plinth.example.com/invitations#EXAMPLE',
  },
  accepted: { text: 'Whether the invited person has joined by this invitation and is still a member.' },
  'AcceptedInvitation.user': { text: 'The user who has joined.' },
  'AcceptInvitationBody.full_name': {
    text: 'The name of the new user; required if the invited person has no account.',
    example: 'Grace Hopper',
  },
  'AcceptInvitationBody.password': {
    text: 'The password of the new user, 12 to 256 characters; required if the invited person has no account.',
    example: 'EXAMPLE passphrase',
  },
  access_state: {
    text: "Whether the member may use the workspace: a blocked member can't, and a person who is invited has not joined yet.",
  },
  action: { text: 'What the automation does.' },
  actor: { text: 'Who made the change, or tried to.' },
  'AddFolderItemsBody.app_ids': {
    text: "The apps or agents to add to the folder; those that the caller can't reach are ignored.",
    example: ['0198c1f6-0a5c-7d83-b24e-95f1a3c7d06e'],
  },
  ads: { text: 'Always false.' },
  after: {
    text: 'The changed fields after the change; `{"changed": true}` stands in the place of a secret.',
    example: { email: 'grace@example.com', role: 'editor' },
  },
  after_seq: { text: 'Selects the deliveries whose sequence number is greater than this number.', example: 117 },
  'Agent.id': {
    text: 'The id of the agent, which is also its app id.',
    example: '0198c1f9-52b7-7b9a-8e17-d30c6f4a82b5',
  },
  'Agent.model': {
    text: 'The name of the model; null means the default model of the installation.',
    example: 'house-model',
  },
  'Agent.name': { text: 'The name of the agent; white space at the ends is removed.', example: 'Order desk' },
  'Agent.owner_email': {
    text: 'The e-mail address of the member who owns the app or agent.',
    example: 'ada@example.com',
  },
  'Agent.status': { text: 'The state of the app; always `ready` today.' },
  agent_id: { text: 'The agent, by its app id.', example: '0198c1f9-52b7-7b9a-8e17-d30c6f4a82b5' },
  'AgentMemory.content': {
    text: 'What the agent remembers, in 1 to 500 characters.',
    example: 'Grace prefers rye bread.',
  },
  'AgentMemory.id': { text: 'The id of the memory.', example: '0198c1fb-9c47-7041-b7e2-5f83a6d0c91d' },
  'AgentMemory.kind': { text: 'Whether the memory is about the caller (`user`) or about everyone (`global`).' },
  'AgentMessage.content': { text: 'The text of the message.', example: 'The bakery closes at six.' },
  'AgentMessage.id': { text: 'The id of the message.', example: '0198c1fb-8b1d-7e6f-a350-c29d7f1e48b6' },
  'AgentMessage.model': {
    text: 'The model that wrote the message; null for a message of a person.',
    example: 'house-model',
  },
  'AgentMessage.role': { text: 'Who wrote the message: a person, the agent, or the system.' },
  agents_owned: { text: 'How many agents the member owns, without those in the trash.', example: 1 },
  agents_shared: { text: 'How many agents others have shared with the member, or with the invitation.', example: 0 },
  'AgentToolCall.id': { text: 'The id of the tool call within the reply.', example: 'call_1' },
  'AgentToolCall.name': { text: 'The name of the tool that the model called.', example: 'remember' },
  'AgentToolCall.results': {
    text: 'What the tool returned, as text; null if there is nothing yet.',
    example: 'Remembered.',
  },
  'AgentToolCall.status': { text: 'Whether the tool call is running, or how it ended.' },
  all: { text: 'Must be true to delete all records with an empty query.' },
  amount: {
    text: 'How many credits were moved; `use` and `reserve` reduce the balance by them, the other kinds increase it.',
    example: 0.2,
  },
  api_version: { text: 'The version of the API, which is also that of the OpenAPI document.', example: '1.0.0' },
  'ApiKey.id': {
    text: 'The id of the key, which is not the key itself.',
    example: '0198c1f5-9d04-7b6c-8e21-3fa0d7c5b916',
  },
  'ApiKey.name': { text: 'The name of the key, for people.', example: 'Old importer' },
  'App.id': { text: 'The id of the app.', example: '0198c1f6-0a5c-7d83-b24e-95f1a3c7d06e' },
  'App.name': { text: 'The name of the app; white space at the ends is removed.', example: 'Order book' },
  'App.owner_email': {
    text: 'The e-mail address of the member who owns the app or agent.',
    example: 'ada@example.com',
  },
  'App.status': { text: 'The state of the app; always `ready` today.' },
  app_id: { text: 'The app or agent.', example: '0198c1f6-0a5c-7d83-b24e-95f1a3c7d06e' },
  app_ids: {
    text: 'The only apps and agents that the credential can reach; null means all, also those created later.',
    example: ['0198c1f6-0a5c-7d83-b24e-95f1a3c7d06e'],
  },
  app_name: { text: 'The name of the agent or app that has the webhook.', example: 'Order desk' },
  app_type: { text: "The kind of app, which can't be changed; `user_agent` is an agent." },
  'AppFileContent.content': {
    text: 'The content of the file, as text or as base64 according to `encoding`; at most 5 MiB.',
    example: 'export default 1;\n',
  },
  'AppFilesSynced.created': { text: 'The paths of the files that did not exist before.', example: ['src/App.tsx'] },
  'AppFilesSynced.deleted': {
    text: 'The paths of the files that were deleted because they were not sent.',
    example: ['src/Old.tsx'],
  },
  'AppFilesSynced.updated': { text: 'The paths of the files whose content changed.', example: ['src/index.css'] },
  'AppAuthMethods.link': {
    text: 'Whether a link that is sent by mail signs in by itself; if not, it only sets a password.',
  },
  'AppAuthMethods.password': { text: 'Whether users can sign in with a password.' },
  'AppAuthSettings.link_origin': {
    text: 'Where links lead: the address of the app, or else its first public origin; null if there is none, and then no mail is sent.',
    example: 'https://orders.example.com',
  },
  'AppAuthSettings.methods': { text: 'The ways in which users can sign in.' },
  'AppAuthSettings.sign_up': {
    text: 'Who can sign up: nobody (`closed`), people whom `createAppUser` has created (`invited`), or everybody (`open`).',
  },
  'AppAuthSettings.sign_up_in_effect': {
    text: 'As `sign_up`; but `invited` instead of `open` unless `public_settings` of the app is `public_with_login` or `public_without_login`.',
  },
  apps_owned: { text: 'How many apps the member owns, without those in the trash.', example: 3 },
  apps_shared: { text: 'How many apps others have shared with the member, or with the invitation.', example: 1 },
  'AppSecret.last4': {
    text: 'The last 4 characters of the value, to recognise it; null for values shorter than 16 characters.',
    example: 'a91c',
  },
  'AppSecret.name': {
    text: 'The name of the secret, in capital letters, digits and underscores.',
    example: 'PAYMENT_API_KEY',
  },
  'AppShare.role': { text: 'What the person may do with the app.' },
  'AppShare.status': { text: 'Whether the person is a member, or was invited to the workspace as a guest.' },
  'AppStatus.error_source': {
    text: 'What made the last turn of the chat fail: the assistant, a lack of credits, or the model; null if it did not fail.',
  },
  'AppStatus.message': {
    text: 'Why the last turn of the chat failed, for people; empty if it did not fail.',
    example: '',
  },
  'AppStatus.state': {
    text: '`processing` while the assistant is working on the app, `error` if its last turn failed.',
  },
  'AppUser.email': {
    text: 'The e-mail address of the user, unique in the app regardless of case.',
    example: 'grace@example.com',
  },
  'AppUser.full_name': { text: 'The name of the user; empty by default.', example: 'Grace Hopper' },
  'AppUser.id': {
    text: 'The id of the user, which rules compare with `created_by_id` of records.',
    example: '0198c1f7-b8e1-7f34-9a02-d6c5731e4fb8',
  },
  'AppUser.role': { text: 'The role of the user, which has a meaning only in the rules of the app.' },
  'AppUserSelf.email': { text: 'The e-mail address of the user.', example: 'grace@example.com' },
  'AppUserSelf.full_name': { text: 'The name of the user; empty by default.', example: 'Grace Hopper' },
  'AppUserSelf.id': {
    text: 'The id of the user, which rules compare with `created_by_id` of records.',
    example: '0198c1f7-b8e1-7f34-9a02-d6c5731e4fb8',
  },
  'AppUserSelf.role': { text: 'The role of the user, which has a meaning only in the rules of the app.' },
  'AppUserSignedIn.expires_at': {
    text: 'When the token expires, an hour after its creation unless requested otherwise.',
    example: '2026-11-15T10:30:00.000Z',
  },
  'AppUserSignedIn.token': { text: 'The token of the user; only this response contains it.', example: 'plu_EXAMPLE' },
  'AppUserSignedIn.user': { text: 'The user who has signed in.' },
  'AppUserToken.expires_at': {
    text: 'When the token expires, an hour after its creation unless requested otherwise.',
    example: '2026-11-15T10:30:00.000Z',
  },
  'AppUserToken.token': { text: 'The token itself; only this response contains it.', example: 'plu_EXAMPLE' },
  'AppWebhook.id': { text: 'The id of the webhook.', example: '0198c203-41ce-7395-8a6b-e7f20d9c5b38' },
  archives_bytes: {
    text: 'The bytes of export archives, from when they are written until they expire.',
    example: 4171712,
  },
  arguments_string: {
    text: 'The arguments that the model passed to the tool, as JSON text.',
    example: '{"content":"Grace prefers rye bread","for_everyone":false}',
  },
  assigned_via: { text: 'How the person got the role: directly, or as a guest through a shared app.' },
  at: { text: 'For a single time: when.', example: '2026-12-01T09:00:00Z' },
  attempted_at: { text: 'When the attempt began.', example: '2026-11-15T09:30:00.000Z' },
  attempts: { text: 'The attempts to send the delivery; the newest 100 are kept.' },
  attempts_made: { text: 'How many attempts were made in all, including those by redelivery and replay.', example: 1 },
  'AuditActor.email': {
    text: 'The e-mail address that the actor had at the time; null if the actor is not a person.',
    example: 'ada@example.com',
  },
  'AuditActor.id': {
    text: 'The id of the person, app user or workspace key; null for the service and for anonymous callers.',
    example: '0198c1f2-7d2b-7a10-8c3f-41d7e9b2a605',
  },
  'AuditActor.kind': { text: 'What kind of caller made the change; `service` is a job or the command line.' },
  'AuditEntry.app_id': {
    text: 'The app or agent concerned; null if the change is not about one.',
    example: '0198c1f6-0a5c-7d83-b24e-95f1a3c7d06e',
  },
  'AuditEntry.id': {
    text: 'The id of the entry, created with the change.',
    example: '0198c20a-6f28-7b14-8c9d-05a7e3f4d612',
  },
  'AuditEntry.ip': {
    text: 'The IP address of the caller; null for changes that the service made or recorded later.',
    example: '203.0.113.7',
  },
  'AuditEntry.request_id': {
    text: 'The id of the request, also in the header `X-Request-Id` of its response; `service` for changes without a request.',
    example: '5c2b0f0e-0f5b-4c53-9d0e-9c5c2a2f7a10',
  },
  'AuditEntry.sequence': {
    text: 'The place in the chain of the workspace, from 1 and without gaps; null until the entry is sealed, usually within 2 seconds.',
    example: 42,
  },
  'AuditEntry.type': {
    text: 'What happened, such as `member.role_changed`; a refusal has the name of the operation and `.refused`.',
    example: 'member.role_changed',
  },
  'AuditTarget.id': {
    text: 'The id of what was changed; entities and secrets have their name here.',
    example: '0198c20b-13e4-7f52-a9d6-7b08c4e1f392',
  },
  'AuditTarget.kind': {
    text: 'What kind of thing was changed, such as `member`, `app` or `webhook`.',
    example: 'member',
  },
  'Automation.condition': {
    text: 'A jq expression; nothing is done if it is false or null.',
    example: '.data.total > 100',
  },
  'Automation.consecutive_failures': {
    text: 'How many runs have failed since the last success; at 20 the automation is turned off.',
    example: 0,
  },
  'Automation.description': { text: 'A note for people.', example: 'Tells sales.' },
  'Automation.entity_name': {
    text: 'The entity whose records start it.',
    example: 'Order',
  },
  'Automation.id': { text: 'The id of the automation.', example: '0198c20d-6a1b-7c58-9e42-3f7ab05d91c6' },
  'Automation.last_error': {
    text: 'Why the last attempt failed; null after a success.',
    example: 'The endpoint answered 503.',
  },
  'Automation.last_run_at': { text: 'When the action was last attempted.', example: '2026-11-15T09:30:00.000Z' },
  'Automation.name': { text: 'The name of the automation.', example: 'Large orders' },
  'Automation.schedule': { text: 'When it runs.', example: null },
  'Automation.type': { text: 'Whether records or times start it.' },
  'AutomationAction.body': {
    text: 'A jq expression for the JSON to send; by default the whole event.',
    example: '{order: .entity_id}',
  },
  'AutomationAction.headers': {
    text: 'Headers of the request; `{{secrets.NAME}}` stands for a secret of the app.',
    example: { 'X-Api-Key': '{{secrets.SALES_KEY}}' },
  },
  'AutomationAction.type': { text: 'Whether to start a workflow or to send an HTTP request.', example: 'http_request' },
  'AutomationAction.url': { text: 'Where the request is sent.', example: 'https://sales.example.com/large-orders' },
  'AutomationAction.workflow_id': { text: 'The workflow to start.', example: '0198c20e-91f4-7b36-8c05-d27e4a6b13f8' },
  balance_after: {
    text: 'How many credits of the month remained after the movement; null if the workspace has no monthly limit.',
    example: 812.5,
  },
  before: {
    text: 'The changed fields before the change; `{"changed": true}` stands in the place of a secret.',
    example: { email: 'grace@example.com', role: 'viewer' },
  },
  beta: { text: 'Always true: the API is in beta.' },
  billing_hold: { text: 'Whether an operator has put the workspace on billing hold; no operation depends on it yet.' },
  billing_hold_reason: {
    text: 'Why the workspace is on billing hold, as an operator noted it; null if there is no note.',
    example: 'The card on file has expired.',
  },
  broken_at: {
    text: 'The sequence of the first entry that was changed, removed or moved; null if the chain is intact.',
    example: null,
  },
  browser: { text: 'Whether a browser that looks at the errors of pages is configured.', example: false },
  'BrowserSession.address': { text: 'The address from which the person signed in.', example: '192.0.2.17' },
  'BrowserSession.browser': {
    text: 'The browser and system, as far as they can be told.',
    example: 'Firefox on Linux',
  },
  'BrowserSession.expires_at': {
    text: 'When the session ends if it is not used.',
    example: '2026-12-15T09:30:00.000Z',
  },
  'BrowserSession.last_used_at': { text: 'When the session was last used.', example: '2026-11-15T09:30:00.000Z' },
  'ChatConversation.messages': { text: 'The messages of the turn, oldest first: yours, then the answers.' },
  'ChatMessage.content': { text: 'The text of the message.', example: 'I made the page and the entity Task.' },
  'ChatMessage.conversation_id': {
    text: 'The id of the app: an app has one conversation.',
    example: '0198c1f6-0a5c-7d83-b24e-95f1a3c7d06e',
  },
  'ChatMessage.hidden': { text: 'Always false.' },
  'ChatMessage.id': { text: 'The id of the message.', example: '0198c1fb-8b1d-7e6f-a350-c29d7f1e48b6' },
  'ChatMessage.model': {
    text: 'The model that wrote the message; null for a message of a person or of the platform.',
    example: 'house-model',
  },
  'ChatMessage.role': {
    text: 'Who wrote the message: a person, the assistant, or the platform (`system`), which says why a turn has ended.',
  },
  'ChatMessage.tool_calls': {
    text: 'What the assistant did, shortened; also how its changes were checked (`check_files`) and saved (`save_revision`).',
  },
  'ChatStopped.stopped': { text: 'Whether a turn was running, which nothing can be saved of any more.' },
  'ChatTurn.app': { text: 'The app after the turn.' },
  'ChatTurn.conversation': { text: 'What the turn added to the conversation.' },
  'ChatTurn.status': { text: 'How the turn has ended, whatever has happened to the app since.' },
  checked: { text: 'How many entries were checked and are intact, at most 100,000 per request.', example: 42 },
  checks: { text: 'The result of each check; `database`, `migrations` and `draining` decide the status.' },
  closed_operations: {
    text: "The operations that users of the app and anonymous callers can't perform because the schema has no rule for them.",
    example: ['delete'],
  },
  color: {
    text: 'The color of the folder, as `#` and six hexadecimal digits; null if it has none.',
    example: '#2F6FED',
  },
  completion_tokens: { text: 'How many tokens the reply has, as the model reported.', example: 9 },
  confirm_name: { text: 'The exact name of the workspace, to confirm the deletion.', example: 'Corner Bakery' },
  consecutive_failures: {
    text: 'How many deliveries have failed since the last success; at 20 the webhook is switched off.',
    example: 0,
  },
  content_type_options: {
    text: '`X-Content-Type-Options`, which is always sent.',
  },
  'Conversation.id': { text: 'The id of the conversation.', example: '0198c1fb-6e90-7c25-9f48-1a7be5d3094c' },
  'Conversation.updated_date': {
    text: 'When the last message was added, or the time of creation if there is none.',
    example: '2026-11-15T09:30:00.000Z',
  },
  'Conversation.user_id': {
    text: 'The person to whom the conversation belongs; nobody else can read it.',
    example: '0198c20b-13e4-7f52-a9d6-7b08c4e1f392',
  },
  conversation_id: {
    text: 'The conversation that the message belongs to.',
    example: '0198c1fb-6e90-7c25-9f48-1a7be5d3094c',
  },
  count: { text: 'How many records that the caller may read match the filters.', example: 42 },
  country_code: { text: 'The country of the workspace as an ISO 3166-1 alpha-2 code; `US` by default.', example: 'GB' },
  counts: {
    text: 'The number of rows in the archive, by table; empty until the export is ready.',
    example: { apps: 2, records: 42 },
  },
  'CreateAgentBody.description': {
    text: 'What the agent is for; returned as `user_description`.',
    example: 'Answers questions about orders',
  },
  'CreateAgentBody.logo_url': {
    text: 'The https URL of the logo.',
    example: 'https://static.example.com/order-desk.png',
  },
  'CreateAgentBody.model': {
    text: 'The name of the model; if not sent, the default model of the installation.',
    example: 'house-model',
  },
  'CreateAgentBody.name': { text: 'The name of the agent; white space at the ends is removed.', example: 'Order desk' },
  'CreateAgentWebhookBody.description': {
    text: 'A note about the webhook for people.',
    example: 'Sends new orders to the kitchen display',
  },
  'CreateAgentWebhookBody.events': {
    text: 'The types of events that the webhook receives; repeated names are merged.',
    example: ['message.completed'],
  },
  'CreateAppBody.app_type': { text: "The kind of app, `user_app` by default; it can't be changed later." },
  'CreateAppBody.content': { text: 'What the assistant is to build.', example: 'A task list with owners' },
  'CreateAppBody.initial_message': {
    text: 'A first message to the assistant, which builds the app in the background.',
  },
  'CreateAppBody.name': { text: 'The name of the app; `Untitled app` by default.', example: 'Order book' },
  'CreateAppUserBody.email': {
    text: 'The e-mail address of the user, which must be unique in the app regardless of case.',
    example: 'grace@example.com',
  },
  'CreateAppUserBody.full_name': { text: 'The name of the user; empty by default.', example: 'Grace Hopper' },
  'CreateAppUserBody.role': {
    text: 'The role of the user, `user` by default; it has a meaning only in the rules of the app.',
  },
  'CreateAppWebhookBody.description': {
    text: 'A note about the webhook for people.',
    example: 'Sends new orders to the kitchen display',
  },
  'CreateAppWebhookBody.events': {
    text: 'The types of events that the webhook receives; repeated names are merged.',
    example: ['entity.created', 'entity.updated'],
  },
  'CreateAutomationBody.condition': {
    text: 'A jq expression; nothing is done if it is false or null.',
    example: '.data.total > 100',
  },
  'CreateAutomationBody.description': { text: 'A note for people.', example: 'Tells sales.' },
  'CreateAutomationBody.entity_name': {
    text: 'The entity whose records start it.',
    example: 'Order',
  },
  'CreateAutomationBody.name': { text: 'The name of the automation.', example: 'Large orders' },
  'CreateAutomationBody.schedule': { text: 'When it runs.', example: null },
  'CreateAutomationBody.type': { text: 'Whether records or times start it.' },
  'CreateConversationBody.metadata': {
    text: 'Any object to store with the conversation, at most 8 KiB as JSON; ignored if the conversation exists.',
    example: { from: 'website' },
  },
  created_by_id: {
    text: 'The id of the person or app user who created the record, or `anonymous`.',
    example: '0198c20b-13e4-7f52-a9d6-7b08c4e1f392',
  },
  created_date: { text: 'The time of creation.', example: '2026-11-15T09:30:00.000Z' },
  'CreatedToken.id': {
    text: 'The id of the token, which is not the token itself.',
    example: '0198c1f4-e813-7c0e-8d95-6a1fb3e27c40',
  },
  'CreatedToken.name': { text: 'The name of the token, for people to recognise it.', example: 'CI' },
  'CreatedToken.token': {
    text: 'The token itself; only this response contains it, and in an idempotent replay it is null.',
    example: 'plp_EXAMPLE',
  },
  'CreatedToken.workspace_id': {
    text: 'The only workspace in which the token is valid.',
    example: '0198c1f2-7d3a-7c41-9b1e-2f6a5d0c8e11',
  },
  'CreatedWorkspaceKey.created_by': {
    text: 'The e-mail address of the person who created the key; null if not known.',
    example: 'ada@example.com',
  },
  'CreatedWorkspaceKey.description': {
    text: 'What the key is for; empty if no description was given.',
    example: 'Nightly build of the order book',
  },
  'CreatedWorkspaceKey.id': {
    text: 'The id of the key, which is not the key itself.',
    example: '0198c1f5-2f6a-7198-a7c3-90d5e48b1f6e',
  },
  'CreatedWorkspaceKey.name': { text: 'The name of the key, for people to recognise it.', example: 'Nightly build' },
  'CreatedWorkspaceKey.token': {
    text: 'The key itself; only this response contains it, and in an idempotent replay it is null.',
    example: 'plw_EXAMPLE',
  },
  'CreateFolderBody.app_type': {
    text: "Whether the folder is for apps (`user_app`, the default, also for imported apps) or for agents; it can't be changed later.",
  },
  'CreateFolderBody.name': { text: 'The name of the folder; white space at the ends is removed.', example: 'Orders' },
  'CreateFolderBody.scope': {
    text: "Whether all members from viewer up see the folder, or only you (`personal`, the default); it can't be changed later.",
  },
  'CreateTokenBody.app_ids': {
    text: 'Limits the credential to these apps and agents, which the caller must be able to see; null or not sent means all, also later ones.',
    example: ['0198c1f6-0a5c-7d83-b24e-95f1a3c7d06e'],
  },
  'CreateTokenBody.expires_in_days': {
    text: 'After how many days the token expires, 90 by default; null means never.',
    example: 30,
  },
  'CreateTokenBody.name': { text: 'The name of the token, for people to recognise it.', example: 'CI' },
  'CreateTokenBody.permission': { text: 'What the token may do; `read_only` by default.' },
  'CreateWorkspaceBody.name': { text: 'The name of the workspace.', example: 'Corner Bakery' },
  'CreateWorkspaceKeyBody.app_ids': {
    text: 'Limits the credential to these apps and agents, which the caller must be able to see; null or not sent means all, also later ones.',
    example: ['0198c1f6-0a5c-7d83-b24e-95f1a3c7d06e'],
  },
  'CreateWorkspaceKeyBody.description': {
    text: 'What the key is for; empty if no description was given.',
    example: 'Nightly build of the order book',
  },
  'CreateWorkspaceKeyBody.expires_in_days': {
    text: 'After how many days the key expires; null means never, and by default it expires with the token that creates it, if any.',
    example: 365,
  },
  'CreateWorkspaceKeyBody.name': { text: 'The name of the key, for people to recognise it.', example: 'Nightly build' },
  credential: { text: 'The credential with which the request was made.' },
  credential_id: {
    text: 'The token, key or session used; null for the service and for callers who were not signed in.',
    example: '0198c1f4-e813-7c0e-8d95-6a1fb3e27c40',
  },
  'CredentialInUse.id': {
    text: 'The id of the credential, as in `credential_id` of the audit log.',
    example: '0198c1f4-e813-7c0e-8d95-6a1fb3e27c40',
  },
  'CredentialInUse.kind': { text: 'The kind of credential.' },
  'CredentialInUse.workspace_id': {
    text: "The only workspace in which the credential is valid; null for sessions and personal keys, which are valid in all of the user's.",
    example: '0198c1f2-7d3a-7c41-9b1e-2f6a5d0c8e11',
  },
  credit_limit: {
    text: 'The credits that the member may use per month: the own limit, else the default of the workspace; null if there is neither.',
    example: 100,
  },
  credit_limit_set: {
    text: 'Only members with a limit of their own (true), or only those without (false); the default of the workspace is not an own limit.',
  },
  'CreditLedgerRow.app_id': {
    text: 'The app or agent that used the credits; null for grants and changes of the limit.',
    example: '0198c1f9-52b7-7b9a-8e17-d30c6f4a82b5',
  },
  'CreditLedgerRow.created_date': { text: 'The time of the movement.', example: '2026-11-15T09:30:00.000Z' },
  'CreditLedgerRow.id': { text: 'The id of the ledger entry.', example: '0198c1fc-17d9-7c53-a04f-e5928b6d31f0' },
  'CreditLedgerRow.kind': { text: 'The kind of movement, which also says whether `amount` is added or subtracted.' },
  'CreditLedgerRow.operation': {
    text: 'The operation that caused the movement; `monthlyLimit` for a change of the limit.',
    example: 'sendAgentMessage',
  },
  'CreditLedgerRow.user_id': {
    text: 'The person who used the credits or granted them; null for changes of the limit.',
    example: '0198c20b-13e4-7f52-a9d6-7b08c4e1f392',
  },
  credits_used: {
    text: 'Credits used since the start of the month in UTC, less refunds; null for other people unless the caller is owner or admin.',
    example: 41.5,
  },
  cron: {
    text: 'The times in five fields, in the time zone `timezone`; at least 5 minutes apart.',
    example: '0 9 * * 1-5',
  },
  csp: {
    text: '`Content-Security-Policy`; null if it is not sent.',
    example: "default-src 'self'",
  },
  current_password: { text: 'The password that the user has now.', example: 'EXAMPLE old passphrase' },
  cursor: {
    text: 'The `next_cursor` of the previous page; one that does not fit the body starts again at the first page.',
    example: 'b0R4Zk1hUTJ5',
  },
  data: {
    text: 'Any attributes of the user, for use in the rules of the app; at most 16 KiB as JSON.',
    example: { tier: 'gold' },
  },
  database: { text: 'Whether the process reaches the database.' },
  deactivated_at: {
    text: 'When an operator deactivated the account; null while the account is active.',
    example: null,
  },
  default_credit_limit: {
    text: 'The monthly credits of members without a limit of their own, with up to 4 decimals; null removes the default.',
    example: 50,
  },
  default_member_credit_limit: {
    text: 'The monthly credits of members without a limit of their own; null if there is no default.',
    example: 50,
  },
  deleted_date: {
    text: 'When the app was moved to the trash, from which it can be restored for 30 days; null if it is not there.',
    example: null,
  },
  'DeletedFolder.deleted': { text: 'Always true.' },
  delivered_at: {
    text: 'When the last successful attempt was made; null if none has succeeded.',
    example: '2026-11-15T09:30:00.000Z',
  },
  delivery_id: { text: 'The delivery; the same at every attempt.', example: '0198c204-0d7f-76b8-9c14-3be58a2f70d1' },
  dependency_scan: {
    text: 'Whether an operator has switched the scan of dependencies on; no operation depends on it yet.',
  },
  'Deployed.changes': { text: 'How the files differ from those that were live before.' },
  'Deployed.deployed_at': { text: 'When the deployment went live, this time.', example: '2026-11-15T09:30:00.000Z' },
  'Deployed.deployment_id': {
    text: 'The deployment that is live now.',
    example: '0198c1f6-0a5c-7d83-b24e-95f1a3c7d06e',
  },
  'Deployed.revision': { text: 'The revision of the app whose files are live now.', example: 7 },
  'Deployed.url': { text: 'The address of the published app.', example: 'https://orders.apps.example/' },
  'Deployed.warnings': { text: 'What may break the app; it is published anyway.' },
  'DeployedChanges.added': { text: 'How many files were not live before.', example: 2 },
  'DeployedChanges.changed': { text: 'How many files have another content.', example: 1 },
  'DeployedChanges.removed': { text: 'How many files are not live any more.', example: 0 },
  'Deployment.deployed_at': { text: 'When the deployment was made.', example: '2026-11-15T09:30:00.000Z' },
  'Deployment.deployed_by': {
    text: 'Who made the deployment: an e-mail address, or the name of a workspace key.',
    example: 'ada@example.com',
  },
  'Deployment.id': { text: 'The id of the deployment.', example: '0198c1f6-0a5c-7d83-b24e-95f1a3c7d06e' },
  'Deployment.live': { text: 'Whether the deployment is what visitors see.' },
  'Deployment.revision': { text: 'The revision of the app whose files the deployment has.', example: 7 },
  description: {
    text: 'A note about the webhook for people; null if there is none.',
    example: 'Sends new orders to the kitchen display',
  },
  disabled_at: {
    text: 'Since when the webhook is off, for example after 20 failed deliveries in a row; null while it is on.',
    example: null,
  },
  draining: { text: 'Whether the process is shutting down and should get no more requests.' },
  dry_run: { text: 'Whether to return what would change without saving anything; false by default.' },
  duration_ms: { text: 'How long the attempt took, in milliseconds.', example: 184 },
  email: { text: 'The e-mail address of the person, compared in lower case.', example: 'grace@example.com' },
  email_verified: { text: 'Whether the address is proven, usually by a link that was sent to it.' },
  emails: {
    text: 'The e-mail addresses of the members or invitations to remove; none may be repeated.',
    example: ['grace@example.com'],
  },
  ended: { text: 'How many sessions were ended.', example: 2 },
  enabled: {
    text: 'True turns the webhook on, resets `consecutive_failures` and sends held deliveries; false turns it off.',
  },
  encoding: { text: 'How `content` is written: as text or as base64, as the file was last written.' },
  ends_after: { text: 'After how many times the schedule ends.', example: 10 },
  ends_at: { text: 'When the schedule ends.', example: '2027-01-01T00:00:00Z' },
  entity_names: { text: 'The entities whose events the webhook receives; null means all.', example: ['Order'] },
  'EntityRecord.created_by': {
    text: 'The e-mail address of the creator, or `anonymous`; left out in apps that hide authorship.',
    example: 'grace@example.com',
  },
  'EntityRecord.id': {
    text: 'The id of the record, assigned on creation.',
    example: '0198c208-5a92-7d1c-8f6e-b40e29a7c5d3',
  },
  'EntityRecord.updated_date': {
    text: 'The time of the last write, also of one that changed no value.',
    example: '2026-11-15T09:30:00.000Z',
  },
  'EntitySchema.name': { text: 'The name of the entity, which is case-sensitive.', example: 'Order' },
  'EntitySchema.revision': { text: 'The revision of the app in which the schema was last changed.', example: 7 },
  'EntitySchema.updated_date': { text: 'When the schema was last changed.', example: '2026-11-15T09:30:00.000Z' },
  'EntitySchemaSaved.created': { text: 'Whether the entity did not exist before.' },
  'EntitySchemaSaved.name': { text: 'The name of the entity, which is case-sensitive.', example: 'Order' },
  'EntitySchemaSaved.revision': { text: 'The revision of the app in which the schema was last changed.', example: 7 },
  'EntitySchemasSynced.created': { text: 'The names of the entities that did not exist before.', example: ['Order'] },
  'EntitySchemasSynced.deleted': {
    text: 'The names of the entities whose schema was deleted because it was not sent.',
    example: ['Draft'],
  },
  'EntitySchemasSynced.updated': { text: 'The names of the entities whose schema changed.', example: ['Customer'] },
  error_type: {
    text: 'Why there was no response, such as `timeout` or `dns_error`; null if there was one, see `status_code`.',
    example: null,
  },
  event_id: {
    text: 'The event that is delivered, also `id` in the payload.',
    example: '0198c204-0d5e-7ad2-b861-08f4c7e93a5b',
  },
  event_type: { text: 'The type of the event, also `type` in the payload.', example: 'entity.created' },
  event_types: {
    text: 'Which changes of records start it.',
    example: ['create'],
  },
  events: { text: 'The types of events that the webhook receives.', example: ['entity.created', 'entity.updated'] },
  every_minutes: { text: 'How many minutes are between two times.', example: 30 },
  example: { text: 'One of the records concerned, and who could use it.' },
  expected_revision: {
    text: 'The revision of the app that you have read; if it is no longer the current one, the request answers 409.',
    example: 7,
  },
  expected_sha256: {
    text: 'The `sha256` that you last read, or null if the file must not exist yet; otherwise the request answers 409.',
    example: '96909e1dce85ca534fd8881f6c8369a8a87e06df5a4bf81ef44a72db195b0704',
  },
  expires_at: { text: 'When the credential expires; null if never.', example: '2027-02-13T09:30:00.000Z' },
  expires_in_seconds: { text: 'After how many seconds the token expires; 3,600 by default.', example: 3600 },
  'Export.expires_at': {
    text: 'When the archive is removed, seven days after it was written; null until the export has finished.',
    example: '2026-11-22T09:30:00.000Z',
  },
  'Export.state': { text: 'How far the export is; `failed` after three attempts.' },
  'Export.url': {
    text: 'Where to download the archive with the same credential; null unless `state` is `ready`.',
    example:
      'https://plinth.example.com/api/workspace/export/0198c20c-e1b3-7460-b92a-4df8c5076e19?workspaceId=0198c1f2-7d3a-7c41-9b1e-2f6a5d0c8e11&download=true',
  },
  export_id: {
    text: 'The export, to read its state with `getExport`.',
    example: '0198c20c-e1b3-7460-b92a-4df8c5076e19',
  },
  failed: { text: 'The addresses for which no invitation was sent, each with the reason.' },
  features: { text: 'Switches that an operator sets for the workspace.' },
  fields_removed: {
    text: 'The fields that the new schema no longer declares; their values stay stored but hidden.',
    example: ['address.zip'],
  },
  file_urls: {
    text: 'The addresses that were sent with the message; the model gets them as text, and nobody fetches them.',
    example: ['https://files.example.com/menu.pdf'],
  },
  files: {
    text: 'The files to write; a path must not be repeated.',
    example: [{ path: 'src/App.tsx', content: 'export default 1;\n' }],
  },
  files_bytes: {
    text: 'The bytes of app files, and of those that are kept because they are or were published.',
    example: 12582912,
  },
  first_seq: {
    text: 'The sequence number of the first delivery that is sent again; null if there is none.',
    example: 118,
  },
  first_sequence: {
    text: 'The sequence of the first entry that was checked and is intact; null if there was nothing to check.',
    example: 1,
  },
  'Folder.app_type': {
    text: "Whether the folder is for apps (`user_app`, also for imported apps) or for agents; it can't be changed.",
  },
  'Folder.id': { text: 'The id of the folder.', example: '0198c1fd-3076-7e89-b5d1-27c0f9a6e84b' },
  'Folder.name': { text: 'The name of the folder; white space at the ends is removed.', example: 'Orders' },
  folder_id: { text: 'The folder.', example: '0198c1fd-3076-7e89-b5d1-27c0f9a6e84b' },
  'ForgotPasswordBody.email': {
    text: 'The e-mail address of the account; the response is the same whether or not an account has it.',
    example: 'ada@example.com',
  },
  frame_options: { text: '`X-Frame-Options`; null if it is not sent.' },
  from: { text: 'Only deliveries created at or after this time.', example: '2026-11-14T00:00:00.000Z' },
  full_name: { text: 'The name of the person.', example: 'Grace Hopper' },
  generate_secret: { text: 'Whether to create a secret with which deliveries are signed; true by default.' },
  git: { text: 'Always false.' },
  'GrantCreditsBody.amount': {
    text: 'The credits to grant for the current month, with up to 4 decimals; a negative amount takes credits back, and 0 is refused.',
    example: 500,
  },
  'GrantCreditsBody.note': {
    text: 'Why the credits are granted or taken back, as shown in the ledger.',
    example: 'Compensation for the outage on 14 November',
  },
  granted: {
    text: "Credits that an operator added this month, less those taken back; they don't carry over.",
    example: 0,
  },
  gte: { text: 'The lower bound, inclusive.' },
  has_more: { text: 'Whether there is another page.' },
  has_secret: { text: 'Whether deliveries are signed.' },
  hash: {
    text: 'The hash of the entry, which also covers `prev_hash`: 64 hexadecimal digits; null until the entry is sealed.',
    example: '41d0c7a95be2f6038d1c4a7e90b3f582d6e1478a0c93b5f2e84d17a6c05b9f3e',
  },
  head_hash: {
    text: 'The hash of the last entry that was checked; null if the chain is broken.',
    example: '41d0c7a95be2f6038d1c4a7e90b3f582d6e1478a0c93b5f2e84d17a6c05b9f3e',
  },
  hidden: { text: 'Whether the message is not sent to the model.' },
  hide_authorship: { text: 'Whether records of the app leave out `created_by`.' },
  hsts: { text: '`Strict-Transport-Security`; null if it is not sent.', example: 'max-age=31536000' },
  icon: {
    text: 'Any text of up to 40 characters that names the icon of the folder; null if it has none.',
    example: 'bread',
  },
  id: { text: 'The id, a UUID of version 7.', example: '0198c204-0d5e-7ad2-b861-08f4c7e93a5b' },
  ignored_app_ids: { text: "The ids that were ignored because the caller can't reach such an app.", example: [] },
  impact: { text: 'What the schema changes for existing records and callers.' },
  initialised: { text: 'Whether the installation has its first user and workspace.' },
  instructions: {
    text: 'Instructions for the model, sent with every message; empty by default.',
    example: 'You answer questions about the orders of a bakery.',
  },
  'Invitation.email': { text: 'The e-mail address that was invited.', example: 'grace@example.com' },
  'Invitation.expires_at': {
    text: 'When the link stops working, 60 days after the invitation was sent or resent.',
    example: '2027-01-14T09:30:00.000Z',
  },
  'Invitation.id': {
    text: 'The id of the invitation, which stays the same when an expired invitation is renewed.',
    example: '0198c1fe-c45b-7a07-9e38-8b61d2f05c7a',
  },
  'Invitation.mail': {
    text: 'Whether the mail was sent; `off` means that mail is not configured, and `failed` that it was refused or the address got too many.',
  },
  'Invitation.role': { text: 'The role that the person gets by joining; `guest` if only apps are shared with them.' },
  invitation_token: {
    text: "The token of the invitation's link: the part after `#`.",
    example: 'EXAMPLE-invitation-token',
  },
  invitations: {
    text: 'The people to invite; an e-mail address must not be repeated.',
    example: [{ email: 'grace@example.com', role: 'editor' }],
  },
  invite_statuses: {
    text: 'Only entries with one of these statuses; an empty list means all.',
    example: ['joined', 'pending'],
  },
  invited: { text: 'The invitations that were created or renewed.' },
  'InviteMemberBody.role': { text: 'The role that the person gets by joining; `admin` needs a plan that includes it.' },
  'InviteMembersBody.role': {
    text: 'The role that the person gets by joining; `admin` needs a plan that includes it.',
  },
  ip: { text: 'The IP address of the client; null if it is not known.', example: '203.0.113.7' },
  is_active: { text: 'Whether the automation does anything; true by default.', example: true },
  is_current: { text: 'Whether the session is the one with which the request was made.' },
  is_default_limit: {
    text: 'Whether `credit_limit` is the default of the workspace, because the member has no limit of their own.',
  },
  is_operator: { text: 'Whether the user runs the installation and may call operator operations.' },
  is_sample: { text: 'Whether the record is sample data.' },
  item_count: { text: 'How many apps in the folder the caller can see.', example: 2 },
  items: { text: 'The items of this page, newest first unless the operation says otherwise.' },
  'JoinWorkspaceBody.full_name': {
    text: 'The name of the new user; required if the invited person has no account.',
    example: 'Grace Hopper',
  },
  'JoinWorkspaceBody.password': {
    text: 'The password of the new user, 12 to 256 characters; required if the invited person has no account.',
    example: 'EXAMPLE passphrase',
  },
  key: {
    text: 'The fields that identify a record: 1 to 3, no arrays or objects; every record must have them.',
    example: ['number'],
  },
  last4: { text: 'The last 4 characters of the credential, to recognise it.', example: 'GPdQ' },
  last_active: {
    text: 'When the member last used credits, in UTC without a time zone suffix; null if never.',
    example: '2026-11-15T09:30:00.000',
  },
  last_error: { text: 'The error of the last attempt; null after a success and before the first attempt.' },
  last_seen: {
    text: 'When the member last made a request, to the minute; null if never, and for other people unless the caller is owner or admin.',
    example: '2026-11-15T09:30:00.000Z',
  },
  last_seq: {
    text: 'The sequence number of the last delivery that is sent again; null if there is none.',
    example: 131,
  },
  last_sequence: {
    text: 'The sequence of the last intact entry, after which to go on with a longer chain; null if there was nothing to check.',
    example: 42,
  },
  last_status_code: {
    text: 'The HTTP status of the response to the last attempt; null if there was no response or no attempt yet.',
    example: 200,
  },
  last_trigger_time: {
    text: 'When the last attempt was made, successful or not; tests do not count; null before the first.',
    example: '2026-11-15T09:30:00.000Z',
  },
  last_used_at: {
    text: 'When the credential was last used, updated at most once a minute; null if never.',
    example: '2026-11-15T09:30:00.000Z',
  },
  limit: { text: 'How many deliveries to send again at most; 1,000 by default.', example: 1000 },
  linked: { text: 'How many of the apps were in no folder of this scope before.', example: 2 },
  'ListAgentDeliveriesResult.items': {
    text: 'The deliveries of this page by sequence, newest first, or oldest first if `after_seq` was sent.',
  },
  'ListAppDeliveriesResult.items': {
    text: 'The deliveries of this page by sequence, newest first, or oldest first if `after_seq` was sent.',
  },
  'ListAppFilesResult.items': { text: 'The files of this page, ordered by path.' },
  'ListAppSecretsResult.items': { text: 'The secrets of this page, without their values.' },
  'ListedConversation.id': { text: 'The id of the conversation.', example: '0198c1fb-6e90-7c25-9f48-1a7be5d3094c' },
  'ListedConversation.updated_date': {
    text: 'When the last message was added, or the time of creation if there is none.',
    example: '2026-11-15T09:30:00.000Z',
  },
  'ListedConversation.user_id': {
    text: 'The person to whom the conversation belongs; nobody else can read it.',
    example: '0198c20b-13e4-7f52-a9d6-7b08c4e1f392',
  },
  'ListFoldersResult.items': {
    text: 'The folders of this page by position, then by name; `parent_folder_id` links each to its parent.',
  },
  'ListMembersBody.agents_owned': {
    text: 'Only members whose number of agents, owned and shared together, is in this range.',
    example: { gte: 1, lte: 5 },
  },
  'ListMembersBody.apps_owned': {
    text: 'Only members whose number of apps, owned and shared together, is in this range.',
    example: { gte: 1, lte: 5 },
  },
  'ListMembersBody.last_active': {
    text: 'Only members whose last use of credits is in this range; those who never used any do not match.',
    example: { gte: '2026-11-01T00:00:00.000Z' },
  },
  'ListPlansResult.items': { text: 'The plans, from the lowest to the highest.' },
  'Liveness.status': { text: 'Always `ok`.' },
  loc: {
    text: 'Where the fault is: `body`, `query`, `path` or `header`, then field names and array indexes.',
    example: ['body', 'items', 3, 'email'],
  },
  locale: { text: 'The language of the workspace as a BCP 47 tag; `en` by default.', example: 'en-GB' },
  logo_url: {
    text: 'The https URL of the logo; null if there is none.',
    example: 'https://static.example.com/order-book.png',
  },
  lte: { text: 'The upper bound, inclusive.' },
  'Me.user': { text: 'The calling user.' },
  member_count: { text: 'How many members the workspace has.', example: 2 },
  'MemberChanged.status': {
    text: 'Whether the member was changed; `skipped` if there was nothing to change or another request changed the member meanwhile.',
  },
  members: { text: 'The members and open invitations of this page.' },
  'MembersChanged.results': { text: 'One result per item, in the order of the request.' },
  'MemberWebhook.scope': { text: 'Whether the webhook receives events of an agent or of an app.' },
  messages: { text: 'The newest messages, or those before the given one, oldest first.' },
  metadata: {
    text: 'Any object that was stored with the conversation when it was created; at most 8 KiB as JSON.',
    example: { from: 'website' },
  },
  migrations: { text: "Whether the database has all migrations of this version; `unknown` if it can't be read." },
  model_analysis: {
    text: 'Whether an operator has switched analysis by a language model on; no operation depends on it yet.',
  },
  monthly_credits: { text: 'The credits per month that the plan includes; null means unlimited.', example: 1000 },
  monthly_limit: {
    text: 'The credits of the workspace per month, by plan or set by an operator; null means unlimited.',
    example: 1000,
  },
  moved: { text: 'How many of the apps came from another folder of this scope.', example: 1 },
  msg: {
    text: 'What is wrong, for people; it follows the name of the field and may change.',
    example: 'must be an e-mail address',
  },
  name: { text: 'The name, for people.', example: 'Order book' },
  needs_account: {
    text: 'Whether the person must create an account to join; null if the link was not sent by mail, so that it does not tell who has an account.',
  },
  new_password: {
    text: 'The new password: 12 to 256 characters, not one of the 10,000 most common.',
    example: 'EXAMPLE new passphrase',
  },
  newly_open: {
    text: 'One example per operation of a record that the new rules open to strangers and the old ones did not.',
  },
  'NewlyOpen.operation': {
    text: 'The operation that is open now: `create`, `read`, `update` or `delete`.',
    example: 'read',
  },
  'NewlyOpenExample.id': { text: 'The id of the record.', example: '0198c208-5a92-7d1c-8f6e-b40e29a7c5d3' },
  next_attempt_at: {
    text: 'When the next attempt is due; null if none is planned, or one is running.',
    example: '2026-11-15T09:35:00.000Z',
  },
  next_cursor: {
    text: 'The `cursor` with which to request the next page, valid for 24 hours; null on the last page.',
    example: 'b0R4Zk1hUTJ5',
  },
  note: {
    text: 'Why the movement was made, or the full price if it was not covered; null if there is nothing to say.',
    example: 'Compensation for the outage on 14 November',
  },
  'NotInvited.code': {
    text: 'Why the person was not invited: `member_exists`, `invitation_pending` or `invitation_not_found`.',
    example: 'member_exists',
  },
  'NotInvited.email': { text: 'The e-mail address that was sent and not invited.', example: 'grace@example.com' },
  number: { text: 'The number of the attempt, from 1.', example: 1 },
  occurred_at: { text: 'The time of the change.', example: '2026-11-15T09:30:00.000Z' },
  ok: { text: 'Whether the endpoint answered with a 2xx status within 10 seconds.' },
  'OpenedInvitation.email': { text: 'The e-mail address that was invited.', example: 'grace@example.com' },
  'OpenedInvitation.expires_at': {
    text: 'When the link stops working, 60 days after the invitation was sent or resent.',
    example: '2027-01-14T09:30:00.000Z',
  },
  'OpenedInvitation.role': {
    text: 'The role that the person gets by joining; `guest` if only apps are shared with them.',
  },
  'OperatedUser.email': { text: 'The e-mail address with which the user signs in.', example: 'ada@example.com' },
  'OperatedUser.full_name': { text: 'The name of the user.', example: 'Ada Lovelace' },
  'OperatedUser.id': { text: 'The id of the user.', example: '0198c1f2-7d2b-7a10-8c3f-41d7e9b2a605' },
  'OperatedWorkspace.id': { text: 'The id of the workspace.', example: '0198c1f2-7d3a-7c41-9b1e-2f6a5d0c8e11' },
  'OperatedWorkspace.name': { text: 'The name of the workspace.', example: 'Corner Bakery' },
  'OperatedWorkspace.owner_email': {
    text: 'The e-mail address of the owner of the workspace; null if there is none.',
    example: 'ada@example.com',
  },
  'OperatedWorkspace.rate_multiplier': {
    text: 'The factor of the rate limits that an operator set for the workspace; null means that of the plan.',
    example: null,
  },
  'OperatedWorkspace.role': { text: 'The role of the caller; null for workspace keys and in responses to operators.' },
  'OperatedWorkspace.storage_quota_bytes': {
    text: 'The storage in bytes that an operator set for the workspace; null means that of the plan.',
    example: null,
  },
  outcome: { text: 'Whether the change was made, or refused for a missing role, the plan or a protected owner.' },
  own: { text: 'The use and limit of the caller; null for a workspace key.' },
  'OwnCredits.used': { text: 'Credits that the caller has used this month, less refunds.', example: 41.5 },
  owner_email: { text: 'The e-mail address of the owner.', example: 'ada@example.com' },
  owner_id: {
    text: 'The id of the member who owns the app or agent.',
    example: '0198c1f2-7d2b-7a10-8c3f-41d7e9b2a605',
  },
  'OwnershipTransferred.owner_email': {
    text: 'The e-mail address of the new owner of the workspace.',
    example: 'grace@example.com',
  },
  page_size: { text: 'How many entries a page has at most.', example: 50 },
  parent_folder_id: {
    text: 'The folder that contains this one; null if it is at the top.',
    example: '0198c1fd-1b20-7c4e-a617-5e93d8f02b7c',
  },
  parent_id: {
    text: 'The token that created the key, which ends with that token; null if the key was created in a session.',
    example: '0198c1f4-e813-7c0e-8d95-6a1fb3e27c40',
  },
  password: {
    text: 'The password: 12 to 256 characters, not one of the 10,000 most common.',
    example: 'EXAMPLE passphrase',
  },
  path: {
    text: 'The path of the file in the app, relative and without `.` and `..` segments.',
    example: 'src/App.tsx',
  },
  pause_webhooks: { text: 'Whether to turn off the webhooks that the removed members created; false by default.' },
  payload: {
    text: 'The body of the request, which is the same at every attempt.',
    example: {
      id: '0198c204-0d5e-7ad2-b861-08f4c7e93a5b',
      type: 'entity.created',
      created_at: '2026-11-15T09:30:00.000Z',
      app_id: '0198c1f6-0a5c-7d83-b24e-95f1a3c7d06e',
      entity_name: 'Order',
      entity_id: '0198c208-5a92-7d1c-8f6e-b40e29a7c5d3',
      data: { number: 1042, customer: 'Grace Hopper', total: 18.5 },
      old_data: null,
    },
  },
  period_end: { text: 'The end of the month: the start of the next one, in UTC.', example: '2026-12-01T00:00:00.000Z' },
  period_start: { text: 'The start of the month, in UTC.', example: '2026-11-01T00:00:00.000Z' },
  permission: { text: 'What the credential may do; `read_only` allows only operations that list it.' },
  permissions_policy: {
    text: '`Permissions-Policy`; null if it is not sent.',
    example: 'camera=(), microphone=()',
  },
  plan: { text: 'The plan of the workspace.' },
  'Plan.features': {
    text: 'Whether the plan includes each of the features that not every plan has.',
    example: { agent_webhooks: true, admin_role: false },
  },
  'Plan.plan': { text: 'The name of the plan.' },
  'Plan.rate_multiplier': { text: 'By which factor the plan multiplies rate limits.', example: 3 },
  'Plan.storage_quota_bytes': {
    text: 'How many bytes a workspace on the plan may store; null means unlimited.',
    example: 20000000000,
  },
  position: {
    text: 'Where the folder is among others: they are sorted by position, then by name; 0 by default.',
    example: 0,
  },
  prev_hash: {
    text: 'The hash of the entry before this one: 64 hexadecimal digits; null until the entry is sealed.',
    example: '9f3c58e0a1d7426bb08e35f9c2a46d71e50b83c9f4d6172a8ce03b5d94f7a162',
  },
  principal: {
    text: 'Who could use the record: `anonymous`, or `any_user` for any user of the app.',
    example: 'anonymous',
  },
  'Problem.code': {
    text: 'Identifies the kind of problem; stable, so programs should decide by it.',
    example: 'role_required',
  },
  'Problem.detail': {
    text: 'A sentence for people that may change; it contains no secret and nothing that was sent.',
    example: 'This requires the role editor or a higher one.',
  },
  'Problem.status': { text: 'The HTTP status of the response.', example: 403 },
  'Problem.type': { text: '`urn:plinth:problem:` followed by the code.', example: 'urn:plinth:problem:role_required' },
  prompt_tokens: { text: 'How many tokens the model was given, as it reported.', example: 212 },
  public_origins: {
    text: 'The origins whose web pages may call the data of the app, at most 10.',
    example: ['https://orders.example.com'],
  },
  public_settings: {
    text: 'Who may use the app; only `public_without_login` allows calls of its data without a credential.',
  },
  published: { text: 'What is published of the app; null if nothing is.' },
  'Published.revision': { text: 'The revision of the app that is published.', example: 7 },
  'Published.url': { text: 'The address of the published app.', example: 'https://orders.apps.example/' },
  published_at: { text: 'When the revision went live.', example: '2026-11-15T09:30:00.000Z' },
  published_by: {
    text: 'Who published the revision: an e-mail address, or the name of a workspace key.',
    example: 'ada@example.com',
  },
  'PublishWarning.code': { text: 'What the warning is about.' },
  'PublishWarning.message': {
    text: 'What may not work, and what to do about it.',
    example: 'Set the secret.',
  },
  'PublishWarning.path': {
    text: 'The file that the warning is about, if it is about one.',
    example: 'dist/assets/app.js',
  },
  purge_at: {
    text: 'When the workspace is deleted for good; until then an operator can restore it.',
    example: '2026-12-15T09:30:00.000Z',
  },
  'PutAppFileBody.content': {
    text: 'The content of the file, as text or as base64 according to `encoding`; at most 5 MiB.',
    example: 'export default 1;\n',
  },
  'PutAppFileBody.encoding': { text: 'How `content` is written: as text (`utf-8`, the default) or as base64.' },
  'PutAppShareBody.role': { text: 'What the person may do with the app.' },
  query: {
    text: 'A filter in the query language of records; an empty one needs `all`.',
    example: { state: 'done', total: { $lt: 5 } },
  },
  queue_lag_seconds: { text: 'For how many seconds the oldest due work has waited; null if unknown.', example: 0 },
  quota_bytes: {
    text: 'How many bytes the workspace may store, by plan or set by an operator; null means unlimited.',
    example: 20000000000,
  },
  'Readiness.status': { text: 'Whether the process can serve requests.' },
  record_count: { text: 'How many records the entity has, without those in the trash.', example: 42 },
  records_bytes: { text: 'The bytes of the data of records as JSON, also of records in the trash.', example: 31457280 },
  'RecordsDeleted.deleted': {
    text: 'How many records were moved to the trash, at most 5,000 per request.',
    example: 17,
  },
  'RecordsUpserted.created': { text: 'How many records were created.', example: 2 },
  'RecordsUpserted.records': { text: 'The records as stored, in the order of the request.' },
  'RecordsUpserted.updated': { text: 'How many stored records were updated.', example: 1 },
  'Redelivered.queued': { text: 'Always true: one attempt is made at once.' },
  redis: { text: 'Whether the process reaches Redis; without it, rate limits are counted per process.' },
  reference_id: {
    text: 'What the movement is about: for a reply of an agent, the message that was answered; null if there is nothing.',
    example: '0198c1fb-8b1d-7e6f-a350-c29d7f1e48b6',
  },
  referrer_policy: {
    text: '`Referrer-Policy`; null if it is not sent.',
    example: 'strict-origin-when-cross-origin',
  },
  remaining: {
    text: 'What is left this month: `monthly_limit` + `granted` − `used` − `reserved`; null if unlimited.',
    example: 812.5,
  },
  'Replayed.queued': { text: 'How many deliveries are sent again.', example: 14 },
  request_id: {
    text: 'The id of the request, also in the header `X-Request-Id` of its response.',
    example: '5c2b0f0e-0f5b-4c53-9d0e-9c5c2a2f7a10',
  },
  'ResendInvitationBody.emails': {
    text: 'The e-mail addresses whose pending or expired invitation gets a new link; the old link stops working.',
    example: ['grace@example.com'],
  },
  resent: { text: 'The invitations with their new links.' },
  reserved: { text: 'Credits set aside for operations that are running.', example: 0.4 },
  reset_token: {
    text: 'The token of the reset link: the part after `#`; it works once and for one hour.',
    example: 'EXAMPLE-reset-token',
  },
  response_body: {
    text: 'The first 512 bytes of the response body; null if there was no response.',
    example: 'internal error',
  },
  retry_safe: { text: 'Whether the same request can be repeated without a second effect.' },
  revision: { text: 'The revision of the app, which increases with each change of files or schemas.', example: 7 },
  role: { text: 'The role of the person in the workspace.' },
  roles: { text: 'Only members with one of these roles; an empty list means all.', example: ['admin', 'editor'] },
  schema: {
    text: 'The schema document as it was sent.',
    example: orderSchema,
  },
  'SchemaImpact.records': { text: 'How many records the entity has, without those in the trash.', example: 42 },
  schemas: {
    text: 'The schema documents to create or replace, at most 100.',
  },
  scope: {
    text: "Whether all members from viewer up see the folder, or only the person who created it; it can't be changed.",
  },
  scopes: {
    text: 'What the key may do: an operation that lists a scope refuses keys without it.',
    example: ['apps:read', 'apps:write'],
  },
  search: {
    text: 'Text that must be part of the e-mail address, name, role or status, regardless of case.',
    example: 'grace',
  },
  search_terms: {
    text: 'Texts of which at least one must be part of the e-mail address, name, role or status, regardless of case.',
    example: ['grace', 'ada'],
  },
  secret: {
    text: 'The signing secret, only in the response that creates it; null in an idempotent replay.',
    example: 'whsec_EXAMPLE',
  },
  'SecuritySettings.headers': { text: 'The headers of published files.' },
  'SendAgentMessageBody.content': {
    text: 'The text of the message to the agent.',
    example: 'When does the bakery close?',
  },
  'SendAgentMessageBody.file_urls': {
    text: 'Up to 10 public https addresses, which the model gets as text; nobody fetches them.',
    example: ['https://files.example.com/menu.pdf'],
  },
  'SendChatMessageBody.content': {
    text: 'What the assistant is to build or change.',
    example: 'Add a due date to tasks',
  },
  'SendChatMessageBody.file_urls': {
    text: 'Up to 10 public https addresses, which the model gets as text; nobody fetches them.',
    example: ['https://files.example.com/sketch.png'],
  },
  'ServerFeatures.mail': { text: 'Whether outgoing mail is configured.' },
  'ServerFeatures.model': { text: 'Whether a language model for agents is configured.' },
  'ServerInfo.features': { text: 'Whether the provider of each feature is configured.' },
  'ServerInfo.name': { text: 'Always `Plinth`.' },
  'SetMemberAccessBody.state': {
    text: '`blocked` refuses every request of the member to the workspace; `active` restores access at once.',
  },
  'SetMemberCreditLimitBody.credit_limit': {
    text: "The member's own monthly limit, with up to 4 decimals; null removes it.",
    example: 100,
  },
  'SetMemberCreditLimitsBody.credit_limit': {
    text: "The member's own monthly limit, with up to 4 decimals; null removes it.",
    example: 100,
  },
  'SetMemberCreditLimitsBody.items': {
    text: 'The members and their new limits; an e-mail address must not be repeated.',
    example: [{ email: 'grace@example.com', credit_limit: 100 }],
  },
  'SetMemberRoleBody.role': {
    text: 'The new role; a guest becomes a full member, and a viewer loses their own credit limit.',
  },
  'SetMemberRolesBody.items': {
    text: 'The members or invitations and their new roles; an e-mail address must not be repeated.',
    example: [{ email: 'grace@example.com', role: 'editor' }],
  },
  'SetMemberRolesBody.role': {
    text: 'The new role; a guest becomes a full member, and a viewer loses their own credit limit.',
  },
  'SetOperatorWorkspaceBody.features': { text: 'The switches to change; those that are not sent keep their value.' },
  'SetOperatorWorkspaceBody.monthly_limit': {
    text: 'The credits of the workspace per month, in effect at once; null means unlimited, and not sent with `plan`, those of the plan.',
    example: 1000,
  },
  'SetOperatorWorkspaceBody.plan': {
    text: 'The new plan, which also sets `monthly_limit` to the credits of the plan unless that is sent too.',
  },
  'SetOperatorWorkspaceBody.rate_multiplier': {
    text: 'The factor of the rate limits of the workspace; null means that of the plan.',
    example: 5,
  },
  'SetOperatorWorkspaceBody.storage_quota_bytes': {
    text: 'How many bytes the workspace may store; null means as many as the plan includes.',
    example: 20000000000,
  },
  'SetSecuritySettingsBody.headers': {
    text: 'The headers to change; null stops sending one.',
  },
  setup_token: {
    text: 'The token that the API prints to its log at startup, or the setting `PLINTH_SETUP_TOKEN`.',
    example: 'EXAMPLE-setup-token',
  },
  'SetUpBody.email': {
    text: 'The e-mail address of the first user, who becomes an operator and counts as having proven it.',
    example: 'ada@example.com',
  },
  'SetUpBody.full_name': { text: 'The name of the user.', example: 'Ada Lovelace' },
  'SetUpDone.user': { text: 'The first user, who is an operator.' },
  sha256: {
    text: 'The SHA-256 of the content of the file, as 64 hexadecimal digits.',
    example: '96909e1dce85ca534fd8881f6c8369a8a87e06df5a4bf81ef44a72db195b0704',
  },
  'SignedIn.user': { text: 'The user who has signed in.' },
  'SignedIn.workspaces': { text: 'The workspaces of the user.' },
  'SignInAppUserBody.email': { text: 'The e-mail address of the user.', example: 'grace@example.com' },
  'SignInAppUserBody.password': { text: 'The password of the user.', example: 'EXAMPLE passphrase' },
  'SignUpAppUserBody.email': {
    text: 'The e-mail address of the user, to which the link is sent.',
    example: 'grace@example.com',
  },
  'SignUpAppUserBody.full_name': { text: 'The name of the user; empty by default.', example: 'Grace Hopper' },
  'SignUpAppUserBody.password': {
    text: 'The password with which the user will sign in; it is stored when the link is used.',
    example: 'EXAMPLE passphrase',
  },
  'RequestAppUserLinkBody.email': {
    text: 'The e-mail address of the user, to which the link is sent.',
    example: 'grace@example.com',
  },
  'SetAppAuthSettingsBody.methods': { text: 'The ways in which users can sign in; those not sent keep their value.' },
  'AppAuthMethodsChange.link': { text: 'Whether a link that is sent by mail signs in by itself.' },
  'AppAuthMethodsChange.password': { text: 'Whether users can sign in with a password.' },
  'SetAppAuthSettingsBody.sign_up': {
    text: 'Who can sign up: nobody, people whom `createAppUser` has created, or everybody.',
  },
  timezone: { text: 'The IANA name of the time zone of `cron`.', example: 'Europe/Berlin' },
  'UpdateAutomationBody.condition': {
    text: 'A jq expression; nothing is done if it is false or null.',
    example: '.data.total > 100',
  },
  'UpdateAutomationBody.description': { text: 'A note for people.', example: 'Tells sales.' },
  'UpdateAutomationBody.entity_name': {
    text: 'The entity whose records start it.',
    example: 'Order',
  },
  'UpdateAutomationBody.name': { text: 'The name of the automation.', example: 'Large orders' },
  'UpdateAutomationBody.schedule': { text: 'When it runs.', example: null },
  'UpdateAutomationBody.type': { text: 'Whether records or times start it.' },
  'UseAppUserLinkBody.link_token': {
    text: 'The token of the link: the part after `#plinth_link=`.',
    example: 'EXAMPLE-link-token',
  },
  'UseAppUserLinkBody.password': {
    text: 'A new password for the user; required if links do not sign in by themselves.',
    example: 'EXAMPLE passphrase',
  },
  'SignInBody.email': { text: 'The e-mail address of the account.', example: 'ada@example.com' },
  'SignInBody.password': { text: 'The password of the account.', example: 'EXAMPLE passphrase' },
  signing: {
    text: '`rotate` creates a secret, returned once, while the previous one still signs for 24 hours; `disable` removes all secrets at once.',
  },
  size: { text: 'The size of the content in bytes, decoded.', example: 18 },
  slug: {
    text: 'A name for URLs, unique in the installation; at first the name and 6 characters.',
    example: 'order-book-9674d3',
  },
  sort_by: { text: 'What to sort by; requires `sort_dir`.' },
  sort_dir: { text: 'Whether to sort ascending or descending; requires `sort_by`.' },
  'StartedExport.state': { text: 'Always `queued`: a worker writes the archive.' },
  static_code_default: {
    text: 'Whether an operator has switched analysis of source code on for new apps; no operation depends on it yet.',
  },
  static_code_enabled: {
    text: 'Whether a security scan looks at the code; there is none yet.',
  },
  status_code: { text: 'The HTTP status of the response; null if there was none.', example: 500 },
  statuses: {
    text: 'Which deliveries to send again by status; `failed` and `missed` by default.',
    example: ['failed', 'missed'],
  },
  storage: { text: 'What the workspace stores.' },
  success: { text: 'Always true.' },
  'SyncAppFilesBody.content': {
    text: 'The content of the file, as text or as base64 according to `encoding`; at most 5 MiB.',
    example: 'export default 1;\n',
  },
  'SyncAppFilesBody.delete_missing': {
    text: 'Whether to delete every file of the app that was not sent; false by default.',
  },
  'SyncAppFilesBody.encoding': { text: 'How `content` is written: as text (`utf-8`, the default) or as base64.' },
  'SyncEntitySchemasBody.delete_missing': {
    text: 'Whether to delete every schema that was not sent, which is refused if one of them has records; false by default.',
  },
  target: { text: 'What was changed.' },
  target_url: {
    text: 'The public https URL to which deliveries are sent.',
    example: 'https://hooks.example.com/plinth',
  },
  title: { text: 'The code as words.', example: 'Role required' },
  to: { text: 'Only deliveries created at or before this time.', example: '2026-11-15T00:00:00.000Z' },
  to_seq: { text: 'Only deliveries up to this sequence number, inclusive.', example: 131 },
  'Token.id': {
    text: 'The id of the token, which is not the token itself.',
    example: '0198c1f4-e813-7c0e-8d95-6a1fb3e27c40',
  },
  'Token.name': { text: 'The name of the token, for people to recognise it.', example: 'CI' },
  'Token.workspace_id': {
    text: 'The only workspace in which the token is valid.',
    example: '0198c1f2-7d3a-7c41-9b1e-2f6a5d0c8e11',
  },
  tool_calls: { text: 'The tools that the model called while it wrote the message.' },
  total: { text: 'How many members and invitations match the filters, on all pages.', example: 12 },
  'TransferOwnershipBody.email': {
    text: 'The e-mail address of the new owner, who must be a member that is neither blocked nor deactivated.',
    example: 'grace@example.com',
  },
  unlinked: { text: 'Always true, also if the app was not in the folder.' },
  unsealed: { text: 'How many entries are not sealed yet and were not checked.', example: 0 },
  'UpdateAgentBody.description': {
    text: 'What the agent is for; returned as `user_description`.',
    example: 'Answers questions about orders',
  },
  'UpdateAgentBody.logo_url': {
    text: 'The https URL of the logo; null removes it.',
    example: 'https://static.example.com/order-book.png',
  },
  'UpdateAgentBody.model': {
    text: 'The name of the model; null means the default model of the installation.',
    example: 'house-model',
  },
  'UpdateAgentBody.name': { text: 'The name of the agent; white space at the ends is removed.', example: 'Order desk' },
  'UpdateAgentWebhookBody.description': {
    text: 'A note about the webhook for people; null removes it.',
    example: 'Sends new orders to the kitchen display',
  },
  'UpdateAgentWebhookBody.events': {
    text: 'The types of events that the webhook receives; repeated names are merged.',
    example: ['message.completed'],
  },
  'UpdateAgentWebhookBody.target_url': {
    text: 'The public https URL to which deliveries are sent, also those that wait; changing it does not turn the webhook on.',
    example: 'https://hooks.example.com/plinth',
  },
  'UpdateAppBody.logo_url': {
    text: 'The https URL of the logo; null removes it.',
    example: 'https://static.example.com/order-book.png',
  },
  'UpdateAppBody.name': { text: 'The name of the app; white space at the ends is removed.', example: 'Order book' },
  'UpdateAppBody.owner_email': {
    text: "Transfers the app to the member with this e-mail address, who must not be a viewer or guest; only the app's owner may.",
    example: 'grace@example.com',
  },
  'UpdateAppBody.slug': {
    text: 'A name for URLs in small letters, digits and hyphens, unique in the installation; other apps get a slug that was given up after 31 days.',
    example: 'order-book',
  },
  'UpdateAppUserBody.data': {
    text: 'Attributes to merge into the stored ones, key by key; null removes a key, and the result has at most 16 KiB.',
    example: { tier: 'gold' },
  },
  'UpdateAppUserBody.email': {
    text: 'The e-mail address of the user, which must be unique in the app regardless of case.',
    example: 'grace@example.com',
  },
  'UpdateAppUserBody.full_name': { text: 'The name of the user; empty by default.', example: 'Grace Hopper' },
  'UpdateAppUserBody.role': {
    text: 'The role of the user, `user` by default; it has a meaning only in the rules of the app.',
  },
  'UpdateAppWebhookBody.description': {
    text: 'A note about the webhook for people; null removes it.',
    example: 'Sends new orders to the kitchen display',
  },
  'UpdateAppWebhookBody.events': {
    text: 'The types of events that the webhook receives; repeated names are merged.',
    example: ['entity.created', 'entity.updated'],
  },
  'UpdateAppWebhookBody.target_url': {
    text: 'The public https URL to which deliveries are sent, also those that wait; changing it does not turn the webhook on.',
    example: 'https://hooks.example.com/plinth',
  },
  updated_date: { text: 'The time of the last change.', example: '2026-11-15T09:30:00.000Z' },
  'UpdateFolderBody.name': { text: 'The name of the folder; white space at the ends is removed.', example: 'Orders' },
  'UpdateMeBody.full_name': { text: 'The name of the user.', example: 'Ada Lovelace' },
  'UpdateTokenBody.name': { text: 'The name of the token, for people to recognise it.', example: 'CI' },
  'UpdateWorkspaceBody.name': { text: 'The name of the workspace.', example: 'Corner Bakery' },
  'UpdateWorkspaceKeyBody.description': {
    text: 'What the key is for; empty if no description was given.',
    example: 'Nightly build of the order book',
  },
  'UpdateWorkspaceKeyBody.name': { text: 'The name of the key, for people to recognise it.', example: 'Nightly build' },
  'UpsertRecordsBody.records': {
    text: 'The records to update or create; each must have all fields of `key`, and no two the same values.',
    example: [{ number: 1042, customer: 'Grace Hopper', total: 18.5 }],
  },
  usage: { text: 'How many tokens the message took; null if the model did not report it.' },
  used: { text: 'Credits used this month, less refunds.', example: 187.1 },
  used_bytes: { text: 'The bytes of records, app files and export archives together.', example: 48211904 },
  user: { text: 'The user.' },
  'User.email': { text: 'The e-mail address with which the user signs in.', example: 'ada@example.com' },
  'User.full_name': { text: 'The name of the user.', example: 'Ada Lovelace' },
  'User.id': { text: 'The id of the user.', example: '0198c1f2-7d2b-7a10-8c3f-41d7e9b2a605' },
  user_agent: {
    text: 'The `User-Agent` header of the client; null if none was sent.',
    example: 'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) Firefox/145.0',
  },
  user_description: {
    text: 'What the app is for, in the words of its builders; empty by default.',
    example: 'Takes the orders of a bakery',
  },
  user_id: { text: 'The id of the person.', example: '0198c20b-13e4-7f52-a9d6-7b08c4e1f392' },
  valid: { text: 'Whether all entries that were checked are intact.' },
  'ValidationError.detail': {
    text: 'All faults of the request, up to 100, in the order of the document that was sent.',
  },
  'ValidationError.type': {
    text: 'The kind of fault; stable, so programs should decide by it.',
    example: 'email_parsing',
  },
  value: {
    text: 'The value of the secret, which no operation returns; it is encrypted at rest.',
    example: 'EXAMPLE-payment-key-a91c',
  },
  version: { text: 'The version of Plinth that is running.', example: '0.1.0' },
  violating_records: {
    text: 'How many of the newest 1,000 records the new schema would refuse; they stay readable and are checked at the next write.',
    example: 0,
  },
  visibility: {
    text: 'Who in the workspace sees the app: every member but guests, or only owner, admins and people it is shared with.',
  },
  webhook: { text: 'The webhook, without its secret.' },
  'Webhook.events': { text: 'The types of events that the webhook receives.', example: ['message.completed'] },
  'Webhook.id': { text: 'The id of the webhook.', example: '0198c203-41ce-7395-8a6b-e7f20d9c5b38' },
  webhook_id: { text: 'The webhook to which the delivery belongs.', example: '0198c203-41ce-7395-8a6b-e7f20d9c5b38' },
  'WebhookAttempt.kind': {
    text: 'Why the attempt was made: by the schedule, by a redelivery (`manual`) or by a replay.',
  },
  'WebhookAttempt.response_body': {
    text: 'The first 512 bytes of the response body; null if there was no response or the attempt succeeded.',
    example: 'internal error',
  },
  'WebhookDelivery.created_date': { text: 'When the delivery was queued.', example: '2026-11-15T09:30:00.000Z' },
  'WebhookDelivery.id': {
    text: 'The id of the delivery, sent as `webhook-id` at every attempt.',
    example: '0198c204-0d7f-76b8-9c14-3be58a2f70d1',
  },
  'WebhookDelivery.sequence': {
    text: 'The number of the delivery among those of the webhook: from 1, without gaps, in the order of events.',
    example: 118,
  },
  'WebhookDelivery.status': {
    text: 'How far the delivery is; `failed` after eight attempts, `held` or `missed` while the webhook is off.',
  },
  'WebhookDeliveryInFull.created_date': { text: 'When the delivery was queued.', example: '2026-11-15T09:30:00.000Z' },
  'WebhookDeliveryInFull.id': {
    text: 'The id of the delivery, sent as `webhook-id` at every attempt.',
    example: '0198c204-0d7f-76b8-9c14-3be58a2f70d1',
  },
  'WebhookDeliveryInFull.sequence': {
    text: 'The number of the delivery among those of the webhook: from 1, without gaps, in the order of events.',
    example: 118,
  },
  'WebhookDeliveryInFull.status': {
    text: 'How far the delivery is; `failed` after eight attempts, `held` or `missed` while the webhook is off.',
  },
  'WebhookError.message': { text: 'What went wrong, as a sentence for people.', example: 'The endpoint answered 500.' },
  'WebhookTest.delivery_id': {
    text: 'The delivery id that was sent with the sample; tests are not in the delivery log.',
    example: '0198c204-0d7f-76b8-9c14-3be58a2f70d1',
  },
  'WebhookTest.status_code': { text: 'The HTTP status of the response; null if there was none.', example: 200 },
  worker_heartbeat: {
    text: 'When any worker last reported that it runs; null if none has run yet.',
    example: '2026-11-15T09:30:00.000Z',
  },
  workers: {
    text: "Whether a worker has sent a heartbeat in the last 30 seconds; `unknown` if the database can't be read.",
  },
  workspace: { text: 'The workspace, with the role of the user in it.' },
  'Workspace.id': { text: 'The id of the workspace.', example: '0198c1f2-7d3a-7c41-9b1e-2f6a5d0c8e11' },
  'Workspace.name': { text: 'The name of the workspace.', example: 'Corner Bakery' },
  'Workspace.role': { text: 'The role of the caller; null for workspace keys and in responses to operators.' },
  workspace_id: {
    text: 'The workspace that contains the app or agent.',
    example: '0198c1f2-7d3a-7c41-9b1e-2f6a5d0c8e11',
  },
  workspace_name: { text: 'The name of the workspace.', example: 'Corner Bakery' },
  'WorkspaceKey.created_by': {
    text: 'The e-mail address of the person who created the key; null if not known.',
    example: 'ada@example.com',
  },
  'WorkspaceKey.description': {
    text: 'What the key is for; empty if no description was given.',
    example: 'Nightly build of the order book',
  },
  'WorkspaceKey.id': {
    text: 'The id of the key, which is not the key itself.',
    example: '0198c1f5-2f6a-7198-a7c3-90d5e48b1f6e',
  },
  'WorkspaceKey.name': { text: 'The name of the key, for people to recognise it.', example: 'Nightly build' },
  'WorkspaceMember.full_name': { text: 'The name of the person; empty for an invitation.', example: 'Grace Hopper' },
  'WorkspaceMember.role': { text: 'The role of the member, or the one that the invited person gets by joining.' },
  'WorkspaceMember.status': {
    text: 'Whether the person has joined; an invitation is `pending` for 60 days, then `expired`.',
  },
  'WorkspaceMember.user_id': {
    text: 'The id of the person; empty for an invitation, also if the address has an account.',
    example: '0198c20b-13e4-7f52-a9d6-7b08c4e1f392',
  },
  'WorkspaceMembers.next_cursor': {
    text: 'The `cursor` with which to request the next page, with the same body; null on the last page.',
    example: 'b0R4Zk1hUTJ5',
  },
  'WorkspaceOfUser.id': { text: 'The id of the workspace.', example: '0198c1f2-7d3a-7c41-9b1e-2f6a5d0c8e11' },
  'WorkspaceOfUser.name': { text: 'The name of the workspace.', example: 'Corner Bakery' },
  'WorkspaceOfUser.role': { text: 'The role of the user in the workspace.' },
  workspaces: { text: 'The workspaces of the user; with a token only its own.' },
  'WorkspaceToken.id': {
    text: 'The id of the token, which is not the token itself.',
    example: '0198c1f4-e813-7c0e-8d95-6a1fb3e27c40',
  },
  'WorkspaceToken.name': { text: 'The name of the token, for people to recognise it.', example: 'CI' },
  'WorkspaceToken.owner_email': {
    text: 'The e-mail address of the member for whom the token acts.',
    example: 'ada@example.com',
  },
  'WorkspaceToken.workspace_id': {
    text: 'The only workspace in which the token is valid.',
    example: '0198c1f2-7d3a-7c41-9b1e-2f6a5d0c8e11',
  },
  'WorkspaceWithStorage.id': { text: 'The id of the workspace.', example: '0198c1f2-7d3a-7c41-9b1e-2f6a5d0c8e11' },
  'WorkspaceWithStorage.name': { text: 'The name of the workspace.', example: 'Corner Bakery' },
  'WorkspaceWithStorage.role': {
    text: 'The role of the caller; null for workspace keys and in responses to operators.',
  },
};

export const parameters: Readonly<Record<string, FieldText>> = {
  actor_email: { text: 'Only entries whose actor had this e-mail address.', example: 'ada@example.com' },
  after_seq: {
    text: 'Only deliveries with a greater sequence number; the list then begins with the oldest.',
    example: 117,
  },
  after_sequence: { text: 'Only sealed entries with a greater sequence.', example: 41 },
  agent_id: { text: 'The agent, by its app id.', example: '0198c1f9-52b7-7b9a-8e17-d30c6f4a82b5' },
  workflow_id: { text: 'The workflow.', example: '0198c20a-3b71-7e24-9d05-6c1f8a40b7e9' },
  run_id: { text: 'The run.', example: '0198c20b-77c2-7a31-8f4e-02d9b5c6a1f0' },
  hook_token: { text: 'The token of the hook, from `hook_url`.', example: 'EXAMPLE' },
  include_archived: { text: 'Whether archived workflows are listed too.' },
  values_from: {
    text: 'The number of the first step whose input and output are included; by default the last 100 are.',
    example: 1,
  },
  since: { text: 'Only runs that were started at or after this time.', example: '2026-11-15T00:00:00.000Z' },
  'listAppRuns.status': { text: 'Only runs with this status.' },
  'listWorkflowRuns.status': { text: 'Only runs with this status.' },
  app_id: { text: 'The app or agent.', example: '0198c1f6-0a5c-7d83-b24e-95f1a3c7d06e' },
  automation_id: { text: 'The automation.', example: '0198c20d-6a1b-7c58-9e42-3f7ab05d91c6' },
  before: {
    text: 'A message id: only the messages before it are returned, and none if it is unknown.',
    example: '0198c1fb-8b1d-7e6f-a350-c29d7f1e48b6',
  },
  before_seq: { text: 'Only deliveries with a smaller sequence number.', example: 132 },
  conversation_id: {
    text: "The conversation, which must be the caller's own.",
    example: '0198c1fb-6e90-7c25-9f48-1a7be5d3094c',
  },
  cursor: {
    text: 'The `next_cursor` of the previous page, valid for 24 hours with the same filters; not sent for the first page.',
    example: 'b0R4Zk1hUTJ5',
  },
  'deactivateUser.user_id': {
    text: 'The user whose account is meant.',
    example: '0198c20b-13e4-7f52-a9d6-7b08c4e1f392',
  },
  delete_records: {
    text: 'Whether to move up to 5,000 records of the entity to the trash first; without it, an entity with records answers 409.',
  },
  'deleteAppShare.email': {
    text: 'The e-mail address of the person with whom the app is shared, percent-encoded.',
    example: 'grace@example.com',
  },
  deleted: { text: 'Whether to list the trash instead; false by default.' },
  delivery_id: {
    text: 'The delivery; deliveries are kept for 30 days.',
    example: '0198c204-0d7f-76b8-9c14-3be58a2f70d1',
  },
  download: { text: 'Whether to return the archive of a finished export instead of its state; false by default.' },
  dry_run: { text: 'Whether to return the impact without saving anything; false by default.' },
  email: {
    text: 'The e-mail address of the member, percent-encoded and compared in lower case.',
    example: 'grace@example.com',
  },
  entity_id: { text: 'The record.', example: '0198c208-5a92-7d1c-8f6e-b40e29a7c5d3' },
  entity_name: { text: 'The name of the entity, which is case-sensitive.', example: 'Order' },
  event_type: { text: 'Only deliveries of events of this type.', example: 'entity.created' },
  expected_revision: {
    text: 'The revision of the schema that you have read, or 0 if it must not exist yet; otherwise the request answers 409.',
    example: 7,
  },
  export_id: { text: 'The export; an expired one answers 404.', example: '0198c20c-e1b3-7460-b92a-4df8c5076e19' },
  fields: { text: 'The fields to return, comma-separated; `id` is always returned.', example: 'number,total' },
  file: { text: 'The name of a script or style of the reference page.', example: 'swagger-ui.css' },
  folder_id: { text: 'The folder.', example: '0198c1fd-3076-7e89-b5d1-27c0f9a6e84b' },
  from: {
    text: 'Only what was created at or after this time; UTC if the time has no zone.',
    example: '2026-11-14T00:00:00.000Z',
  },
  from_sequence: { text: 'The sequence of the first entry to export, inclusive.', example: 1 },
  'getConversation.limit': { text: 'How many messages are returned at most.', example: 100 },
  'Idempotency-Key': {
    text: 'A value that you choose once per intended effect; a repeat with the same value within 24 hours returns the stored response.',
    example: 'order-4711',
  },
  invitation_token: { text: "The token of the invitation's link.", example: 'EXAMPLE-invitation-token' },
  key_id: { text: 'The workspace key, by its id.', example: '0198c1f5-2f6a-7198-a7c3-90d5e48b1f6e' },
  kind: { text: 'Only movements of this kind.' },
  'Last-Event-ID': {
    text: 'The `id` of the last event that was received: the stream goes on after it.',
    example: '0198c1f2-9a44-7b02-8c11-5d3e7f6a9b20:1:12',
  },
  limit: { text: 'How many items a page has at most.', example: 50 },
  'listAgentDeliveries.event_type': { text: 'Only deliveries of events of this type.', example: 'message.completed' },
  'listAgents.folder_id': { text: 'Only agents in this folder.', example: '0198c1fd-3076-7e89-b5d1-27c0f9a6e84b' },
  'listApps.app_type': {
    text: 'The types to list, comma-separated; all but `user_agent` by default.',
    example: 'user_app,imported_app',
  },
  'listApps.folder_id': { text: 'Only apps in this folder.', example: '0198c1fd-3076-7e89-b5d1-27c0f9a6e84b' },
  'listAppUsers.search': { text: 'Text that must be part of the e-mail address or the name.', example: 'grace' },
  'listAuditLog.app_id': {
    text: 'Only entries about this app or agent.',
    example: '0198c1f6-0a5c-7d83-b24e-95f1a3c7d06e',
  },
  'listAuditLog.from': {
    text: 'Only entries whose `occurred_at` is this time or later; UTC if the time has no zone.',
    example: '2026-11-14T00:00:00.000Z',
  },
  'listAuditLog.to': {
    text: 'Only entries whose `occurred_at` is this time or earlier; UTC if the time has no zone.',
    example: '2026-11-15T00:00:00.000Z',
  },
  'listCreditLedger.app_id': {
    text: 'Only movements of this app or agent.',
    example: '0198c1f9-52b7-7b9a-8e17-d30c6f4a82b5',
  },
  'listCreditLedger.user_id': {
    text: 'Only movements of this person.',
    example: '0198c20b-13e4-7f52-a9d6-7b08c4e1f392',
  },
  'listFolders.app_type': { text: 'Whether to list folders of apps or of agents.' },
  'listMemberWebhooks.email': {
    text: 'The e-mail address of the member, or of a former member who created webhooks, percent-encoded.',
    example: 'grace@example.com',
  },
  'listOperatorUsers.email': { text: 'Only the user with this e-mail address.', example: 'grace@example.com' },
  'listRecords.cursor': {
    text: 'The `next_cursor` of the previous page; it contains filter, sort and fields, and other values beside it answer 400.',
    example: 'b0R4Zk1hUTJ5',
  },
  'listRecords.limit': {
    text: 'How many records a page has at most, 100 by default; a page also ends before its data would exceed 1 MiB.',
    example: 100,
  },
  'listRecords.sort': {
    text: 'Up to 3 fields, comma-separated, each descending if `-` precedes it; by default the newest records come first.',
    example: '-created_date',
  },
  memory_id: { text: 'The memory, which must be about the caller.', example: '0198c1fb-9c47-7041-b7e2-5f83a6d0c91d' },
  message_id: { text: 'The message.', example: '0198c1fb-8b1d-7e6f-a350-c29d7f1e48b6' },
  outcome: { text: 'Only changes that were made, or only those that were refused.' },
  path: {
    text: 'The path of the file in the app, relative and without `.` and `..` segments.',
    example: 'src/App.tsx',
  },
  pause_webhooks: { text: 'Whether to turn off the webhooks that the member created; false by default.' },
  prefix: { text: 'Only files whose path begins with this text.', example: 'src/' },
  'putAppShare.email': {
    text: 'The e-mail address of the person with whom the app is shared, percent-encoded.',
    example: 'grace@example.com',
  },
  q: { text: 'A filter in the query language of records, as JSON.', example: { state: 'open', total: { $gte: 5 } } },
  'reactivateUser.user_id': {
    text: 'The user whose account is meant.',
    example: '0198c20b-13e4-7f52-a9d6-7b08c4e1f392',
  },
  'removeMember.email': {
    text: 'The e-mail address of the member or of an invitation, percent-encoded and compared in lower case.',
    example: 'grace@example.com',
  },
  'revokeApiKey.key_id': { text: 'The personal API key, by its id.', example: '0198c1f5-9d04-7b6c-8e21-3fa0d7c5b916' },
  search: { text: 'Text that must be part of the name, regardless of case.', example: 'order' },
  secret_name: {
    text: 'The name of the secret: a capital letter, then up to 63 capital letters, digits and underscores.',
    example: 'PAYMENT_API_KEY',
  },
  'sendAgentMessage.Idempotency-Key': {
    text: 'A value that you choose once per message; a repeat with the same value joins the reply that the first request started.',
    example: 'message-4711',
  },
  'sendChatMessage.Idempotency-Key': {
    text: 'A value that you choose once per message; a repeat with the same value joins the turn that the first request started.',
    example: 'message-4711',
  },
  session_id: { text: 'The session.', example: '0198c1f2-8e5f-7d06-b493-c17a5e2f80d4' },
  'setMemberRole.email': {
    text: 'The e-mail address of the member or of an invitation, percent-encoded and compared in lower case.',
    example: 'grace@example.com',
  },
  sort: { text: 'The field to sort by; a leading `-` reverses the order.' },
  status: { text: 'Only deliveries with this status.' },
  to: {
    text: 'Only what was created at or before this time; UTC if the time has no zone.',
    example: '2026-11-15T00:00:00.000Z',
  },
  to_sequence: { text: 'The sequence of the last entry to export, inclusive.', example: 42 },
  token_id: { text: 'The token, by its id.', example: '0198c1f4-e813-7c0e-8d95-6a1fb3e27c40' },
  type: {
    text: 'Only entries of these types, comma-separated; `app.*` matches all types that start with `app.`.',
    example: 'member.*,app.created',
  },
  user_id: { text: 'The user of the app.', example: '0198c1f7-b8e1-7f34-9a02-d6c5731e4fb8' },
  'verifyAuditLog.from_sequence': {
    text: 'The sequence at which to start; by default at the first entry that is kept.',
    example: 1,
  },
  webhook_id: { text: 'The webhook.', example: '0198c203-41ce-7395-8a6b-e7f20d9c5b38' },
  workspace_id: { text: 'The workspace.', example: '0198c1f2-7d3a-7c41-9b1e-2f6a5d0c8e11' },
  workspaceId: {
    text: 'The workspace, for credentials that are valid in several.',
    example: '0198c1f2-7d3a-7c41-9b1e-2f6a5d0c8e11',
  },
};
