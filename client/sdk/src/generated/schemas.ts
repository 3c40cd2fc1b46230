// Written by `npm run describe` from the OpenAPI document. Do not edit.

export interface AcceptAssetBody {
  /** The id of the generation that made the asset. */
  session_id: string;
  /** The Performance Max campaign to add the asset to. */
  campaign_id: string;
}

export interface AcceptInvitationBody {
  /** The name of the new user; required if the invited person has no account. */
  full_name?: string | null;
  /** The password of the new user, 12 to 256 characters; required if the invited person has no account. */
  password?: string | null;
}

export interface AcceptedInvitation {
  /** The user who has joined. */
  user: User;
  /** The workspace, with the role of the user in it. */
  workspace: WorkspaceOfUser;
}

export interface AckAgentDeliveriesBody {
  /** All deliveries up to this number, inclusive, are acknowledged. */
  up_to_sequence: number;
}

export interface AckAppDeliveriesBody {
  /** All deliveries up to this number, inclusive, are acknowledged. */
  up_to_sequence: number;
}

export interface AddFolderItemsBody {
  /** The apps or agents to add to the folder; those that the caller can't reach are ignored. */
  app_ids: string[];
}

export interface AddedFolderItems {
  /** The number of apps that were in no folder of this scope before. */
  linked: number;
  /** The number of apps that were moved from another folder of this scope. */
  moved: number;
  /** The id of the folder. */
  folder_id: string;
  /** The ids that were ignored because the caller can't reach an app with that id. */
  ignored_app_ids: string[];
}

export interface AdsAccount {
  /** The id of the account. */
  id: string;
  /** The account's status. Only an `ACTIVE` account can advertise. */
  status: 'ACTIVE' | 'PENDING' | 'SUSPENDED' | 'CLOSED';
  /** The account's name at the ad platform. */
  account_name: string;
  /** The account's currency, as an ISO 4217 code. */
  currency_code: string;
  /** The account's time zone, as an IANA name. */
  timezone: string;
  /** The account's id at the ad platform. */
  platform_customer_id: string;
}

export interface AdsCeilings {
  /** The currency of the amounts, as an ISO 4217 code. */
  currency_code: string;
  /** The ceiling for each app's daily budgets, in millionths of the currency unit. */
  app_daily_micros: number;
  /** The ceiling for all daily budgets together. */
  workspace_daily_micros: number;
  /** Whether the owner has not set them yet. */
  is_default: boolean;
  /** The daily budgets that count at present. */
  budgeted_daily_micros: number;
}

export interface Agent {
  /** The id of the agent, which is also its app id. */
  id: string;
  /** The name of the agent; white space at the ends is removed. */
  name: string;
  /** A name for URLs, unique in the installation; initially the name and 6 characters. */
  slug: string;
  /** The kind of app, which can't be changed; `user_agent` is an agent. */
  app_type: 'user_app' | 'user_agent' | 'imported_app';
  /** The workspace that contains the app or agent. */
  workspace_id: string;
  /** The id of the member who owns the app or agent. */
  owner_id: string;
  /** The e-mail address of the member who owns the app or agent. */
  owner_email: string;
  /** What the app is for, in the words of its builders; empty by default. */
  user_description: string;
  /** The https URL of the logo; null if there is none. */
  logo_url: string | null;
  /** Who in the workspace sees the app: all members except guests, or only its owner, admins and people with whom it is shared. */
  visibility: 'workspace' | 'private';
  /** Who may use the app; only `public_without_login` allows access to its data without a credential. */
  public_settings: 'private_with_login' | 'workspace_with_login' | 'public_with_login' | 'public_without_login';
  /** The origins whose web pages may access the data of the app, at most 10. */
  public_origins: string[];
  /** Whether records of the app leave out `created_by`. */
  hide_authorship: boolean;
  /** What the builder chat is doing with the app. */
  status: AppStatus;
  /** The revision of the app, which increases with each change of files or schemas. */
  revision: number;
  /** The published revision of the app; null if none is published. */
  published: Published | null;
  /** The time of creation. */
  created_date: string;
  /** The time of the last change. */
  updated_date: string;
  /** When the app was moved to the trash, from which it can be restored for 30 days; null if it is not in the trash. */
  deleted_date: string | null;
  /** Instructions for the model, sent with every message; empty by default. */
  instructions: string;
  /** The name of the model; null means the default model of the installation. */
  model: string | null;
}

export interface AgentMemory {
  /** The id of the memory. */
  id: string;
  /** Whether the memory is about the caller (`user`) or about everyone (`global`). */
  kind: 'user' | 'global';
  /** What the agent remembers, in 1 to 500 characters. */
  content: string;
  /** The time of creation. */
  created_date: string;
}

export interface AgentMessage {
  /** The id of the message. */
  id: string;
  /** The id of the conversation that the message belongs to. */
  conversation_id: string;
  /** Who wrote the message: a person, the agent, or the system. */
  role: 'user' | 'assistant' | 'system';
  /** The text of the message. */
  content: string;
  /** The URLs that were sent with the message; the model receives them as text, and they are not fetched. */
  file_urls: string[];
  /** The tools that the model called while it wrote the message. */
  tool_calls: AgentToolCall[];
  /** The tokens that the message used; null if the model did not report them. */
  usage: AgentUsage | null;
  /** The model that wrote the message; null for a message from a person. */
  model: string | null;
  /** Whether the message is not sent to the model. */
  hidden: boolean;
  /** The time of creation. */
  created_date: string;
  /** The time of the last change. */
  updated_date: string;
}

export interface AgentToolCall {
  /** The id of the tool call within the reply. */
  id: string;
  /** The name of the tool that the model called. */
  name: string;
  /** The arguments that the model passed to the tool, as JSON text. */
  arguments_string: string;
  /** Whether the tool call is running, or how it ended. */
  status: 'running' | 'success' | 'error' | 'stopped';
  /** The text that the tool returned; null if there is none yet. */
  results: string | null;
}

export interface AgentUsage {
  /** The number of input tokens, as reported by the model. */
  prompt_tokens: number;
  /** The number of tokens in the reply, as reported by the model. */
  completion_tokens: number;
}

export interface AggregateByFieldBody {
  /** Only include events with this name. */
  event_name?: string | null;
  /** The metrics, each with a field to group by. */
  metrics: FieldMetric[];
  /** The start of the time range, inclusive. */
  start_time?: string | null;
  /** The end of the time range, exclusive; now by default. */
  end_time?: string | null;
  /** A filter for events: docs/api/analytics.md#filters. */
  q?: Record<string, unknown> | null;
}

export interface AggregateOverTimeBody {
  /** Only include events with this name. */
  event_name?: string | null;
  /** The metrics to compute. */
  metrics: TimeMetric[];
  /** The start of the time range, inclusive. */
  start_time?: string | null;
  /** The end of the time range, exclusive; now by default. */
  end_time?: string | null;
  /** A filter for events: docs/api/analytics.md#filters. */
  q?: Record<string, unknown> | null;
  /** The length of a bucket in milliseconds, rounded down to a supported interval. */
  bucket_size_ms?: number | null;
  /** The maximum number of buckets; 100 by default. */
  max_buckets?: number | null;
}

export interface AllRecords {
  /** The items of the page, newest first unless stated otherwise. */
  items: RecordWithCreator[];
  /** The cursor of the next page, for 24 hours; null on the last page. */
  next_cursor: string | null;
  /** Whether there are more. */
  has_more: boolean;
  /** How many records match; null on later pages, and if they could not be counted within a second (`X-Partial-Result: total`). */
  total: RecordTotal | null;
}

export interface AnalyticsEvent {
  /** The id of the event. */
  event_id: string;
  /** The name of the event. */
  event_name: string;
  /** When the event happened. */
  timestamp: string;
  /** The user who caused the event; null if unknown. */
  user_id: string | null;
  /** The session of the event; null if unknown. */
  session_id: string | null;
  /** The page of the event; null if unknown. */
  page_url: string | null;
  /** The properties that were sent with the event. */
  properties: Record<string, string | number | boolean | null>;
  /** Data about the sender, added by Plinth. */
  metadata: AnalyticsEventMetadata;
}

export interface AnalyticsEventMetadata {
  /** The sender's country; null if unknown. */
  country: string | null;
  /** The sender's type of device; null if unknown. */
  device_type: string | null;
  /** The sender's operating system; null if unknown. */
  os: string | null;
}

export interface AnswerDeviceLoginBody {
  /** Whether the program gets a token. */
  approve: boolean;
  /** What the token may do, at most what the program asked for, which is the default. */
  permission?: 'read_only' | 'full_access' | null;
  /** Limits the token to these apps and agents, which the program must have asked for; by default all that it asked for. */
  app_ids?: string[] | null;
  /** The number of days after which the token expires; 90 by default. */
  expires_in_days?: number | null;
}

export interface AnswerHeldRulesBody {
  /** False drops the proposal. */
  apply: boolean;
}

export interface ApiKey {
  /** The id of the key, which is not the key itself. */
  id: string;
  /** The name of the key. */
  name: string;
  /** What the credential may do; `read_only` allows only operations that accept it. */
  permission: 'read_only' | 'full_access';
  /** The last 4 characters of the credential, to recognise it. */
  last4: string;
  /** The time of creation. */
  created_date: string;
  /** When the credential was last used, updated at most once a minute; null if never. */
  last_used_at: string | null;
}

export interface App {
  /** The id of the app. */
  id: string;
  /** The name of the app; white space at the ends is removed. */
  name: string;
  /** A name for URLs, unique in the installation; initially the name and 6 characters. */
  slug: string;
  /** The kind of app, which can't be changed; `user_agent` is an agent. */
  app_type: 'user_app' | 'user_agent' | 'imported_app';
  /** The workspace that contains the app or agent. */
  workspace_id: string;
  /** The id of the member who owns the app or agent. */
  owner_id: string;
  /** The e-mail address of the member who owns the app or agent. */
  owner_email: string;
  /** What the app is for, in the words of its builders; empty by default. */
  user_description: string;
  /** The https URL of the logo; null if there is none. */
  logo_url: string | null;
  /** Who in the workspace sees the app: all members except guests, or only its owner, admins and people with whom it is shared. */
  visibility: 'workspace' | 'private';
  /** Who may use the app; only `public_without_login` allows access to its data without a credential. */
  public_settings: 'private_with_login' | 'workspace_with_login' | 'public_with_login' | 'public_without_login';
  /** The origins whose web pages may access the data of the app, at most 10. */
  public_origins: string[];
  /** Whether records of the app leave out `created_by`. */
  hide_authorship: boolean;
  /** What the builder chat is doing with the app. */
  status: AppStatus;
  /** The revision of the app, which increases with each change of files or schemas. */
  revision: number;
  /** The published revision of the app; null if none is published. */
  published: Published | null;
  /** The time of creation. */
  created_date: string;
  /** The time of the last change. */
  updated_date: string;
  /** When the app was moved to the trash, from which it can be restored for 30 days; null if it is not in the trash. */
  deleted_date: string | null;
}

export interface AppAuthMethods {
  /** Whether users can sign in with a password. */
  password: boolean;
  /** Whether a link that is sent by mail signs the user in; if not, it only sets a password. */
  link: boolean;
}

export interface AppAuthMethodsChange {
  /** Whether users can sign in with a password. */
  password?: boolean | null;
  /** Whether a link that is sent by mail signs the user in. */
  link?: boolean | null;
}

export interface AppAuthSettings {
  /** Who can sign up: nobody (`closed`), people whom `createAppUser` has created (`invited`), or everybody (`open`). */
  sign_up: 'closed' | 'invited' | 'open';
  /** Who can sign up at present: as `sign_up` says, but `invited` instead of `open` unless `public_settings` of the app is `public_with_login` or `public_without_login`, and `closed` if this installation cannot send mail or both ways to sign in are off. */
  sign_up_in_effect: 'closed' | 'invited' | 'open';
  /** The ways in which users can sign in. */
  methods: AppAuthMethods;
  /** The address that links lead to: that of the app, or else its first public origin. If null, no mail is sent. */
  link_origin: string | null;
}

export interface AppFile {
  /** The path of the file in the app, relative and without `.` and `..` segments. */
  path: string;
  /** The size of the content in bytes, decoded. */
  size: number;
  /** The SHA-256 of the content of the file, as 64 hexadecimal digits. */
  sha256: string;
  /** The time of the last change. */
  updated_date: string;
}

export interface AppFileContent {
  /** The path of the file in the app, relative and without `.` and `..` segments. */
  path: string;
  /** The content of the file, as text or as base64 according to `encoding`; at most 5 MiB. */
  content: string;
  /** How `content` is written: as text or as base64, as the file was written. */
  encoding: 'utf-8' | 'base64';
  /** The SHA-256 of the content of the file, as 64 hexadecimal digits. */
  sha256: string;
  /** The revision of the app, which increases with each change of files or schemas. */
  revision: number;
}

export interface AppFileSaved {
  /** The path of the file in the app, relative and without `.` and `..` segments. */
  path: string;
  /** The SHA-256 of the content of the file, as 64 hexadecimal digits. */
  sha256: string;
  /** The revision of the app, which increases with each change of files or schemas. */
  revision: number;
}

export interface AppFilesSynced {
  /** The paths of the files that did not exist before. */
  created: string[];
  /** The paths of the files whose content changed. */
  updated: string[];
  /** The paths of the files that were deleted. */
  deleted: string[];
  /** The revision of the app, which increases with each change of files or schemas. */
  revision: number;
}

export interface AppRevision {
  /** The number of the current revision of the app. */
  revision: number;
}

export interface AppSecret {
  /** The name of the secret, in capital letters, digits and underscores. */
  name: string;
  /** The time of the last change. */
  updated_date: string;
  /** The last 4 characters of the value, to recognise it; null for values shorter than 16 characters. */
  last4: string | null;
}

export interface AppShare {
  /** The e-mail address of the person, compared in lower case. */
  email: string;
  /** The role of the person in the app. */
  role: 'editor' | 'viewer';
  /** Whether the person is a member, or was invited to the workspace as a guest. */
  status: 'joined' | 'invited';
}

export interface AppStatus {
  /** The state: `processing` while the assistant is working on the app, `error` if its last turn failed. */
  state: 'ready' | 'processing' | 'error';
  /** Why the last turn of the chat failed; empty if it did not fail. */
  message: string;
  /** What made the last turn of the chat fail: the assistant, a lack of credits, or the model; null if it did not fail. */
  error_source: 'builder' | 'paywall' | 'model' | null;
}

export interface AppUser {
  /** The id of the user, which rules compare with `created_by_id` of records. */
  id: string;
  /** The e-mail address of the user, unique in the app regardless of case. */
  email: string;
  /** The name of the user; empty by default. */
  full_name: string;
  /** The role of the user, which matters only in the rules of the app. */
  role: 'admin' | 'user';
  /** Any attributes of the user, for use in the rules of the app; at most 16 KiB as JSON. */
  data: Record<string, unknown>;
  /** The time of creation. */
  created_date: string;
  /** The time of the last change. */
  updated_date: string;
}

export interface AppUserSelf {
  /** The id of the user, which rules compare with `created_by_id` of records. */
  id: string;
  /** The e-mail address of the user. */
  email: string;
  /** The name of the user; empty by default. */
  full_name: string;
  /** The role of the user, which matters only in the rules of the app. */
  role: 'admin' | 'user';
  /** Whether the user has set a password. */
  has_password: boolean;
  /** The time of creation. */
  created_date: string;
}

export interface AppUserSignedIn {
  /** The token of the user. Only this response contains it. */
  token: string;
  /** When the token expires, an hour after its creation unless requested otherwise. */
  expires_at: string;
  /** The user who has signed in. */
  user: AppUserSelf;
}

export interface AppUserToken {
  /** The token itself. Only the first response contains it. */
  token: string | null;
  /** When the token expires, an hour after its creation unless requested otherwise. */
  expires_at: string;
}

export interface AppWebhook {
  /** The id of the webhook. */
  id: string;
  /** `push`: deliveries are sent to `target_url`. `pull`: deliveries wait until a program reads them from their stream and acknowledges them. */
  mode: 'push' | 'pull';
  /** The public https URL to which deliveries are sent. Of a pull webhook: the address of the stream of its deliveries. */
  target_url: string;
  /** The types of events that the webhook receives. */
  events: ('entity.created' | 'entity.updated' | 'entity.deleted')[];
  /** The entities whose events the webhook receives. Null means all. */
  entity_names: string[] | null;
  /** A note about the webhook; null if there is none. */
  description: string | null;
  /** Whether deliveries are signed. */
  has_secret: boolean;
  /** When the last attempt was made, successful or not; null before the first. Tests do not count. Of a pull webhook: when it was last read. */
  last_trigger_time: string | null;
  /** The error of the last attempt; null after a success and before the first attempt. */
  last_error: WebhookError | null;
  /** The number of failed deliveries since the last success; at 20, the webhook is turned off. */
  consecutive_failures: number;
  /** When the webhook was turned off, for example after 20 failed deliveries in a row, or because nobody read it for 30 days; null while it is on. */
  disabled_at: string | null;
  /** The time of creation. */
  created_date: string;
  /** The time of the last change. */
  updated_date: string;
  /** The signing secret. Only the response that creates it contains it. */
  secret?: string | null;
}

export interface AppliedRules {
  /** The name of the entity. */
  entity_name: string;
  /** The operations that have the recommended rules now. */
  operations: string[];
}

export interface AssetLists {
  /** The assets of the generation; present if `session_id` was sent. */
  session?: SessionAsset[];
  /** The app's generated assets, newest first; present if `session_id` was not sent. */
  library?: LibraryAsset[];
  /** The campaign's assets at the ad platform; present if `campaign_id` was sent. */
  durable?: DurableAsset[];
}

export interface AuditActor {
  /** The kind of caller who made the change; `service` is a job or the command line. */
  kind: 'user' | 'app_user' | 'workspace_key' | 'service' | 'operator' | 'anonymous';
  /** The id of the person, app user or workspace key; null for the service and for anonymous callers. */
  id: string | null;
  /** The e-mail address that the actor had at the time; null if the actor is not a person. */
  email: string | null;
}

export interface AuditEntry {
  /** The id of the entry, created with the change. */
  id: string;
  /** The position in the workspace's chain, without gaps; null until the entry is sealed, usually within 2 seconds. */
  sequence: number | null;
  /** The time of the change. */
  occurred_at: string;
  /** What happened, such as `member.role_changed`; a refusal has the name of the operation and `.refused`. */
  type: string;
  /** The caller who made the change, or tried to. */
  actor: AuditActor;
  /** The id of the token, key or session used; null for the service and for callers who were not signed in. */
  credential_id: string | null;
  /** The id of the request, also in the header `X-Request-Id` of its response; `service` for changes without a request. */
  request_id: string;
  /** The IP address of the caller; null for changes that the service made or recorded later. */
  ip: string | null;
  /** The id of the app or agent that the change is about; null if it is about none. */
  app_id: string | null;
  /** The object that was changed. */
  target: AuditTarget;
  /** The changed fields before the change; `{"changed": true}` replaces a secret. */
  before: unknown;
  /** The changed fields after the change; `{"changed": true}` replaces a secret. */
  after: unknown;
  /** Whether the change was made, or refused because of a missing role, the plan or a protected owner. */
  outcome: 'done' | 'refused';
  /** The hash of the previous entry, as 64 hexadecimal digits; null until the entry is sealed. */
  prev_hash: string | null;
  /** The hash of the entry including `prev_hash`, as 64 hexadecimal digits; null until the entry is sealed. */
  hash: string | null;
}

export interface AuditTarget {
  /** The kind of object that was changed, such as `member`, `app` or `webhook`. */
  kind: string;
  /** The id of the changed object; for entities and secrets, the name. */
  id: string;
}

export interface Automation {
  /** The id of the automation. */
  id: string;
  /** The name of the automation. */
  name: string;
  /** A note about the automation. */
  description: string | null;
  /** Whether record changes or a schedule trigger the automation. */
  type: 'entity' | 'scheduled';
  /** The entity whose record changes trigger the automation. */
  entity_name: string | null;
  /** The kinds of record changes that trigger the automation. */
  event_types: ('create' | 'update' | 'delete')[] | null;
  /** A jq expression; the action is skipped if the result is false or null. */
  condition: string | null;
  /** The schedule of the automation. */
  schedule: AutomationSchedule | null;
  /** The action that the automation performs. */
  action: AutomationAction;
  /** Whether the automation is active; true by default. */
  is_active: boolean;
  /** When the action was last attempted; null if never. */
  last_run_at: string | null;
  /** Why the last attempt failed; null after a success. */
  last_error: string | null;
  /** How many runs have failed since the last success; at 20 the automation is turned off. */
  consecutive_failures: number;
}

export interface AutomationAction {
  /** Whether to start a workflow or to send an HTTP request. */
  type: 'run_workflow' | 'http_request';
  /** The id of the workflow to start. */
  workflow_id?: string;
  /** The URL to which the request is sent. */
  url?: string;
  /** Headers of the request; `{{secrets.NAME}}` stands for a secret of the app. */
  headers?: Record<string, string>;
  /** A jq expression for the JSON body of the request; by default, the whole event is sent. */
  body?: string;
}

export interface AutomationSchedule {
  /** The times in five fields, in the time zone `timezone`; at least 5 minutes apart. */
  cron?: string;
  /** The IANA name of the time zone of `cron`. */
  timezone?: string;
  /** How many minutes are between two times. */
  every_minutes?: number;
  /** For a single time: when. */
  at?: string;
  /** When the schedule ends. */
  ends_at?: string;
  /** After how many times the schedule ends. */
  ends_after?: number;
}

export interface BackendFunction {
  /** Identifies the finding across scans. */
  fingerprint: string;
  /** The id of the rule. */
  rule_id: string;
  /** The severity of the finding. */
  severity: 'critical' | 'high' | 'medium' | 'low';
  /** The title of the finding. */
  title: string;
  /** Why the finding matters. */
  description: string;
  /** How to fix the problem. */
  recommendation: string;
  /** The file that contains the function. */
  file_path: string;
  /** The line of the problem, from 1. */
  line: number;
  /** The name of the function. */
  function_name: string;
  /** What is wrong with the function. */
  issue: 'no_caller_check' | 'unverified_webhook' | 'open_cors' | 'unsafe_redirect' | 'secret_in_response';
}

export interface Billing {
  /** How the workspace pays: as arranged by the operator (`external`), or by card through the payment provider (`provider`). */
  mode: 'external' | 'provider';
  /** Whether the workspace has a card or the operator arranges billing. Unreliable if `payment_provider_unavailable` is true. */
  has_payment_method: boolean;
  /** True if the payment provider did not answer. */
  payment_provider_unavailable: boolean;
  /** The card of the workspace; null if there is none, or if this is not known. */
  payment_method: PaymentMethod | null;
  /** Whether an operator has put the workspace on billing hold, which prevents it from launching campaigns. */
  billing_hold: boolean;
  /** The operator's reason for the billing hold; null if none was given. */
  billing_hold_reason: string | null;
}

export interface BillingSetup {
  /** The page for entering a card; null if the billing mode is `external`. */
  url: string | null;
  /** When the page expires; null if the billing mode is `external`. */
  expires_at: string | null;
}

export interface BootstrapPrompt {
  /** The instruction to send with `sendChatMessage`; empty if the request was skipped. */
  composer_prompt: string;
  /** The tag id in the instruction; empty if the assistant must look it up, absent if the request was skipped. */
  conversion_id?: string;
  /** How many of the ten standard goals the account now has; absent if the request was skipped. */
  actions_created_or_existing?: number;
  /** How many mappings the instruction covers, or categories if no mapping is enabled; absent if the request was skipped. */
  wired_mappings?: number;
  /** Why the request was skipped; absent if it was not. */
  skipped_reason?: 'no_ads_account';
}

export interface BrowserSession {
  /** The id of the browser session. */
  id: string;
  /** Whether this is the session of the request. */
  current: boolean;
  /** The IP address (for IPv6, the /64 prefix) from which the person signed in; null for sessions that began before it was recorded. */
  address: string | null;
  /** The browser as it identified itself, such as `Firefox on Linux`. */
  browser: string | null;
  /** The time of creation. */
  created_date: string;
  /** When the session was last used. */
  last_used_at: string;
  /** When the session ends if it is not used until then. */
  expires_at: string;
}

export interface BudgetBoundaries {
  /** The currency, as an ISO 4217 code. */
  currency_code: string;
  /** The type of the campaign. */
  campaign_type: 'SMART' | 'PERFORMANCE_MAX';
  /** The smallest daily budget, in millionths of the currency unit. */
  min_daily_budget_micros: number;
  /** The largest daily budget, in millionths of the currency unit. */
  max_daily_budget_micros: number;
  /** Daily budgets must be multiples of this amount. */
  step_micros: number;
}

export interface BuildBootstrapPromptBody {
  /** Whether the instruction also covers reporting conversions, not only installing the base tag; false by default. */
  wire_events?: boolean | null;
}

export interface Campaign {
  /** The campaign's id in this API. */
  id: string;
  /** The campaign's id at the ad platform; empty until the platform confirms the campaign. */
  platform_campaign_id: string;
  /** The name of the campaign. */
  campaign_name: string;
  /** The type of the campaign. */
  campaign_type: 'SMART' | 'PERFORMANCE_MAX';
  /** The last confirmed status. A `REMOVED` campaign can't be restored. */
  status: 'ENABLED' | 'PAUSED' | 'REMOVED';
  /** The daily budget, in millionths of the currency unit. */
  daily_budget_micros: number;
  /** The page that the ads link to. */
  landing_page: string;
  /** The locations where the ads are shown. */
  geo_targets: string[];
  /** The phone number in the ads; empty if there is none. */
  phone_number: string;
  /** The ad platform's review of the ads. `UNKNOWN` means any other status. */
  review_status: 'REVIEW_IN_PROGRESS' | 'REVIEWED' | 'UNDER_APPEAL' | 'ELIGIBLE_MAY_SERVE' | 'UNKNOWN';
  /** Whether the ad platform shows the ads. `UNKNOWN` means any other status. */
  serving_status: 'SERVING' | 'NONE' | 'ENDED' | 'PENDING' | 'SUSPENDED' | 'UNKNOWN';
  /** The campaign's overall status at the ad platform. `UNKNOWN` means any other status. */
  primary_status: 'ELIGIBLE' | 'PAUSED' | 'REMOVED' | 'ENDED' | 'PENDING' | 'MISCONFIGURED' | 'LIMITED' | 'LEARNING' | 'NOT_ELIGIBLE' | 'UNKNOWN';
  /** The ad platform's reasons for the status, then Plinth's own, which begin with `SERVICE_`: docs/api/ads.md#campaigns. */
  primary_status_reasons: string[];
  /** The time of creation. */
  created_date: string;
  /** The time of the last change. */
  updated_date: string;
  /** When the ad platform's learning phase ends: two weeks after the campaign was first enabled. */
  learning_ends_at: string;
}

export interface CampaignInput {
  /** The name of the campaign. */
  campaign_name: string;
  /** The type of the campaign. It must be in `can_create` of getLaunchReadiness. */
  campaign_type: 'SMART' | 'PERFORMANCE_MAX';
  /** The daily budget, in millionths of the currency unit. */
  daily_budget_micros: number;
  /** The page that the ads link to, for example the `landing_page` of getLaunchReadiness. */
  landing_page: string;
  /** The name of the business, with at most 25 characters; the name of the app by default. */
  business_name?: string | null;
  /** What the business offers; the description of the app by default. */
  business_description?: string | null;
  /** The keyword themes of a Smart campaign; the business name by default. */
  keyword_themes?: string[] | null;
  /** The search themes of a Performance Max campaign, with at most 10 words each. */
  search_themes?: string[] | null;
  /** The locations where the ads are shown, as ids from searchGeoTargets; the workspace's country by default. */
  geo_targets?: string[] | null;
  /** The locations where the ads are not shown. */
  excluded_geo_targets?: string[] | null;
  /** The language of the ads; English by default. */
  language_code?: 'en' | 'de' | 'es' | 'fr' | 'it' | 'ja' | 'nl' | 'pt' | 'pl' | 'sv' | 'da' | 'nb' | 'fi' | 'cs' | 'he' | 'ko' | null;
  /** The phone number in the ads. */
  phone_number?: string | null;
  /** The address of a square logo of at least 128 pixels. Required for a Performance Max campaign. */
  logo_url?: string | null;
  /** Headlines of at most 30 characters, one of them at most 15. If not sent, the language model writes them. */
  headlines?: string[] | null;
  /** Long headlines of a Performance Max campaign, with at most 90 characters each. */
  long_headlines?: string[] | null;
  /** Descriptions of at most 90 characters, one of them at most 60. */
  descriptions?: string[] | null;
  /** Addresses of images with the aspect ratio 1.91:1. If there are none, a generated or drawn image is used. */
  marketing_image_urls?: string[] | null;
  /** Addresses of square images. If there are none, a generated or drawn image is used. */
  square_image_urls?: string[] | null;
  /** The first day of the campaign, in the time zone of the account; today by default. */
  start_date?: string | null;
  /** The last day of the campaign. If not sent, the campaign has no end. */
  end_date?: string | null;
  /** Whether the campaign contains political advertising. Required if it can be shown in the European Union. */
  contains_eu_political_advertising?: 'CONTAINS_EU_POLITICAL_ADVERTISING' | 'DOES_NOT_CONTAIN_EU_POLITICAL_ADVERTISING' | null;
  /** Whether the campaign stays paused until it is resumed. */
  start_paused?: boolean | null;
  /** An id that you choose for the draft. A draft creates one campaign, however often it is sent. */
  draft_id?: string | null;
}

export interface CampaignSync {
  /** How many campaigns were added to the list. */
  added: number;
  /** How many listed campaigns had different values at the ad platform. */
  updated: number;
  /** How many listed campaigns had been removed at the ad platform. */
  removed: number;
  /** All campaigns of the app, newest first. */
  campaigns: Campaign[];
}

export interface CancelQueueRowsBody {
  /** The ids of the rows; others are left alone. */
  ids?: string[] | null;
  /** Instead of `ids`: all waiting rows of this owner. */
  owner?: string | null;
  /** Why, as shown in the audit log and in `last_error`. */
  reason: string;
}

export interface CancelledExecution {
  /** The current status of the run. */
  status: 'pending' | 'running' | 'analyzing' | 'passed' | 'failed' | 'inconclusive' | 'error' | 'cancelled';
  /** Whether the run had ended before the request. */
  already_terminal: boolean;
}

export interface CancelledQueueRows {
  /** The name of the queue. */
  queue: string;
  /** The number of rows that were ended, at most 1,000. */
  cancelled: number;
  /** Whether rows may be left, because one request changes a limited number of them; send it again. */
  has_more: boolean;
  /** The ids of rows that were running, and continue. */
  running: string[];
}

export interface ChangePasswordBody {
  /** The current password of the user. */
  current_password: string;
  /** The new password: 12 to 256 characters, not one of the 10,000 most common. */
  new_password: string;
}

export interface ChatConversation {
  /** The messages of the turn, oldest first: your message, then the replies. */
  messages: ChatMessage[];
}

export interface ChatMessage {
  /** The id of the message. */
  id: string;
  /** The id of the app, which has only one conversation. */
  conversation_id: string;
  /** Who wrote the message: a person, the assistant, or the platform (`system`), which explains why a turn ended. */
  role: 'user' | 'assistant' | 'system';
  /** The text of the message. */
  content: string;
  /** The URLs that were sent with the message; the model receives them as text, and they are not fetched. */
  file_urls: string[];
  /** What the assistant did, shortened, including how its changes were checked (`check_files`) and saved (`save_revision`). */
  tool_calls: AgentToolCall[];
  /** The tokens that the message used; null if the model did not report them. */
  usage: AgentUsage | null;
  /** The model that wrote the message; null if a person or the platform wrote it. */
  model: string | null;
  /** Always false. */
  hidden: boolean;
  /** The time of creation. */
  created_date: string;
  /** The time of the last change. */
  updated_date: string;
}

export interface ChatStopped {
  /** Whether a turn was running. Nothing of a stopped turn is saved. */
  stopped: boolean;
}

export interface ChatTurn {
  /** The app after the turn. */
  app: App;
  /** The part of the conversation that the turn added. */
  conversation: ChatConversation;
  /** How the turn ended, regardless of what has happened to the app since. */
  status: AppStatus;
}

export interface ChatTurnStarted {
  /** The id of the turn. */
  turn_id: string;
}

export interface CodingSession {
  /** The id of the session, a UUID of version 7. */
  id: string;
  /** The title that the session was launched with. */
  title: string;
  /** The state of the session. */
  state: 'queued' | 'running' | 'opening_pull_request' | 'needs_input' | 'completed' | 'failed' | 'cancelling' | 'cancelled';
  /** The id of the message that started the current turn; null until work starts. */
  message_id: string | null;
  /** The repository, as `owner/name`. */
  repository_full_name: string;
  /** The id of the branch; null until the branch is ready. */
  branch_id: string | null;
  /** The name of the branch; null until the branch is ready. */
  branch_name: string | null;
  /** A web page that shows the session; null until the branch is ready. */
  session_url: string | null;
  /** The pull request of the session; null until there is one. */
  pull_request: PullRequest | null;
  /** Why the session failed; null if it did not fail. */
  error_code: string | null;
  /** The `Idempotency-Key` of the request that launched the session. */
  launch_key: string | null;
  /** The label that you gave the session; null if you gave none. */
  client_reference: string | null;
  /** The id of the open question or approval; null if there is none. */
  input_request_id: string | null;
  /** Whether the session ended with a pull request or only an answer; null until it is `completed`. */
  outcome: 'pull_request' | 'answer' | null;
  /** The final reply of the agent in Markdown, at most 10,000 characters. */
  summary: string | null;
}

export interface ConnectRepositoryBody {
  /** The repository, as `owner/name`. */
  repository_full_name: string;
  /** The branch that new branches start from and pull requests are opened against; if omitted, the default branch. */
  base_branch?: string | null;
  /** The credential for the git host. If omitted, the operator's App is used, if there is one. */
  credentials?: {
    /** A token for the git host. It is stored encrypted. */
    token: string;
  };
}

export interface Connection {
  /** The type of the connector; not case-sensitive. */
  integration_type: string;
  /** The id of the connection. */
  connection_id: string;
  /** Whether the connection can be used. An `expired` connection must be connected again. */
  status: 'active' | 'disconnected' | 'expired';
  /** The scopes that the service has granted. */
  scopes: string[];
  /** The e-mail address of the person who connected the service; null if their Plinth account was removed. */
  user_email: string | null;
  /** When the service was last connected. */
  connected_at: string;
  /** When the access token expires; null if it doesn't. Plinth refreshes the token before then. */
  expires_at: string | null;
  /** Why the last token refresh failed; null if it didn't fail. */
  last_error: string | null;
}

export interface ConnectionFields {
  /** The fields that the service needs; empty if it needs none. */
  fields: ConnectorField[];
  /** The saved values of the connection; empty if there is no connection. */
  connection_config: Record<string, string>;
}

export interface ConnectionStart {
  /** The address to open in the person's browser within ten minutes; null if there is nothing to open. */
  redirect_url: string | null;
  /** The id of the connection; null if there is none. */
  connection_id: string | null;
  /** Whether the connection is already active with these scopes. */
  already_authorized: boolean;
  /** Why no connection was started; null if there was no error. */
  error: 'different_user' | 'credentials_rejected' | null;
  /** A message that explains `error`; null if there was no error. */
  error_message: string | null;
  /** The e-mail address of the other person, if `error` is `different_user`. */
  other_user_email: string | null;
}

export interface ConnectionStatus {
  /** The status of the latest attempt to connect. */
  status: 'PENDING' | 'ACTIVE' | 'FAILED';
  /** Why the attempt failed, or why there is no active connection; otherwise null. */
  error: 'access_denied' | 'exchange_failed' | 'scope_missing' | 'expired' | 'connection_expired' | 'disconnected' | null;
}

export interface Connector {
  /** The type of the connector; not case-sensitive. */
  integration_type: string;
  /** The service's display name. */
  display_name: string;
  /** What the connector is for. */
  description: string;
  /** How the service is connected: by consent at the service (`oauth2`), or with API keys (`api_key`). */
  auth: 'oauth2' | 'api_key';
  /** The scopes that are requested if none are sent. */
  default_scopes: string[];
  /** The fields of `connection_config`. */
  connection_config_fields: ConnectorField[];
  /** The fields of `credentials`; empty for services with OAuth. */
  credential_fields: ConnectorField[];
  /** Whether the operator has registered a client with the service; true if the service needs none. */
  configured: boolean;
  /** Notes about the service; null if there are none. */
  notes: string | null;
  /** How to send requests to the service; null if nothing special is needed. */
  usage_guide: string | null;
}

export interface ConnectorField {
  /** The key of the value in `connection_config` or `credentials`. */
  name: string;
  /** The field's display name. */
  display_name: string;
  /** Help for the person who fills in the field. */
  description: string;
  /** An example value. */
  placeholder: string;
  /** Whether the field is required. */
  required: boolean;
  /** The regular expression that values must match. */
  validation_pattern: string;
  /** The error message for a value that doesn't match. */
  validation_error: string;
}

export interface ConnectorRemoved {
  /** Always `removed`. */
  status: "removed";
  /** The type of the connector; not case-sensitive. */
  integration_type: string;
}

export interface Conversation {
  /** The id of the conversation. */
  id: string;
  /** The id of the agent, which is also its app id. */
  agent_id: string;
  /** The id of the person who owns the conversation; nobody else can read it. */
  user_id: string;
  /** Any object that was stored with the conversation when it was created; at most 8 KiB as JSON. */
  metadata: Record<string, unknown>;
  /** The time of creation. */
  created_date: string;
  /** When the last message was added, or the time of creation if there is none. */
  updated_date: string;
  /** The newest messages, or those before the message given in `before`, oldest first. */
  messages: AgentMessage[];
}

export interface ConversionAction {
  /** The conversion action's id at the ad platform. */
  platform_action_id: string;
  /** The conversion action's name at the ad platform. */
  name: string;
  /** The category of conversion that the action counts. */
  category: string;
  /** The conversion action's status at the ad platform. */
  status: string;
  /** The id of the account's tag; empty until it is known. */
  conversion_id: string;
  /** The label of the action's tag; empty until the ad platform publishes it. */
  conversion_label: string;
}

export interface ConversionMapping {
  /** The id of the mapping. */
  id: string;
  /** The advertising account of the app. */
  account_id: string;
  /** The entity whose records the mapping is about. */
  entity_name: string;
  /** The change to a record that counts as a conversion. */
  trigger_action: 'create' | 'update' | 'delete';
  /** The category of the conversion. */
  conversion_type: 'PURCHASE' | 'ADD_TO_CART' | 'BEGIN_CHECKOUT' | 'SIGNUP' | 'SUBMIT_LEAD_FORM' | 'CONTACT' | 'REQUEST_QUOTE' | 'BOOK_APPOINTMENT' | 'SUBSCRIBE_PAID' | 'PHONE_CALL_LEAD';
  /** The conversion action's id at the ad platform; if empty, the standard goal of `conversion_type` is used. */
  conversion_action_id: string;
  /** The record's field for the conversion value; empty if there is none. */
  value_field: string;
  /** The record's field for the currency; empty if there is none. */
  currency_field: string;
  /** Whether the mapping is enabled. */
  is_enabled: boolean;
  /** The time of creation. */
  created_date: string;
  /** The time of the last change. */
  updated_date: string;
}

export interface CreateAgentBody {
  /** The name of the agent; white space at the ends is removed. */
  name: string;
  /** A description of the agent, returned as `user_description`. */
  description?: string | null;
  /** The https URL of the logo. */
  logo_url?: string | null;
  /** Instructions for the model, sent with every message; empty by default. */
  instructions?: string | null;
  /** The name of the model; if not sent, the default model of the installation is used. */
  model?: string | null;
}

export interface CreateAgentWebhookBody {
  /** `push`: deliveries are sent to `target_url`. `pull`: deliveries wait until a program reads them from their stream and acknowledges them. */
  mode?: 'push' | 'pull' | null;
  /** The public https URL to which deliveries are sent. Required, except for a pull webhook, which has none. */
  target_url?: string | null;
  /** A note about the webhook. */
  description?: string | null;
  /** Whether to create a secret with which deliveries are signed; true by default. */
  generate_secret?: boolean | null;
  /** The types of events that the webhook receives; repeated names are merged. */
  events: ('message.created' | 'message.completed')[];
}

export interface CreateAppBody {
  /** The name of the app; `Untitled app` by default. */
  name?: string | null;
  /** What the app is for, in the words of its builders; empty by default. */
  user_description?: string | null;
  /** The kind of app, `user_app` by default; it can't be changed later. */
  app_type?: 'user_app' | 'imported_app' | null;
  /** Who in the workspace can see the app: all members but guests, or only the owner, admins and people it is shared with. */
  visibility?: 'workspace' | 'private' | null;
  /** Who can use the app; only `public_without_login` allows access to its data without a credential. */
  public_settings?: 'private_with_login' | 'workspace_with_login' | 'public_with_login' | 'public_without_login' | null;
  /** A first message to the assistant, which builds the app in the background. */
  initial_message?: {
    /** What the assistant should build. */
    content: string;
  };
}

export interface CreateAppUserBody {
  /** The e-mail address of the user, which must be unique in the app regardless of case. */
  email: string;
  /** The name of the user; empty by default. */
  full_name?: string | null;
  /** The role of the user, `user` by default, which matters only in the rules of the app. */
  role?: 'admin' | 'user' | null;
  /** Any attributes of the user, for use in the rules of the app; at most 16 KiB as JSON. */
  data?: Record<string, unknown> | null;
}

export interface CreateAppUserTokenBody {
  /** How many seconds the token is valid; 3600 by default. */
  expires_in_seconds?: number | null;
}

export interface CreateAppWebhookBody {
  /** `push`: deliveries are sent to `target_url`. `pull`: deliveries wait until a program reads them from their stream and acknowledges them. */
  mode?: 'push' | 'pull' | null;
  /** The public https URL to which deliveries are sent. Required, except for a pull webhook, which has none. */
  target_url?: string | null;
  /** A note about the webhook. */
  description?: string | null;
  /** Whether to create a secret with which deliveries are signed; true by default. */
  generate_secret?: boolean | null;
  /** The types of events that the webhook receives; repeated names are merged. */
  events: ('entity.created' | 'entity.updated' | 'entity.deleted')[];
  /** The entities whose events the webhook receives; null means all. */
  entity_names?: string[] | null;
}

export interface CreateAutomationBody {
  /** The name of the automation. */
  name: string;
  /** Whether record changes or a schedule trigger the automation. */
  type: 'entity' | 'scheduled';
  /** The action that the automation performs. */
  action: AutomationAction;
  /** The entity whose record changes trigger the automation. */
  entity_name?: string | null;
  /** The kinds of record changes that trigger the automation. */
  event_types?: ('create' | 'update' | 'delete')[] | null;
  /** A jq expression; the action is skipped if the result is false or null. */
  condition?: string | null;
  /** The schedule of the automation. */
  schedule?: AutomationSchedule | null;
  /** A note about the automation. */
  description?: string | null;
  /** Whether the automation is active; true by default. */
  is_active?: boolean | null;
}

export interface CreateConversationBody {
  /** Any object to store with the conversation, at most 8 KiB as JSON; ignored if the conversation exists. */
  metadata?: Record<string, unknown> | null;
}

export interface CreateConversionMappingBody {
  /** The entity whose records the mapping is about. */
  entity_name: string;
  /** The category of the conversion. */
  conversion_type: 'PURCHASE' | 'ADD_TO_CART' | 'BEGIN_CHECKOUT' | 'SIGNUP' | 'SUBMIT_LEAD_FORM' | 'CONTACT' | 'REQUEST_QUOTE' | 'BOOK_APPOINTMENT' | 'SUBSCRIBE_PAID' | 'PHONE_CALL_LEAD';
  /** The change to a record that counts as a conversion; `create` by default. */
  trigger_action?: 'create' | 'update' | 'delete' | null;
  /** The conversion action's id at the ad platform; if empty, the standard goal of `conversion_type` is used. */
  conversion_action_id?: string | null;
  /** The record's field for the conversion value; empty if there is none. */
  value_field?: string | null;
  /** The record's field for the currency; empty if there is none. */
  currency_field?: string | null;
  /** Whether the mapping is enabled. */
  is_enabled?: boolean | null;
}

export interface CreateFlowBody {
  /** The name of the test. */
  name: string;
  /** What the agent does in the app, and what must be visible afterwards. */
  goal: string;
  /** The role of the temporary app user; by default, the role that the name or the goal mentions, or else `user`. */
  role?: 'admin' | 'user' | null;
}

export interface CreateFolderBody {
  /** The name of the folder; white space at the ends is removed. */
  name: string;
  /** Whether the folder is visible to all members with at least the role viewer, or only to you (`personal`, the default); it can't be changed later. */
  scope?: 'workspace' | 'personal' | null;
  /** Whether the folder is for apps (`user_app`, the default, including imported apps) or for agents; it can't be changed later. */
  app_type?: 'user_app' | 'user_agent' | null;
  /** The position of the folder, 0 by default; folders are sorted by position, then by name. */
  position?: number | null;
  /** The color of the folder, as `#` and six hexadecimal digits; null if it has none. */
  color?: string | null;
  /** Any text of up to 40 characters that names the icon of the folder; null if it has none. */
  icon?: string | null;
  /** The id of the folder that contains this one; null if it is at the top level. */
  parent_folder_id?: string | null;
}

export interface CreatePreviewBody {
  /** The revision to show, which must be kept. If omitted, the preview follows the app, and always shows its present revision. */
  revision?: number | null;
  /** The id of the user of the app as whom the preview is signed in for an hour. If omitted, nobody is signed in. */
  app_user_id?: string | null;
}

export type CreateRecordBody = Record<string, unknown>;

export type CreateRecordsBody = (Record<string, unknown>)[];

export type CreateRecordsResult = (EntityRecord | null)[];

export interface CreateTokenBody {
  /** The name of the token, for people to recognise it. */
  name: string;
  /** What the token may do; `read_only` by default. */
  permission?: 'read_only' | 'full_access' | null;
  /** Limits the credential to these apps and agents, which the caller must be able to see; null or not sent means all, including later ones. */
  app_ids?: string[] | null;
  /** The number of days after which the token expires, 90 by default; null means never. */
  expires_in_days?: number | null;
}

export interface CreateWorkflowBody {
  /** The name of the workflow. */
  name: string;
  /** The definition (docs/api/workflows.md#definitions). */
  definition: Record<string, unknown>;
  /** The trigger that starts the workflow, as `{config, condition?}`. */
  trigger: Record<string, unknown>;
  /** What the workflow is for. */
  description?: string | null;
  /** A summary of what this version changes. */
  change_summary?: string | null;
}

export interface CreateWorkspaceBody {
  /** The name of the workspace. */
  name: string;
  /** The country of the workspace as an ISO 3166-1 alpha-2 code; `US` by default. */
  country_code?: string | null;
}

export interface CreateWorkspaceKeyBody {
  /** The name of the key, for people to recognise it. */
  name: string;
  /** What the key is for; empty if no description was given. */
  description?: string | null;
  /** What the key may do; an operation that requires a scope refuses keys without it. */
  scopes: ('apps:read' | 'apps:write' | 'apps:deploy' | 'schemas:write' | 'security:read' | 'security:scan' | 'usage:read' | 'audit:read')[];
  /** Limits the credential to these apps and agents, which the caller must be able to see; null or not sent means all, including later ones. */
  app_ids?: string[] | null;
  /** The number of days after which the key expires; null means never. By default, it expires with the token that creates it, if any. */
  expires_in_days?: number | null;
}

export interface CreatedToken {
  /** The id of the token, which is not the token itself. */
  id: string;
  /** The name of the token, for people to recognise it. */
  name: string;
  /** What the credential may do; `read_only` allows only operations that accept it. */
  permission: 'read_only' | 'full_access';
  /** The only apps and agents that the credential reaches; null means all, including later ones. */
  app_ids: string[] | null;
  /** The only workspace in which the token is valid. */
  workspace_id: string;
  /** The last 4 characters of the credential, to recognise it. */
  last4: string;
  /** The time of creation. */
  created_date: string;
  /** When the credential expires; null if never. */
  expires_at: string | null;
  /** When the credential was last used, updated at most once a minute; null if never. */
  last_used_at: string | null;
  /** The credential itself. Only this response contains it; in an idempotent replay it is null. */
  token: string | null;
}

export interface CreatedWorkspaceKey {
  /** The id of the key, which is not the key itself. */
  id: string;
  /** The name of the key, for people to recognise it. */
  name: string;
  /** What the key is for; empty if no description was given. */
  description: string;
  /** What the key may do; an operation that requires a scope refuses keys without it. */
  scopes: ('apps:read' | 'apps:write' | 'apps:deploy' | 'schemas:write' | 'security:read' | 'security:scan' | 'usage:read' | 'audit:read')[];
  /** The only apps and agents that the credential reaches; null means all, including later ones. */
  app_ids: string[] | null;
  /** The last 4 characters of the credential, to recognise it. */
  last4: string;
  /** The e-mail address of the person who created the key; null if unknown. */
  created_by: string | null;
  /** The id of the token that created the key, which ends with that token; null if it was created in a session. */
  parent_id: string | null;
  /** The time of creation. */
  created_date: string;
  /** When the credential expires; null if never. */
  expires_at: string | null;
  /** When the credential was last used, updated at most once a minute; null if never. */
  last_used_at: string | null;
  /** The credential itself. Only this response contains it; in an idempotent replay it is null. */
  token: string | null;
}

export interface CredentialInUse {
  /** The kind of credential. */
  kind: 'session' | 'personal_token' | 'personal_key' | 'workspace_key';
  /** The id of the credential, as in `credential_id` of the audit log. */
  id: string;
  /** What the credential may do; `read_only` allows only operations that accept it. */
  permission: 'read_only' | 'full_access';
  /** The only apps and agents that the credential reaches; null means all, including later ones. */
  app_ids: string[] | null;
  /** The only workspace in which the credential is valid; null for sessions and personal keys, which are valid in all workspaces of the user. */
  workspace_id: string | null;
  /** When the credential expires; null if never. */
  expires_at: string | null;
}

export interface CreditLedgerRow {
  /** The id of the ledger entry. */
  id: string;
  /** The time of the movement. */
  created_date: string;
  /** The kind of movement, which also says whether `amount` is added or subtracted. */
  kind: 'use' | 'reserve' | 'release' | 'refund' | 'grant' | 'reset';
  /** The credits of the movement; `use` and `reserve` subtract them from the balance, the other kinds add them. */
  amount: number;
  /** The id of the person who used or granted the credits; null for changes of the limit. */
  user_id: string | null;
  /** The id of the app or agent that used the credits; null for grants and changes of the limit. */
  app_id: string | null;
  /** The operation that caused the movement; `monthlyLimit` for a change of the limit. */
  operation: string;
  /** The id of the object that the movement is about, such as the message that an agent answered; null if there is none. */
  reference_id: string | null;
  /** The balance after the movement; null if the workspace has no monthly limit. */
  balance_after: number | null;
  /** Why the movement was made, or the full price if it was not covered; null if there is no note. */
  note: string | null;
}

export interface CreditUsage {
  /** The beginning of what is added up. */
  from: string;
  /** The end of what is added up. */
  to: string;
  /** The days, newest first, and within each what was used most. */
  items: CreditUsageBucket[];
}

export interface CreditUsageBucket {
  /** The day, in UTC. */
  day: string;
  /** The id of the person or of the app, or the operation; null if it is unknown or there is none. */
  key: string | null;
  /** The credits that were used. */
  used: number;
  /** The credits that were returned. */
  refunded: number;
}

export interface Credits {
  /** The start of the month, in UTC. */
  period_start: string;
  /** The start of the next month. */
  period_end: string;
  /** The workspace's credits per month, from its plan or set by an operator; null if unlimited. */
  monthly_limit: number | null;
  /** Credits used this month, less refunds. */
  used: number;
  /** Credits set aside for operations that are running. */
  reserved: number;
  /** Credits left this month; null if unlimited. Negative only if an operator lowered the limit or took credits back. */
  remaining: number | null;
  /** Credits that an operator added this month, less those taken back; they don't carry over. */
  granted: number;
  /** The monthly credits of members without a limit of their own; null if there is no default. */
  default_member_credit_limit: number | null;
  /** The caller's own use and limit; null for a workspace key. */
  own: OwnCredits | null;
}

export interface DefaultCreditLimit {
  /** The monthly credits of members without a limit of their own; null if there is no default. */
  default_member_credit_limit: number | null;
}

export interface DeleteRecordsBody {
  /** A filter in the query language of records; an empty filter requires `all`. */
  query?: RecordQuery | null;
  /** Must be true to delete all records with an empty query. */
  all?: boolean | null;
}

export interface DeleteWorkspaceBody {
  /** The exact name of the workspace, to confirm the deletion. */
  confirm_name: string;
}

export interface DeletedCampaign {
  /** The result of the request. */
  status: "deleted";
}

export interface DeletedFolder {
  /** Always true. */
  deleted: true;
  /** The id of the folder. */
  folder_id: string;
}

export interface DeletedWorkspace {
  /** Always true. */
  success: true;
  /** When the workspace is deleted for good; until then an operator can restore it. */
  purge_at: string;
}

export interface DeliveriesAcknowledged {
  /** How many deliveries were not acknowledged before, and are now. */
  acknowledged: number;
}

export interface DeliveryStreamReady {
  /** The number of the first delivery of the stream. If it is not the next one after yours, those in between are no longer in the log. */
  from_sequence: number;
}

export interface DependencyVulnerability {
  /** Identifies the finding across scans. */
  fingerprint: string;
  /** The id of the rule. */
  rule_id: string;
  /** The severity of the finding. */
  severity: 'critical' | 'high' | 'medium' | 'low';
  /** The title of the finding. */
  title: string;
  /** Why the finding matters. */
  description: string;
  /** How to fix the problem. */
  recommendation: string;
  /** The name of the package. */
  package_name: string;
  /** The installed version, or several separated by commas. */
  installed_version: string;
  /** The vulnerable versions. */
  vulnerable_range: string;
  /** The version that fixes the vulnerability; null if there is none. */
  fixed_version: string | null;
  /** The id of the advisory. */
  advisory_id: string;
  /** Other ids of the advisory. */
  aliases: string[];
  /** Whether the app itself depends on the package; if not, another package does. */
  direct: boolean;
  /** The path of the lockfile. */
  file_path: string;
}

export interface Deployed {
  /** The id of the app or agent. */
  app_id: string;
  /** The id of the deployment that is live now. */
  deployment_id: string;
  /** The revision of the app whose files are live now. */
  revision: number;
  /** The address of the published app. */
  url: string;
  /** When the deployment last went live. */
  deployed_at: string;
  /** How the files differ from those that were live before. */
  changes: DeployedChanges;
  /** Problems that may break the app, which is published anyway. */
  warnings: PublishWarning[];
}

export interface DeployedChanges {
  /** How many files were not live before. */
  added: number;
  /** How many files have different content. */
  changed: number;
  /** How many files are no longer live. */
  removed: number;
}

export interface Deployment {
  /** The id of the deployment. */
  id: string;
  /** The revision of the app whose files the deployment contains. */
  revision: number;
  /** When the deployment was made. */
  deployed_at: string;
  /** Who made the deployment: an e-mail address, or the name of a workspace key. */
  deployed_by: string;
  /** Whether visitors see this deployment. */
  live: boolean;
}

export interface DeviceLogin {
  /** The name of the program, as the person will see it. */
  client_name: string;
  /** The address from which the program asked. */
  address: string;
  /** When the program asked. */
  requested_at: string;
  /** What the program asks to do. */
  permission: 'read_only' | 'full_access';
  /** The apps and agents it asks for; null means all. */
  app_ids: string[] | null;
}

export interface DeviceLoginStarted {
  /** The secret with which the program fetches the token. */
  device_code: string;
  /** The code that the person types. */
  user_code: string;
  /** The page on which the person types the code. */
  verification_url: string;
  /** The number of seconds for which the codes are valid. */
  expires_in_seconds: number;
  /** The number of seconds to wait before each request for the token. */
  interval_seconds: number;
}

export interface Disconnected {
  /** Always `disconnected`. */
  status: "disconnected";
  /** The type of the connector; not case-sensitive. */
  integration_type: string;
}

export interface DurableAsset {
  /** The name of the link between the asset and the campaign. */
  resource_name: string;
  /** The ad platform's name for the use of the asset. */
  field_type: string;
  /** Whether the asset is a text or an image. */
  kind: 'text' | 'image';
  /** The text; null for an image. */
  text: string | null;
  /** The address of the image at the ad platform; null for a text. */
  image_url: string | null;
  /** The asset group that contains the asset; empty if the asset belongs to the campaign itself. */
  asset_group_name: string;
  /** The ad platform's approval status of the asset. */
  approval_status: string;
}

export interface EndedSessions {
  /** The number of sessions that were ended. */
  ended: number;
}

export interface EnsureTrackingAccountBody {
  /** The time zone of a new account, as an IANA name; `UTC` by default. */
  timezone?: string | null;
}

/** A field, with a fixed set of keywords. A keyword that has no effect on its type is refused. */
export interface EntityProperty {
  /** The type, or a list of types to which `null` may be added; `string` by default. */
  type?: 'string' | 'number' | 'integer' | 'boolean' | 'array' | 'object' | ('string' | 'number' | 'integer' | 'boolean' | 'array' | 'object' | 'null')[];
  /** A title for people. */
  title?: string;
  /** A description for people. */
  description?: string;
  /** The allowed values. */
  enum?: unknown[];
  /** A label for each value of `enum`. */
  enumNames?: string[];
  /** The value that is stored if a new record lacks the field; must be valid. */
  default?: unknown;
  /** The minimum length in code points. */
  minLength?: number;
  /** The maximum length in code points. */
  maxLength?: number;
  /** An RE2 pattern, searched anywhere in the text. */
  pattern?: string;
  /** The format of the text; `file` and `richtext` are hints for forms and accept any text. */
  format?: 'date' | 'date-time' | 'time' | 'email' | 'uri' | 'hostname' | 'ipv4' | 'ipv6' | 'uuid' | 'regex' | 'file' | 'richtext';
  /** The minimum value. */
  minimum?: number;
  /** The maximum value. */
  maximum?: number;
  /** The schema of the items of an array. */
  items?: EntityProperty;
  /** The fields by name. */
  properties?: Record<string, EntityProperty>;
  /** The fields that every value must have. */
  required?: string[];
  /** The rules of the field. */
  rls?: FieldRules;
}

export interface EntityRecord {
  /** The id of the record, assigned on creation. */
  id: string;
  /** The time of creation. */
  created_date?: string;
  /** The time of the last write, even if it changed no value. */
  updated_date?: string;
  /** The e-mail address of the creator, or `anonymous`; left out in apps that hide authorship. */
  created_by?: string;
  /** The id of the person or app user who created the record, or `anonymous`. */
  created_by_id?: string;
  /** Whether the record is sample data. */
  is_sample?: boolean;
  [field: string]: unknown;
}

export interface EntitySchema {
  /** The name of the entity, which is case-sensitive. */
  name: string;
  /** The schema document as it was sent. */
  schema: EntitySchemaDocument;
  /** The operations that users of the app and anonymous callers can't perform because the schema has no rule for them. */
  closed_operations: ('create' | 'read' | 'update' | 'delete')[];
  /** The revision of the app in which the schema was last changed. */
  revision: number;
  /** How many records the entity has, without those in the trash. */
  record_count: number;
  /** When the schema was last changed. */
  updated_date: string;
}

/** Which fields the records of an entity have, and who may use them. */
export interface EntitySchemaDocument {
  /** The name of the entity, as in the path; case-sensitive. */
  name: string;
  /** Always `object`; may be left out. */
  type?: "object";
  /** A title for people. */
  title?: string;
  /** A description for people. */
  description?: string;
  /** The fields by name. */
  properties?: Record<string, EntityProperty>;
  /** The fields that every value must have. */
  required?: string[];
  /** Lists of fields whose values must be unique together; they must not be arrays or objects. */
  unique?: (string[])[];
  /** The rules of the entity. An operation (create, read, update, delete) without a rule is closed to users of the app and anonymous callers. */
  rls?: RowRules;
}

export interface EntitySchemaSaved {
  /** The name of the entity, which is case-sensitive. */
  name: string;
  /** The schema document as it was sent. */
  schema: EntitySchemaDocument;
  /** The operations that users of the app and anonymous callers can't perform because the schema has no rule for them. */
  closed_operations: ('create' | 'read' | 'update' | 'delete')[];
  /** The revision of the app in which the schema was last changed. */
  revision: number;
  /** Whether the entity did not exist before. */
  created: boolean;
  /** The effect of the schema on existing records and callers. */
  impact: SchemaImpact;
}

export interface EntitySchemasSynced {
  /** The names of the entities that did not exist before. */
  created: string[];
  /** The names of the entities whose schema changed. */
  updated: string[];
  /** The names of the entities whose schema was deleted because it was not sent. */
  deleted: string[];
}

export interface EventBucket {
  /** When the bucket begins. */
  start: string;
  /** The metrics of the bucket, by name. A metric without values is null. */
  metrics: Record<string, number | null>;
}

export interface EventGroup {
  /** The name of the metric. */
  metric: string;
  /** The value of the field; null for events without one. */
  value: string | number | boolean | null;
  /** How many events or users the group has. */
  count: number;
}

export interface EventGroups {
  /** The groups of each metric, the largest first. */
  groups: EventGroup[];
  /** The total number of groups of each metric. */
  group_count: Record<string, number>;
}

export interface EventName {
  /** The name of the events. */
  event_name: string;
  /** How many events have this name. */
  count: number;
  /** The time of the latest event with this name. */
  last_seen: string;
}

export interface EventsOverTime {
  /** The length of a bucket. */
  bucket_interval: string;
  /** The buckets that have events, oldest first. */
  buckets: EventBucket[];
  /** The metrics of all events together. */
  total: Record<string, number | null>;
  /** How many values of each metric were not numbers. */
  skipped: Record<string, number>;
}

export interface Execution {
  /** The id, a UUID of version 7. */
  id: string;
  /** The id of the test. */
  flow_id: string;
  /** The name of the test when the run was started. */
  flow_name: string;
  /** The revision of the test when the run was started. */
  flow_revision: number;
  /** The status of the run. */
  status: 'pending' | 'running' | 'analyzing' | 'passed' | 'failed' | 'inconclusive' | 'error' | 'cancelled';
  /** The status of the report; `completed` once it can be read. */
  analysis_status: 'none' | 'pending' | 'completed' | 'failed';
  /** The address at which the run starts. */
  url: string;
  /** When the run first had a browser; null until then. */
  started_at: string | null;
  /** When the run ended; null until then. */
  completed_at: string | null;
  /** The milliseconds from `started_at` to `completed_at`; null until both are set. */
  duration_ms: number | null;
  /** How many credits the run has cost. */
  credits_charged: number;
  /** Why the run could not finish; null unless its status is `error`. */
  error_message: string | null;
  /** The id of the last browser session of the run; null until there is one. */
  browser_session_id: string | null;
}

export interface ExplainRulesBody {
  /** The operation to explain. */
  operation: 'create' | 'read' | 'update' | 'delete';
  /** The id of a stored record that the caller may read. */
  record_id?: string | null;
  /** A record that is not stored, instead of `record_id`; for `create`, the new record. */
  record?: Record<string, unknown> | null;
  /** The fields that an update would send. */
  patch?: Record<string, unknown> | null;
  /** The person or app user to explain the decision for, given by exactly one field; by default, the caller. */
  as?: {
    /** The id of a user of the app. */
    app_user_id?: string | null;
    /** The e-mail address of a person with access to the app; not allowed with a read-only credential. */
    email?: string | null;
    /** Explains the decision for a caller without credentials. */
    anonymous?: true | null;
  };
}

export interface ExplainedQueueRow {
  /** The id of the row. */
  id: string;
  /** The id of the user, app, webhook or workspace that owns the row, depending on the queue. */
  owner: string;
  /** The value by which the queue limits what runs at the same time; words other than ids are replaced by a hash. Null if it has no such limit. */
  key: string | null;
  /** The state of the row. */
  state: 'due' | 'running' | 'delayed' | 'failed' | 'done';
  /** When the row is due; null if it will not run again. */
  due_at: string | null;
  /** The number of runs that have failed. */
  failures: number;
  /** How many times a worker has crashed while running it. */
  crashes: number;
  /** The slot of the worker that runs the row. */
  slot: number | null;
  /** How long ago this worker sent a heartbeat; null if none runs the row, or if the worker has lost its slot. */
  heartbeat_seconds: number | null;
  /** Why the last run failed, without the addresses, values and tokens that the message quotes. */
  last_error: string | null;
  /** When the row failed for good. */
  failed_at: string | null;
  /** Why the row does not run now, or what it does. */
  why: string[];
}

export interface Export {
  /** The id of the export, to read its state with `getExport`. */
  export_id: string;
  /** The state of the export; `failed` after three failed attempts. */
  state: 'queued' | 'running' | 'ready' | 'failed';
  /** The number of the attempt: 0 while the export is queued. An attempt that fails, or whose worker crashes, is followed by another one, which starts over. */
  attempt: number;
  /** The URL of the archive; null unless `state` is `ready`. */
  url: string | null;
  /** When the archive is removed, seven days after it was written; null until the export has finished. */
  expires_at: string | null;
  /** The number of rows in each table; while `state` is `running`, those that have been read so far. */
  counts: Record<string, number>;
}

export interface FailedFix {
  /** The name of the entity. */
  entity_name: string;
  /** Why the rules were not replaced; `schema_changed` if they have changed since the scan. */
  reason: 'no_recommendation' | 'write_failed' | 'schema_changed';
}

export interface FailedPause {
  /** The id of the campaign. */
  campaign_id: string;
  /** The error code that pauseCampaign would return. */
  code: string;
}

export interface FieldDecision {
  /** The name of the field. */
  name: string;
  /** The decision; `unknown` refuses, and `hidden` means that it depends on data that the caller may not read. */
  decision: 'allow' | 'deny' | 'unknown' | 'hidden';
  /** The path of a clause that decides about the field; null if there is none. */
  clause: string | null;
}

export interface FieldMetric {
  /** The name of the metric in the response. */
  name: string;
  /** The field to group by. */
  field: string;
  /** Whether to count events (the default) or different users in each group. */
  function?: 'count' | 'count_unique' | null;
  /** The maximum number of groups; 50 by default. */
  max_groups?: number | null;
}

/** Rules for the use of a field, in addition to the row rules. */
export type FieldRules = {
  /** The rule for sending the field in a new record, evaluated on the new record. */
  create?: Rule;
  /** The rule for reading; if it is not met, the field is left out. */
  read?: Rule;
  /** The rule for sending the field in an update, evaluated on the stored record. */
  update?: Rule;
  /** The default of `create` and `update`. */
  write?: Rule;
};

export interface FixRlsBody {
  /** The names of the entities whose rules are to be replaced. */
  entity_names: string[];
}

export interface FixedRules {
  /** The entities that have the recommended rules now. */
  applied: AppliedRules[];
  /** The entities whose rules were not replaced. */
  failed: FailedFix[];
}

export interface Flow {
  /** The id, a UUID of version 7. */
  id: string;
  /** The name of the test. */
  name: string;
  /** What the agent does in the app, and what must be visible afterwards. */
  goal: string;
  /** The role of the temporary app user; if null, the goal decides. */
  role: 'admin' | 'user' | null;
  /** The revision of the test, which increases with each change. */
  revision: number;
  /** Who created the test. */
  created_by: string;
  /** The time of creation. */
  created_date: string;
  /** The time of the last change. */
  updated_date: string;
  /** The newest run of the test; null if there is none. */
  last_execution: LastExecution | null;
}

export interface Folder {
  /** The id of the folder. */
  id: string;
  /** The name of the folder; white space at the ends is removed. */
  name: string;
  /** Whether the folder is visible to all members with at least the role viewer, or only to its creator; it can't be changed. */
  scope: 'workspace' | 'personal';
  /** The id of the folder that contains this one; null if it is at the top level. */
  parent_folder_id: string | null;
  /** The position of the folder, 0 by default; folders are sorted by position, then by name. */
  position: number;
  /** The color of the folder, as `#` and six hexadecimal digits; null if it has none. */
  color: string | null;
  /** Any text of up to 40 characters that names the icon of the folder; null if it has none. */
  icon: string | null;
  /** Whether the folder is for apps (`user_app`, including imported apps) or for agents; it can't be changed. */
  app_type: 'user_app' | 'user_agent';
  /** The number of apps in the folder that the caller can see. */
  item_count: number;
  /** The time of creation. */
  created_date: string;
  /** The time of the last change. */
  updated_date: string;
}

export interface ForgotPasswordBody {
  /** The e-mail address of the account; the response is the same whether or not an account has it. */
  email: string;
}

export interface GenerateAssetsBody {
  /** The kind of campaign. It determines which texts and images are generated: docs/api/ads.md#slots. */
  channel_type: 'SEARCH' | 'DISPLAY' | 'PERFORMANCE_MAX' | 'DEMAND_GEN';
  /** The name of the business; the name of the app by default. */
  business_name?: string | null;
  /** What the business offers; the description of the app by default. */
  business_description?: string | null;
  /** The page that the ads link to. It is context for the language model and is not fetched. */
  landing_page_url?: string | null;
  /** The language of the texts; `en` by default. */
  language?: 'en' | 'de' | 'es' | 'fr' | 'it' | 'ja' | 'nl' | 'pt' | 'pl' | 'sv' | 'da' | 'nb' | 'fi' | 'cs' | 'he' | 'ko' | null;
}

export interface GeneratedAssets {
  /** The id of the generation. For 24 hours, listAssets lists its assets. */
  session_id: string;
  /** The language of the texts. */
  language: 'en' | 'de' | 'es' | 'fr' | 'it' | 'ja' | 'nl' | 'pt' | 'pl' | 'sv' | 'da' | 'nb' | 'fi' | 'cs' | 'he' | 'ko';
  /** The generated texts, by slot. */
  copy: {
    /** Headlines of at most 30 characters. */
    headlines: string[];
    /** Long headlines of at most 90 characters; empty for `SEARCH`. */
    long_headlines: string[];
    /** Descriptions of at most 90 characters. */
    descriptions: string[];
  };
  /** The images that are ready. */
  images: SessionAsset[];
  /** How many images are still being made. */
  background_image_count: number;
}

export interface GeneratedFlows {
  /** The tests that were created. */
  flows: Flow[];
  /** Whether the model found nothing new to test. */
  no_changes: boolean;
}

export interface GetChatResult {
  /** The items of the page, newest first unless stated otherwise. */
  items: ChatMessage[];
  /** The cursor of the next page, for 24 hours; null on the last page. */
  next_cursor: string | null;
  /** Whether there are more. */
  has_more: boolean;
  /** Rules that are not in effect because they would open data, newest first. */
  held_rules: HeldRule[];
}

export type GetSearchTermsResult = SearchTermRow[];

export interface GrantCreditsBody {
  /** The credits to grant for the current month, with up to 4 decimals; a negative amount takes credits back, and 0 is refused. */
  amount: number;
  /** Why the credits are granted or taken back, as shown in the ledger. */
  note: string;
}

export interface HardcodedSecret {
  /** Identifies the finding across scans. */
  fingerprint: string;
  /** The id of the rule. */
  rule_id: string;
  /** The severity of the finding. */
  severity: 'critical' | 'high' | 'medium' | 'low';
  /** The title of the finding. */
  title: string;
  /** Why the finding matters. */
  description: string;
  /** How to fix the problem. */
  recommendation: string;
  /** The file that contains the secret. */
  file_path: string;
  /** The line of the secret, from 1. */
  line: number;
  /** The kind of secret. */
  secret_type: string;
  /** The first four characters of the secret. */
  masked_value: string;
  /** Whether visitors of the app can read the secret. */
  reachable_from_browser: boolean;
}

export interface HeaderRecommendation {
  /** The name of the header in the security settings. */
  flag: 'csp' | 'hsts' | 'frame_options' | 'content_type_options' | 'referrer_policy' | 'permissions_policy';
  /** The name of the HTTP header. */
  header_name: string;
  /** The severity of the problem. */
  severity: 'critical' | 'high' | 'medium' | 'low';
  /** The title of the recommendation. */
  title: string;
  /** Why the header matters. */
  description: string;
  /** The value that the app sends; null if it sends none. */
  current_value: string | null;
  /** The value that the app should send. */
  recommended_value: string;
}

export interface HealedStep {
  /** The number of the step; 0 or null if there is none. */
  step_number: number;
  /** What was recorded. */
  before: string;
  /** What was done instead. */
  after: string;
}

export interface HeldRule {
  /** The id of the proposal. */
  id: string;
  /** The entity; null for `sign_up`. */
  entity: string | null;
  /** The operation; `fields` stands for the rules of the fields, `sign_up` for who may sign up. */
  operation: 'create' | 'read' | 'update' | 'delete' | 'update_check' | 'fields' | 'sign_up';
  /** Whom the rule lets in; null if undecided. */
  principal: 'anonymous' | 'any_user' | 'creator' | 'some_user' | null;
  /** The rule in effect; null if there is none. */
  before: unknown;
  /** The proposed rule. */
  after: unknown;
  /** A record that the rule opens. */
  example: Record<string, unknown> | null;
  /** When it was proposed. */
  created_date: string;
}

export interface HeldRulesAnswered {
  /** Whether the rule is in effect now. */
  applied: boolean;
  /** The revision of the app. */
  revision: number;
}

export interface HookReceived {
  /** The id of the run that was started; null if the trigger's condition is not met. */
  run_id: string | null;
}

export interface IgnoreFindingBody {
  /** The `fingerprint` of a finding. */
  fingerprint: string;
  /** The type of the finding. */
  finding_type?: 'rls' | 'hardcoded_secret' | 'backend_function' | 'dependency' | 'static_code' | null;
  /** The file of the finding, as a note for people. */
  file_path?: string | null;
  /** The title of the finding, as a note for people. */
  title?: string | null;
  /** Why the finding is ignored. */
  reason?: string | null;
}

export interface InputApproval {
  /** What the agent asks to do. */
  title: string;
  /** The reason for the action. */
  description: string;
  /** The kind of action. */
  action: 'run_command' | 'delete_files' | 'plan';
  /** The command, the paths of the files, or the plan to approve. */
  details: string;
}

export interface InputOption {
  /** The label to send if this option is chosen. */
  label: string;
  /** What the option means. */
  description: string;
}

export interface InputQuestion {
  /** The index of the question, to be sent with its answer. */
  question_index: number;
  /** The text of the question. */
  text: string;
  /** The options to choose from. */
  options: InputOption[];
  /** Whether several options can be chosen, in `selected_labels`. */
  multi_select: boolean;
  /** Whether the question can be answered with `custom_text`. */
  allow_custom_text: boolean;
}

export interface InputRequest {
  /** The id of the question or approval. */
  input_request_id: string;
  /** Whether the session waits for `answers` (`question`) or for `approve` (`approval`). */
  kind: 'question' | 'approval';
  /** When the agent asked. */
  created_date: string;
  /** When the session fails if it has no answer. */
  expires_at: string;
  /** The questions to answer; empty for an approval. */
  questions: InputQuestion[];
  /** The action to approve; null for questions. */
  approval: InputApproval | null;
}

export interface Invitation {
  /** The id of the invitation, which stays the same when an expired invitation is renewed. */
  id: string;
  /** The e-mail address that was invited. */
  email: string;
  /** The role that the person gets by joining; `guest` if only apps are shared with them. */
  role: 'admin' | 'editor' | 'viewer' | 'guest';
  /** When the link stops working, 60 days after the invitation was sent or resent. */
  expires_at: string;
  /** Whether the mail was sent; `off` means that mail is not configured, and `failed` that it was refused or the address received too many. */
  mail: 'sent' | 'failed' | 'off';
  /** The link, for you to pass on if no mail was sent; otherwise, and in an idempotent replay, null. */
  accept_url?: string | null;
}

export interface InviteMemberBody {
  /** The e-mail address of the person, compared in lower case. */
  email: string;
  /** The role that the person gets by joining; `admin` requires a plan that includes it. */
  role?: 'admin' | 'editor' | 'viewer' | null;
}

export interface InviteMembersBody {
  /** The people to invite; an e-mail address must not be repeated. */
  invitations: ({
    /** The e-mail address of the person, compared in lower case. */
    email: string;
    /** The role that the person gets by joining; `admin` requires a plan that includes it. */
    role?: 'admin' | 'editor' | 'viewer' | null;
  })[];
}

export interface Invited {
  /** The invitations that were created or renewed. */
  invited: Invitation[];
  /** The addresses for which no invitation was sent, each with the reason. */
  failed: NotInvited[];
}

export interface JoinWorkspaceBody {
  /** The token of the invitation, which is the part of its link after `#`. */
  invitation_token: string;
  /** The name of the new user; required if the invited person has no account. */
  full_name?: string | null;
  /** The password of the new user, 12 to 256 characters; required if the invited person has no account. */
  password?: string | null;
}

export interface LastExecution {
  /** The id, a UUID of version 7. */
  id: string;
  /** The status of the run. */
  status: 'pending' | 'running' | 'analyzing' | 'passed' | 'failed' | 'inconclusive' | 'error' | 'cancelled';
}

export type LatestExecutionsResult = Record<string, Execution>;

export interface LaunchCampaignBody {
  /** The campaign to launch. */
  campaign: CampaignInput;
  /** The time zone of a new account, as an IANA name; `UTC` by default. */
  timezone?: string | null;
}

export interface LaunchJournal {
  /** The id of the launch; null for a campaign that was found at the ad platform. */
  launch_id: string | null;
  /** The state of the launch: docs/api/ads.md#campaigns. */
  state: 'recorded' | 'account_sent' | 'account_ready' | 'create_sent' | 'created' | 'enable_sent' | 'unknown' | 'live' | 'held' | 'refused' | 'absent';
  /** The key at the end of the campaign's name at the ad platform; empty for a campaign that was found there. */
  launch_key: string;
  /** The id of the campaign; null if the launch created none. */
  campaign_id: string | null;
  /** The last known state of the campaign. `unknown` means that it may be spending. */
  campaign_state: 'absent' | 'paused' | 'live' | 'unknown' | 'removed';
  /** The time of creation. */
  created_date: string;
  /** The requests to the ad platform and their outcomes, in order. */
  steps: LaunchStep[];
  /** What to do next. `reconciling` means to wait while Plinth checks the outcome. */
  next_action: 'none' | 'reconciling' | 'fix_billing' | 'wire_tracking' | 'fix_input';
}

export interface LaunchReadiness {
  /** Whether the workspace has a card or the operator arranges billing. Unreliable if `payment_provider_unavailable` is true. */
  has_payment_method: boolean;
  /** True if the payment provider did not answer. */
  payment_provider_unavailable: boolean;
  /** The currency of the existing or future advertising account. */
  currency_code: string;
  /** The app's name, shortened to the length that the ad platform allows. */
  business_name: string;
  /** The address at which the app is or would be published. */
  landing_page: string;
  /** Whether the app is published and its page answers. */
  landing_page_ready: boolean;
  /** Whether the app has an account at the ad platform. */
  account_exists: boolean;
  /** The time zone of the existing or future advertising account. */
  timezone: string;
  /** Whether conversion tracking is verified. */
  tracking_verified: boolean;
  /** Whether an operator has put the workspace on billing hold. */
  workspace_billing_hold: boolean;
  /** Whether the ad platform has suspended the advertising account or has not approved its billing. */
  account_billing_hold: boolean;
  /** The types of campaigns that can be created. */
  can_create: ('SMART' | 'PERFORMANCE_MAX')[];
  /** Whether a campaign can be launched now. */
  ready: boolean;
  /** The reasons why no campaign can be launched: docs/api/ads.md#launch-readiness. */
  blockers: ('workspace_billing_hold' | 'account_billing_hold' | 'payment_provider_unavailable' | 'payment_method_required' | 'account_not_in_good_standing' | 'currency_unsupported' | 'landing_page_not_ready' | 'ad_platform_unavailable')[];
}

export interface LaunchSessionBody {
  /** The task that the agent carries out. */
  prompt: string;
  /** The title of the pull request. */
  title: string;
  /** A branch to work on. If null, a new branch is created. It can't be the base branch, the default branch or a protected branch. */
  existing_branch?: string | null;
  /** The git ref that the new branch starts from; if null, the base branch. Ignored if `existing_branch` is set. */
  source_ref?: string | null;
  /** Markdown to append to the description of the pull request. */
  pull_request_body?: string | null;
  /** The commit message. If null, it is made from the title and the summary. */
  commit_message?: string | null;
  /** A label of your choice, by which you can list sessions. */
  client_reference?: string | null;
  /** The repository that the app must be connected to; if it isn't, the launch is refused. */
  expected_repository_full_name?: string | null;
}

export interface LaunchStep {
  /** The number of the step. */
  number: number;
  /** The name of the step. */
  name: string;
  /** When the step ended. */
  at: string;
  /** The outcome of the step. `unknown` means that there was no answer. */
  outcome: 'applied' | 'refused' | 'unknown' | 'skipped';
  /** The ad platform's id of the request; null if there is none. */
  platform_request_id: string | null;
  /** A description of what happened. */
  detail: string;
}

export interface LaunchedCampaign {
  /** The app's advertising account. */
  account: AdsAccount;
  /** The launched campaign. */
  campaign: Campaign;
}

export interface LibraryAsset {
  /** The id of the text or image. */
  session_asset_id: string;
  /** The place of the text or image in an ad. */
  slot: 'HEADLINE' | 'LONG_HEADLINE' | 'DESCRIPTION' | 'LANDSCAPE_IMAGE' | 'SQUARE_IMAGE' | 'PORTRAIT_IMAGE' | 'TALL_PORTRAIT_IMAGE';
  /** Whether the asset is a text or an image. */
  kind: 'text' | 'image';
  /** The text; null for an image. */
  text: string | null;
  /** The address of the image, which needs no credential; null for a text, and until the image is ready. */
  image_url: string | null;
  /** The width of the image in pixels; null for a text. */
  width: number | null;
  /** The height of the image in pixels; null for a text. */
  height: number | null;
  /** The language of the generated texts. */
  language: 'en' | 'de' | 'es' | 'fr' | 'it' | 'ja' | 'nl' | 'pt' | 'pl' | 'sv' | 'da' | 'nb' | 'fi' | 'cs' | 'he' | 'ko';
  /** When the generation began. */
  created_date: string;
  /** The id of the generation that made the asset. */
  session_id: string;
  /** `processing` until the image is made, then `ready` or `failed`; `accepted` once a campaign uses the asset. */
  status: 'processing' | 'ready' | 'accepted' | 'failed';
  /** The campaign that uses the asset; null if there is none. */
  accepted_campaign_id: string | null;
  /** The asset's names at the ad platform; empty if no campaign uses the asset. */
  accepted_resource_names: string[];
}

export interface ListAgentDeliveriesResult {
  /** The deliveries of this page by sequence, newest first, or oldest first if `after_seq` was sent. */
  items: WebhookDelivery[];
  /** The cursor of the next page, for 24 hours; null on the last page. */
  next_cursor: string | null;
  /** Whether there are more. */
  has_more: boolean;
}

export type ListAgentWebhooksResult = Webhook[];

export interface ListAgentsResult {
  /** The items of the page, newest first unless stated otherwise. */
  items: Agent[];
  /** The cursor of the next page, for 24 hours; null on the last page. */
  next_cursor: string | null;
  /** Whether there are more. */
  has_more: boolean;
}

export type ListApiKeysResult = ApiKey[];

export interface ListAppDeliveriesResult {
  /** The deliveries of this page by sequence, newest first, or oldest first if `after_seq` was sent. */
  items: WebhookDelivery[];
  /** The cursor of the next page, for 24 hours; null on the last page. */
  next_cursor: string | null;
  /** Whether there are more. */
  has_more: boolean;
}

export interface ListAppFilesResult {
  /** The files of this page, ordered by path. */
  items: AppFile[];
  /** The cursor of the next page, for 24 hours; null on the last page. */
  next_cursor: string | null;
  /** Whether there are more. */
  has_more: boolean;
}

export interface ListAppRunsResult {
  /** The items of the page, newest first unless stated otherwise. */
  items: WorkflowRun[];
  /** The cursor of the next page, for 24 hours; null on the last page. */
  next_cursor: string | null;
  /** Whether there are more. */
  has_more: boolean;
}

export interface ListAppSecretsResult {
  /** The secrets of this page, without their values. */
  items: AppSecret[];
  /** The cursor of the next page, for 24 hours; null on the last page. */
  next_cursor: string | null;
  /** Whether there are more. */
  has_more: boolean;
}

export type ListAppSharesResult = AppShare[];

export interface ListAppUsersResult {
  /** The items of the page, newest first unless stated otherwise. */
  items: AppUser[];
  /** The cursor of the next page, for 24 hours; null on the last page. */
  next_cursor: string | null;
  /** Whether there are more. */
  has_more: boolean;
}

export type ListAppWebhooksResult = AppWebhook[];

export interface ListAppsResult {
  /** The items of the page, newest first unless stated otherwise. */
  items: App[];
  /** The cursor of the next page, for 24 hours; null on the last page. */
  next_cursor: string | null;
  /** Whether there are more. */
  has_more: boolean;
}

export interface ListAuditLogResult {
  /** The items of the page, newest first unless stated otherwise. */
  items: AuditEntry[];
  /** The cursor of the next page, for 24 hours; null on the last page. */
  next_cursor: string | null;
  /** Whether there are more. */
  has_more: boolean;
}

export interface ListAutomationsResult {
  /** The items of the page, newest first unless stated otherwise. */
  items: Automation[];
  /** The cursor of the next page, for 24 hours; null on the last page. */
  next_cursor: string | null;
  /** Whether there are more. */
  has_more: boolean;
}

export type ListBrowserSessionsResult = BrowserSession[];

export interface ListCampaignsResult {
  /** The items of the page, newest first unless stated otherwise. */
  items: ListedCampaign[];
  /** The cursor of the next page, for 24 hours; null on the last page. */
  next_cursor: string | null;
  /** Whether there are more. */
  has_more: boolean;
}

export interface ListConnectionsResult {
  /** The items of the page, newest first unless stated otherwise. */
  items: Connection[];
  /** The cursor of the next page, for 24 hours; null on the last page. */
  next_cursor: string | null;
  /** Whether there are more. */
  has_more: boolean;
}

export interface ListConnectorsResult {
  /** The items of the page, newest first unless stated otherwise. */
  items: Connector[];
  /** The cursor of the next page, for 24 hours; null on the last page. */
  next_cursor: string | null;
  /** Whether there are more. */
  has_more: boolean;
}

export type ListConversationsResult = ListedConversation[];

export interface ListConversionActionsResult {
  /** The items of the page, newest first unless stated otherwise. */
  items: ConversionAction[];
  /** The cursor of the next page, for 24 hours; null on the last page. */
  next_cursor: string | null;
  /** Whether there are more. */
  has_more: boolean;
}

export interface ListConversionMappingsResult {
  /** The items of the page, newest first unless stated otherwise. */
  items: ConversionMapping[];
  /** The cursor of the next page, for 24 hours; null on the last page. */
  next_cursor: string | null;
  /** Whether there are more. */
  has_more: boolean;
}

export interface ListCreditLedgerResult {
  /** The items of the page, newest first unless stated otherwise. */
  items: CreditLedgerRow[];
  /** The cursor of the next page, for 24 hours; null on the last page. */
  next_cursor: string | null;
  /** Whether there are more. */
  has_more: boolean;
}

export interface ListDeploymentsResult {
  /** The items of the page, newest first unless stated otherwise. */
  items: Deployment[];
  /** The cursor of the next page, for 24 hours; null on the last page. */
  next_cursor: string | null;
  /** Whether there are more. */
  has_more: boolean;
}

export type ListEntitySchemasResult = EntitySchema[];

export interface ListEventNamesResult {
  /** The items of the page, newest first unless stated otherwise. */
  items: EventName[];
  /** The cursor of the next page, for 24 hours; null on the last page. */
  next_cursor: string | null;
  /** Whether there are more. */
  has_more: boolean;
}

export interface ListExecutionsResult {
  /** The items of the page, newest first unless stated otherwise. */
  items: Execution[];
  /** The cursor of the next page, for 24 hours; null on the last page. */
  next_cursor: string | null;
  /** Whether there are more. */
  has_more: boolean;
}

export type ListFlowsResult = Flow[];

export interface ListFoldersResult {
  /** The folders of this page by position, then by name; `parent_folder_id` links each to its parent. */
  items: Folder[];
  /** The cursor of the next page, for 24 hours; null on the last page. */
  next_cursor: string | null;
  /** Whether there are more. */
  has_more: boolean;
}

export interface ListMemberWebhooksResult {
  /** The items of the page, newest first unless stated otherwise. */
  items: MemberWebhook[];
  /** The cursor of the next page, for 24 hours; null on the last page. */
  next_cursor: string | null;
  /** Whether there are more. */
  has_more: boolean;
}

export interface ListMembersBody {
  /** Text that must be part of the e-mail address, name, role or status, regardless of case. */
  search?: string | null;
  /** Texts of which at least one must be part of the e-mail address, name, role or status, regardless of case. */
  search_terms?: string[] | null;
  /** The field to sort by; requires `sort_dir`. */
  sort_by?: 'member' | 'credits' | 'apps' | 'agents' | 'last_active' | 'role' | null;
  /** Whether to sort ascending or descending; requires `sort_by`. */
  sort_dir?: 'asc' | 'desc' | null;
  /** Only members with one of these roles; an empty list means all. */
  roles?: ('owner' | 'admin' | 'editor' | 'viewer' | 'guest')[] | null;
  /** Only entries with one of these statuses; an empty list means all. */
  invite_statuses?: ('joined' | 'pending' | 'expired')[] | null;
  /** Only members with a limit of their own (true), or only those without (false); the default of the workspace does not count. */
  credit_limit_set?: boolean | null;
  /** Only members whose number of apps, owned and shared together, is in this range. */
  apps_owned?: {
    /** The lower bound, inclusive. */
    gte?: number | null;
    /** The upper bound, inclusive. */
    lte?: number | null;
  };
  /** Only members whose number of agents, owned and shared together, is in this range. */
  agents_owned?: {
    /** The lower bound, inclusive. */
    gte?: number | null;
    /** The upper bound, inclusive. */
    lte?: number | null;
  };
  /** Only members whose last use of credits is in this range; members who never used any do not match. */
  last_active?: {
    /** The lower bound, inclusive. */
    gte?: string | null;
    /** The upper bound, inclusive. */
    lte?: string | null;
  };
  /** The `next_cursor` of the previous page; a cursor that does not match the body starts again at the first page. */
  cursor?: string | null;
  /** The maximum number of entries per page. */
  page_size?: number | null;
}

export interface ListMemoriesResult {
  /** The items of the page, newest first unless stated otherwise. */
  items: AgentMemory[];
  /** The cursor of the next page, for 24 hours; null on the last page. */
  next_cursor: string | null;
  /** Whether there are more. */
  has_more: boolean;
}

export interface ListOperatorUsersResult {
  /** The items of the page, newest first unless stated otherwise. */
  items: OperatedUser[];
  /** The cursor of the next page, for 24 hours; null on the last page. */
  next_cursor: string | null;
  /** Whether there are more. */
  has_more: boolean;
}

export interface ListOperatorWorkspacesResult {
  /** The items of the page, newest first unless stated otherwise. */
  items: OperatedWorkspace[];
  /** The cursor of the next page, for 24 hours; null on the last page. */
  next_cursor: string | null;
  /** Whether there are more. */
  has_more: boolean;
}

export interface ListPlansResult {
  /** The plans, from the lowest to the highest. */
  items: Plan[];
  /** The cursor of the next page, for 24 hours; null on the last page. */
  next_cursor: string | null;
  /** Whether there are more. */
  has_more: boolean;
}

export interface ListPricesResult {
  /** The prices, in the order of the API description. */
  items: OperationPrice[];
  /** The cursor of the next page, for 24 hours; null on the last page. */
  next_cursor: string | null;
  /** Whether there are more. */
  has_more: boolean;
}

export interface ListQueueRowsResult {
  /** The rows of the page. */
  items: QueueRow[];
  /** The cursor of the next page, for 24 hours; null on the last page. */
  next_cursor: string | null;
  /** Whether there are more. */
  has_more: boolean;
}

export interface ListQueuesResult {
  /** All queues. */
  items: QueueState[];
  /** The cursor of the next page, for 24 hours; null on the last page. */
  next_cursor: string | null;
  /** Whether there are more. */
  has_more: boolean;
}

export interface ListRecordsResult {
  /** The items of the page, newest first unless stated otherwise. */
  items: EntityRecord[];
  /** The cursor of the next page, for 24 hours; null on the last page. */
  next_cursor: string | null;
  /** Whether there are more. */
  has_more: boolean;
}

export interface ListRevisionsResult {
  /** The items of the page, newest first unless stated otherwise. */
  items: Revision[];
  /** The cursor of the next page, for 24 hours; null on the last page. */
  next_cursor: string | null;
  /** Whether there are more. */
  has_more: boolean;
  /** The oldest revision whose contents are kept. */
  kept_from: number;
}

export interface ListSessionsResult {
  /** The items of the page, newest first unless stated otherwise. */
  items: CodingSession[];
  /** The cursor of the next page, for 24 hours; null on the last page. */
  next_cursor: string | null;
  /** Whether there are more. */
  has_more: boolean;
}

export type ListTokensResult = Token[];

export interface ListWorkflowRunsResult {
  /** The items of the page, newest first unless stated otherwise. */
  items: WorkflowRun[];
  /** The cursor of the next page, for 24 hours; null on the last page. */
  next_cursor: string | null;
  /** Whether there are more. */
  has_more: boolean;
}

export interface ListWorkflowVersionsResult {
  /** The items of the page, newest first unless stated otherwise. */
  items: WorkflowVersion[];
  /** The cursor of the next page, for 24 hours; null on the last page. */
  next_cursor: string | null;
  /** Whether there are more. */
  has_more: boolean;
}

export interface ListWorkflowsResult {
  /** The items of the page, newest first unless stated otherwise. */
  items: Workflow[];
  /** The cursor of the next page, for 24 hours; null on the last page. */
  next_cursor: string | null;
  /** Whether there are more. */
  has_more: boolean;
}

export type ListWorkspaceKeysResult = WorkspaceKey[];

export type ListWorkspaceTokensResult = WorkspaceToken[];

export interface ListWorkspacesResult {
  /** The items of the page, newest first unless stated otherwise. */
  items: Workspace[];
  /** The cursor of the next page, for 24 hours; null on the last page. */
  next_cursor: string | null;
  /** Whether there are more. */
  has_more: boolean;
}

export interface ListedCampaign {
  /** The campaign's id in this API. */
  id: string;
  /** The campaign's id at the ad platform; empty until the platform confirms the campaign. */
  platform_campaign_id: string;
  /** The name of the campaign. */
  campaign_name: string;
  /** The type of the campaign. */
  campaign_type: 'SMART' | 'PERFORMANCE_MAX';
  /** The last confirmed status. A `REMOVED` campaign can't be restored. */
  status: 'ENABLED' | 'PAUSED' | 'REMOVED';
  /** The daily budget, in millionths of the currency unit. */
  daily_budget_micros: number;
  /** The page that the ads link to. */
  landing_page: string;
  /** The locations where the ads are shown. */
  geo_targets: string[];
  /** The phone number in the ads; empty if there is none. */
  phone_number: string;
  /** The ad platform's review of the ads. `UNKNOWN` means any other status. */
  review_status: 'REVIEW_IN_PROGRESS' | 'REVIEWED' | 'UNDER_APPEAL' | 'ELIGIBLE_MAY_SERVE' | 'UNKNOWN';
  /** Whether the ad platform shows the ads. `UNKNOWN` means any other status. */
  serving_status: 'SERVING' | 'NONE' | 'ENDED' | 'PENDING' | 'SUSPENDED' | 'UNKNOWN';
  /** The campaign's overall status at the ad platform. `UNKNOWN` means any other status. */
  primary_status: 'ELIGIBLE' | 'PAUSED' | 'REMOVED' | 'ENDED' | 'PENDING' | 'MISCONFIGURED' | 'LIMITED' | 'LEARNING' | 'NOT_ELIGIBLE' | 'UNKNOWN';
  /** The ad platform's reasons for the status, then Plinth's own, which begin with `SERVICE_`: docs/api/ads.md#campaigns. */
  primary_status_reasons: string[];
  /** The time of creation. */
  created_date: string;
  /** The time of the last change. */
  updated_date: string;
  /** When the ad platform's learning phase ends: two weeks after the campaign was first enabled. */
  learning_ends_at: string;
  /** How often the ads were shown. */
  impressions: number;
  /** How often the ads were clicked. */
  clicks: number;
  /** The cost of the campaign so far, in millionths of the currency unit. */
  cost_micros: number;
  /** How many conversions the campaign has led to. */
  conversions: number;
  /** Whether the metrics were not requested or have never been read. */
  metrics_pending: boolean;
}

export interface ListedConversation {
  /** The id of the conversation. */
  id: string;
  /** The id of the agent, which is also its app id. */
  agent_id: string;
  /** The id of the person who owns the conversation; nobody else can read it. */
  user_id: string;
  /** Any object that was stored with the conversation when it was created; at most 8 KiB as JSON. */
  metadata: Record<string, unknown>;
  /** The time of creation. */
  created_date: string;
  /** When the last message was added, or the time of creation if there is none. */
  updated_date: string;
}

export interface Liveness {
  /** Always `ok`. */
  status: "ok";
}

export interface Location {
  /** The id to send in `geo_targets`. */
  resource_name: string;
  /** The name of the location. */
  name: string;
  /** The full name of the location, with its region and country. */
  canonical_name: string;
  /** The country of the location, as an ISO 3166-1 alpha-2 code; empty if it is in none. */
  country_code: string;
  /** The type of the location, such as `City`, `Region` or `Country`. */
  target_type: string;
  /** The estimated population of the location; 0 if unknown. */
  reach: number;
  /** The query as it was sent. */
  search_term: string;
}

export interface MarkedFinding {
  /** Always `ok`. */
  status: "ok";
}

export interface Me {
  /** The calling user. */
  user: User;
  /** The credential with which the request was made. */
  credential: CredentialInUse;
  /** The workspaces of the user; with a token, only the workspace of the token. */
  workspaces: WorkspaceOfUser[];
}

export interface MemberChanged {
  /** The e-mail address of the person, compared in lower case. */
  email: string;
  /** Whether the member was changed; `skipped` if there was nothing to change or another request changed the member at the same time. */
  status: 'success' | 'skipped';
}

export interface MemberWebhook {
  /** Whether the webhook receives events of an agent or of an app. */
  scope: 'agent' | 'app';
  /** The id of the agent or app that has the webhook. */
  app_id: string;
  /** The name of the agent or app that has the webhook. */
  app_name: string;
  /** The webhook, without its secret. */
  webhook: Webhook | AppWebhook;
}

export interface MembersChanged {
  /** One result per item, in the order of the request. */
  results: MemberChanged[];
}

export interface MessageEvent {
  /** The id of the event, which is the same in all of its deliveries. */
  id: string;
  /** The type of the event. */
  type: 'message.created' | 'message.completed';
  /** When the event happened. */
  created_at: string;
  /** The id of the agent. */
  agent_id: string;
  /** The id of the conversation. */
  conversation_id: string;
  /** The message, and the person who owns the conversation. */
  data: {
    /** The message that was added or completed. */
    message: {
      /** The id of the message. */
      id: string;
      /** The author of the message. */
      role: 'user' | 'assistant';
      /** The text of the message, cut so that the whole event has at most 256 KiB. */
      content: string;
      /** True if the content was cut; otherwise left out. */
      content_truncated?: true;
      /** The URLs of files that were sent with the message. */
      file_urls: string[];
      /** When the message was added. */
      created_date: string;
      /** When the message last changed. */
      updated_date: string;
    };
    /** The person who owns the conversation. */
    user: {
      /** The id of the person or app user. */
      id: string;
      /** The e-mail address of the person or app user. */
      email: string;
    };
  };
}

export interface NewlyOpen {
  /** The operation that is now allowed; `update_check` means that an update may leave a record in a state that was refused before. */
  operation: 'create' | 'read' | 'update' | 'delete' | 'update_check';
  /** A record that is affected, and a caller who can now use it. */
  example: NewlyOpenExample;
}

export interface NewlyOpenExample {
  /** The id of a stored record; null if none of the newest 1,000 is an example. */
  record_id: string | null;
  /** A possible record (for `create`, one to send) with the fields that the rules test; templates such as `{{user.email}}` stand for attributes of the caller. Null if `record_id` names a stored record. */
  record: Record<string, unknown> | null;
  /** The fields that the update sends; null for other operations. `{}` changes nothing. */
  change: Record<string, unknown> | null;
  /** The caller who is now allowed: `anonymous`, `any_user` (has the role `user` and no attributes, and did not create the record), `creator` (created the record) or `some_user` (has certain `attributes`). */
  principal: 'anonymous' | 'any_user' | 'creator' | 'some_user';
  /** The attributes that `some_user` must have: `role`, `email`, `id`, `full_name` or `data`; null for other callers. */
  attributes: Record<string, unknown> | null;
}

export type NoData = Record<string, never>;

export interface NotInvited {
  /** The e-mail address that was not invited. */
  email: string;
  /** Why the person was not invited: `member_exists`, `invitation_pending` or `invitation_not_found`. */
  code: string;
}

export interface OpenInputRequest {
  /** The open question or approval; null if there is none. */
  input_request: InputRequest | null;
  /** The person who launched the session. Only this person can answer. Null if the account was removed. */
  launched_by: string | null;
}

export interface OpenInvitationBody {
  /** The token of the invitation, which is the part of its link after `#`. */
  invitation_token: string;
}

export interface OpenedInvitation {
  /** The name of the workspace. */
  workspace_name: string;
  /** The e-mail address of the person who invited; null if it is not verified, or their account is gone. */
  invited_by: string | null;
  /** The names of the apps that are shared by the invitation, at most three. */
  app_names: string[];
  /** The e-mail address that was invited. */
  email: string;
  /** The role that the person gets by joining; `guest` if only apps are shared with them. */
  role: 'admin' | 'editor' | 'viewer' | 'guest';
  /** When the link stops working, 60 days after the invitation was sent or resent. */
  expires_at: string;
  /** Whether the invited person has already joined with this invitation. */
  accepted: boolean;
  /** Whether a new account must be created. Null if the link was not sent by mail, because its holder must not learn whether the address has an account. */
  needs_account: boolean | null;
}

export interface OperatedUser {
  /** The id of the user. */
  id: string;
  /** The e-mail address with which the user signs in. */
  email: string;
  /** The name of the user. */
  full_name: string;
  /** Whether the user runs the installation and may call operator operations. */
  is_operator: boolean;
  /** Whether the e-mail address is verified, usually by a link that was sent to it. */
  email_verified: boolean;
  /** When an operator deactivated the account; null while the account is active. */
  deactivated_at: string | null;
  /** The time of creation. */
  created_date: string;
}

export interface OperatedWorkspace {
  /** The id of the workspace. */
  id: string;
  /** The name of the workspace. */
  name: string;
  /** The plan of the workspace. */
  plan: 'free' | 'builder' | 'pro' | 'business' | 'enterprise';
  /** The caller's role in the workspace; null for workspace keys and operators. */
  role: 'guest' | 'viewer' | 'editor' | 'admin' | 'owner' | null;
  /** The credits of the workspace per month, set by the plan or by an operator; null means unlimited. */
  monthly_limit: number | null;
  /** The monthly credits of members without a limit of their own; null if there is no default. */
  default_member_credit_limit: number | null;
  /** The country of the workspace as an ISO 3166-1 alpha-2 code; `US` by default. */
  country_code: string;
  /** The language of the workspace as a BCP 47 tag; `en` by default. */
  locale: string;
  /** Who may invite guests by sharing an app; `app_owners` by default. */
  guest_invitations: 'app_owners' | 'admins';
  /** Switches that an operator sets for the workspace. */
  features: {
    /** Whether security scans check dependencies. */
    dependency_scan: boolean;
    /** Whether scans check the code of apps that have not set `static_code_enabled`. */
    static_code_default: boolean;
    /** Whether a language model may analyse apps; nothing depends on it yet. */
    model_analysis: boolean;
  };
  /** The time of creation. */
  created_date: string;
  /** The factor for rate limits that an operator set for the workspace; null means the factor of the plan. */
  rate_multiplier: number | null;
  /** The storage quota in bytes that an operator set for the workspace; null means the quota of the plan. */
  storage_quota_bytes: number | null;
  /** Whether an operator has put the workspace on billing hold, which prevents it from launching campaigns. */
  billing_hold: boolean;
  /** Why the workspace is on billing hold, as an operator noted it; null if there is no note. */
  billing_hold_reason: string | null;
  /** The number of members of the workspace. */
  member_count: number;
  /** The e-mail address of the owner of the workspace; null if there is none. */
  owner_email: string | null;
}

export interface OperationPrice {
  /** The operation that costs credits. */
  operation: string;
  /** How many credits each unit costs. */
  credits: number;
  /** The unit: a call, an image that is made, or 10,000 tokens of the language model. */
  per: 'call' | 'image' | '10000_tokens';
  /** The least that a call costs; null if it has no such minimum. */
  at_least: number | null;
}

export interface OwnCredits {
  /** Credits that the caller has used this month, less refunds. */
  used: number;
  /** The credits that the caller may use per month: their own limit, or else the workspace's default; null if there is neither. */
  credit_limit: number | null;
  /** Whether `credit_limit` is the workspace's default, because the caller has no limit of their own. */
  is_default_limit: boolean;
}

export interface OwnershipTransferred {
  /** The e-mail address of the new owner of the workspace. */
  owner_email: string;
}

export interface PatchOperation {
  /** The JSON Patch operation. */
  op: 'add' | 'remove';
  /** The JSON pointer to the place to change. */
  path: string;
  /** The value to add. */
  value?: unknown;
}

export interface PauseQueueBody {
  /** Only rows of this owner; all rows of the queue if left out. */
  owner?: string | null;
  /** How long the pause lasts, at most seven days. */
  seconds: number;
}

export interface PausedCampaign {
  /** The result of the request. */
  status: "paused";
}

export interface PausedCampaigns {
  /** `partial` if some campaigns are not confirmed to be paused; otherwise `paused`. */
  status: 'paused' | 'partial';
  /** How many campaigns this request paused. */
  paused: number;
  /** How many campaigns this request tried to pause: those that no person had paused before. */
  tried: number;
  /** Campaigns that are not confirmed to be paused. Plinth keeps trying to pause them. */
  failed: FailedPause[];
}

export interface PaymentMethod {
  /** The brand of the card. */
  brand: string;
  /** The last four digits of the card. */
  last4: string;
}

export interface Plan {
  /** The name of the plan. */
  plan: 'free' | 'builder' | 'pro' | 'business' | 'enterprise';
  /** The credits per month that the plan includes; null means unlimited. */
  monthly_credits: number | null;
  /** The factor by which the plan multiplies rate limits. */
  rate_multiplier: number;
  /** The storage quota of a workspace on the plan in bytes; null means unlimited. */
  storage_quota_bytes: number | null;
  /** For each feature that not every plan has, whether this plan includes it. */
  features: Record<string, boolean>;
}

export interface PollDeviceLoginBody {
  /** The `device_code` of the login. */
  device_code: string;
}

export interface Preview {
  /** The id of the preview. */
  id: string;
  /** The address of the preview. Whoever has it can open the preview. Only the first response contains it. */
  url: string | null;
  /** The revision that the preview shows, at first if it follows the app. */
  revision: number;
  /** Whether the preview always shows the app's present revision. */
  follows: boolean;
  /** As whom the preview is signed in. Null if nobody is, and always null if `sandboxed` is true. */
  signed_in_as: PreviewUser | null;
  /** Whether browsers run the pages in a sandbox, where they reach no data, because the installation has no domain for apps. */
  sandboxed: boolean;
  /** When the preview ends, a day after its creation. */
  expires_at: string;
}

export interface PreviewUser {
  /** The id of the user. */
  app_user_id: string;
  /** The e-mail address of the user. */
  email: string;
  /** When the user is signed out, an hour after the creation. */
  expires_at: string;
}

export interface PublishAppBody {
  /** The id of an earlier deployment to make live again. If omitted, the current files are published. */
  deployment_id?: string | null;
}

export interface PublishWarning {
  /** What the warning is about. */
  code: 'sandboxed_address' | 'file_left_out' | 'secret_not_set' | 'entity_open_to_anonymous' | 'localhost_address' | 'sign_up_closed';
  /** What may not work, and what to do about it. */
  message: string;
  /** The file that the warning is about, if it is about one. */
  path?: string;
}

export interface Published {
  /** The revision of the app that is published. */
  revision: number;
  /** The address of the published app. */
  url: string;
  /** When the revision went live. */
  published_at: string;
  /** Who published the revision: an e-mail address, or the name of a workspace key. */
  published_by: string;
}

export interface PullRequest {
  /** The number of the pull request in the repository. */
  number: number;
  /** The web page of the pull request. */
  html_url: string;
  /** The address of the pull request in the API of the git host. */
  url: string;
  /** The title of the pull request. */
  title: string;
  /** The state of the pull request; `getSession` refreshes it if it is older than a minute. */
  state: 'open' | 'closed' | 'merged';
  /** The branch that contains the commits. */
  head_branch: string;
  /** The branch that the pull request is to be merged into. */
  base_branch: string;
  /** Whether the session opened the pull request; false if it existed before. */
  created: boolean;
  /** When the pull request was opened. */
  created_date: string;
  /** When the pull request was last changed. */
  updated_date: string;
}

export interface PutAdsCeilingsBody {
  /** The currency of the amounts, as an ISO 4217 code. */
  currency_code: string;
  /** The ceiling for each app's daily budgets, in millionths of the currency unit. */
  app_daily_micros: number;
  /** The ceiling for all daily budgets together. */
  workspace_daily_micros: number;
}

export interface PutAppFileBody {
  /** The content of the file, as text or as base64 according to `encoding`; at most 5 MiB. */
  content: string;
  /** How `content` is written: as text (`utf-8`, the default) or as base64. */
  encoding?: 'utf-8' | 'base64' | null;
  /** The `sha256` that you last read; null if the file must not exist yet. */
  expected_sha256?: string | null;
}

export interface PutAppSecretBody {
  /** The value of the secret, which no operation returns; it is encrypted at rest. */
  value: string;
}

export interface PutAppShareBody {
  /** The role of the person in the app. */
  role: 'editor' | 'viewer';
}

export interface QueryEventsBody {
  /** Only include events with this name. */
  event_name: string;
  /** The start of the time range, inclusive. */
  start_time?: string | null;
  /** The end of the time range, exclusive; now by default. */
  end_time?: string | null;
  /** A filter for events: docs/api/analytics.md#filters. */
  q?: Record<string, unknown> | null;
  /** The maximum number of events per page; 100 by default. */
  limit?: number | null;
  /** The `next_cursor` of the previous page. */
  cursor?: string | null;
}

export interface QueryEventsResult {
  /** The items of the page, newest first unless stated otherwise. */
  items: AnalyticsEvent[];
  /** The cursor of the next page, for 24 hours; null on the last page. */
  next_cursor: string | null;
  /** Whether there are more. */
  has_more: boolean;
}

/** A value that the field equals or contains, or tests of the field. Objects without operators are values. */
export type QueryTest = string | number | boolean | null | unknown[] | Record<string, unknown> | QueryTests;

/** Tests of one field, which must all be met. */
export interface QueryTests {
  /** The field equals the value, or is an array that contains it. */
  $eq?: unknown;
  /** The negation of `$eq`; met by a missing field. */
  $ne?: unknown;
  /** The field is greater; numbers compare with numbers, and text with text by code points. */
  $gt?: unknown;
  /** The field is greater or equal. */
  $gte?: unknown;
  /** The field is less. */
  $lt?: unknown;
  /** The field is less or equal. */
  $lte?: unknown;
  /** The field equals one of the values, or is an array that contains one. */
  $in?: unknown[];
  /** The negation of `$in`; met by a missing field. */
  $nin?: unknown[];
  /** The array contains every one of the values. */
  $all?: unknown[];
  /** Whether the field is present and not null. */
  $exists?: boolean;
  /** The array has exactly this many items. */
  $size?: number;
  /** One object in the array meets the condition; names are fields of the object. */
  $elemMatch?: RecordQuery;
  /** The text contains this text, ignoring case. */
  $contains?: string;
  /** The text starts with this text. */
  $startsWith?: string;
  /** These tests are not all met. */
  $not?: QueryTests;
}

export interface QueuePause {
  /** The name of the queue. */
  queue: string;
  /** The owner whose rows are meant; null if all rows of the queue are. */
  owner: string | null;
  /** When the pause ends; null if there is none. */
  paused_until: string | null;
}

export interface QueueRow {
  /** The id of the row. */
  id: string;
  /** The id of the user, app, webhook or workspace that owns the row, depending on the queue. */
  owner: string;
  /** The value by which the queue limits what runs at the same time; words other than ids are replaced by a hash. Null if it has no such limit. */
  key: string | null;
  /** The state of the row. */
  state: 'due' | 'running' | 'delayed' | 'failed' | 'done';
  /** When the row is due; null if it will not run again. */
  due_at: string | null;
  /** The number of runs that have failed. */
  failures: number;
  /** How many times a worker has crashed while running it. */
  crashes: number;
  /** The slot of the worker that runs the row. */
  slot: number | null;
  /** How long ago this worker sent a heartbeat; null if none runs the row, or if the worker has lost its slot. */
  heartbeat_seconds: number | null;
  /** Why the last run failed, without the addresses, values and tokens that the message quotes. */
  last_error: string | null;
  /** When the row failed for good. */
  failed_at: string | null;
}

export interface QueueState {
  /** The name of the queue. */
  queue: string;
  /** The number of rows that are due and wait for a worker; null if the queue could not be read in time. */
  due: number | null;
  /** The number of rows that workers have claimed; null if the queue could not be read in time. */
  running: number | null;
  /** The number of rows that are due later, such as retries; null if the queue could not be read in time. */
  delayed: number | null;
  /** The number of rows that have failed for good; null if the queue could not be read in time. */
  failed: number | null;
  /** The number of seconds for which the oldest due row has waited; null if the queue could not be read in time. */
  oldest_seconds: number | null;
  /** When the pause of the whole queue ends; null if it is not paused. */
  paused_until: string | null;
  /** The number of owners whose rows are paused. */
  paused_owners: number;
  /** The dead rows of the table, as PostgreSQL estimates them. */
  dead_rows: number;
  /** When the table was last vacuumed; null if it has not been. */
  last_vacuum: string | null;
}

export interface Readiness {
  /** Whether the process can serve requests. */
  status: 'ready' | 'not_ready';
  /** The result of each check; `database`, `migrations` and `draining` decide the status. */
  checks: ReadinessChecks;
}

export interface ReadinessChecks {
  /** Whether the process can reach the database. */
  database: 'ok' | 'unreachable';
  /** Whether the database has all migrations of this version; `unknown` if it can't be read. */
  migrations: 'ok' | 'pending' | 'unknown';
  /** Whether the process can reach Redis; without it, rate limits are counted per process. */
  redis: 'ok' | 'unreachable';
  /** Whether the process is shutting down and should get no more requests. */
  draining: boolean;
  /** Whether a worker has sent a heartbeat in the last 30 seconds; `unknown` if the database can't be read. */
  workers: 'ok' | 'none_seen' | 'unknown';
  /** The number of seconds for which the oldest due work has waited; null if unknown. */
  queue_lag_seconds: number | null;
  /** When a worker last sent a heartbeat; null if no worker has run yet, or if the database can't be read. */
  worker_heartbeat: string | null;
}

export type ReceiveHookBody = unknown;

export interface RecordCount {
  /** How many records that the caller may read match the filters. */
  count: number;
}

export interface RecordCreator {
  /** What the creator is: a user of the app (`app_user`), a member of the workspace (`member`), one of both who no longer exists (`removed`), or a visitor without an account or the app itself (`anonymous`). */
  kind: 'app_user' | 'member' | 'removed' | 'anonymous';
  /** The id of the creator; null if `anonymous`. */
  id: string | null;
  /** The present e-mail address of the creator; null if they are removed or not known, and in apps that hide authorship. */
  email: string | null;
  /** The present name of the creator; null if they are removed or not known, and in apps that hide authorship. */
  full_name: string | null;
}

export interface RecordEvent {
  /** The id of the event, which is the same in all of its deliveries. */
  id: string;
  /** The type of the event. */
  type: 'entity.created' | 'entity.updated' | 'entity.deleted';
  /** When the event happened. */
  created_at: string;
  /** The id of the app. */
  app_id: string;
  /** The name of the entity. */
  entity_name: string;
  /** The id of the record. */
  entity_id: string;
  /** The record after the change; null if it was deleted or is too large. */
  data: Record<string, unknown> | null;
  /** The record before the change; null if it was created or is too large. */
  old_data: Record<string, unknown> | null;
  /** The fields that changed. */
  changed_fields: string[];
  /** Who made the change; null for anonymous callers. */
  actor: {
    /** The id of the person or app user. */
    id: string;
    /** The e-mail address of the person or app user. */
    email: string;
  } | null;
  /** The number of automations between a person's change and this one. */
  depth: number;
  /** Whether both records were left out because together they exceed 200 KiB. */
  payload_too_large: boolean;
}

/** Entries that must all be met: combinators, and fields (`state`, `address.zip`, `created_date`; the prefix `data.` is optional). Every record matches `{}`. */
export interface RecordQuery {
  /** All conditions are met. */
  $and?: RecordQuery[];
  /** At least one condition is met. */
  $or?: RecordQuery[];
  /** No condition is met. */
  $nor?: RecordQuery[];
  [field: string]: unknown;
}

export interface RecordTotal {
  /** How many records match, counted up to 10,000. */
  count: number;
  /** Whether counting ended at 10,000, so there may be more. */
  or_more: boolean;
}

export interface RecordWithCreator {
  /** The record with all its fields. */
  record: EntityRecord;
  /** Who created the record. */
  creator: RecordCreator;
}

export interface RecordsDeleted {
  /** Always true. */
  success: true;
  /** How many records were moved to the trash, at most 5,000 per request. */
  deleted: number;
}

export interface RecordsUpserted {
  /** How many records were created. */
  created: number;
  /** How many stored records were updated. */
  updated: number;
  /** The records as stored, in the order of the request. Null only in a repeated large answer, for a record that can no longer be read. */
  records: (EntityRecord | null)[];
}

export interface Redelivered {
  /** The id of the delivery, which is the same at every attempt. */
  delivery_id: string;
  /** Always true; one attempt is made immediately. */
  queued: true;
}

export interface RejectedEvent {
  /** The position of the event in the request, starting at 0. */
  index: number;
  /** Why the event was rejected. */
  reason: 'bad_event' | 'bad_event_name' | 'bad_event_id' | 'bad_property' | 'bad_timestamp' | 'in_future' | 'too_old' | 'bad_page_url' | 'bad_session_id' | 'bad_user_id' | 'user_mismatch';
}

export interface RemoveMembersBody {
  /** The e-mail addresses of the members or invitations to remove; none may be repeated. */
  emails: string[];
  /** Whether to turn off the webhooks that the removed members created; false by default. */
  pause_webhooks?: boolean | null;
}

export interface RemovedFolderItem {
  /** Always true, even if the app was not in the folder. */
  unlinked: true;
  /** The id of the folder. */
  folder_id: string;
  /** The id of the app or agent. */
  app_id: string;
}

export interface ReplayAgentWebhookBody {
  /** The statuses of the deliveries to send again; `failed` and `missed` by default. */
  statuses?: ('pending' | 'delivered' | 'failed' | 'missed' | 'expired')[] | null;
  /** Only deliveries created at or after this time. */
  from?: string | null;
  /** Only deliveries created at or before this time. */
  to?: string | null;
  /** Only deliveries whose sequence number is greater than this one. */
  after_seq?: number | null;
  /** Only deliveries up to this sequence number, inclusive. */
  to_seq?: number | null;
  /** The maximum number of deliveries to send again; 1,000 by default. */
  limit?: number | null;
}

export interface ReplayAppWebhookBody {
  /** The statuses of the deliveries to send again; `failed` and `missed` by default. */
  statuses?: ('pending' | 'delivered' | 'failed' | 'missed' | 'expired')[] | null;
  /** Only deliveries created at or after this time. */
  from?: string | null;
  /** Only deliveries created at or before this time. */
  to?: string | null;
  /** Only deliveries whose sequence number is greater than this one. */
  after_seq?: number | null;
  /** Only deliveries up to this sequence number, inclusive. */
  to_seq?: number | null;
  /** The maximum number of deliveries to send again; 1,000 by default. */
  limit?: number | null;
}

export interface Replayed {
  /** The number of deliveries that are sent again. */
  queued: number;
  /** The sequence number of the first delivery that is sent again; null if there is none. */
  first_seq: number | null;
  /** The sequence number of the last delivery that is sent again; null if there is none. */
  last_seq: number | null;
}

export interface Repository {
  /** The repository, as `owner/name`. */
  repository_full_name: string;
  /** The branch that new branches start from and pull requests are opened against. */
  base_branch: string;
  /** The git host of the repository. */
  host: string;
  /** The person who connected the repository. */
  connected_by: string;
  /** When the repository was connected. */
  connected_at: string;
  /** Whether `missing_permissions` is empty. */
  permissions_ok: boolean;
  /** Permissions that sessions need but the credential lacks. */
  missing_permissions: string[];
}

export interface RequestAppUserLinkBody {
  /** The e-mail address of the user, to which the link is sent. */
  email: string;
}

export interface ResendInvitationBody {
  /** The e-mail addresses whose pending or expired invitation gets a new link; the old link stops working. */
  emails: string[];
}

export interface Resent {
  /** The invitations with their new links. */
  resent: Invitation[];
  /** The addresses for which no invitation was sent, each with the reason. */
  failed: NotInvited[];
}

export interface ResetPasswordBody {
  /** The token of the reset link, which is the part after `#`; it works once, for one hour. */
  reset_token: string;
  /** The new password: 12 to 256 characters, not one of the 10,000 most common. */
  new_password: string;
}

export interface RestoreRevisionBody {
  /** What to restore: everything unless it is named. */
  parts?: ('files' | 'entities' | 'headers')[] | null;
  /** Whether only to say what would change; false by default. */
  dry_run?: boolean | null;
  /** The revision of the app that you last read. If it is no longer the current one, the request fails with 409. */
  expected_revision?: number | null;
  /** What you agree to open: the entities and operations of `impact.newly_open` of a dry run. Otherwise, the request fails with 409. */
  opens?: ({
    /** The name of the entity. */
    entity: string;
    /** The operation; `fields` stands for the rules of the fields. */
    operation: 'create' | 'read' | 'update' | 'delete' | 'update_check' | 'fields';
  })[] | null;
}

export interface ResumeQueueBody {
  /** Only rows of this owner; all rows of the queue if left out. */
  owner?: string | null;
}

export interface ResumedCampaign {
  /** The result of the request. */
  status: "resumed";
}

export interface RetriedQueueRows {
  /** The name of the queue. */
  queue: string;
  /** The number of rows that are due again, at most 10,000. */
  retried: number;
  /** Whether rows may be left, because one request changes a limited number of them; send it again. */
  has_more: boolean;
}

export interface RetryQueueRowsBody {
  /** The ids of the rows; others are left alone. */
  ids?: string[] | null;
  /** Must be true if `ids` is left out: all failed rows are meant. */
  failed?: true | null;
  /** Of the failed rows, only those of this owner. */
  owner?: string | null;
  /** Of the failed rows, only those that failed since. */
  since?: string | null;
}

export interface Revision {
  /** The number of the revision. */
  revision: number;
  /** When the revision was made. */
  created_date: string;
  /** Who made it: an e-mail address, or the name of a workspace key; null if not known. */
  actor: string | null;
  /** What made the revision. `baseline` is the state in which revisions began to be kept. */
  cause: 'create' | 'baseline' | 'chat' | 'file' | 'sync' | 'schema' | 'headers' | 'restore' | 'fix';
  /** The chat message that asked for it, if there is one. */
  message_id: string | null;
  /** The first 200 characters of that message. */
  summary: string | null;
  /** The revision that was restored, if `cause` is `restore`. */
  restored_revision: number | null;
  /** How the files differ from the revision before. */
  files: RevisionFiles;
  /** The entities whose schemas changed. */
  entities: string[];
  /** Whether the security headers were changed. */
  headers: boolean;
  /** Whether the files of this revision are published. */
  live: boolean;
  /** Whether the contents are kept; false if the storage quota was full. */
  kept: boolean;
  /** The revision that is compared with; null if it is not kept. Only in `getRevision`, like what follows. */
  against?: number | null;
  /** The files that differ, ordered by path. */
  changes?: RevisionChange[];
  /** The schemas that differ, ordered by name. */
  entity_changes?: RevisionEntityChange[];
  /** The security headers, if they differ. */
  header_changes?: RevisionHeaderChange | null;
}

export interface RevisionChange {
  /** The path of the file in the app. */
  path: string;
  /** What happened to the file. */
  kind: 'added' | 'changed' | 'removed';
  /** The SHA-256 before; null if the file was added. */
  before_sha256: string | null;
  /** The SHA-256 afterwards; null if the file was removed. */
  after_sha256: string | null;
  /** The difference in the unified format; null if it is not shown, or the file is not text. */
  diff: string | null;
  /** Whether `diff` is incomplete, or missing because it is too long. */
  diff_cut: boolean;
}

export interface RevisionEntityChange {
  /** The name of the entity. */
  name: string;
  /** The schema before; null if it was added. */
  before: Record<string, unknown> | null;
  /** The schema afterwards; null if it was removed. */
  after: Record<string, unknown> | null;
}

export interface RevisionFiles {
  /** How many files were added. */
  added: number;
  /** How many files were changed. */
  changed: number;
  /** How many files were removed. */
  removed: number;
}

export interface RevisionHeaderChange {
  /** The headers before. */
  before: Record<string, string | null>;
  /** The headers afterwards. */
  after: Record<string, string | null>;
}

export interface RevisionImpact {
  /** What the restored rules let callers do that was refused before. */
  newly_open: RevisionNewlyOpened[];
  /** The entities that the restored revision did not have and that stay, because they have records or are used by an automation, a workflow or a conversion mapping. */
  kept_entities: string[];
}

export interface RevisionNewlyOpened {
  /** The name of the entity. */
  entity: string;
  /** The operation; `fields` stands for the rules of the fields. */
  operation: 'create' | 'read' | 'update' | 'delete' | 'update_check' | 'fields';
  /** Whom the rule lets in; null if undecided. */
  principal: 'anonymous' | 'any_user' | 'creator' | 'some_user' | null;
  /** The rule in effect; null if there is none. */
  before: unknown;
  /** The rule of the restored revision; null if it had none. */
  after: unknown;
  /** A record that the rule opens. */
  example: Record<string, unknown> | null;
}

export interface RevisionRestored {
  /** The new revision of the app, or the current one if nothing was changed. */
  revision: number;
  /** The revision that was restored. */
  restored_revision: number;
  /** What was changed, or would be. */
  changes: RevisionRestoredChanges;
  /** What to know before restoring. */
  impact: RevisionImpact;
  /** What is not part of a revision and stays as it is. */
  left_out: ('records' | 'secrets' | 'users' | 'settings')[];
}

export interface RevisionRestoredChanges {
  /** The paths of the files that differ. */
  files: RevisionRestoredFiles;
  /** The entities whose schemas differ. */
  entities: RevisionRestoredEntities;
  /** Whether the security headers differ. */
  headers: boolean;
}

export interface RevisionRestoredEntities {
  /** The entities that did not exist before. */
  created: string[];
  /** The entities whose schemas changed. */
  updated: string[];
  /** The entities that the restored revision did not have. */
  deleted: string[];
}

export interface RevisionRestoredFiles {
  /** The files that did not exist before. */
  created: string[];
  /** The files whose content changed. */
  updated: string[];
  /** The files that the restored revision did not have. */
  deleted: string[];
}

export interface RlsProof {
  /** Who can send the request: everyone (`anonymous`) or every user of the app (`any_user`). */
  principal: 'anonymous' | 'any_user';
  /** The operation that the request performs. */
  operation: string;
  /** How many records the request reaches. */
  reachable_records: number;
  /** Names of fields of these records, never their values. */
  sample_fields: string[];
}

export interface RlsRecommendation {
  /** Identifies the finding across scans. */
  fingerprint: string;
  /** The id of the rule. */
  rule_id: string;
  /** The severity of the finding. */
  severity: 'critical' | 'high' | 'medium' | 'low';
  /** The title of the finding. */
  title: string;
  /** Why the finding matters. */
  description: string;
  /** How to fix the problem. */
  recommendation: string;
  /** The entity whose rules are too open. */
  entity_name: string;
  /** The operations that are open to others. */
  open_operations: string[];
  /** The current rules of the open operations. */
  current_rules: Record<string, unknown>;
  /** Rules that close the open operations. */
  recommended_rules: Record<string, unknown>;
  /** A request that succeeds today. */
  proof: RlsProof;
}

/** Rules for the records that a caller may use. */
export type RowRules = {
  /** The rule for creating, evaluated on the record as it would be stored. */
  create?: Rule;
  /** The rule for reading; a stored record that does not meet it is not found. */
  read?: Rule;
  /** The rule for updating, evaluated on the stored record. */
  update?: Rule;
  /** The rule for deleting, evaluated on the stored record. */
  delete?: Rule;
  /** The default of `create`, `update` and `delete`. */
  write?: Rule;
  /** A rule for updating, evaluated on the record as it would be after the update. */
  update_check?: Rule;
};

/** A condition or a constant. True allows everyone, including anonymous callers; false allows nobody. Null, an empty string or an empty object is no rule, which allows only managers of the app. */
export type Rule = boolean | null | "" | Record<string, unknown> | RuleCondition;

export interface RuleClause {
  /** The path of the clause in the schema document. */
  path: string;
  /** The value that is tested; `•` if it is hidden, `…` if it is long. */
  value: unknown;
  /** The value that the tested value is compared with. */
  compared_with: unknown;
  /** The result of the test. */
  result: 'true' | 'false' | 'unknown' | 'hidden';
  /** Whether the clause belongs to a smallest set that decides; false for all clauses if the decision is hidden. */
  deciding: boolean;
}

/** Entries that must all be met: combinators, `user_condition`, automatic fields (`created_by_id`), and fields of the schema (`data.team`, `data.address.zip`). A condition is never met for anonymous callers. */
export interface RuleCondition {
  /** All conditions are met. */
  $and?: RuleCondition[];
  /** At least one condition is met. */
  $or?: RuleCondition[];
  /** No condition is met. */
  $nor?: RuleCondition[];
  /** Attributes of the caller and the values they must all have. */
  user_condition?: Record<string, RuleOperand>;
  [field: string]: unknown;
}

/** Like RuleCondition, for an object in an array; paths are names in that object, without `data.`. */
export interface RuleElementCondition {
  /** All conditions are met. */
  $and?: RuleElementCondition[];
  /** At least one condition is met. */
  $or?: RuleElementCondition[];
  /** No condition is met. */
  $nor?: RuleElementCondition[];
  /** Attributes of the caller and the values they must all have. */
  user_condition?: Record<string, RuleOperand>;
  [field: string]: unknown;
}

export interface RuleExplanation {
  /** The decision; `unknown` refuses, and `hidden` means that it depends on data that the caller may not read. */
  decision: 'allow' | 'deny' | 'unknown' | 'hidden';
  /** The rule of the operation: a condition (`present`), none (`missing`), or the constant `true` or `false`. */
  rule: 'present' | 'missing' | 'true' | 'false';
  /** The caller whom the explanation is about. */
  principal: RulePrincipal;
  /** The tests in the operation's rules, and those in field rules that decide. */
  clauses: RuleClause[];
  /** The decisions about fields that have rules; for a write, about the fields that are sent. */
  fields: FieldDecision[];
  /** A smallest change that would allow the operation; null if there is none. */
  suggestion: RuleSuggestion | null;
}

/** A value to compare with. In text, `{{user.id}}`, `{{user.email}}`, `{{user.full_name}}`, `{{user.role}}` and `{{user.data.<name>}}` stand for attributes of the caller; text that is only a template has the type of the attribute. */
export type RuleOperand = string | number | boolean | null;

export interface RulePrincipal {
  /** The kind of caller. */
  kind: 'person' | 'app_user' | 'anonymous';
  /** The id of the caller; null if anonymous. */
  id: string | null;
  /** The e-mail address of the caller; null if anonymous. */
  email: string | null;
  /** The name of the caller; null if anonymous. */
  full_name: string | null;
  /** The role of the caller, as rules see it. */
  role: string | null;
  /** Whether the caller manages the app, so a missing rule allows the operation. */
  manages_app: boolean;
  /** False if the caller is anonymous and the app is not open without login; everything is then denied. */
  reaches_app: boolean;
}

export interface RuleSuggestion {
  /** A description of the change. */
  text: string;
  /** What the change applies to: the schema document (`rule`), the record or patch that you asked about, or the app. */
  target: 'rule' | 'record' | 'patch' | 'app';
  /** The change as a JSON Patch (RFC 6902). */
  patch: PatchOperation[];
}

/** A value that the field equals or contains, or tests of the field. */
export type RuleTest = RuleOperand | RuleTests;

/** Tests of one field, which must all be met. */
export interface RuleTests {
  /** The field equals the value, or is an array that contains it. */
  $eq?: RuleOperand;
  /** The negation of `$eq`; met by a missing field. */
  $ne?: RuleOperand;
  /** The field is greater; numbers compare with numbers, and text with text by code points. */
  $gt?: RuleOperand;
  /** The field is greater or equal. */
  $gte?: RuleOperand;
  /** The field is less. */
  $lt?: RuleOperand;
  /** The field is less or equal. */
  $lte?: RuleOperand;
  /** The field equals one of the values, or is an array that contains one. */
  $in?: RuleOperand[];
  /** The negation of `$in`; met by a missing field. */
  $nin?: RuleOperand[];
  /** The array contains every one of the values. */
  $all?: RuleOperand[];
  /** Whether the field is present and not null. */
  $exists?: boolean;
  /** The array has exactly this many items. */
  $size?: number;
  /** One object in the array meets the condition; names are fields of the object. */
  $elemMatch?: RuleElementCondition;
}

export interface RunWorkflowBody {
  /** The input of the run, at most 256 KiB. */
  input?: unknown;
  /** The id of an earlier run of the workflow, whose input is used again. */
  replay_from_run_id?: string | null;
}

export interface ScanResult {
  /** A summary of the result in one to three sentences. */
  analysis_summary: string;
  /** Entities whose rules are too open. */
  rls_recommendations: RlsRecommendation[];
  /** Secrets in the files of the app. */
  hardcoded_secrets: HardcodedSecret[];
  /** Backend functions that others could misuse. */
  backend_functions: BackendFunction[];
  /** Packages with known vulnerabilities. */
  dependency_vulnerabilities: DependencyVulnerability[];
  /** Problems in the code of the app. */
  static_code_findings: StaticCodeFinding[];
  /** Headers that the published app should send. */
  header_recommendations: HeaderRecommendation[];
  /** Whether the use of built-in integrations is safe; `needs_changes` if anonymous visitors can reach one. */
  core_integration_recommendation: 'compatible' | 'needs_changes' | 'not_used' | 'unknown';
  /** When the scan ended. */
  scanned_at: string;
}

export interface SchemaImpact {
  /** How many records the entity has, without those in the trash. */
  records: number;
  /** How many of the newest 1,000 records the new schema would refuse; they stay readable and are checked at the next write. */
  violating_records: number;
  /** The fields that the new schema no longer declares; their values stay stored but hidden. */
  fields_removed: string[];
  /** One example for each operation in which the new rules allow something that the old ones refused. */
  newly_open: NewlyOpen[];
}

export type SearchGeoTargetsResult = Location[];

export interface SearchTermRow {
  /** The search term that people entered. */
  search_term: string;
  /** The name of the campaign. */
  campaign: string;
  /** How often an ad was shown. */
  impressions: number;
  /** How often an ad was clicked. */
  clicks: number;
  /** The cost of the ads, in millionths of the account's currency unit. */
  cost_micros: number;
  /** How many conversions followed. The ad platform may report fractions. */
  conversions: number;
}

export interface SearchThemes {
  /** The suggested search themes: at most 10, with at most 80 characters each. */
  search_themes: string[];
}

export interface SecurityHeaders {
  /** The header `Content-Security-Policy`; null if it is not sent. */
  csp: string | null;
  /** The header `Strict-Transport-Security`; null if it is not sent. */
  hsts: string | null;
  /** The header `X-Frame-Options`; null if it is not sent. */
  frame_options: 'DENY' | 'SAMEORIGIN' | null;
  /** The header `X-Content-Type-Options`, which is always sent. */
  content_type_options: 'nosniff' | null;
  /** The header `Referrer-Policy`; null if it is not sent. */
  referrer_policy: string | null;
  /** The header `Permissions-Policy`; null if it is not sent. */
  permissions_policy: string | null;
}

export interface SecurityScan {
  /** The status of the scan. Read it before `result`. */
  status: 'up_to_date' | 'out_of_date' | 'none' | 'pending' | 'scanning' | 'scan_failed';
  /** The result of the last finished scan, or null. */
  result: ScanResult | null;
  /** Whether a security scan reads the code for `static_code_findings`. */
  static_code_enabled: boolean;
  /** The fingerprints of ignored findings. */
  ignored_fingerprints: string[];
}

export interface SecuritySettings {
  /** Whether a security scan reads the code for `static_code_findings`. */
  static_code_enabled: boolean;
  /** The headers that are sent with published files. */
  headers: SecurityHeaders;
}

export interface SendAgentMessageBody {
  /** The text of the message to the agent. */
  content: string;
  /** Up to 10 public https URLs, which the model receives as text; they are not fetched. */
  file_urls?: string[] | null;
}

export interface SendChatMessageBody {
  /** What the assistant should build or change. */
  content: string;
  /** Up to 10 public https addresses. The model gets them as text; they are not fetched. */
  file_urls?: string[] | null;
}

export interface SendSessionMessageBody {
  /** A message to the agent. */
  text?: string | null;
  /** The answers, one for each question. */
  answers?: ({
    /** The index of the question that is answered. */
    question_index: number;
    /** The label of the chosen option. */
    selected_label?: string | null;
    /** The labels of the chosen options, if several can be chosen. */
    selected_labels?: string[] | null;
    /** An answer in your own words, if the question allows it. */
    custom_text?: string | null;
  })[] | null;
  /** Whether you approve the action. If false, the agent continues without it. */
  approve?: boolean | null;
  /** The id of the question or approval that you answer; required with `answers` and `approve`. */
  input_request_id?: string | null;
  /** The person on whose behalf you write, for the record. */
  author?: string | null;
}

export interface ServerFeatures {
  /** Whether an ad platform is configured. */
  ads: boolean;
  /** Whether a language model for agents is configured. */
  model: boolean;
  /** Whether a git host is configured. */
  git: boolean;
  /** Whether a browser that checks pages for errors is configured. */
  browser: boolean;
  /** Whether outgoing mail is configured. */
  mail: boolean;
  /** Whether apps have a domain of their own; without it, their pages run in a sandbox. */
  apps_domain: boolean;
  /** Whether workspaces pay for advertising by card here; otherwise that is arranged elsewhere. */
  payments: boolean;
  /** Whether at least one service that apps connect to by OAuth is configured. */
  connectors: boolean;
  /** Whether the console, the web interface, is built and served. */
  console: boolean;
}

export interface ServerInfo {
  /** Always `Plinth`. */
  name: "Plinth";
  /** The release of Plinth that is running. */
  version: string;
  /** The version of the API, which is also that of the OpenAPI document. */
  api_version: string;
  /** Always true: the release and the API are both in beta. */
  beta: true;
  /** Whether the provider of each feature is configured. */
  features: ServerFeatures;
  /** What the builder chat can be asked for if a stand-in for a language model is configured: first the app, then changes of it. Empty with a real model. */
  stand_in_requests: string[];
  /** The page that shows all mails if a stand-in for a mail server keeps them instead of delivering them, as under `npm run dev`; null with a real mail server, and without mail. */
  mail_inbox_url: string | null;
}

export interface SessionAsset {
  /** The id of the text or image. */
  session_asset_id: string;
  /** The place of the text or image in an ad. */
  slot: 'HEADLINE' | 'LONG_HEADLINE' | 'DESCRIPTION' | 'LANDSCAPE_IMAGE' | 'SQUARE_IMAGE' | 'PORTRAIT_IMAGE' | 'TALL_PORTRAIT_IMAGE';
  /** Whether the asset is a text or an image. */
  kind: 'text' | 'image';
  /** The text; null for an image. */
  text: string | null;
  /** The address of the image, which needs no credential; null for a text, and until the image is ready. */
  image_url: string | null;
  /** The width of the image in pixels; null for a text. */
  width: number | null;
  /** The height of the image in pixels; null for a text. */
  height: number | null;
  /** The language of the generated texts. */
  language: 'en' | 'de' | 'es' | 'fr' | 'it' | 'ja' | 'nl' | 'pt' | 'pl' | 'sv' | 'da' | 'nb' | 'fi' | 'cs' | 'he' | 'ko';
  /** When the generation began. */
  created_date: string;
}

export interface SessionLogLine {
  /** What the agent did, or what a person sent to it. */
  text: string;
  /** The id of the question that the line answers; left out if it answers none. */
  input_request_id?: string;
}

export interface SessionMessage {
  /** The id of the message. */
  input_id: string;
  /** The id of the session. */
  session_id: string;
  /** Whether the agent has read the message; `pending` if not yet. */
  state: 'pending' | 'delivered' | 'failed';
  /** Why the message was not read; null unless its state is `failed`. */
  error_code: 'input_request_changed' | 'session_busy' | 'cancelled' | 'delivery_interrupted' | null;
  /** The time of creation. */
  created_date: string;
}

export interface SetAppAuthSettingsBody {
  /** Who can sign up: nobody, people whom `createAppUser` has created, or everybody. */
  sign_up?: 'closed' | 'invited' | 'open' | null;
  /** The ways in which users can sign in; fields that are not sent keep their value. */
  methods?: AppAuthMethodsChange | null;
}

export interface SetConnectorScopesBody {
  /** The new scopes, which replace the current ones. */
  scopes: string[];
  /** Values of the connector's fields, by name. Don't send secrets here. */
  connection_config?: Record<string, string | null> | null;
}

export interface SetDefaultCreditLimitBody {
  /** The monthly credits of members without a limit of their own, with up to 4 decimals; null removes the default. */
  default_credit_limit: number | null;
}

export interface SetMemberAccessBody {
  /** `blocked` refuses every request of the member to the workspace; `active` restores access at once. */
  state: 'active' | 'blocked';
}

export interface SetMemberCreditLimitBody {
  /** The member's own monthly limit, with up to 4 decimals; null removes it. */
  credit_limit: number | null;
}

export interface SetMemberCreditLimitsBody {
  /** The members and their new limits; an e-mail address must not be repeated. */
  items: ({
    /** The e-mail address of the person, compared in lower case. */
    email: string;
    /** The member's own monthly limit, with up to 4 decimals; null removes it. */
    credit_limit: number | null;
  })[];
}

export interface SetMemberRoleBody {
  /** The new role; a guest becomes a full member, and a new viewer loses their own credit limit. */
  role: 'admin' | 'editor' | 'viewer';
}

export interface SetMemberRolesBody {
  /** The members or invitations and their new roles; an e-mail address must not be repeated. */
  items: ({
    /** The e-mail address of the person, compared in lower case. */
    email: string;
    /** The new role; a guest becomes a full member, and a new viewer loses their own credit limit. */
    role: 'admin' | 'editor' | 'viewer';
  })[];
}

export interface SetOperatorWorkspaceBody {
  /** The new plan, which also sets `monthly_limit` to the credits of the plan unless `monthly_limit` is sent. */
  plan?: 'free' | 'builder' | 'pro' | 'business' | 'enterprise' | null;
  /** The credits of the workspace per month, effective immediately; null means unlimited. If only `plan` is sent, the credits of the plan apply. */
  monthly_limit?: number | null;
  /** The factor for the rate limits of the workspace; null means the factor of the plan. */
  rate_multiplier?: number | null;
  /** The storage quota of the workspace in bytes; null means the quota of the plan. */
  storage_quota_bytes?: number | null;
  /** The switches to change; those that are not sent keep their value. */
  features?: {
    /** Whether security scans check dependencies. */
    dependency_scan?: boolean | null;
    /** Whether scans check the code of apps that have not set `static_code_enabled`. */
    static_code_default?: boolean | null;
    /** Whether a language model may analyse apps; nothing depends on it yet. */
    model_analysis?: boolean | null;
  };
  /** Whether an operator has put the workspace on billing hold, which prevents it from launching campaigns. */
  billing_hold?: boolean | null;
  /** Why the workspace is on billing hold, as an operator noted it; null if there is no note. */
  billing_hold_reason?: string | null;
}

export interface SetSecuritySettingsBody {
  /** Whether a security scan reads the code for `static_code_findings`. */
  static_code_enabled?: boolean | null;
  /** The headers to change. A header that is set to null is no longer sent. */
  headers?: {
    /** The header `Content-Security-Policy`; null stops sending it. */
    csp?: string | null;
    /** The header `Strict-Transport-Security`; null stops sending it. */
    hsts?: string | null;
    /** The header `X-Frame-Options`; null stops sending it. */
    frame_options?: 'DENY' | 'SAMEORIGIN' | null;
    /** The header `X-Content-Type-Options`, which is always sent. */
    content_type_options?: 'nosniff' | null;
    /** The header `Referrer-Policy`; null stops sending it. */
    referrer_policy?: string | null;
    /** The header `Permissions-Policy`; null stops sending it. */
    permissions_policy?: string | null;
  };
}

export interface SetUpBody {
  /** The token that the API prints to its log at startup, or the setting `PLINTH_SETUP_TOKEN`. */
  setup_token: string;
  /** The e-mail address of the first user, who becomes an operator; the address counts as verified. */
  email: string;
  /** The name of the user. */
  full_name: string;
  /** The password: 12 to 256 characters, not one of the 10,000 most common. */
  password: string;
  /** The name of the workspace. */
  workspace_name: string;
}

export interface SetUpDone {
  /** The first user, who is an operator. */
  user: User;
  /** The workspace, with the role of the user in it. */
  workspace: WorkspaceOfUser;
}

export interface Setup {
  /** Whether the installation has its first user and workspace. */
  initialised: boolean;
}

export interface SignInAppUserBody {
  /** The e-mail address of the user. */
  email: string;
  /** The password of the user. */
  password: string;
  /** How many seconds the token is valid; 3600 by default. */
  expires_in_seconds?: number | null;
}

export interface SignInBody {
  /** The e-mail address of the account. */
  email: string;
  /** The password of the account. */
  password: string;
}

export interface SignUpAppUserBody {
  /** The e-mail address of the user, to which the link is sent. */
  email: string;
  /** The name of the user; empty by default. */
  full_name?: string | null;
  /** The password with which the user will sign in; it is stored when the link is used. */
  password: string;
}

export interface SignedIn {
  /** The user who has signed in. */
  user: User;
  /** The workspaces of the user. */
  workspaces: WorkspaceOfUser[];
}

export interface StartConnectionBody {
  /** The type of the connector; not case-sensitive. */
  integration_type: string;
  /** Values of the connector's fields, by name. Don't send secrets here. */
  connection_config?: Record<string, string | null> | null;
  /** Secrets for a service with API keys, by field name. They are never returned. */
  credentials?: Record<string, string | null> | null;
  /** The scopes to request; the connector's defaults if not sent. */
  scopes?: string[] | null;
  /** Whether to connect again even if a connection exists. An owner of the app can also replace another person's connection. */
  force_reconnect?: boolean | null;
  /** The address that the browser returns to at the end, on this installation or the published app. */
  return_url?: string | null;
}

export interface StartDeviceLoginBody {
  /** The name of the program, as the person will see it. */
  client_name: string;
  /** What the program asks to do; `read_only` by default. */
  permission?: 'read_only' | 'full_access' | null;
  /** The only apps and agents that the program asks for; null or not sent means all. */
  app_ids?: string[] | null;
}

export interface StartExecutionBody {
  /** The id of the test. */
  flow_id: string;
  /** The address in the published app at which the run starts; by default, the first page. */
  url?: string | null;
}

export interface StartedExport {
  /** The id of the export, to read its state with `getExport`. */
  export_id: string;
  /** Always `queued`; a worker then writes the archive. */
  state: "queued";
}

export interface StaticCodeFinding {
  /** Identifies the finding across scans. */
  fingerprint: string;
  /** The id of the rule. */
  rule_id: string;
  /** The severity of the finding. */
  severity: 'critical' | 'high' | 'medium' | 'low';
  /** The title of the finding. */
  title: string;
  /** Why the finding matters. */
  description: string;
  /** How to fix the problem. */
  recommendation: string;
  /** The file that contains the code. */
  file_path: string;
  /** The first line of the code, from 1. */
  line_start: number;
  /** The last line of the code. */
  line_end: number;
  /** The kind of problem. */
  category: string;
  /** How certain the scanner is of the finding. */
  confidence: 'high' | 'medium' | 'low';
  /** The code, with secrets masked. */
  snippet: string;
  /** How well the flow of data to the code was verified. */
  verdict: 'confirmed' | 'likely' | 'unverified';
}

export interface Storage {
  /** The total number of bytes that the workspace stores. */
  used_bytes: number;
  /** The storage quota in bytes; null means unlimited. */
  quota_bytes: number | null;
  /** The bytes of record data as JSON, including records in the trash. */
  records_bytes: number;
  /** The bytes of app files, including files that are kept because they are or were published. */
  files_bytes: number;
  /** The bytes of export archives that have not expired. */
  archives_bytes: number;
  /** The bytes of analytics events of the last 60 days, and of their users. */
  analytics_bytes: number;
  /** The bytes of answers that are stored for an `Idempotency-Key`. */
  answers_bytes: number;
  /** The bytes of the delivery logs of webhooks, and of what they deliver. */
  deliveries_bytes: number;
  /** The bytes of runs of workflows and automations, with the steps of workflows and the explanations of failed runs. */
  runs_bytes: number;
  /** The bytes of conversations: with agents, their memories, and with the builder chat. */
  conversations_bytes: number;
  /** The bytes of coding sessions: their messages, steps and logs. */
  sessions_bytes: number;
  /** The bytes of browser tests and security scans, and of their reports. */
  reports_bytes: number;
  /** The bytes of campaigns and their changes. */
  ads_bytes: number;
  /** The bytes of the credit ledger and of reservations. */
  ledger_bytes: number;
  /** The bytes of the audit log, whose entries are never refused. */
  audit_bytes: number;
  /** The bytes of what is set up: apps and their revisions, schemas, users, secrets, workflows, automations, webhooks, tests, folders and credentials. */
  settings_bytes: number;
}

export interface StreamedWebhookDelivery {
  /** The delivery as the log has it. */
  delivery: WebhookDelivery;
  /** The headers of a request with this delivery, signed when the event was sent. */
  headers: Record<string, string>;
  /** The body of the request, byte for byte what the headers sign. */
  body: string;
}

export interface Success {
  /** Always true. */
  success: true;
}

export interface SuggestSearchThemesBody {
  /** The name of the business; the name of the app by default. */
  business_name?: string | null;
  /** What the business offers; the description of the app by default. */
  business_description?: string | null;
  /** The page that the ads link to. It is context for the language model and is not fetched. */
  landing_page_url?: string | null;
}

export interface SyncAppFilesBody {
  /** The files to write; a path must not be repeated. */
  files: ({
    /** The path of the file in the app, relative and without `.` and `..` segments. */
    path: string;
    /** The content of the file, as text or as base64 according to `encoding`; at most 5 MiB. */
    content: string;
    /** How `content` is written: as text (`utf-8`, the default) or as base64. */
    encoding?: 'utf-8' | 'base64' | null;
  })[];
  /** The paths of the files to delete; those that do not exist are left out. */
  delete?: string[] | null;
  /** Whether to delete every file of the app that was not sent; false by default. */
  delete_missing?: boolean | null;
  /** The revision of the app that you last read. If it is no longer the current one, the request fails with 409. */
  expected_revision?: number | null;
}

export interface SyncEntitySchemasBody {
  /** The schema documents to create or replace, at most 100. */
  schemas: EntitySchemaDocument[];
  /** Whether to delete every schema that was not sent, which is refused if one of them has records; false by default. */
  delete_missing?: boolean | null;
  /** Whether to return what would change without saving anything; false by default. */
  dry_run?: boolean | null;
}

export interface TestConsoleError {
  /** The text of the error. */
  text: string;
  /** The number of the step; 0 or null if there is none. */
  step_number: number;
}

export interface TestIssue {
  /** The severity of the problem; `medium` and `high` fail the run. */
  severity: 'low' | 'medium' | 'high';
  /** A short title of the problem. */
  title: string;
  /** What was seen in the browser. */
  description: string;
  /** The number of the step; 0 or null if there is none. */
  step_number: number | null;
  /** The address of a screenshot of the step; null if there is none or it is older than 30 days. */
  screenshot_url: string | null;
}

export interface TestNetworkFailure {
  /** The address of the request. */
  url: string;
  /** The HTTP method of the request. */
  method: string;
  /** The HTTP status of the response; null if there was none. */
  status: number | null;
  /** Why the request failed. */
  reason: string;
  /** The number of the step; 0 or null if there is none. */
  step_number: number;
}

export interface TestReport {
  /** The id of the run. */
  execution_id: string;
  /** The verdict, computed from the checks and from what the browser reported. */
  verdict: 'passed' | 'failed' | 'inconclusive';
  /** A summary of the run in a few sentences. */
  summary: string;
  /** The problems that were found. */
  issues: TestIssue[];
  /** The steps of the run. */
  steps: TestReportStep[];
  /** The steps that could no longer be done as they were recorded. */
  healed: HealedStep[];
  /** The address of a trace for Playwright's trace viewer; null if there is none. */
  trace_url: string | null;
  /** Exceptions of the page and errors in its console. */
  console_errors: TestConsoleError[];
  /** The requests that failed. */
  network_failures: TestNetworkFailure[];
  /** The time of creation. */
  created_date: string;
}

export interface TestReportStep {
  /** The number of the step, from 1. */
  number: number;
  /** The action that was taken. */
  action: string;
  /** The result of the action. */
  result: string;
  /** Whether the step was replayed from an earlier run or chosen by the agent. */
  source: 'replayed' | 'agent';
  /** The address of a screenshot of the step; null if there is none or it is older than 30 days. */
  screenshot_url: string | null;
  /** When the step was taken. */
  at: string;
}

export interface TextDelta {
  /** The text to append to the message. */
  text: string;
}

export interface TimeMetric {
  /** The name of the metric in the response. */
  name: string;
  /** The function to apply to the values. */
  function: 'count' | 'count_unique' | 'sum' | 'avg' | 'min' | 'max' | 'p50' | 'p90' | 'p95' | 'p99';
  /** The field whose values are used; optional for `count`. */
  field?: string | null;
}

export interface ToggleWorkflowBody {
  /** The new status. If it is not sent, the status switches between `active` and `inactive`. */
  status?: 'active' | 'inactive' | null;
}

export interface Token {
  /** The id of the token, which is not the token itself. */
  id: string;
  /** The name of the token, for people to recognise it. */
  name: string;
  /** What the credential may do; `read_only` allows only operations that accept it. */
  permission: 'read_only' | 'full_access';
  /** The only apps and agents that the credential reaches; null means all, including later ones. */
  app_ids: string[] | null;
  /** The only workspace in which the token is valid. */
  workspace_id: string;
  /** The last 4 characters of the credential, to recognise it. */
  last4: string;
  /** The time of creation. */
  created_date: string;
  /** When the credential expires; null if never. */
  expires_at: string | null;
  /** When the credential was last used, updated at most once a minute; null if never. */
  last_used_at: string | null;
}

export interface TrackEventsBody {
  /** The events to store. */
  events: ({
    /** The name of the event. */
    event_name: string;
    /** A UUID that you choose, which identifies repeated events. */
    event_id?: string | null;
    /** When the event happened; now by default. */
    timestamp?: string | null;
    /** The user who caused the event; for servers only. */
    user_id?: string | null;
    /** The id of the visitor's session. */
    session_id?: string | null;
    /** The page of the event. Its query string is not stored. */
    page_url?: string | null;
    /** Up to 50 properties, each a string, number or boolean. */
    properties?: Record<string, unknown> | null;
  })[];
}

export interface TrackedEvents {
  /** How many events and heartbeats were accepted. */
  accepted: number;
  /** How many events had an `event_id` that was already received in the last 60 days. */
  duplicates: number;
  /** The events that were rejected. */
  rejected: RejectedEvent[];
}

export interface TrackingCheckItem {
  /** The name of the check. */
  name: 'base_tag_on_page' | 'no_error_gaps' | 'goal_published';
  /** Whether the check passed. */
  ok: boolean;
  /** The result of the check and, if it failed, what to do. */
  detail: string;
}

export interface TrackingGap {
  /** The kind of gap, with the id of the mapping if there is one. */
  id: string;
  /** `error` if conversions are lost; otherwise `warning`. */
  severity: 'error' | 'warning';
  /** The published file that has the gap; null if the gap concerns no specific file. */
  file_path: string | null;
  /** A description of the gap and how to close it. */
  message: string;
  /** An instruction for `sendChatMessage` that closes the gap; null if there is none. */
  composer_prompt: string | null;
}

export interface TrackingScan {
  /** Whether all files were read and no gap was found. */
  is_clean: boolean;
  /** Whether the files were read. */
  scanned: boolean;
  /** How many calls in the files report a conversion. */
  calls_count: number;
  /** How many mappings the app has. */
  mappings_count: number;
  /** How many of the app's mappings are enabled. */
  enabled_mappings_count: number;
  /** The gaps in conversion tracking, at most 200. */
  gaps: TrackingGap[];
  /** Why the request was skipped; absent if it was not. */
  skipped_reason?: 'no_ads_account';
}

export interface TrackingScript {
  /** The id of the account's tag; empty until it is known. */
  conversion_id: string;
  /** The base tag, as HTML for the head of every page; empty until the account has a goal. */
  script: string;
}

export interface TrackingVerification {
  /** Whether all checks passed. */
  verified: boolean;
  /** The result of each check. */
  checks: TrackingCheckItem[];
  /** The campaigns that were waiting for verification and have been enabled. */
  enabled_campaign_ids: string[];
}

export interface TransferOwnershipBody {
  /** The e-mail address of the new owner, who must be a member and neither blocked nor deactivated. */
  email: string;
}

export interface UpdateAgentBody {
  /** The name of the agent; white space at the ends is removed. */
  name?: string | null;
  /** A description of the agent, returned as `user_description`. */
  description?: string | null;
  /** The https URL of the logo; null removes it. */
  logo_url?: string | null;
  /** Instructions for the model, sent with every message; empty by default. */
  instructions?: string | null;
  /** The name of the model; null means the default model of the installation. */
  model?: string | null;
}

export interface UpdateAgentWebhookBody {
  /** The public https URL to which deliveries are sent, including waiting ones; changing it does not turn the webhook on. A pull webhook has none. */
  target_url?: string | null;
  /** A note about the webhook; null removes it. */
  description?: string | null;
  /** True turns the webhook on, resets `consecutive_failures` and sends held deliveries; false turns it off. */
  enabled?: boolean | null;
  /** `rotate` creates a secret, which is returned once, and the previous one still signs for 24 hours; `disable` removes all secrets immediately. */
  signing?: 'rotate' | 'disable' | null;
  /** The types of events that the webhook receives; repeated names are merged. */
  events?: ('message.created' | 'message.completed')[] | null;
}

export interface UpdateAppBody {
  /** The name of the app; white space at the ends is removed. */
  name?: string | null;
  /** A name for URLs in lowercase letters, digits and hyphens, unique in the installation. Other apps can use an abandoned slug after 31 days. */
  slug?: string | null;
  /** What the app is for, in the words of its builders. */
  user_description?: string | null;
  /** The https URL of the logo; null removes it. */
  logo_url?: string | null;
  /** Who in the workspace can see the app: all members but guests, or only the owner, admins and people it is shared with. */
  visibility?: 'workspace' | 'private' | null;
  /** Who can use the app; only `public_without_login` allows access to its data without a credential. */
  public_settings?: 'private_with_login' | 'workspace_with_login' | 'public_with_login' | 'public_without_login' | null;
  /** The origins whose web pages can access the data of the app, at most 10. */
  public_origins?: string[] | null;
  /** Whether records of the app leave out `created_by`. */
  hide_authorship?: boolean | null;
  /** Transfers the app to the member with this e-mail address, who must not be a viewer or guest. Only the app's owner can do this. */
  owner_email?: string | null;
}

export interface UpdateAppUserBody {
  /** The e-mail address of the user, which must be unique in the app regardless of case. */
  email?: string | null;
  /** The name of the user; empty by default. */
  full_name?: string | null;
  /** The role of the user, `user` by default, which matters only in the rules of the app. */
  role?: 'admin' | 'user' | null;
  /** Attributes to merge into the stored ones, key by key; null removes a key, and the result has at most 16 KiB. */
  data?: Record<string, unknown> | null;
}

export interface UpdateAppWebhookBody {
  /** The public https URL to which deliveries are sent, including waiting ones; changing it does not turn the webhook on. A pull webhook has none. */
  target_url?: string | null;
  /** A note about the webhook; null removes it. */
  description?: string | null;
  /** True turns the webhook on, resets `consecutive_failures` and sends held deliveries; false turns it off. */
  enabled?: boolean | null;
  /** `rotate` creates a secret, which is returned once, and the previous one still signs for 24 hours; `disable` removes all secrets immediately. */
  signing?: 'rotate' | 'disable' | null;
  /** The types of events that the webhook receives; repeated names are merged. */
  events?: ('entity.created' | 'entity.updated' | 'entity.deleted')[] | null;
  /** The entities whose events the webhook receives; null means all. */
  entity_names?: string[] | null;
}

export interface UpdateAutomationBody {
  /** The name of the automation. */
  name?: string | null;
  /** Whether record changes or a schedule trigger the automation. */
  type?: 'entity' | 'scheduled' | null;
  /** The action that the automation performs. */
  action?: AutomationAction | null;
  /** The entity whose record changes trigger the automation. */
  entity_name?: string | null;
  /** The kinds of record changes that trigger the automation. */
  event_types?: ('create' | 'update' | 'delete')[] | null;
  /** A jq expression; the action is skipped if the result is false or null. */
  condition?: string | null;
  /** The schedule of the automation. */
  schedule?: AutomationSchedule | null;
  /** A note about the automation. */
  description?: string | null;
  /** Whether the automation is active; true by default. */
  is_active?: boolean | null;
}

export interface UpdateCampaignBody {
  /** The field to change. */
  field: 'name' | 'budget' | 'ad_copy' | 'geo_targets' | 'excluded_geo_targets' | 'keyword_themes' | 'search_themes' | 'landing_page' | 'end_date';
  /** The new value: a string for `name` and `landing_page`, an integer for `budget`, a date or null for `end_date`, a list of strings for locations and themes, or an object with `headlines`, `long_headlines` or `descriptions` for `ad_copy`. */
  value: unknown;
}

export interface UpdateConversionMappingBody {
  /** The entity whose records the mapping is about. */
  entity_name?: string | null;
  /** The category of the conversion. */
  conversion_type?: 'PURCHASE' | 'ADD_TO_CART' | 'BEGIN_CHECKOUT' | 'SIGNUP' | 'SUBMIT_LEAD_FORM' | 'CONTACT' | 'REQUEST_QUOTE' | 'BOOK_APPOINTMENT' | 'SUBSCRIBE_PAID' | 'PHONE_CALL_LEAD' | null;
  /** The change to a record that counts as a conversion; `create` by default. */
  trigger_action?: 'create' | 'update' | 'delete' | null;
  /** The conversion action's id at the ad platform; if empty, the standard goal of `conversion_type` is used. */
  conversion_action_id?: string | null;
  /** The record's field for the conversion value; empty if there is none. */
  value_field?: string | null;
  /** The record's field for the currency; empty if there is none. */
  currency_field?: string | null;
  /** Whether the mapping is enabled. */
  is_enabled?: boolean | null;
}

export interface UpdateFlowBody {
  /** The name of the test. */
  name?: string | null;
  /** What the agent does in the app, and what must be visible afterwards. */
  goal?: string | null;
  /** The role of the temporary app user; if null, the goal decides at each run. */
  role?: 'admin' | 'user' | null;
}

export interface UpdateFolderBody {
  /** The name of the folder; white space at the ends is removed. */
  name?: string | null;
  /** The position of the folder, 0 by default; folders are sorted by position, then by name. */
  position?: number | null;
  /** The color of the folder, as `#` and six hexadecimal digits; null if it has none. */
  color?: string | null;
  /** Any text of up to 40 characters that names the icon of the folder; null if it has none. */
  icon?: string | null;
  /** The id of the folder that contains this one; null if it is at the top level. */
  parent_folder_id?: string | null;
}

export interface UpdateMeBody {
  /** The name of the user. */
  full_name?: string | null;
}

export type UpdateRecordBody = Record<string, unknown>;

export type UpdateRecordsBody = (Record<string, unknown>)[];

export type UpdateRecordsResult = (EntityRecord | null)[];

export interface UpdateTokenBody {
  /** The name of the token, for people to recognise it. */
  name: string;
}

export interface UpdateWorkflowBody {
  /** The name of the workflow. */
  name?: string | null;
  /** The definition (docs/api/workflows.md#definitions). */
  definition?: Record<string, unknown> | null;
  /** The trigger that starts the workflow, as `{config, condition?}`. */
  trigger?: Record<string, unknown> | null;
  /** What the workflow is for; null clears it. */
  description?: string | null;
  /** A summary of what this version changes. */
  change_summary?: string | null;
}

export interface UpdateWorkspaceBody {
  /** The name of the workspace. */
  name?: string | null;
  /** The country of the workspace as an ISO 3166-1 alpha-2 code; `US` by default. */
  country_code?: string | null;
  /** The language of the workspace as a BCP 47 tag; `en` by default. */
  locale?: string | null;
  /** Who may invite guests by sharing an app; `app_owners` by default. */
  guest_invitations?: 'app_owners' | 'admins' | null;
}

export interface UpdateWorkspaceKeyBody {
  /** The name of the key, for people to recognise it. */
  name?: string | null;
  /** What the key is for; empty if no description was given. */
  description?: string | null;
}

export interface UpsertRecordsBody {
  /** The records to update or create. Each must have all fields of `key`, and no two may have the same values in them. */
  records: (Record<string, unknown>)[];
  /** The 1 to 3 fields that identify a record. They must not be arrays or objects, and every record must have them. */
  key: string[];
}

export interface UseAppUserLinkBody {
  /** The token of the link: the part after `#plinth_link=`. */
  link_token: string;
  /** A new password for the user; required if links do not sign users in. */
  password?: string | null;
  /** How many seconds the token is valid; 3600 by default. */
  expires_in_seconds?: number | null;
}

export interface User {
  /** The id of the user. */
  id: string;
  /** The e-mail address with which the user signs in. */
  email: string;
  /** The name of the user. */
  full_name: string;
  /** Whether the user runs the installation and may call operator operations. */
  is_operator: boolean;
  /** Whether the e-mail address was verified by a link that was sent to it. */
  email_verified: boolean;
}

export interface UserStats {
  /** Users whose most recent event was in the last 7 days. */
  active_users: number;
  /** Users with a heartbeat in the last 2 minutes. */
  live_users: number;
  /** Users whose most recent event was 7 to 30 days ago. */
  inactive_7d: number;
  /** Users whose most recent event was 30 to 60 days ago. */
  inactive_30d: number;
}

export interface ValidateWorkflowBody {
  /** The definition (docs/api/workflows.md#definitions). */
  definition: Record<string, unknown>;
  /** The trigger that starts the workflow, as `{config, condition?}`. */
  trigger?: Record<string, unknown> | null;
}

export interface VerifiedAuditLog {
  /** Whether all entries that were checked are intact. */
  valid: boolean;
  /** How many entries were checked and are intact, at most 100,000 per request. */
  checked: number;
  /** The sequence of the first entry that was checked and is intact; null if there was nothing to check. */
  first_sequence: number | null;
  /** The sequence of the last intact entry, after which to continue if the chain is longer; null if there was nothing to check. */
  last_sequence: number | null;
  /** The hash of the last entry that was checked; null if the chain is broken. */
  head_hash: string | null;
  /** How many entries are not sealed yet and were not checked. */
  unsealed: number;
  /** The sequence of the first entry that was changed, removed or moved; null if the chain is intact. */
  broken_at: number | null;
}

export interface Webhook {
  /** The id of the webhook. */
  id: string;
  /** `push`: deliveries are sent to `target_url`. `pull`: deliveries wait until a program reads them from their stream and acknowledges them. */
  mode: 'push' | 'pull';
  /** The public https URL to which deliveries are sent. Of a pull webhook: the address of the stream of its deliveries. */
  target_url: string;
  /** The types of events that the webhook receives. */
  events: ('message.created' | 'message.completed')[];
  /** A note about the webhook; null if there is none. */
  description: string | null;
  /** Whether deliveries are signed. */
  has_secret: boolean;
  /** When the last attempt was made, successful or not; null before the first. Tests do not count. Of a pull webhook: when it was last read. */
  last_trigger_time: string | null;
  /** The error of the last attempt; null after a success and before the first attempt. */
  last_error: WebhookError | null;
  /** The number of failed deliveries since the last success; at 20, the webhook is turned off. */
  consecutive_failures: number;
  /** When the webhook was turned off, for example after 20 failed deliveries in a row, or because nobody read it for 30 days; null while it is on. */
  disabled_at: string | null;
  /** The time of creation. */
  created_date: string;
  /** The time of the last change. */
  updated_date: string;
  /** The signing secret. Only the response that creates it contains it. */
  secret?: string | null;
}

export interface WebhookAttempt {
  /** The number of the attempt, from 1. */
  number: number;
  /** When the attempt began. */
  attempted_at: string;
  /** How long the attempt took, in milliseconds. */
  duration_ms: number;
  /** The HTTP status of the response; null if there was none. */
  status_code: number | null;
  /** Why there was no response, such as `timeout` or `dns_error`; null if there was a response, see `status_code`. */
  error_type: string | null;
  /** The first 512 bytes of the response body; null if there was no response, if the attempt succeeded, and for all but the newest ten attempts. */
  response_body: string | null;
  /** What caused the attempt: the schedule, a redelivery (`manual`) or a replay. */
  kind: 'scheduled' | 'manual' | 'replay';
}

export interface WebhookDelivery {
  /** The id of the delivery, sent as `webhook-id` at every attempt. */
  id: string;
  /** The id of the webhook to which the delivery belongs. */
  webhook_id: string;
  /** The id of the event, which is also `id` in the payload. */
  event_id: string;
  /** The type of the event, which is also `type` in the payload. */
  event_type: string;
  /** The number of the delivery within its webhook, from 1, without gaps, in the order of events. */
  sequence: number;
  /** The status of the delivery: for example `failed` after eight attempts, `held` or `missed` while the webhook is off. Of a pull webhook: `pending` until it is acknowledged, then `delivered`. */
  status: 'pending' | 'delivering' | 'delivered' | 'failed' | 'held' | 'missed' | 'expired';
  /** The total number of attempts, including those by redelivery and replay. */
  attempts_made: number;
  /** When the next attempt is due; null if none is planned, or one is running. */
  next_attempt_at: string | null;
  /** When the delivery was queued. */
  created_date: string;
  /** When the last successful attempt was made, or when the delivery was acknowledged; null before. */
  delivered_at: string | null;
  /** The HTTP status of the response to the last attempt; null if there was no response or no attempt yet. */
  last_status_code: number | null;
}

export interface WebhookDeliveryInFull {
  /** The id of the delivery, sent as `webhook-id` at every attempt. */
  id: string;
  /** The id of the webhook to which the delivery belongs. */
  webhook_id: string;
  /** The id of the event, which is also `id` in the payload. */
  event_id: string;
  /** The type of the event, which is also `type` in the payload. */
  event_type: string;
  /** The number of the delivery within its webhook, from 1, without gaps, in the order of events. */
  sequence: number;
  /** The status of the delivery: for example `failed` after eight attempts, `held` or `missed` while the webhook is off. Of a pull webhook: `pending` until it is acknowledged, then `delivered`. */
  status: 'pending' | 'delivering' | 'delivered' | 'failed' | 'held' | 'missed' | 'expired';
  /** The total number of attempts, including those by redelivery and replay. */
  attempts_made: number;
  /** When the next attempt is due; null if none is planned, or one is running. */
  next_attempt_at: string | null;
  /** When the delivery was queued. */
  created_date: string;
  /** When the last successful attempt was made, or when the delivery was acknowledged; null before. */
  delivered_at: string | null;
  /** The HTTP status of the response to the last attempt; null if there was no response or no attempt yet. */
  last_status_code: number | null;
  /** The body of the request, which is the same at every attempt. */
  payload: Record<string, unknown>;
  /** The newest 100 attempts. */
  attempts: WebhookAttempt[];
}

export interface WebhookError {
  /** A sentence that says what went wrong. */
  message: string;
  /** When the attempt began. */
  attempted_at: string;
  /** The HTTP status of the response; null if there was none. */
  status_code: number | null;
  /** The first 512 bytes of the response body. */
  response_body: string | null;
  /** Why there was no response, such as `timeout` or `dns_error`; null if there was a response, see `status_code`. */
  error_type: string | null;
}

export interface WebhookTest {
  /** Whether the endpoint answered with a 2xx status within 10 seconds. */
  ok: boolean;
  /** The delivery id that was sent with the sample event; tests are not in the delivery log. */
  delivery_id: string;
  /** The HTTP status of the response; null if there was none. */
  status_code: number | null;
  /** Why there was no response, such as `timeout` or `dns_error`; null if there was a response, see `status_code`. */
  error_type: string | null;
  /** The first 512 bytes of the response body; null if there was no response. */
  response_body: string | null;
  /** How long the attempt took, in milliseconds. */
  duration_ms: number;
}

export interface Workflow {
  /** The id of the workflow. */
  id: string;
  /** The id of the app or agent that the workflow belongs to. */
  app_id: string;
  /** The name of the workflow. */
  name: string;
  /** What the workflow is for; null if it has no description. */
  description: string | null;
  /** The status of the workflow; only an `active` workflow is started by its trigger. */
  status: 'active' | 'inactive' | 'archived';
  /** Why the platform set this status; null if none of these reasons applies. */
  status_reason: 'consecutive_failures' | 'end_condition_reached' | 'workflows_not_available' | 'definition_invalid' | null;
  /** The trigger that starts the workflow, as `{config, condition?}`. */
  trigger: Record<string, unknown>;
  /** The id of the current version of the definition. */
  current_version_id: string;
  /** The number of runs that have been started. */
  total_runs: number;
  /** The number of consecutive failed runs; after 20, the workflow becomes inactive. */
  consecutive_failures: number;
  /** When the last run was started; null if there has been none. */
  last_run_at: string | null;
  /** The final status of the run that ended last; null if no run has ended. */
  last_run_status: 'completed' | 'failed' | 'cancelled' | null;
  /** The time of creation. */
  created_date: string;
  /** The time of the last change. */
  updated_date: string;
  /** The definition (docs/api/workflows.md#definitions). */
  definition?: Record<string, unknown>;
  /** The URL that starts the workflow, shown only to editors; treat it as a secret. */
  hook_url?: string | null;
}

export interface WorkflowFault {
  /** The location of the error, as a JSON pointer into the request body. */
  path: string;
  /** What is wrong at this location. */
  message: string;
}

export interface WorkflowRun {
  /** The id of the run. */
  run_id: string;
  /** The id of the workflow. */
  workflow_id: string;
  /** The name that the workflow had when the run was started. */
  workflow_name: string;
  /** The type of trigger that started the run. */
  trigger_type: 'manual' | 'entity' | 'scheduled' | 'webhook' | 'app_publish' | 'agent_message' | 'event';
  /** The status of the run. */
  status: 'running' | 'cancelling' | 'completed' | 'failed' | 'cancelled';
  /** Why the platform set this status; null if none of these reasons applies. */
  status_reason: 'insufficient_credits' | 'timeout' | 'step_limit' | 'loop_stopped' | 'cancelled_by_user' | null;
  /** When the run was started. */
  started_at: string;
  /** When the run ended; null while it is running. */
  completed_at: string | null;
  /** The duration of the run in milliseconds; null while it is running. */
  duration_ms: number | null;
  /** The number of steps that the run has made so far. */
  steps_count: number;
  /** Why the run failed. */
  error_message: string | null;
  /** Whether a person started the run manually. */
  is_test_run: boolean;
  /** The id of the version of the definition that the run executes. */
  definition_version_id: string;
  /** The steps in order; only in the response of `getRun`. */
  steps?: WorkflowStep[];
}

export interface WorkflowRunCancelled {
  /** `cancelling`, or the final status of a run that had already ended. */
  status: 'running' | 'cancelling' | 'completed' | 'failed' | 'cancelled';
}

export interface WorkflowRunExplanation {
  /** The explanation as plain text, which refers to steps by number; empty if there is none. */
  explanation: string;
  /** When the explanation was stored; empty if there is none. */
  generated_at: string;
}

export interface WorkflowRunStarted {
  /** Always `started`. */
  status: "started";
  /** A message that confirms the start. */
  message: string;
  /** The id of the run. */
  run_id: string;
}

export interface WorkflowStatus {
  /** The id of the workflow. */
  id: string;
  /** The status of the workflow; only an `active` workflow is started by its trigger. */
  status: 'active' | 'inactive' | 'archived';
  /** Why the platform set this status; null if none of these reasons applies. */
  status_reason: 'consecutive_failures' | 'end_condition_reached' | 'workflows_not_available' | 'definition_invalid' | null;
}

export interface WorkflowStep {
  /** The number of the step in its run, from 1. */
  number: number;
  /** The location of the task, as a JSON pointer into the definition. */
  task_path: string;
  /** The name of the task. */
  name: string;
  /** The type of the task, as in the definition. */
  task_type: string;
  /** The status of the step. */
  status: 'running' | 'completed' | 'failed' | 'skipped' | 'cancelled';
  /** The number of the attempt, which grows when a `try` retries the task. */
  attempt: number;
  /** When the step was started. */
  started_at: string;
  /** When the step ended; null while it is running. */
  completed_at: string | null;
  /** The duration of the step in milliseconds; null while it is running. */
  duration_ms: number | null;
  /** The input of the task, with secrets masked. */
  input: unknown;
  /** The output of the task, with secrets masked. */
  output: unknown;
  /** The error of the step; null if it did not fail. */
  error: WorkflowStepError | null;
}

export interface WorkflowStepError {
  /** The type of the error, such as `communication`, or the type that the definition raised. */
  type: string;
  /** A short title of the error. */
  title: string;
  /** The HTTP status that corresponds to the error. */
  status: number;
  /** The full description of the error. */
  detail: string;
}

export interface WorkflowValidation {
  /** Whether the definition and, if it was sent, the trigger are valid. */
  valid: boolean;
  /** The errors that were found, at most 100. */
  errors: WorkflowFault[];
  /** The types of the tasks in the definition. */
  task_types: string[];
  /** The kinds of calls that the tasks make. */
  calls: string[];
}

export interface WorkflowVersion {
  /** The SHA-256 of the definition in canonical form. */
  version_id: string;
  /** A summary of what this version changes. */
  change_summary: string | null;
  /** The id of the user who created the version; null if the account was removed. */
  created_by: string | null;
  /** The time of creation. */
  created_date: string;
  /** The definition (docs/api/workflows.md#definitions). */
  definition: Record<string, unknown>;
}

export interface Workspace {
  /** The id of the workspace. */
  id: string;
  /** The name of the workspace. */
  name: string;
  /** The plan of the workspace. */
  plan: 'free' | 'builder' | 'pro' | 'business' | 'enterprise';
  /** The caller's role in the workspace; null for workspace keys and operators. */
  role: 'guest' | 'viewer' | 'editor' | 'admin' | 'owner' | null;
  /** The credits of the workspace per month, set by the plan or by an operator; null means unlimited. */
  monthly_limit: number | null;
  /** The monthly credits of members without a limit of their own; null if there is no default. */
  default_member_credit_limit: number | null;
  /** The country of the workspace as an ISO 3166-1 alpha-2 code; `US` by default. */
  country_code: string;
  /** The language of the workspace as a BCP 47 tag; `en` by default. */
  locale: string;
  /** Who may invite guests by sharing an app; `app_owners` by default. */
  guest_invitations: 'app_owners' | 'admins';
  /** Switches that an operator sets for the workspace. */
  features: {
    /** Whether security scans check dependencies. */
    dependency_scan: boolean;
    /** Whether scans check the code of apps that have not set `static_code_enabled`. */
    static_code_default: boolean;
    /** Whether a language model may analyse apps; nothing depends on it yet. */
    model_analysis: boolean;
  };
  /** The time of creation. */
  created_date: string;
}

export interface WorkspaceKey {
  /** The id of the key, which is not the key itself. */
  id: string;
  /** The name of the key, for people to recognise it. */
  name: string;
  /** What the key is for; empty if no description was given. */
  description: string;
  /** What the key may do; an operation that requires a scope refuses keys without it. */
  scopes: ('apps:read' | 'apps:write' | 'apps:deploy' | 'schemas:write' | 'security:read' | 'security:scan' | 'usage:read' | 'audit:read')[];
  /** The only apps and agents that the credential reaches; null means all, including later ones. */
  app_ids: string[] | null;
  /** The last 4 characters of the credential, to recognise it. */
  last4: string;
  /** The e-mail address of the person who created the key; null if unknown. */
  created_by: string | null;
  /** The id of the token that created the key, which ends with that token; null if it was created in a session. */
  parent_id: string | null;
  /** The time of creation. */
  created_date: string;
  /** When the credential expires; null if never. */
  expires_at: string | null;
  /** When the credential was last used, updated at most once a minute; null if never. */
  last_used_at: string | null;
}

export interface WorkspaceMember {
  /** The id of the user; empty for an invitation. */
  user_id: string;
  /** The e-mail address of the person, compared in lower case. */
  email: string;
  /** The name of the person; empty for an invitation. */
  full_name: string;
  /** The role of the member, or the one that the invited person gets by joining. */
  role: 'owner' | 'admin' | 'editor' | 'viewer' | 'guest';
  /** Whether the person has joined; an invitation is `pending` for 60 days, then `expired`. */
  status: 'joined' | 'pending' | 'expired';
  /** Whether the member may use the workspace: a blocked member can't, and a person who is invited has not joined yet. */
  access_state: 'active' | 'blocked' | 'invited';
  /** How the person got the role: directly, or as a guest through a shared app. */
  assigned_via: 'direct' | 'app_share';
  /** How many apps the member owns, without those in the trash. */
  apps_owned: number;
  /** How many apps others have shared with the member, or with the invitation. */
  apps_shared: number;
  /** How many agents the member owns, without those in the trash. */
  agents_owned: number;
  /** How many agents others have shared with the member, or with the invitation. */
  agents_shared: number;
  /** The credits that the member may use per month: the member's own limit, or else the default of the workspace; null if there is neither. */
  credit_limit: number | null;
  /** Whether `credit_limit` is the default of the workspace, because the member has no limit of their own. */
  is_default_limit: boolean;
  /** The credits used since the start of the month in UTC, less refunds; null for other people unless the caller is an owner or admin. */
  credits_used: number | null;
  /** When the member last used credits, in UTC without a time zone suffix; null if never. */
  last_active: string | null;
  /** When the member last made a request, to the minute; null if never, and for other people unless the caller is an owner or admin. */
  last_seen: string | null;
}

export interface WorkspaceMembers {
  /** The members and open invitations of this page. */
  members: WorkspaceMember[];
  /** The `cursor` with which to request the next page, with the same body; null on the last page. */
  next_cursor: string | null;
  /** Whether there are more. */
  has_more: boolean;
  /** The number of members that match, on all pages. */
  total: number;
  /** The credits of the workspace per month, set by the plan or by an operator; null means unlimited. */
  monthly_limit: number | null;
  /** The monthly credits of members without a limit of their own; null if there is no default. */
  default_member_credit_limit: number | null;
}

export interface WorkspaceOfUser {
  /** The id of the workspace. */
  id: string;
  /** The name of the workspace. */
  name: string;
  /** The role of the user in the workspace. */
  role: 'guest' | 'viewer' | 'editor' | 'admin' | 'owner';
  /** The plan of the workspace. */
  plan: 'free' | 'builder' | 'pro' | 'business' | 'enterprise';
}

export interface WorkspaceToken {
  /** The id of the token, which is not the token itself. */
  id: string;
  /** The name of the token, for people to recognise it. */
  name: string;
  /** What the credential may do; `read_only` allows only operations that accept it. */
  permission: 'read_only' | 'full_access';
  /** The only apps and agents that the credential reaches; null means all, including later ones. */
  app_ids: string[] | null;
  /** The only workspace in which the token is valid. */
  workspace_id: string;
  /** The last 4 characters of the credential, to recognise it. */
  last4: string;
  /** The time of creation. */
  created_date: string;
  /** When the credential expires; null if never. */
  expires_at: string | null;
  /** When the credential was last used, updated at most once a minute; null if never. */
  last_used_at: string | null;
  /** The e-mail address of the member for whom the token acts. */
  owner_email: string;
}

export interface WorkspaceWithStorage {
  /** The id of the workspace. */
  id: string;
  /** The name of the workspace. */
  name: string;
  /** The plan of the workspace. */
  plan: 'free' | 'builder' | 'pro' | 'business' | 'enterprise';
  /** The caller's role in the workspace; null for workspace keys and operators. */
  role: 'guest' | 'viewer' | 'editor' | 'admin' | 'owner' | null;
  /** The credits of the workspace per month, set by the plan or by an operator; null means unlimited. */
  monthly_limit: number | null;
  /** The monthly credits of members without a limit of their own; null if there is no default. */
  default_member_credit_limit: number | null;
  /** The country of the workspace as an ISO 3166-1 alpha-2 code; `US` by default. */
  country_code: string;
  /** The language of the workspace as a BCP 47 tag; `en` by default. */
  locale: string;
  /** Who may invite guests by sharing an app; `app_owners` by default. */
  guest_invitations: 'app_owners' | 'admins';
  /** Switches that an operator sets for the workspace. */
  features: {
    /** Whether security scans check dependencies. */
    dependency_scan: boolean;
    /** Whether scans check the code of apps that have not set `static_code_enabled`. */
    static_code_default: boolean;
    /** Whether a language model may analyse apps; nothing depends on it yet. */
    model_analysis: boolean;
  };
  /** The time of creation. */
  created_date: string;
  /** The storage that the workspace uses. */
  storage: Storage;
}
