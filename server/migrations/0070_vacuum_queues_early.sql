-- module: kit
-- Vacuums the tables that background work reads while they have few dead rows. A search for work reads the index entries of dead
-- rows until they are vacuumed.
-- - vacuum_index_cleanup: otherwise vacuum leaves the indexes as they are if less than 2 % of the pages have dead rows, although
--   the entries of a queue's dead rows are all in the part of the index that each search reads.
-- - vacuum_truncate: giving empty pages back takes a lock that stops all work on the table, and they are filled again at once.
-- All of these settings apply from the next vacuum on. Nothing is rewritten, and nobody waits.
do $$
declare
  queue text;
begin
  -- Their rows do not stay for long.
  foreach queue in array array[
    'ads_asset_sessions', 'ads_changes', 'ads_launches', 'agent_turns', 'app_user_links', 'app_warnings', 'audit_pending',
    'chat_turns', 'coding_sessions', 'reset_mails', 'security_scans', 'sign_in_mails', 'test_executions', 'webhook_warnings',
    'workflow_events'] loop
    execute format('alter table %I set (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000,
      autovacuum_vacuum_cost_delay = 0, vacuum_index_cleanup = on, vacuum_truncate = off, fillfactor = 70)', queue);
  end loop;
  -- They are also logs with millions of rows, whose indexes each vacuum reads completely. So the number of dead rows that starts
  -- one grows with the log.
  foreach queue in array array['automation_runs', 'events', 'webhook_deliveries', 'workflow_runs'] loop
    execute format('alter table %I set (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 5000,
      autovacuum_vacuum_cost_delay = 0, vacuum_index_cleanup = on, vacuum_truncate = off, fillfactor = 70)', queue);
  end loop;
end $$;
