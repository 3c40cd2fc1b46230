// Owns the list of what an export contains: each tenant table is either a part or omitted with a reason, and so is each of
// its columns. A test fails if one is neither.

export interface ArchivePart {
  readonly table: string;
  /** The column that selects a workspace's rows, directly or by one of its apps. */
  readonly owner: 'workspace_id' | 'app_id' | 'id';
  readonly order: string;
}

/**
 * In the order of their foreign keys, so that an import can insert them one after the other. The features describe the columns
 * (archive-rows.ts).
 */
export const parts: readonly ArchivePart[] = [
  { table: 'workspaces', owner: 'id', order: 'id' },
  { table: 'memberships', owner: 'workspace_id', order: 'created_date, user_id' },
  { table: 'apps', owner: 'workspace_id', order: 'id' },
  { table: 'app_shares', owner: 'workspace_id', order: 'app_id, user_id' },
  { table: 'app_users', owner: 'app_id', order: 'id' },
  { table: 'app_auth_settings', owner: 'app_id', order: 'app_id' },
  { table: 'app_files', owner: 'app_id', order: 'app_id, path' },
  { table: 'app_security_settings', owner: 'app_id', order: 'app_id' },
  { table: 'entity_schemas', owner: 'app_id', order: 'app_id, name' },
  { table: 'entity_records', owner: 'app_id', order: 'app_id, id' },
  { table: 'folders', owner: 'workspace_id', order: 'id' },
  { table: 'folder_items', owner: 'workspace_id', order: 'folder_id, app_id' },
  { table: 'agents', owner: 'workspace_id', order: 'app_id' },
  { table: 'agent_conversations', owner: 'workspace_id', order: 'id' },
  { table: 'agent_messages', owner: 'workspace_id', order: 'conversation_id, position' },
  { table: 'agent_memories', owner: 'workspace_id', order: 'id' },
  { table: 'chat_messages', owner: 'workspace_id', order: 'app_id, position' },
  { table: 'webhooks', owner: 'workspace_id', order: 'id' },
  { table: 'webhook_sequences', owner: 'workspace_id', order: 'webhook_id' },
  { table: 'workflows', owner: 'workspace_id', order: 'id' },
  { table: 'workflow_versions', owner: 'workspace_id', order: 'workflow_id, created_date, version_id' },
  { table: 'automations', owner: 'workspace_id', order: 'id' },
  { table: 'credit_ledger', owner: 'workspace_id', order: 'id' },
  { table: 'credit_pools', owner: 'workspace_id', order: 'period_start' },
  { table: 'credit_use', owner: 'workspace_id', order: 'period_start, user_id' },
  { table: 'credit_reservations', owner: 'workspace_id', order: 'id' },
  { table: 'audit_chains', owner: 'workspace_id', order: 'chain_id' },
  { table: 'audit_entries', owner: 'workspace_id', order: 'sequence' },
];

/** Columns of these tables that an archive does not contain, as `table.column`. */
export const omittedColumns: Readonly<Record<string, string>> = {
  'workspaces.deleted_date': 'when the workspace was deleted',
  'apps.live_deployment_id': 'what is published of an app: publish it again after the import',
  'apps.published_revision': 'which revision of an app is published',
  'apps.published_at': 'when it was published',
  'apps.published_by': 'who published it',
  'apps.status_state': 'whether the builder chat is working on an app: its turns are not exported',
  'apps.status_message': 'why the last turn of the builder chat failed',
  'apps.status_error_source': 'what made it fail',
  'chat_messages.turn_id': 'the turn of the builder chat that a message belongs to',
  'entity_records.size_bytes': 'how many bytes a record takes: measured by the import',
  'entity_schemas.keys': 'the keys of an entity: derived from its schema',
  'automations.next_tick_at': 'when a scheduled automation runs next: computed when it is turned on',
  'automations.ticks': 'how often it has run',
  'webhooks.secret': "webhooks' secrets: encrypted with this installation's keys; set new ones after the import",
  'webhooks.previous_secret': "webhooks' earlier secrets",
  'webhooks.previous_secret_expires_at': "when webhooks' earlier secrets expire",
  'webhooks.replay_until': 'replays of webhook deliveries in progress',
  'webhooks.resync_pending': 'webhook deliveries still to be held or resumed',
  'workflows.hook_token_hash': "the addresses of workflows' hooks: turning the workflows on makes new ones",
  'workflows.hook_token_sealed': "the tokens in these addresses: encrypted with this installation's keys",
  'workflows.next_tick_at': 'when scheduled workflows run next: imported workflows are inactive',
  'credit_pools.checked_date': 'when credit pools were last compared with the ledger',
};

export const omittedTables: Readonly<Record<string, string>> = {
  credentials: 'tokens and keys: only their hashes are stored; create new ones after the import',
  app_user_passwords: 'passwords of app users: only their hashes are stored; the users ask for a link and set new ones',
  app_user_links: 'links to sign in that were sent to app users: only their hashes are stored',
  app_user_addresses: 'keyed hashes of the addresses at which app users signed in',
  app_secrets: 'the values of app secrets; their names are listed in the manifest',
  released_slugs: 'slugs that apps had before',
  deployments: 'snapshots of published files: publish the apps again after the import',
  app_blobs: 'the contents of published files',
  blob_sweeps: 'contents of published files that are to be checked',
  agent_turns: 'replies of agents in progress; finished messages are in the conversations',
  chat_turns: 'turns of the builder chat; what they saved is in the files, and what was said in the messages',
  chat_steps: 'steps of these turns',
  turn_deltas: 'parts of replies in progress',
  automation_runs: 'runs of automations of the last 7 days',
  app_warnings: 'queued mails about workflows and automations that were turned off',
  webhook_bodies: 'bodies of webhook deliveries of the last 30 days; sequence numbers continue',
  webhook_deliveries: 'the log of webhook deliveries of the last 30 days',
  deleted_webhooks: 'deleted webhooks whose logs are still to be removed',
  webhook_warnings: 'queued mails about failing webhooks',
  workflow_runs: 'runs of workflows of the last 90 days: an import continues none of them',
  workflow_steps: 'steps of these runs',
  workflow_events: 'events of the last moments for which workflows may wait',
  workflow_analyses: 'explanations of failed runs, which are not exported either',
  workflow_analysis_leases: 'which explanations are being generated',
  entity_keys: 'keys of records: rebuilt from schemas and records',
  entity_key_states: 'which keys of records are built',
  record_write_counts: 'record writes of the last minutes that are not in the audit log yet',
  audit_pending: 'audit entries not sealed yet; the export seals them first',
  workspace_exports: 'earlier exports',
  storage_usage: 'how many bytes the workspace stores: counted by the import',
  storage_changes: 'changes of it that are not added up yet',
  member_directory: 'the members list: the database derives it from members, invitations, apps and the ledger',
  member_words: 'the search index of the members list: derived with it',
  member_tallies: 'the counts of the members list: derived with it',
  member_activity:
    'pending updates of the members list: derived from the ledger; when members were last seen is not exported',
  invitations: 'open invitations: only hashes of their links are stored; invite these people again',
  invitation_shares: 'apps shared with people who have not joined yet: part of their invitations',
};
