// The list of tables in an export. Each tenant table, and each of its columns, is either exported or omitted for a
// stated reason. A test fails for any other table or column.

export interface ArchivePart {
  readonly table: string;
  /** The column that selects the rows, of the workspace or of each of its apps. */
  readonly owner: 'workspace_id' | 'app_id' | 'id';
  /** Columns that identify a row of an owner. Rows are read in their order. */
  readonly key: readonly [string, ...string[]];
  /**
   * - `together`: at the start, in one snapshot with the other parts that are small or on which others depend.
   * - `pages`: by page, each as of the time at which its page is read.
   * - `revisions`: by page, as of the revision that the app had in the first snapshot.
   * - `sealed`: by page. Only what was sealed at the start is read, and that does not change.
   * - `log`: what was added in the last minutes, or is open, with the parts that are read together, and by page what is
   *   older, which does not change. So the rows are those of the first snapshot.
   */
  readonly read: 'together' | 'pages' | 'revisions' | 'sealed' | 'log';
  /** Rows with a value in this column are being deleted, and are left out. */
  readonly deleting?: string;
  /** The value of the column `state` of rows that are open. */
  readonly open?: string;
}

/**
 * Ordered by foreign keys, so an import can insert the tables one after another. The features describe the columns
 * (archive-rows.ts).
 */
export const parts: readonly ArchivePart[] = [
  { table: 'workspaces', owner: 'id', key: ['id'], read: 'together' },
  { table: 'memberships', owner: 'workspace_id', key: ['user_id'], read: 'together' },
  { table: 'apps', owner: 'workspace_id', key: ['id'], read: 'together' },
  { table: 'app_shares', owner: 'workspace_id', key: ['app_id', 'user_id'], read: 'together' },
  { table: 'app_users', owner: 'app_id', key: ['created_date', 'id'], read: 'pages' },
  { table: 'app_auth_settings', owner: 'app_id', key: ['app_id'], read: 'together' },
  { table: 'app_files', owner: 'app_id', key: ['path'], read: 'revisions' },
  { table: 'app_security_settings', owner: 'app_id', key: ['app_id'], read: 'together' },
  { table: 'security_ignores', owner: 'workspace_id', key: ['app_id', 'fingerprint'], read: 'together' },
  { table: 'test_flows', owner: 'workspace_id', key: ['id'], read: 'together', deleting: 'deleting_since' },
  { table: 'entity_schemas', owner: 'app_id', key: ['name'], read: 'together' },
  { table: 'app_past_contents', owner: 'app_id', key: ['sha256'], read: 'revisions' },
  { table: 'app_past_versions', owner: 'app_id', key: ['kind', 'name', 'until_revision'], read: 'revisions' },
  // After the present files and schemas, whose import would otherwise be counted as changes of a revision.
  { table: 'app_revisions', owner: 'app_id', key: ['revision'], read: 'revisions' },
  { table: 'entity_records', owner: 'app_id', key: ['id'], read: 'pages' },
  { table: 'folders', owner: 'workspace_id', key: ['id'], read: 'together' },
  { table: 'folder_items', owner: 'workspace_id', key: ['folder_id', 'app_id'], read: 'together' },
  { table: 'agents', owner: 'workspace_id', key: ['app_id'], read: 'together' },
  { table: 'agent_conversations', owner: 'workspace_id', key: ['id'], read: 'pages' },
  { table: 'agent_messages', owner: 'workspace_id', key: ['conversation_id', 'position'], read: 'pages' },
  { table: 'agent_memories', owner: 'workspace_id', key: ['id'], read: 'pages' },
  { table: 'chat_messages', owner: 'workspace_id', key: ['app_id', 'position'], read: 'pages' },
  { table: 'webhooks', owner: 'workspace_id', key: ['id'], read: 'together' },
  { table: 'webhook_sequences', owner: 'workspace_id', key: ['webhook_id'], read: 'together' },
  { table: 'workflows', owner: 'workspace_id', key: ['id'], read: 'together' },
  { table: 'workflow_versions', owner: 'workspace_id', key: ['workflow_id', 'version_id'], read: 'together' },
  { table: 'automations', owner: 'workspace_id', key: ['id'], read: 'together' },
  { table: 'connections', owner: 'workspace_id', key: ['id'], read: 'together' },
  { table: 'credit_ledger', owner: 'workspace_id', key: ['id'], read: 'log' },
  { table: 'credit_pools', owner: 'workspace_id', key: ['period_start'], read: 'together' },
  { table: 'credit_use', owner: 'workspace_id', key: ['period_start', 'user_id'], read: 'together' },
  { table: 'credit_reservations', owner: 'workspace_id', key: ['id'], read: 'log', open: 'open' },
  { table: 'audit_chains', owner: 'workspace_id', key: ['chain_id'], read: 'together' },
  { table: 'audit_entries', owner: 'workspace_id', key: ['sequence'], read: 'sealed' },
];

/** The columns of these tables that an archive does not contain, named `table.column`. */
export const omittedColumns: Readonly<Record<string, string>> = {
  'workspaces.deleted_date': 'when the workspace was deleted',
  'apps.live_deployment_id': 'what is published of an app: publish it again after the import',
  'apps.published_revision': 'which revision of an app is published',
  'apps.published_at': 'when that revision was published',
  'apps.published_by': 'who published that revision',
  'apps.status_state': 'whether the builder chat is working on an app: its turns are not exported',
  'apps.status_message': 'why the last turn of the builder chat failed',
  'apps.status_error_source': 'what caused that failure',
  'app_revisions.message_id': 'which chat message asked for a revision',
  'chat_messages.turn_id': 'the turn of the builder chat that a message belongs to',
  'entity_records.size_bytes': 'the size of a record in bytes: measured by the import',
  'entity_schemas.keys': 'the keys of an entity: derived from its schema',
  'automations.next_tick_at': 'when a scheduled automation runs next: computed when it is turned on',
  'automations.ticks': 'how many times a scheduled automation has run',
  'connections.access_token_sealed': 'tokens of connections: connect the services again after the import',
  'connections.refresh_token_sealed': 'refresh tokens of connections',
  'connections.credentials_sealed': 'API keys of connections',
  'connections.expires_at': 'when the tokens of connections expire',
  'connections.last_error': 'why these tokens could not be refreshed',
  'connections.next_refresh_at': 'when these tokens are next refreshed',
  'connections.refresh_started_at': 'whether these tokens are being refreshed',
  'connections.refresh_attempts': 'how many times a refresh was attempted',
  'connections.refresh_ended_at': 'when a refresh was last attempted',
  'test_flows.recording': 'the steps of the last run that passed: the next run records them again',
  'test_flows.recording_revision': 'which revision of the test these steps belong to',
  'test_flows.deleting_since': 'whether the test is being deleted',
  'webhooks.secret': "webhooks' secrets: encrypted with this installation's keys; set new ones after the import",
  'webhooks.previous_secret': "webhooks' earlier secrets",
  'webhooks.previous_secret_expires_at': "when webhooks' earlier secrets expire",
  'webhooks.replay_until': 'replays of webhook deliveries in progress',
  'webhooks.resync_pending': 'webhook deliveries still to be held or resumed',
  'workflows.hook_token_hash': "the addresses of workflows' hooks: turning the workflows on creates new ones",
  'workflows.hook_token_sealed': "the tokens in these addresses: encrypted with this installation's keys",
  'workflows.next_tick_at': 'when scheduled workflows run next: imported workflows are inactive',
  'credit_pools.checked_date': 'when credit pools were last compared with the ledger',
};

export const omittedTables: Readonly<Record<string, string>> = {
  credentials: 'tokens and keys: only their hashes are stored; create new ones after the import',
  app_user_passwords: 'passwords of app users: only their hashes are stored; the users request a link and set new ones',
  app_user_links: 'sign-in links sent to app users: only their hashes are stored',
  app_user_addresses: 'keyed hashes of the addresses from which app users signed in',
  app_secrets: 'the values of app secrets; their names are listed in the manifest',
  app_revision_purges: 'when to look for revisions that are no longer kept: set again with the next revision',
  released_slugs: 'previous slugs of apps',
  deployments: 'snapshots of published files: publish the apps again after the import',
  app_blobs: 'the contents of published files',
  app_previews: 'previews of the last day: their addresses are those of this installation',
  blob_sweeps: 'contents of published files that are waiting to be checked',
  agent_turns: 'replies of agents in progress; finished messages are in the conversations',
  chat_turns: 'turns of the builder chat; what they saved is in the files, and what was said in the messages',
  chat_steps: 'steps of these turns',
  chat_held_rules: 'rules that the builder chat proposed: an import starts with the rules in effect',
  turn_deltas: 'parts of replies in progress',
  automation_runs: 'automation runs from the last 7 days',
  app_warnings: 'queued e-mails about workflows and automations that were turned off',
  connection_attempts: 'attempts to connect a service, which take at most ten minutes',
  webhook_bodies: 'bodies of webhook deliveries from the last 30 days; sequence numbers continue',
  webhook_deliveries: 'the log of webhook deliveries from the last 30 days',
  deleted_webhooks: 'deleted webhooks whose logs have not been removed yet',
  webhook_warnings: 'queued e-mails about failing webhooks',
  connection_refreshes: 'when tokens of connections are next refreshed',
  workflow_runs: 'workflow runs from the last 90 days: an import does not continue them',
  workflow_steps: 'steps of these runs',
  workflow_events: 'very recent events that workflows may be waiting for',
  workflow_analyses: 'explanations of failed runs, which are not exported either',
  workflow_analysis_leases: 'which explanations are being generated',
  unpaid_model_work: 'how often the language model worked today without a charge',
  ads_accounts: "advertising accounts: they belong to this installation's manager account on the ad platform",
  conversion_mappings: 'what counts as a conversion: part of an advertising account',
  tracking_checks: 'whether the tracking of what was published is verified: verify it again after you publish',
  ads_asset_sessions: 'requests to generate ad texts and images in the last 24 hours',
  ads_assets: 'generated ad texts and images: the images are in object storage; generate them again',
  ads_campaigns: "campaigns: they belong to this installation's manager account on the ad platform",
  ads_launches: 'launches of these campaigns',
  ads_changes: 'changes to these campaigns',
  ads_ceilings: 'how much app editors may spend on ads a day: the owner sets it again',
  ads_journal: 'what was sent to the ad platform for these campaigns',
  security_scans: 'requested scans: scan the apps again after the import',
  security_results: 'what these scans found',
  test_executions: 'test runs: an import does not continue them',
  test_reports: 'what these runs found',
  test_evidence: 'screenshots and traces of these runs, which are in object storage',
  browser_sessions: 'browsers that these runs used',
  app_repositories:
    "repositories of imported apps: their tokens are encrypted with this installation's keys; connect them again",
  coding_sessions: 'coding sessions: an import does not continue them, and their changes are in the repositories',
  coding_messages: 'what people wrote to these sessions',
  coding_steps: 'what these sessions did',
  coding_events: 'what these sessions showed while they worked',
  coding_checkpoints: 'unfinished work of these sessions, which is in object storage',
  billing_customers: "customers at this installation's payment provider",
  analytics_events: 'events from the last 60 days: docs/operate/analytics.md describes how to copy them',
  analytics_event_ids: 'ids of these events, which prevent duplicates from being stored',
  analytics_users: 'when app users were last seen: recorded again with the next events',
  analytics_user_counts: 'how many app users were last seen when: derived from the above',
  analytics_sizes: 'how many bytes the above take: counted again with the next events',
  deleted_app_analytics: 'deleted apps whose events have not been removed yet',
  entity_keys: 'keys of records: rebuilt from schemas and records',
  entity_key_states: 'which keys of records are built',
  record_write_counts: 'record writes from the last few minutes that are not in the audit log yet',
  audit_pending: 'audit entries not sealed yet; the export seals them first',
  workspace_exports: 'earlier exports',
  idempotency_keys: 'answers stored for a day, for requests that are repeated',
  storage_usage: 'the number of bytes that the workspace stores: counted by the import',
  storage_changes: 'changes to that number that have not been added yet',
  member_directory: 'the members list: the database derives it from members, invitations, apps and the ledger',
  member_words: 'the search index of the members list: derived with it',
  member_tallies: 'the counts of the members list: derived with it',
  member_activity:
    'pending updates of the members list: derived from the ledger; when members were last seen is not exported',
  invitations: 'open invitations: only hashes of their links are stored; invite these people again',
  invitation_shares: 'apps shared with people who have not joined yet: part of their invitations',
};
