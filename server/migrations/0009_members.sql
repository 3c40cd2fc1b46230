-- room: access
-- Members as the workspace sees them, and people who were asked to join it.

alter table memberships
  -- The member's own limit of credits a month; null: the workspace's default, where one applies.
  add column credit_limit numeric check (credit_limit >= 0),
  -- How the present role came.
  add column assigned_via text not null default 'direct' check (assigned_via in ('direct', 'app_share'));

create table invitations (
  workspace_id uuid not null references workspaces on delete cascade,
  id uuid not null,
  email text not null check (email = lower(email) and length(email) <= 254),
  role text not null check (role in ('admin', 'editor', 'viewer', 'guest')),
  assigned_via text not null default 'direct' check (assigned_via in ('direct', 'app_share')),
  -- Only a keyed hash of the link's token is kept.
  hash bytea not null unique,
  pepper_id text not null,
  invited_by uuid references users on delete set null,
  created_date timestamptz not null,
  expires_at timestamptz not null,
  -- An accepted invitation is kept until it would have expired, so that its link answers the same person again.
  accepted_at timestamptz,
  accepted_by uuid references users on delete cascade,
  primary key (workspace_id, id)
);
create unique index invitations_open on invitations (workspace_id, email) where accepted_at is null;

-- Apps that were shared with somebody who has not joined yet: they become app_shares on acceptance.
create table invitation_shares (
  workspace_id uuid not null,
  invitation_id uuid not null,
  app_id uuid not null,
  role text not null check (role in ('editor', 'viewer')),
  created_date timestamptz not null,
  primary key (workspace_id, invitation_id, app_id),
  foreign key (workspace_id, invitation_id) references invitations (workspace_id, id) on delete cascade,
  foreign key (workspace_id, app_id) references apps (workspace_id, id) on delete cascade
);
create index invitation_shares_of_app on invitation_shares (workspace_id, app_id);
