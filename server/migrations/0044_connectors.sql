-- module: connectors
-- Connections of apps to outside services, and the attempts to make them.

-- What an app has of one connector.
create table connections (
  id uuid primary key,
  workspace_id uuid not null,
  app_id uuid not null,
  integration_type text not null,
  -- pending: it was never connected. What is being connected again keeps its status until that succeeds.
  status text not null check (status in ('pending', 'active', 'expired', 'disconnected')),
  -- Who connected it, or is connecting it for the first time; null if that person's account was removed.
  user_id uuid references users on delete set null,
  -- What the service has granted.
  scopes text[] not null default '{}',
  -- Names a tenant or a site of the service. Contains no secrets, and is not encrypted.
  connection_config jsonb not null default '{}',
  -- Encrypted. Of a service with OAuth the tokens, of one with API keys what the person has sent.
  access_token_sealed text,
  refresh_token_sealed text,
  credentials_sealed text,
  -- When the access token expires; null if the service did not say so, and for API keys.
  expires_at timestamptz,
  connected_at timestamptz,
  -- Why the last refresh failed, or why the connection has expired.
  last_error text,
  -- When the tokens are to be refreshed; null if they are not.
  next_refresh_at timestamptz,
  -- Set before the refresh token is sent and cleared with the answer: otherwise a process crashed in between.
  refresh_started_at timestamptz,
  -- How many refreshes have failed since the last success.
  refresh_attempts integer not null default 0,
  created_date timestamptz not null,
  updated_date timestamptz not null,
  unique (workspace_id, id),
  unique (workspace_id, app_id, integration_type),
  -- Tokens exist only while they may be used.
  check ((status = 'active') = (access_token_sealed is not null or credentials_sealed is not null)),
  check (access_token_sealed is null or credentials_sealed is null),
  check (refresh_token_sealed is null or access_token_sealed is not null),
  check (next_refresh_at is null or refresh_token_sealed is not null),
  check ((status = 'pending') = (connected_at is null)),
  foreign key (workspace_id, app_id) references apps (workspace_id, id) on delete cascade
) with (fillfactor = 80);
create index connections_by_refresh on connections (next_refresh_at) where next_refresh_at is not null;
create index connections_of_user on connections (user_id);

-- The latest attempt to connect, from its start until it succeeds. One that has failed stays, so that callers learn why.
create table connection_attempts (
  id uuid primary key,
  workspace_id uuid not null,
  connection_id uuid not null unique,
  -- Who started it, and with which credential: it ends if they lose their role, or if the credential is revoked.
  user_id uuid not null references users on delete cascade,
  credential_id uuid not null,
  -- The hash of the state, which the person's browser carries to the service and back. Null once it was used.
  state_hash bytea unique,
  -- The hash of the cookie that this browser was given on its way to the service.
  cookie_hash bytea,
  code_verifier_sealed text,
  -- What the connection gets if the attempt succeeds.
  scopes text[] not null,
  connection_config jsonb not null,
  return_url text,
  error text check (error in ('access_denied', 'exchange_failed', 'scope_missing')),
  created_date timestamptz not null,
  expires_at timestamptz not null,
  check (error is null or state_hash is null),
  check ((state_hash is null) = (code_verifier_sealed is null)),
  foreign key (workspace_id, connection_id) references connections (workspace_id, id) on delete cascade
);
create index connection_attempts_of_user on connection_attempts (user_id);
create index connection_attempts_by_expiry on connection_attempts (expires_at);
