-- room: access
-- Who there is: people, workspaces, memberships, credentials, and the apps they reach.

create table users (
  id uuid primary key,
  email text not null unique check (email = lower(email) and length(email) <= 254),
  full_name text not null default '',
  is_operator boolean not null default false,
  created_date timestamptz not null,
  updated_date timestamptz not null
);

create table workspaces (
  id uuid primary key,
  name text not null,
  plan text not null check (plan in ('free', 'builder', 'pro', 'business', 'enterprise')),
  rate_multiplier numeric check (rate_multiplier between 0.1 and 1000),
  country_code text not null default 'US',
  locale text not null default 'en',
  created_date timestamptz not null,
  updated_date timestamptz not null,
  deleted_date timestamptz
);

create table memberships (
  workspace_id uuid not null references workspaces on delete cascade,
  user_id uuid not null references users on delete cascade,
  role text not null check (role in ('owner', 'admin', 'editor', 'viewer', 'guest')),
  access_state text not null default 'active' check (access_state in ('active', 'blocked')),
  created_date timestamptz not null,
  updated_date timestamptz not null,
  primary key (workspace_id, user_id)
);
create unique index memberships_one_owner on memberships (workspace_id) where role = 'owner';
create index memberships_of_user on memberships (user_id, created_date);

-- Every kind of credential in one table, so that one read answers who is asking. Only keyed hashes are kept.
create table credentials (
  id uuid primary key,
  kind text not null check (kind in ('session', 'personal_token', 'personal_key', 'workspace_key')),
  hash bytea not null unique,
  pepper_id text not null,
  last4 text not null,
  name text not null default '',
  user_id uuid references users on delete cascade,
  -- The workspace a token or workspace key is bound to; of a session, the one it used last.
  workspace_id uuid references workspaces on delete cascade,
  permission text not null check (permission in ('read_only', 'full_access')),
  app_ids uuid[] check (cardinality(app_ids) between 1 and 100),
  scopes text[],
  created_date timestamptz not null,
  expires_at timestamptz,
  last_used_at timestamptz,
  revoked_at timestamptz,
  check (
    case kind
      when 'workspace_key' then user_id is null and workspace_id is not null and scopes is not null
      when 'personal_token' then user_id is not null and workspace_id is not null and scopes is null
      else user_id is not null and scopes is null
    end
  )
);
create index credentials_of_user on credentials (user_id, created_date) where revoked_at is null;
create index credentials_of_workspace on credentials (workspace_id, created_date) where revoked_at is null;

create table apps (
  id uuid primary key,
  workspace_id uuid not null references workspaces on delete cascade,
  app_type text not null check (app_type in ('user_app', 'user_agent', 'imported_app')),
  owner_id uuid not null references users,
  name text not null,
  slug text not null unique,
  user_description text not null default '',
  logo_url text,
  visibility text not null check (visibility in ('workspace', 'private')),
  public_settings text not null
    check (public_settings in ('private_with_login', 'workspace_with_login', 'public_with_login', 'public_without_login')),
  public_origins text[] not null default '{}',
  hide_authorship boolean not null default false,
  revision integer not null default 1,
  created_date timestamptz not null,
  updated_date timestamptz not null,
  deleted_date timestamptz,
  unique (workspace_id, id)
);
create index apps_by_updated on apps (workspace_id, updated_date, id);
create index apps_by_created on apps (workspace_id, created_date, id);
create index apps_by_name on apps (workspace_id, lower(name) collate "C", id);

create table app_shares (
  app_id uuid not null,
  user_id uuid not null references users on delete cascade,
  workspace_id uuid not null,
  role text not null check (role in ('editor', 'viewer')),
  created_date timestamptz not null,
  primary key (app_id, user_id),
  foreign key (workspace_id, app_id) references apps (workspace_id, id) on delete cascade
);
create index app_shares_of_user on app_shares (user_id);
