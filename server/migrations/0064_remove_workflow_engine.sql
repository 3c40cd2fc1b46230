-- module: kit
-- Removes DBOS, the workflow engine that this release no longer contains: its schema, with the rights on it, and what was recorded
-- beside it. The schema is missing in new installations. Workers of an older release need it: stop them before this migration runs.
do $$
begin
  if to_regclass('dbos.workflow_status') is null then
    return;
  end if;
  lock table dbos.workflow_status in share mode;
  -- The other statuses are final: SUCCESS, ERROR, CANCELLED, MAX_RECOVERY_ATTEMPTS_EXCEEDED.
  if exists (select from dbos.workflow_status where status in ('PENDING', 'ENQUEUED', 'DELAYED')) then
    raise exception 'The table dbos.workflow_status has unfinished workflows, which this release can''t run: let the previous release finish them, or cancel them as docs/operate/upgrade.md#unfinished-workflows says, then run plinth migrate again.';
  end if;
end $$;
-- end of check

drop schema if exists dbos cascade;
drop table workflow_run_state;
