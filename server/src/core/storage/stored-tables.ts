// How the bytes of every table are counted or bounded. A test fails for a table that is missing here, and for one that is
// said to be counted and has no trigger that does it.
import type { StorageKind } from './usage.ts';

interface Counted {
  readonly counted: StorageKind;
  /** What a row counts: its payload, and a fixed number of bytes for the rest of it and its entries in indexes. */
  readonly payload: string;
  readonly rowBytes: number;
  /** The table whose triggers count, if it is not this one. */
  readonly countedBy?: string;
}

interface Bounded {
  /** What bounds the number and the size of the rows. */
  readonly bounded: string;
}

interface NotCounted {
  /** Grows with requests, and nothing but rate limits, prices and retention bounds it yet: these. */
  readonly notCounted: string;
}

type StoredTable = Counted | Bounded | NotCounted;

const perRequest = 'rows of work in progress; they end with the request or its retries';

/** Tables with data of tenants. */
export const tenantTables: Readonly<Record<string, StoredTable>> = {
  // ---- counted
  entity_records: { counted: 'records', payload: 'data as JSON', rowBytes: 0 },
  app_files: { counted: 'files', payload: 'content', rowBytes: 0 },
  app_past_contents: { counted: 'files', payload: 'content', rowBytes: 0 },
  app_past_versions: { counted: 'files', payload: 'name', rowBytes: 200 },
  app_blobs: { counted: 'files', payload: 'the content in object storage', rowBytes: 0 },
  deployments: { counted: 'files', payload: 'the list of files', rowBytes: 0 },
  ads_assets: { counted: 'files', payload: 'the image in object storage', rowBytes: 0 },
  test_evidence: { counted: 'files', payload: 'the file in object storage', rowBytes: 0 },
  coding_checkpoints: { counted: 'files', payload: 'the file in object storage', rowBytes: 0 },
  workspace_exports: { counted: 'archives', payload: 'the archive in object storage', rowBytes: 0 },
  analytics_events: {
    counted: 'analytics',
    payload: 'the line that is copied into the table',
    rowBytes: 40,
    countedBy: 'analytics_sizes',
  },
  analytics_event_ids: { counted: 'analytics', payload: 'nothing', rowBytes: 120, countedBy: 'analytics_sizes' },
  analytics_users: { counted: 'analytics', payload: 'user_id', rowBytes: 300 },
  idempotency_keys: { counted: 'answers', payload: 'the answer as JSON', rowBytes: 250 },
  webhook_bodies: { counted: 'deliveries', payload: 'the body', rowBytes: 150 },
  webhook_deliveries: { counted: 'deliveries', payload: 'attempts after the first', rowBytes: 600 },

  // ---- bounded
  events: {
    bounded:
      'byte budgets and rate limits; removed 10 minutes after the dispatch, 1 minute if larger than 8 KiB, unless queued work needs them',
  },
  analytics_sizes: { bounded: '62 rows per app' },
  analytics_user_counts: {
    bounded: 'for each app three rows for each minute of 60 days, and six for each counted user',
  },
  deleted_app_analytics: { bounded: 'one row per app, until its events are removed' },
  storage_changes: { bounded: 'one row per change, merged within seconds' },
  storage_usage: { bounded: 'one row per workspace' },
  workspaces: { bounded: 'created by operators, or by people with an account within a rate limit' },
  memberships: { bounded: 'one row per member; 100 invitations a day' },
  invitations: { bounded: '100 a day; removed after 60 days' },
  invitation_shares: { bounded: 'the apps of an invitation' },
  member_directory: { bounded: 'one row per member or invitation' },
  member_words: { bounded: 'one row per member or invitation' },
  member_tallies: { bounded: 'four rows per workspace' },
  member_activity: { bounded: 'merged into the directory within minutes' },
  apps: { bounded: '5 a minute and caller; texts have limits' },
  app_revisions: { bounded: 'the last 200 per app, and those of 30 days, at most 2,000; short texts' },
  app_revision_purges: { bounded: 'one row per app' },
  app_shares: { bounded: 'one row per app and member' },
  app_auth_settings: { bounded: 'one row per app' },
  app_security_settings: { bounded: 'one row per app' },
  ads_ceilings: { bounded: 'one row per workspace and app' },
  chat_held_rules: { bounded: '50 per app; texts have the limits of a schema' },
  app_secrets: { bounded: 'a number per app; values have limits' },
  released_slugs: { bounded: 'removed after 31 days' },
  blob_sweeps: { bounded: 'one row per app' },
  app_users: { bounded: '500 mails a day for sign-ups per workspace; managers add them within a rate limit' },
  app_user_passwords: { bounded: 'one row per app user' },
  app_user_links: { bounded: 'removed after two hours' },
  app_user_addresses: { bounded: 'ten per app user' },
  app_warnings: { bounded: 'mails, removed after a day' },
  app_repositories: { bounded: 'one row per app' },
  security_ignores: { bounded: 'a number per app' },
  entity_schemas: { bounded: 'a number per app; 64 KiB of a schema are typical, the limit of a body at most' },
  entity_keys: { bounded: 'a number of short rows per record, which is counted' },
  entity_key_states: { bounded: 'one row per entity' },
  record_write_counts: { bounded: 'merged into audit entries within minutes' },
  folders: { bounded: 'a number per workspace' },
  folder_items: { bounded: 'one row per folder and app' },
  agents: { bounded: 'one row per app' },
  webhooks: { bounded: 'a number per app' },
  webhook_sequences: { bounded: 'one row per webhook' },
  deleted_webhooks: { bounded: 'one row per webhook, until its log is removed' },
  webhook_warnings: { bounded: 'mails, removed after a day' },
  workflows: { bounded: 'a number per app' },
  workflow_events: { bounded: perRequest },
  workflow_analysis_leases: { bounded: perRequest },
  automations: { bounded: 'a number per app' },
  connections: { bounded: 'one row per app and service' },
  connection_attempts: { bounded: 'removed after ten minutes' },
  credentials: { bounded: 'expired and revoked ones are removed after 30 days; created within a rate limit' },
  credit_pools: { bounded: 'one row per month' },
  credit_use: { bounded: 'one row per month and person' },
  unpaid_model_work: { bounded: 'two rows per app and three per workspace at most, removed after two days' },
  billing_customers: { bounded: 'one row per workspace' },
  ads_accounts: { bounded: 'one row per app' },
  conversion_mappings: { bounded: 'a number per account' },
  tracking_checks: { bounded: 'one row per app' },
  test_flows: { bounded: 'a number per app' },
  browser_sessions: { bounded: perRequest },
  turn_deltas: { bounded: 'removed after 20 minutes' },
  agent_turns: { bounded: 'removed after two days; a turn costs credits' },
  chat_turns: { bounded: 'removed after two days; a turn costs credits' },
  audit_chains: { bounded: 'one row per chain' },
  audit_pending: { bounded: 'sealed within seconds' },
  audit_entries: {
    bounded: 'small rows, one for each change within a rate limit; never refused; removed after 400 days',
  },

  // ---- not counted yet
  workflow_runs: { notCounted: 'a run costs credits; 90 days' },
  workflow_steps: { notCounted: 'up to 16 KiB of input and output each; a run costs credits; 90 days' },
  workflow_versions: { notCounted: 'one per change of a definition' },
  workflow_analyses: { notCounted: 'one per failed run; removed with it' },
  automation_runs: { notCounted: 'short rows; 7 days' },
  agent_conversations: { notCounted: 'created within a rate limit' },
  agent_messages: { notCounted: 'a reply costs credits' },
  agent_memories: { notCounted: 'a number of short texts per person and agent' },
  chat_messages: { notCounted: 'a turn costs credits' },
  chat_steps: { notCounted: 'a step costs credits; removed with the turn' },
  coding_sessions: { notCounted: 'a session costs credits' },
  coding_messages: { notCounted: 'a turn costs credits' },
  coding_steps: { notCounted: 'a step costs credits' },
  coding_events: { notCounted: 'limited per session; a session costs credits' },
  credit_ledger: { notCounted: 'short rows; each is a movement of credits' },
  credit_reservations: { notCounted: 'short rows; removed after 90 days' },
  ads_asset_sessions: { notCounted: 'a session costs credits; removed after a day' },
  ads_campaigns: { notCounted: 'a campaign costs money' },
  ads_changes: { notCounted: 'changes of campaigns within a rate limit' },
  ads_launches: { notCounted: 'a campaign costs money' },
  ads_journal: { notCounted: 'what was sent for a campaign' },
  security_scans: { notCounted: 'short rows; scans within a rate limit' },
  security_results: { notCounted: 'findings of a scan; scans within a rate limit' },
  test_executions: { notCounted: 'a run costs credits' },
  test_reports: { notCounted: 'a run costs credits' },
};

/** Tables of the installation and of its people, which no workspace owns. */
export const installationTables: readonly string[] = [
  'device_logins',
  'event_dispatch_state',
  'location_catalogue',
  'location_names',
  'locations',
  'migrations',
  'object_removals',
  'password_resets',
  'passwords',
  'queue_pauses',
  'reset_mails',
  'setup_tokens',
  'sign_in_addresses',
  'sign_in_mails',
  'users',
  'worker_slots',
];
