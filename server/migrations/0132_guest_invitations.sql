-- module: workspaces
-- Who may invite guests by sharing an app: its owners, or only the owner and the admins of the workspace.
alter table workspaces add column guest_invitations text not null default 'app_owners'
  check (guest_invitations in ('app_owners', 'admins'));
