-- module: app-users
-- Users of an app sign in by themselves: with a password, or with a link that is sent to their e-mail address.

-- Apps without a row have the defaults.
create table app_auth_settings (
  app_id uuid primary key references apps on delete cascade,
  sign_up text not null check (sign_up in ('closed', 'invited', 'open')),
  password_enabled boolean not null,
  link_enabled boolean not null,
  updated_date timestamptz not null
);

create table app_user_passwords (
  app_user_id uuid primary key references app_users on delete cascade,
  app_id uuid not null references apps on delete cascade,
  -- As in `passwords`.
  hash text not null,
  updated_date timestamptz not null
);
create index app_user_passwords_of_app on app_user_passwords (app_id);

-- Links that were asked for. A row is the queued mail first: a worker decides whether the address gets one, so that the
-- request takes the same time for every address. When the mail is sent, the row becomes the link.
create table app_user_links (
  id uuid primary key,
  app_id uuid not null references apps on delete cascade,
  email text not null check (email = lower(email) and length(email) <= 254),
  purpose text not null check (purpose in ('sign_in', 'sign_up')),
  -- What a person who signs up has entered. It becomes theirs when the link is used.
  full_name text not null default '',
  password_hash text,
  -- Where they did, to tell two sign-ups of one person from those of two.
  address_hash bytea,
  -- Set when the mail is sent.
  hash bytea unique,
  expires_at timestamptz,
  created_date timestamptz not null,
  due_at timestamptz,
  claims integer not null default 0,
  failures integer not null default 0,
  crash_count integer not null default 0,
  claimed_slot integer,
  claimed_epoch bigint,
  last_error text,
  failed_at timestamptz
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.05);
create index app_user_links_due on app_user_links (due_at) where claimed_slot is null and due_at is not null;
create index app_user_links_of_owner on app_user_links (app_id, due_at) where claimed_slot is null and due_at is not null;
create index app_user_links_claimed on app_user_links (claimed_slot) where claimed_slot is not null;
create index app_user_links_failed on app_user_links (failed_at) where failed_at is not null;
create index app_user_links_finished on app_user_links (created_date) where due_at is null;
create index app_user_links_of_address on app_user_links (app_id, email);

-- Where users of an app have signed in, as `sign_in_addresses` says it of people.
create table app_user_addresses (
  app_user_id uuid not null references app_users on delete cascade,
  app_id uuid not null references apps on delete cascade,
  address_hash bytea not null,
  used_at timestamptz not null,
  primary key (app_user_id, address_hash)
);
create index app_user_addresses_hash on app_user_addresses (app_id, address_hash);
create index app_user_addresses_used on app_user_addresses (used_at);

-- When the sign-in ends that a token of an app user is part of: no renewed token is valid for longer. Null for tokens that the
-- app's own server asked for, and for all other credentials.
alter table credentials add column sign_in_ends_at timestamptz;
