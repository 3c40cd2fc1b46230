-- module: security
-- Security scans of apps: the queue, what the last finished scan found, and the findings that people chose to ignore.

-- One row per app: the record of the last scan that was asked for, and its queue (docs/internals/security-scans.md).
create table security_scans (
  id uuid primary key,
  workspace_id uuid not null,
  app_id uuid not null unique,
  state text not null check (state in ('pending', 'scanning', 'ended', 'failed')),
  -- Of the summary.
  language text not null check (language in ('en', 'ja', 'de', 'es', 'fr', 'pt')),
  -- Hashes of secrets that were found are keyed with it.
  secret_key bytea not null,
  requested_at timestamptz not null,
  due_at timestamptz,
  claims integer not null default 0,
  failures integer not null default 0,
  crash_count integer not null default 0,
  claimed_slot integer,
  claimed_epoch bigint,
  last_error text,
  failed_at timestamptz,
  foreign key (workspace_id, app_id) references apps (workspace_id, id) on delete cascade
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.05);
create index security_scans_of_workspace on security_scans (workspace_id, app_id);
create index security_scans_due on security_scans (due_at) where claimed_slot is null and due_at is not null;
create index security_scans_of_owner on security_scans (workspace_id, due_at)
  where claimed_slot is null and due_at is not null;
create index security_scans_claimed on security_scans (claimed_slot) where claimed_slot is not null;
create index security_scans_failed on security_scans (failed_at) where failed_at is not null;
create index security_scans_by_state on security_scans (state);

-- What the last finished scan found.
create table security_results (
  app_id uuid primary key,
  workspace_id uuid not null,
  -- New with each scan, so that what looks at a result later does not change the next one.
  scan_id uuid not null,
  scanner_version integer not null,
  language text not null,
  scanned_at timestamptz not null,
  -- What was scanned. The hash is null if the app changed while it was read: nothing matches it then.
  input_hash text,
  revision integer not null,
  is_published boolean not null,
  -- By group: {"rls": {"value": "ran"}}.
  coverage jsonb not null,
  rls jsonb not null,
  secrets jsonb not null,
  functions jsonb not null,
  dependencies jsonb not null,
  static_code jsonb not null,
  headers jsonb not null,
  -- Groups that had more than 1,000 findings.
  truncated_groups text[] not null,
  integrations text not null check (integrations in ('compatible', 'needs_changes', 'not_used', 'unknown')),
  -- Flags of headers that were dismissed since the scan.
  dismissed_headers text[] not null default '{}',
  -- The numbers that tell equal findings apart, with the place where each was last found.
  numbers jsonb not null,
  -- What the lockfiles name, for advisories that are published after the scan. Null: there was no lockfile.
  packages jsonb,
  -- When the packages were last compared with the advisories.
  advisories_read_at timestamptz not null,
  foreign key (workspace_id, app_id) references apps (workspace_id, id) on delete cascade
);
create index security_results_of_workspace on security_results (workspace_id, app_id);
create index security_results_advisories on security_results (advisories_read_at) where packages is not null;

create table security_ignores (
  app_id uuid not null,
  workspace_id uuid not null,
  fingerprint text collate "C" not null,
  -- What the caller said about it. Null: nothing.
  finding_type text check (finding_type in ('rls', 'hardcoded_secret', 'backend_function', 'dependency', 'static_code')),
  file_path text,
  title text,
  reason text,
  -- Of the flagged statement alone. Null if the finding has none, or was not in the result when it was ignored.
  secondary text,
  -- Of row rules: the entity, and its rules for the operations that were open.
  covered_rules jsonb,
  -- Since when scans have not found it. Null: the last one did.
  absent_since timestamptz,
  created_by text not null,
  created_date timestamptz not null,
  primary key (app_id, fingerprint),
  foreign key (workspace_id, app_id) references apps (workspace_id, id) on delete cascade
);
create index security_ignores_of_workspace on security_ignores (workspace_id, app_id);
create index security_ignores_absent on security_ignores (absent_since) where absent_since is not null;

-- Null: as the workspace's feature `static_code_default` says.
alter table app_security_settings alter column static_code_enabled drop not null;
