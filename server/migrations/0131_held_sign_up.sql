-- module: builder
-- Letting everybody create an account in an app that has records is held like a rule. It belongs to no entity: `entity_name` is null,
-- `schema_revision` is 0, and the rules are the settings before and after.
alter table chat_held_rules alter column entity_name drop not null;
alter table chat_held_rules drop constraint chat_held_rules_operation_check;
alter table chat_held_rules add constraint chat_held_rules_operation_check
  check (operation in ('create', 'read', 'update', 'delete', 'update_check', 'fields', 'sign_up'));
alter table chat_held_rules add constraint chat_held_rules_entity_check check ((entity_name is null) = (operation = 'sign_up'));
alter table chat_held_rules drop constraint chat_held_rules_workspace_id_app_id_entity_name_operation_key;
alter table chat_held_rules add unique nulls not distinct (workspace_id, app_id, entity_name, operation);
