// Written by `npm run describe` from the migrated database. Do not edit.
import type { ColumnType, Generated, Kysely } from 'kysely';

// JSON columns are read as values and written as JSON text.
type Json = ColumnType<unknown, string, string>;

export interface Tables {
  agent_conversations: {
    workspace_id: string;
    id: string;
    app_id: string;
    user_id: string;
    metadata: Json;
    last_position: Generated<number>;
    created_date: Date;
    updated_date: Date;
  };
  agent_memories: {
    workspace_id: string;
    id: string;
    app_id: string;
    user_id: string | null;
    content: string;
    created_date: Date;
  };
  agent_messages: {
    workspace_id: string;
    conversation_id: string;
    position: number;
    id: string;
    role: 'user' | 'assistant' | 'system';
    content: string;
    file_urls: Generated<string[]>;
    tool_calls: ColumnType<unknown, string | undefined, string>;
    prompt_tokens: number | null;
    completion_tokens: number | null;
    model: string | null;
    hidden: Generated<boolean>;
    created_date: Date;
    updated_date: Date;
  };
  agent_turns: {
    id: string;
    workspace_id: string;
    conversation_id: string;
    message_id: string;
    reply_id: string | null;
    reservation_id: string;
    may_save_memories: boolean;
    created_date: Date;
    ended_date: Date | null;
    due_at: Date | null;
    claims: Generated<number>;
    failures: Generated<number>;
    crash_count: Generated<number>;
    claimed_slot: number | null;
    claimed_epoch: number | null;
    last_error: string | null;
    failed_at: Date | null;
  };
  agents: {
    workspace_id: string;
    app_id: string;
    instructions: string;
    model: string | null;
  };
  app_auth_settings: {
    app_id: string;
    sign_up: 'closed' | 'invited' | 'open';
    password_enabled: boolean;
    link_enabled: boolean;
    updated_date: Date;
  };
  app_blobs: {
    app_id: string;
    sha256: string;
    id: string;
    size: number;
    state: 'uploading' | 'stored';
    names_localhost: Generated<boolean>;
    last_used_at: Date;
  };
  app_counts_of_directory: {
    workspace_id: string | null;
    id: string | null;
    apps_owned: number | null;
    apps_shared: number | null;
    agents_owned: number | null;
    agents_shared: number | null;
  };
  app_files: {
    app_id: string;
    path: string;
    content: Buffer;
    sha256: string;
    size: number;
    encoding: 'utf-8' | 'base64';
    updated_date: Date;
  };
  app_secrets: {
    app_id: string;
    name: string;
    sealed: string;
    last4: string | null;
    created_date: Date;
    updated_date: Date;
  };
  app_security_settings: {
    app_id: string;
    static_code_enabled: boolean;
    csp: string | null;
    hsts: string | null;
    frame_options: string | null;
    content_type_options: string | null;
    referrer_policy: string | null;
    permissions_policy: string | null;
  };
  app_shares: {
    app_id: string;
    user_id: string;
    workspace_id: string;
    role: 'editor' | 'viewer';
    created_date: Date;
  };
  app_user_addresses: {
    app_user_id: string;
    app_id: string;
    address_hash: Buffer;
    used_at: Date;
  };
  app_user_links: {
    id: string;
    app_id: string;
    email: string;
    purpose: 'sign_in' | 'sign_up';
    full_name: Generated<string>;
    password_hash: string | null;
    address_hash: Buffer | null;
    hash: Buffer | null;
    expires_at: Date | null;
    created_date: Date;
    due_at: Date | null;
    claims: Generated<number>;
    failures: Generated<number>;
    crash_count: Generated<number>;
    claimed_slot: number | null;
    claimed_epoch: number | null;
    last_error: string | null;
    failed_at: Date | null;
  };
  app_user_passwords: {
    app_user_id: string;
    app_id: string;
    hash: string;
    updated_date: Date;
  };
  app_users: {
    id: string;
    app_id: string;
    email: string;
    full_name: Generated<string>;
    role: Generated<'admin' | 'user'>;
    data: ColumnType<unknown, string | undefined, string>;
    created_date: Date;
    updated_date: Date;
  };
  apps: {
    id: string;
    workspace_id: string;
    app_type: 'user_app' | 'user_agent' | 'imported_app';
    owner_id: string;
    name: string;
    slug: string;
    user_description: Generated<string>;
    logo_url: string | null;
    visibility: 'workspace' | 'private';
    public_settings: 'private_with_login' | 'workspace_with_login' | 'public_with_login' | 'public_without_login';
    public_origins: Generated<string[]>;
    hide_authorship: Generated<boolean>;
    revision: Generated<number>;
    created_date: Date;
    updated_date: Date;
    deleted_date: Date | null;
    live_deployment_id: string | null;
    published_revision: number | null;
    published_at: Date | null;
    published_by: string | null;
    status_state: Generated<'ready' | 'processing' | 'error'>;
    status_message: Generated<string>;
    status_error_source: 'builder' | 'paywall' | 'model' | null;
  };
  apps_holding_records: {
    app_id: string | null;
  };
  apps_in_folders: {
    workspace_id: string | null;
    folder_id: string | null;
    app_id: string | null;
    owner_id: string | null;
  };
  audit_chains: {
    chain_id: string;
    workspace_id: string | null;
    last_sequence: number;
    last_hash: string;
    first_sequence: number;
    first_prev_hash: string;
  };
  audit_entries: {
    workspace_id: string | null;
    sequence: number;
    id: string;
    occurred_at: Date;
    type: string;
    app_id: string | null;
    actor_email: string | null;
    outcome: 'done' | 'refused';
    request_id: string;
    entry: Json;
    prev_hash: string;
    hash: string;
  };
  audit_pending: {
    id: string;
    workspace_id: string | null;
    entry: Json;
  };
  blob_sweeps: {
    app_id: string;
    due_at: Date;
  };
  chat_messages: {
    workspace_id: string;
    app_id: string;
    position: number;
    id: string;
    turn_id: string | null;
    role: 'user' | 'assistant' | 'system';
    content: string;
    file_urls: Generated<string[]>;
    tool_calls: ColumnType<unknown, string | undefined, string>;
    prompt_tokens: number | null;
    completion_tokens: number | null;
    model: string | null;
    created_date: Date;
  };
  chat_steps: {
    workspace_id: string;
    turn_id: string;
    number: number;
    reservation_id: string | null;
    record: Json | null;
    created_date: Date;
  };
  chat_turns: {
    id: string;
    workspace_id: string;
    app_id: string;
    message_id: string;
    user_id: string;
    credential_id: string;
    request_id: string;
    ip: string;
    created_date: Date;
    started_date: Date | null;
    ended_date: Date | null;
    error_source: 'builder' | 'paywall' | 'model' | null;
    error_message: string | null;
    due_at: Date | null;
    claims: Generated<number>;
    failures: Generated<number>;
    crash_count: Generated<number>;
    claimed_slot: number | null;
    claimed_epoch: number | null;
    last_error: string | null;
    failed_at: Date | null;
  };
  credentials: {
    id: string;
    kind: 'session' | 'personal_token' | 'personal_key' | 'workspace_key' | 'app_user_token';
    hash: Buffer;
    pepper_id: string;
    last4: string;
    name: Generated<string>;
    user_id: string | null;
    workspace_id: string | null;
    permission: 'read_only' | 'full_access';
    app_ids: string[] | null;
    scopes: string[] | null;
    created_date: Date;
    expires_at: Date | null;
    last_used_at: Date | null;
    revoked_at: Date | null;
    description: Generated<string>;
    parent_id: string | null;
    created_by: string | null;
    app_user_id: string | null;
    address: string | null;
    browser: string | null;
    sign_in_ends_at: Date | null;
  };
  credit_ledger: {
    workspace_id: string;
    id: string;
    kind: 'use' | 'reserve' | 'release' | 'refund' | 'grant' | 'reset';
    amount: number;
    user_id: string | null;
    app_id: string | null;
    operation: string;
    reference_id: string | null;
    balance_after: number | null;
    note: string | null;
    created_date: Date;
    period_start: Generated<Date>;
  };
  credit_pools: {
    workspace_id: string;
    period_start: Date;
    monthly_limit: Generated<number | null>;
    granted: Generated<number>;
    used: Generated<number>;
    reserved: Generated<number>;
    checked_date: Generated<Date>;
  };
  credit_reservations: {
    workspace_id: string;
    id: string;
    period_start: Date;
    user_id: string | null;
    app_id: string | null;
    operation: string;
    reference_id: string | null;
    amount: number;
    state: 'open' | 'settled' | 'released' | 'refunded';
    cost: number | null;
    charged: number | null;
    created_date: Date;
    expires_at: Date;
    closed_date: Date | null;
  };
  credit_use: {
    workspace_id: string;
    period_start: Date;
    user_id: string;
    used: number;
    reserved: number;
  };
  deleted_webhooks: {
    webhook_id: string;
    app_id: string;
    deleted_date: Generated<Date>;
  };
  deployments: {
    workspace_id: string;
    app_id: string;
    id: string;
    revision: number;
    files: Json;
    files_bytes: number;
    created_date: Date;
    created_by: string;
  };
  entity_key_states: {
    app_id: string;
    entity_name: string;
    ready: string[];
    building_since: Date | null;
    built_up_to: string | null;
  };
  entity_keys: {
    app_id: string;
    entity_name: string;
    key: string;
    value: Buffer;
    created_date: Date;
    record_id: string;
    is_unique: boolean;
  };
  entity_records: {
    app_id: string;
    id: string;
    entity_name: string;
    data: Json;
    created_by: string;
    created_by_id: string;
    created_date: Date;
    updated_date: Date;
    is_sample: Generated<boolean>;
    deleted_date: Date | null;
    version: Generated<number>;
    size_bytes: number;
  };
  entity_schemas: {
    app_id: string;
    name: string;
    document: Json;
    keys: string[];
    revision: number;
    created_date: Date;
    updated_date: Date;
  };
  entries_of_directory: {
    workspace_id: string | null;
    id: string | null;
    joined: boolean | null;
    role: string | null;
    access_state: string | null;
    assigned_via: string | null;
    email: string | null;
    full_name: string | null;
    credit_limit: number | null;
    expires_at: Date | null;
    email_verified: boolean | null;
  };
  event_dispatch_state: {
    is_singleton: Generated<boolean>;
    in_progress: Generated<boolean>;
    crash_count: Generated<number>;
    event_id: string | null;
    event_crash_count: Generated<number>;
    started_after: Generated<string>;
  };
  events: {
    id: string;
    name: string;
    payload: Json;
    occurred_at: Date;
    dispatched_at: Date | null;
    failures: Generated<number>;
    failure: string | null;
    retry_at: Date | null;
  };
  folder_items: {
    workspace_id: string;
    folder_id: string;
    app_id: string;
    owner_id: string | null;
    created_date: Date;
  };
  folders: {
    workspace_id: string;
    id: string;
    scope: 'workspace' | 'personal';
    owner_id: string | null;
    app_type: 'user_app' | 'user_agent';
    parent_folder_id: string | null;
    name: string;
    position: number;
    color: string | null;
    icon: string | null;
    created_date: Date;
    updated_date: Date;
  };
  idempotency_keys: {
    id: Buffer;
    request_hash: Buffer;
    status: number;
    body: Json;
    created_date: Date;
  };
  invitation_shares: {
    workspace_id: string;
    invitation_id: string;
    app_id: string;
    role: 'editor' | 'viewer';
    created_date: Date;
  };
  invitations: {
    workspace_id: string;
    id: string;
    email: string;
    role: 'admin' | 'editor' | 'viewer' | 'guest';
    assigned_via: Generated<'direct' | 'app_share'>;
    hash: Buffer;
    pepper_id: string;
    invited_by: string | null;
    created_date: Date;
    expires_at: Date;
    accepted_at: Date | null;
    accepted_by: string | null;
    mailed: Generated<boolean>;
  };
  member_activity: {
    workspace_id: string;
    user_id: string | null;
    noted_at: Date;
    month: number | null;
    credits: number | null;
    active_at: Date | null;
    seen_at: Date | null;
  };
  member_directory: {
    workspace_id: string;
    id: string;
    joined: boolean;
    role: 'owner' | 'admin' | 'editor' | 'viewer' | 'guest';
    access_state: 'active' | 'blocked' | 'invited';
    assigned_via: 'direct' | 'app_share';
    email: string;
    full_name: string;
    credit_limit: number | null;
    expires_at: Date | null;
    apps_owned: Generated<number>;
    apps_shared: Generated<number>;
    agents_owned: Generated<number>;
    agents_shared: Generated<number>;
    even_credits: Generated<number>;
    even_month: Generated<number>;
    odd_credits: Generated<number>;
    odd_month: Generated<number>;
    last_active: Date | null;
    last_seen: Date | null;
    role_rank: Generated<number>;
    place: Generated<number>;
    name_key: Generated<string>;
    apps: Generated<number>;
    agents: Generated<number>;
    email_verified: Generated<boolean>;
    guest_domain: Generated<string | null>;
  };
  member_tallies: {
    workspace_id: string;
    place: number;
    members: number;
  };
  member_words: {
    workspace_id: string;
    id: string;
    place: number;
    email: string;
    name: string;
  };
  memberships: {
    workspace_id: string;
    user_id: string;
    role: 'owner' | 'admin' | 'editor' | 'viewer' | 'guest';
    access_state: Generated<'active' | 'blocked'>;
    created_date: Date;
    updated_date: Date;
    credit_limit: number | null;
    assigned_via: Generated<'direct' | 'app_share'>;
  };
  object_removals: {
    key: string;
    added_at: Date;
  };
  password_resets: {
    id: string;
    user_id: string;
    hash: Buffer;
    expires_at: Date;
    used_at: Date | null;
  };
  passwords: {
    user_id: string;
    hash: string;
    updated_date: Date;
  };
  record_write_counts: {
    workspace_id: string;
    credential_id: string;
    app_id: string;
    entity_name: string;
    user_id: string | null;
    email: string | null;
    created: number;
    updated: number;
    deleted: number;
    first_at: Date;
    last_at: Date;
  };
  released_slugs: {
    slug: string;
    app_id: string;
    released_at: Date;
  };
  reset_mails: {
    id: string;
    user_id: string;
    created_date: Date;
    due_at: Date | null;
    claims: Generated<number>;
    failures: Generated<number>;
    crash_count: Generated<number>;
    claimed_slot: number | null;
    claimed_epoch: number | null;
    last_error: string | null;
    failed_at: Date | null;
  };
  setup_tokens: {
    hash: Buffer;
    created_date: Date;
  };
  shares_of_entries: {
    workspace_id: string | null;
    id: string | null;
    app_id: string | null;
  };
  sign_in_addresses: {
    user_id: string;
    address_hash: Buffer;
    used_at: Date;
    browser: Generated<string>;
  };
  sign_in_mails: {
    id: string;
    user_id: string;
    address: string;
    browser: string;
    created_date: Date;
    due_at: Date | null;
    claims: Generated<number>;
    failures: Generated<number>;
    crash_count: Generated<number>;
    claimed_slot: number | null;
    claimed_epoch: number | null;
    last_error: string | null;
    failed_at: Date | null;
  };
  storage_changes: {
    workspace_id: string;
    kind: 'records' | 'files' | 'archives';
    bytes: number;
  };
  storage_usage: {
    workspace_id: string;
    records_bytes: Generated<number>;
    files_bytes: Generated<number>;
    archives_bytes: Generated<number>;
    recounted_at: Date;
  };
  turn_deltas: {
    workspace_id: string;
    turn_id: string;
    claim: number;
    seq: number;
    delta: Json;
    created_date: Date;
  };
  users: {
    id: string;
    email: string;
    full_name: Generated<string>;
    is_operator: Generated<boolean>;
    created_date: Date;
    updated_date: Date;
    deactivated_at: Date | null;
    email_verified_at: Date | null;
    first_sign_in_at: Date | null;
  };
  webhook_bodies: {
    workspace_id: string;
    event_id: string;
    body: string;
  };
  webhook_deliveries: {
    id: string;
    workspace_id: string;
    webhook_id: string;
    event_id: string;
    event_type: string;
    sequence: number;
    status: 'pending' | 'delivered' | 'failed' | 'held' | 'missed' | 'expired';
    kind: Generated<'scheduled' | 'manual' | 'replay'>;
    scheduled_attempts: Generated<number>;
    resume_at: Date | null;
    failure_counted: Generated<boolean>;
    attempts_made: Generated<number>;
    attempts: ColumnType<unknown, string | undefined, string>;
    last_status_code: number | null;
    created_date: Date;
    delivered_at: Date | null;
    concurrency_key: string;
    due_at: Date | null;
    claims: Generated<number>;
    failures: Generated<number>;
    crash_count: Generated<number>;
    claimed_slot: number | null;
    claimed_epoch: number | null;
    last_error: string | null;
    failed_at: Date | null;
  };
  webhook_sequences: {
    workspace_id: string;
    webhook_id: string;
    last_sequence: Generated<number>;
  };
  webhook_warnings: {
    id: string;
    workspace_id: string;
    webhook_id: string;
    email: string;
    consecutive_failures: number;
    created_date: Date;
    due_at: Date | null;
    claims: Generated<number>;
    failures: Generated<number>;
    crash_count: Generated<number>;
    claimed_slot: number | null;
    claimed_epoch: number | null;
    last_error: string | null;
    failed_at: Date | null;
  };
  webhooks: {
    workspace_id: string;
    id: string;
    app_id: string;
    scope: 'agent' | 'app';
    target_url: string;
    events: string[];
    entity_names: string[] | null;
    description: string | null;
    secret: string | null;
    previous_secret: string | null;
    previous_secret_expires_at: Date | null;
    last_trigger_time: Date | null;
    last_error: Json | null;
    consecutive_failures: Generated<number>;
    disabled_at: Date | null;
    replay_until: Date | null;
    resync_pending: Generated<boolean>;
    created_date: Date;
    updated_date: Date;
    created_by_id: string | null;
  };
  worker_slots: {
    slot: number;
    epoch: Generated<number>;
    holder: Generated<string>;
    heartbeat_at: Date | null;
    recovered_epoch: Generated<number>;
  };
  workflow_run_state: {
    workflow_id: string;
    crash_count: Generated<number>;
    steps: Generated<number>;
    last_crash_id: string | null;
    waiting: Generated<boolean>;
    cancelled_at: Date | null;
    cancel_pending: Generated<boolean>;
    updated_date: Generated<Date>;
  };
  workspace_exports: {
    workspace_id: string;
    id: string;
    state: 'queued' | 'running' | 'ready' | 'failed';
    counts: ColumnType<unknown, string | undefined, string>;
    claimed_until: Date | null;
    attempts: Generated<number>;
    expires_at: Date | null;
    created_date: Date;
    size_bytes: Generated<number>;
  };
  workspaces: {
    id: string;
    name: string;
    plan: 'free' | 'builder' | 'pro' | 'business' | 'enterprise';
    rate_multiplier: number | null;
    country_code: Generated<string>;
    locale: Generated<string>;
    created_date: Date;
    updated_date: Date;
    deleted_date: Date | null;
    monthly_limit: number | null;
    default_member_credit_limit: number | null;
    features: ColumnType<unknown, string | undefined, string>;
    billing_hold: Generated<boolean>;
    billing_hold_reason: string | null;
    storage_quota_bytes: number | null;
  };
}

export type Db = Kysely<Tables>;
