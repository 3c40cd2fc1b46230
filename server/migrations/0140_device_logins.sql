-- module: accounts
-- Programs that ask for a token with a code, which a person types on the page /device. The token is created when the
-- program fetches it, and the row is removed.
create table device_logins (
  id uuid primary key,
  device_hash bytea not null unique,
  user_code text not null unique,
  client_name text not null,
  address text not null,
  permission text not null check (permission in ('read_only', 'full_access')),
  -- Null means all apps.
  app_ids text[],
  created_date timestamptz not null,
  expires_at timestamptz not null,
  -- Who answered, and with what. The session must still be valid when the program fetches the token.
  answered_by uuid references users on delete cascade,
  session_id uuid,
  granted_workspace_id uuid references workspaces on delete cascade,
  is_approved boolean,
  granted_permission text check (granted_permission in ('read_only', 'full_access')),
  granted_app_ids text[],
  granted_days integer,
  check ((answered_by is null) = (is_approved is null))
);
create index device_logins_expired on device_logins (expires_at);
create index device_logins_of_user on device_logins (answered_by);
create index device_logins_of_workspace on device_logins (granted_workspace_id);
