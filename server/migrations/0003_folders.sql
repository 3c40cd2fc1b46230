-- room: folders
-- Folders of a workspace or of one person, and the apps in them.

create table folders (
  workspace_id uuid not null references workspaces on delete cascade,
  id uuid not null unique,
  scope text not null check (scope in ('workspace', 'personal')),
  owner_id uuid references users on delete cascade,
  app_type text not null check (app_type in ('user_app', 'user_agent')),
  parent_folder_id uuid,
  name text not null,
  position integer not null,
  color text,
  icon text,
  created_date timestamptz not null,
  updated_date timestamptz not null,
  primary key (workspace_id, id),
  foreign key (workspace_id, parent_folder_id) references folders (workspace_id, id) on delete cascade,
  check ((scope = 'personal') = (owner_id is not null))
);
create index folders_in_order on folders (workspace_id, app_type, position, name collate "C", id);
create index folders_of_parent on folders (workspace_id, parent_folder_id);

-- owner_id repeats the folder's, so that the database itself keeps an app in one workspace folder and, per person, in
-- one personal folder.
create table folder_items (
  workspace_id uuid not null,
  folder_id uuid not null,
  app_id uuid not null,
  owner_id uuid,
  created_date timestamptz not null,
  primary key (workspace_id, folder_id, app_id),
  foreign key (workspace_id, folder_id) references folders (workspace_id, id) on delete cascade,
  foreign key (workspace_id, app_id) references apps (workspace_id, id) on delete cascade
);
create unique index folder_items_once on folder_items (workspace_id, app_id, owner_id) where owner_id is not null;
create unique index folder_items_once_in_workspace on folder_items (workspace_id, app_id) where owner_id is null;

-- public: which apps a folder holds, for the app list's folder filter.
create view apps_in_folders as
  select item.workspace_id, item.folder_id, item.app_id, item.owner_id from folder_items item;
