// Owns what an export of a workspace holds: each tenant table is a part, or is left out with the reason. A test fails
// when a table is neither.

export interface ArchivePart {
  readonly table: string;
  /** The column that says whose a row is: the workspace's, or one of its apps'. */
  readonly owner: 'workspace_id' | 'app_id' | 'id';
  readonly order: string;
  /** Columns that hold bytes; they travel as base64. */
  readonly binary?: readonly string[];
  /** Columns that hold a person's id; people are found again by their e-mail address. */
  readonly userIds?: readonly string[];
  /** Columns that hold the id of a person or of an app's user, or a word that is neither. */
  readonly principalIds?: readonly string[];
  /** Columns that keep the value they had. */
  readonly verbatim?: readonly string[];
  /** Columns that stay behind: secrets that open only here. */
  readonly omit?: readonly string[];
  /** Columns that may name what no longer exists. */
  readonly nullIfMissing?: readonly string[];
}

/** In the order in which they can be written back. */
export const parts: readonly ArchivePart[] = [
  { table: 'workspaces', owner: 'id', order: 'id' },
  { table: 'memberships', owner: 'workspace_id', order: 'created_date, user_id', userIds: ['user_id'] },
  { table: 'apps', owner: 'workspace_id', order: 'id', userIds: ['owner_id'] },
  { table: 'app_shares', owner: 'workspace_id', order: 'app_id, user_id', userIds: ['user_id'] },
  { table: 'app_users', owner: 'app_id', order: 'id' },
  { table: 'app_files', owner: 'app_id', order: 'app_id, path', binary: ['content'] },
  { table: 'entity_schemas', owner: 'app_id', order: 'app_id, name' },
  {
    // Records may name each other by id, in fields that only the app understands: their ids stay.
    table: 'entity_records',
    owner: 'app_id',
    order: 'app_id, id',
    verbatim: ['id'],
    principalIds: ['created_by_id'],
  },
  { table: 'folders', owner: 'workspace_id', order: 'id', userIds: ['owner_id'] },
  { table: 'folder_items', owner: 'workspace_id', order: 'folder_id, app_id', userIds: ['owner_id'] },
  { table: 'agents', owner: 'workspace_id', order: 'app_id' },
  { table: 'agent_conversations', owner: 'workspace_id', order: 'id', userIds: ['user_id'] },
  { table: 'agent_messages', owner: 'workspace_id', order: 'conversation_id, position' },
  { table: 'agent_memories', owner: 'workspace_id', order: 'id', userIds: ['user_id'] },
  {
    // They come back turned off: nobody else may be told with a secret that is not theirs yet, and nothing is lost meanwhile.
    table: 'webhooks',
    owner: 'workspace_id',
    order: 'id',
    omit: ['secret', 'previous_secret', 'previous_secret_expires_at'],
  },
  { table: 'webhook_sequences', owner: 'workspace_id', order: 'webhook_id' },
  {
    table: 'credit_ledger',
    owner: 'workspace_id',
    order: 'id',
    userIds: ['user_id'],
    verbatim: ['reference_id'],
    nullIfMissing: ['app_id', 'user_id'],
  },
  { table: 'credit_pools', owner: 'workspace_id', order: 'period_start' },
  { table: 'credit_use', owner: 'workspace_id', order: 'period_start, user_id', userIds: ['user_id'] },
  {
    // Acts under way do not move; their leases end here as they would have there.
    table: 'credit_reservations',
    owner: 'workspace_id',
    order: 'id',
    userIds: ['user_id'],
    verbatim: ['id', 'reference_id'],
    nullIfMissing: ['app_id', 'user_id'],
  },
  { table: 'audit_chains', owner: 'workspace_id', order: 'chain_id', verbatim: ['chain_id'] },
  {
    table: 'audit_entries',
    owner: 'workspace_id',
    order: 'sequence',
    verbatim: ['id', 'request_id'],
    nullIfMissing: ['app_id'],
  },
];

export const omittedTables: Readonly<Record<string, string>> = {
  credentials: 'tokens and keys: they are only kept as hashes, and are made anew where the workspace moves to',
  app_secrets: 'the values of app secrets; their names are listed in the manifest',
  agent_turns: 'replies of agents under way; what was said is in the conversations',
  agent_deltas: 'pieces of replies under way',
  webhook_bodies: 'what webhooks were told in the last 30 days; their numbers go on where they were',
  webhook_deliveries: 'the log of deliveries of the last 30 days',
  deleted_webhooks: 'webhooks that are gone, whose logs are still to be removed',
  webhook_warnings: 'mails about failing webhooks under way',
  entity_keys: 'the keys of records: built anew from the schemas and records',
  entity_key_states: 'which keys are built',
  audit_pending: 'audit entries not sealed yet; the export seals first',
  workspace_exports: 'earlier exports',
  member_directory: 'the members list: the database makes it from members, invitations, apps and the ledger',
  member_words: 'what members are searched by: made with the directory',
  member_tallies: 'how many members there are: made with the directory',
  member_activity: 'what is not in the members list yet: made from the ledger; when people were last seen stays behind',
  invitations: 'open invitations: their links are only kept as hashes; people are invited again',
  invitation_shares: 'apps shared with people who have not joined yet; they go with the invitations',
};
