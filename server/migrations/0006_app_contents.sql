-- room: apps
-- What an app holds for its builders: files and secrets.

create table app_files (
  app_id uuid not null references apps on delete cascade,
  path text not null,
  content bytea not null,
  sha256 text not null,
  size integer not null,
  encoding text not null check (encoding in ('utf-8', 'base64')),
  updated_date timestamptz not null,
  primary key (app_id, path)
);

create table app_secrets (
  app_id uuid not null references apps on delete cascade,
  name text not null,
  sealed text not null,
  last4 text,
  created_date timestamptz not null,
  updated_date timestamptz not null,
  primary key (app_id, name)
);
