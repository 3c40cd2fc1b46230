// How the bytes of every table are counted or bounded. A test fails for a table that is missing here, and for one that is
// said to be counted and has no trigger that does it.
import type { StorageKind } from './usage.ts';

export interface Counted {
  readonly counted: StorageKind;
  /**
   * The bytes of a row in SQL: its payload, and a fixed number for the rest of it and its entries in indexes. The trigger
   * and the recount add up this expression.
   */
  readonly bytes: string;
}

/** Counted by statements or triggers of its own, and recounted by a query of its own (recount.ts). */
interface CountedBySelf {
  readonly counted: StorageKind;
  readonly payload: string;
  readonly rowBytes: number;
  /** The table whose triggers count, if it is not this one. */
  readonly countedBy?: string;
}

interface Bounded {
  /** What bounds the number and the size of the rows. */
  readonly bounded: string;
}

type StoredTable = Counted | CountedBySelf | Bounded;

const perRequest = 'rows of work in progress; they end with the request or its retries';

/** Tables with data of tenants. */
export const tenantTables: Readonly<Record<string, StoredTable>> = {
  // ---- counted
  entity_records: { counted: 'records', payload: 'data as JSON', rowBytes: 400 },
  app_files: { counted: 'files', payload: 'content', rowBytes: 250 },
  app_past_contents: { counted: 'files', payload: 'content', rowBytes: 150 },
  app_past_versions: { counted: 'files', payload: 'name', rowBytes: 200 },
  app_blobs: { counted: 'files', payload: 'the content in object storage', rowBytes: 200 },
  deployments: { counted: 'files', payload: 'the list of files', rowBytes: 0 },
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

  workflow_steps: {
    counted: 'runs',
    payload: 'input, output and error',
    rowBytes: 300,
    countedBy: 'workflow_runs',
  },

  // ---- counted by `count_stored` (migration 0170)
  workflow_runs: { counted: 'runs', bytes: 'counted_bytes' },
  workflow_analyses: { counted: 'runs', bytes: '300 + octet_length(explanation)' },
  automation_runs: { counted: 'runs', bytes: '900' },
  agent_conversations: { counted: 'conversations', bytes: '350 + octet_length(metadata::text)' },
  agent_messages: {
    counted: 'conversations',
    bytes: '300 + octet_length(content) + octet_length(tool_calls::text) + octet_length(file_urls::text)',
  },
  agent_memories: { counted: 'conversations', bytes: '350 + octet_length(content)' },
  agent_turns: { counted: 'conversations', bytes: '900' },
  chat_messages: {
    counted: 'conversations',
    bytes: '400 + octet_length(content) + octet_length(tool_calls::text) + octet_length(file_urls::text)',
  },
  chat_turns: { counted: 'conversations', bytes: '1100' },
  chat_steps: { counted: 'conversations', bytes: '150 + coalesce(octet_length(record::text), 0)' },
  coding_sessions: {
    counted: 'sessions',
    bytes:
      '1800 + octet_length(prompt) + octet_length(title) + coalesce(octet_length(pull_request_body), 0) + coalesce(octet_length(commit_message), 0) + coalesce(octet_length(summary), 0) + coalesce(octet_length(error_message), 0) + coalesce(octet_length(input_request::text), 0) + octet_length(tried_commits::text) + octet_length(run_files::text)',
  },
  coding_messages: {
    counted: 'sessions',
    bytes: '600 + coalesce(octet_length(text), 0) + coalesce(octet_length(answers::text), 0)',
  },
  coding_steps: { counted: 'sessions', bytes: '250 + coalesce(octet_length(record::text), 0)' },
  coding_events: { counted: 'sessions', bytes: '250 + octet_length(data::text)' },
  test_executions: {
    counted: 'reports',
    bytes: '1800 + octet_length(flow_name) + octet_length(goal) + octet_length(url)',
  },
  test_reports: {
    counted: 'reports',
    bytes: '200 + coalesce(octet_length(result::text), 0) + coalesce(octet_length(report::text), 0)',
  },
  security_scans: { counted: 'reports', bytes: '1000' },
  security_results: {
    counted: 'reports',
    bytes:
      '600 + octet_length(coverage::text) + octet_length(rls::text) + octet_length(secrets::text) + octet_length(functions::text) + octet_length(dependencies::text) + octet_length(static_code::text) + octet_length(headers::text) + octet_length(numbers::text) + coalesce(octet_length(packages::text), 0)',
  },
  ads_asset_sessions: { counted: 'ads', bytes: '900 + octet_length(brief::text)' },
  ads_campaigns: {
    counted: 'ads',
    bytes:
      '1000 + octet_length(campaign_name) + octet_length(landing_page) + octet_length(geo_targets::text) + octet_length(excluded_geo_targets::text)',
  },
  ads_launches: { counted: 'ads', bytes: '1200 + octet_length(content::text)' },
  ads_changes: { counted: 'ads', bytes: '1000 + octet_length(content::text)' },
  ads_journal: { counted: 'ads', bytes: '250 + octet_length(detail)' },
  ads_assets: { counted: 'files', bytes: '500 + size_bytes + coalesce(octet_length(text), 0)' },
  credit_ledger: { counted: 'ledger', bytes: '600' },
  credit_reservations: { counted: 'ledger', bytes: '450' },
  audit_entries: { counted: 'audit', bytes: '500 + octet_length(entry::text)' },
  apps: { counted: 'settings', bytes: '4500 + octet_length(name) + octet_length(user_description)' },
  app_shares: { counted: 'settings', bytes: '350' },
  app_revisions: {
    counted: 'settings',
    bytes: '400 + coalesce(octet_length(summary), 0) + octet_length(entities::text)',
  },
  app_previews: { counted: 'settings', bytes: '500' },
  app_users: { counted: 'settings', bytes: '1000 + octet_length(data::text)' },
  app_secrets: { counted: 'settings', bytes: '300 + octet_length(sealed)' },
  entity_schemas: { counted: 'settings', bytes: '500 + octet_length(document::text)' },
  credentials: { counted: 'settings', bytes: `case when kind = 'session' then 0 else 900 end` },
  folders: { counted: 'settings', bytes: '600' },
  folder_items: { counted: 'settings', bytes: '350' },
  agents: { counted: 'settings', bytes: '250 + octet_length(instructions)' },
  webhooks: {
    counted: 'settings',
    bytes:
      '1200 + octet_length(target_url) + coalesce(octet_length(entity_names::text), 0) + coalesce(octet_length(description), 0)',
  },
  workflows: {
    counted: 'settings',
    bytes: '1600 + octet_length(name) + coalesce(octet_length(description), 0) + octet_length(trigger::text)',
  },
  workflow_versions: {
    counted: 'settings',
    bytes: '350 + octet_length(definition::text) + coalesce(octet_length(change_summary), 0)',
  },
  automations: {
    counted: 'settings',
    bytes:
      '1200 + octet_length(name) + coalesce(octet_length(description), 0) + coalesce(octet_length(condition), 0) + octet_length(action::text)',
  },
  test_flows: {
    counted: 'settings',
    bytes: '600 + octet_length(name) + octet_length(goal) + coalesce(octet_length(recording::text), 0)',
  },
  connections: { counted: 'settings', bytes: '4000' },
  conversion_mappings: { counted: 'settings', bytes: '700' },
  security_ignores: {
    counted: 'settings',
    bytes:
      '800 + coalesce(octet_length(title), 0) + coalesce(octet_length(reason), 0) + coalesce(octet_length(covered_rules::text), 0)',
  },
  chat_held_rules: {
    counted: 'settings',
    bytes:
      '500 + coalesce(octet_length(rule_before::text), 0) + coalesce(octet_length(rule_after::text), 0) + coalesce(octet_length(example::text), 0)',
  },

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
  app_revision_purges: { bounded: 'one row per app' },
  app_auth_settings: { bounded: 'one row per app' },
  app_security_settings: { bounded: 'one row per app' },
  ads_ceilings: { bounded: 'one row per workspace and app' },
  released_slugs: { bounded: 'removed after 31 days' },
  blob_sweeps: { bounded: 'one row per app' },
  app_user_passwords: { bounded: 'one row per app user' },
  app_user_links: { bounded: 'removed after two hours' },
  app_user_addresses: { bounded: 'ten per app user' },
  app_warnings: { bounded: 'mails, removed after a day' },
  connection_refreshes: { bounded: 'one row per connection, counted with it' },
  app_repositories: { bounded: 'one row per app' },
  entity_keys: { bounded: 'a number of short rows per record, which is counted' },
  entity_key_states: { bounded: 'one row per entity' },
  record_write_counts: { bounded: 'merged into audit entries within minutes' },
  webhook_sequences: { bounded: 'one row per webhook' },
  deleted_webhooks: { bounded: 'one row per webhook, until its log is removed' },
  webhook_warnings: { bounded: 'mails, removed after a day' },
  workflow_events: { bounded: perRequest },
  workflow_analysis_leases: { bounded: perRequest },
  connection_attempts: { bounded: 'removed after ten minutes' },
  credit_pools: { bounded: 'one row per month' },
  credit_use: { bounded: 'one row per month and person' },
  unpaid_model_work: { bounded: 'three rows per app and four per workspace at most, removed after two days' },
  billing_customers: { bounded: 'one row per workspace' },
  ads_accounts: { bounded: 'one row per app' },
  tracking_checks: { bounded: 'one row per app' },
  browser_sessions: { bounded: perRequest },
  turn_deltas: { bounded: 'removed after 20 minutes' },
  audit_chains: { bounded: 'one row per chain' },
  audit_pending: { bounded: 'sealed within seconds' },
};

/** Tables of the installation and of its people, which no workspace owns. */
export const installationTables: readonly string[] = [
  'backup_state',
  'device_logins',
  'event_dispatch_state',
  'location_catalogue',
  'known_keys',
  'location_names',
  'locations',
  'migrations',
  'object_removals',
  'partitioned_tables',
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
