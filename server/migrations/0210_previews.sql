-- module: publishing
-- Revisions of apps that are shown on hosts of their own for a day. The first label of such a host is a secret, so only its hash is
-- stored.
create table app_previews (
  id uuid primary key,
  workspace_id uuid not null references workspaces on delete cascade,
  app_id uuid not null references apps on delete cascade,
  label_hash bytea not null unique,
  -- Null if the preview follows the app, and always shows its present revision.
  revision integer,
  -- The token with which the preview is signed in. It may have been removed.
  credential_id uuid,
  created_date timestamptz not null,
  expires_at timestamptz not null
);
create index app_previews_of_app on app_previews (app_id, created_date);
create index app_previews_of_workspace on app_previews (workspace_id);
create index app_previews_expired on app_previews (expires_at);
call count_stored('app_previews', 'settings', '500');
