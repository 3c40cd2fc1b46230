-- module: apps
-- What is set up in a workspace. An app counts 4500 bytes, for its row and those of which it has one each.
call count_stored('apps', 'settings', '4500 + octet_length(name) + octet_length(user_description)', 'name, user_description');
call count_stored('app_shares', 'settings', '350');
call count_stored('app_revisions', 'settings',
  '400 + coalesce(octet_length(summary), 0) + octet_length(entities::text)', 'entities');
call count_stored('app_users', 'settings', '1000 + octet_length(data::text)', 'data');
call count_stored('app_secrets', 'settings', '300 + octet_length(sealed)', 'sealed');
call count_stored('entity_schemas', 'settings', '500 + octet_length(document::text)', 'document');
-- Not sessions, which belong to people.
call count_stored('credentials', 'settings', $$case when kind = 'session' then 0 else 900 end$$);
call count_stored('folders', 'settings', '600');
call count_stored('folder_items', 'settings', '350');
call count_stored('agents', 'settings', '250 + octet_length(instructions)', 'instructions');
call count_stored('webhooks', 'settings',
  '1200 + octet_length(target_url) + coalesce(octet_length(entity_names::text), 0) + coalesce(octet_length(description), 0)',
  'target_url, entity_names, description');
call count_stored('workflows', 'settings',
  '1600 + octet_length(name) + coalesce(octet_length(description), 0) + octet_length(trigger::text)', 'name, description, trigger');
call count_stored('workflow_versions', 'settings',
  '350 + octet_length(definition::text) + coalesce(octet_length(change_summary), 0)');
call count_stored('automations', 'settings',
  '1200 + octet_length(name) + coalesce(octet_length(description), 0) + coalesce(octet_length(condition), 0) + octet_length(action::text)',
  'name, description, condition, action');
call count_stored('test_flows', 'settings',
  '600 + octet_length(name) + octet_length(goal) + coalesce(octet_length(recording::text), 0)', 'name, goal, recording');
call count_stored('connections', 'settings', '4000');
call count_stored('conversion_mappings', 'settings', '700');
call count_stored('security_ignores', 'settings',
  '800 + coalesce(octet_length(title), 0) + coalesce(octet_length(reason), 0) + coalesce(octet_length(covered_rules::text), 0)', 'reason, covered_rules');
call count_stored('chat_held_rules', 'settings',
  '500 + coalesce(octet_length(rule_before::text), 0) + coalesce(octet_length(rule_after::text), 0) + coalesce(octet_length(example::text), 0)');
