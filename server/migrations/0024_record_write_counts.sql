-- module: entities
-- How many records members and workspace keys have written since the last audit entry about it. A job turns each row into
-- an audit entry five minutes after its first write.

create table record_write_counts (
  workspace_id uuid not null,
  credential_id uuid not null,
  app_id uuid not null,
  entity_name text collate "C" not null,
  -- The person that the credential acts for; null for a workspace key.
  user_id uuid,
  email text,
  created integer not null,
  updated integer not null,
  deleted integer not null,
  first_at timestamptz(3) not null,
  last_at timestamptz(3) not null,
  primary key (workspace_id, credential_id, app_id, entity_name)
) with (
  -- Few rows, each updated by every batch of events: room on the page for the next version.
  fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02
);
