-- room: access
-- The people who use a built app, and the tokens that the app's own server hands out to them.

create table app_users (
  id uuid primary key,
  app_id uuid not null references apps on delete cascade,
  email text not null check (email = lower(email) and length(email) <= 254),
  full_name text not null default '',
  role text not null default 'user' check (role in ('admin', 'user')),
  data jsonb not null default '{}' check (jsonb_typeof(data) = 'object'),
  created_date timestamptz not null,
  updated_date timestamptz not null,
  unique (app_id, email)
);
create index app_users_by_created on app_users (app_id, created_date, id);

alter table credentials
  add column app_user_id uuid references app_users on delete cascade,
  drop constraint credentials_kind_check,
  add constraint credentials_kind_check
    check (kind in ('session', 'personal_token', 'personal_key', 'workspace_key', 'app_user_token')),
  drop constraint credentials_check,
  add constraint credentials_check check (
    (kind = 'app_user_token') = (app_user_id is not null) and
    case kind
      when 'app_user_token' then
        user_id is null and workspace_id is not null and scopes is null and expires_at is not null
      when 'workspace_key' then user_id is null and workspace_id is not null and scopes is not null
      when 'personal_token' then user_id is not null and workspace_id is not null and scopes is null
      else user_id is not null and scopes is null
    end
  );
create index credentials_of_app_user on credentials (app_user_id) where app_user_id is not null;
