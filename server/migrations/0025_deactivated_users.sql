-- module: core
-- Nobody can sign in to a deactivated account or act for it. Its memberships, apps and records stay.

alter table users add column deactivated_at timestamptz;
