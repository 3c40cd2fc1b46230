-- module: builder
-- Rules that a turn of the builder chat did not apply because they would open data. A person applies or drops them. At most one per
-- operation of an entity, and 50 per app.
create table chat_held_rules (
  workspace_id uuid not null,
  app_id uuid not null,
  id uuid not null,
  entity_name text not null,
  operation text not null check (operation in ('create', 'read', 'update', 'delete', 'update_check', 'fields')),
  -- Whom the rule lets in. Null if that could not be decided.
  principal text check (principal in ('anonymous', 'any_user', 'creator', 'some_user')),
  -- The rule that stayed. Null if there was none.
  rule_before jsonb,
  rule_after jsonb not null,
  example jsonb,
  -- The revision of the entity's schema to which the rule can be applied.
  schema_revision integer not null,
  created_date timestamptz not null,
  primary key (workspace_id, app_id, id),
  unique (workspace_id, app_id, entity_name, operation),
  foreign key (workspace_id, app_id) references apps (workspace_id, id) on delete cascade
);
