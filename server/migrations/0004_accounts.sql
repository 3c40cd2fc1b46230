-- room: access
-- How people prove who they are, and what credentials say of their making.

create table passwords (
  user_id uuid primary key references users on delete cascade,
  -- argon2id with its own parameters: argon2id$memory$passes$lanes$salt$tag
  hash text not null,
  updated_date timestamptz not null
);

create table password_resets (
  id uuid primary key,
  user_id uuid not null references users on delete cascade,
  hash bytea not null unique,
  expires_at timestamptz not null,
  used_at timestamptz
);
create index password_resets_of_user on password_resets (user_id);

-- Tokens that allow the first set-up; one is printed at each start until there is a first person.
create table setup_tokens (
  hash bytea primary key,
  created_date timestamptz not null
);

alter table credentials
  add column description text not null default '',
  -- The token that made this one: revoking it revokes its descendants.
  add column parent_id uuid references credentials on delete set null,
  -- Who made a workspace key. It survives them.
  add column created_by text;
create index credentials_of_parent on credentials (parent_id) where parent_id is not null;
create index credentials_by_expiry on credentials (expires_at) where expires_at is not null;

alter table workspaces
  add column monthly_limit numeric check (monthly_limit >= 0),
  add column default_member_credit_limit numeric check (default_member_credit_limit >= 0),
  add column features jsonb not null default '{}',
  add column billing_hold boolean not null default false,
  add column billing_hold_reason text;
create index workspaces_to_purge on workspaces (deleted_date) where deleted_date is not null;
create index apps_to_purge on apps (deleted_date) where deleted_date is not null;
