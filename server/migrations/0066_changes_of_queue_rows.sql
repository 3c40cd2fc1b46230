-- module: kit
-- `changed_in` is the transaction in which a row last became waiting or claimed. Claims find new work by it, and so need not
-- read past what is completed (docs/internals/background-work.md#how-a-claim-finds-rows). The column has no default, with which
-- each table would be rewritten. A trigger sets it, whatever the statement says, so that no statement can forget it and
-- workers of the release before, which know nothing of it, may go on. Completed rows have none.
-- The indexes of the three tables that may be large are built in 0067 to 0069, without stopping writes.

create function note_queue_change() returns trigger language plpgsql as $$ begin
  new.changed_in := case when new.due_at is not null or new.claimed_slot is not null then pg_current_xact_id() end;
  return new;
end $$;

do $$ declare
  queue record;
begin
  for queue in select * from (values
    ('reset_mails', 'user_id'), ('sign_in_mails', 'user_id'), ('app_user_links', 'app_id'), ('agent_turns', 'workspace_id'),
    ('webhook_deliveries', 'webhook_id'), ('webhook_warnings', 'webhook_id'), ('chat_turns', 'workspace_id'),
    ('workflow_events', 'app_id'), ('workflow_runs', 'app_id'), ('automation_runs', 'app_id'), ('app_warnings', 'app_id'),
    ('ads_asset_sessions', 'workspace_id'), ('ads_launches', 'workspace_id'), ('ads_changes', 'workspace_id'),
    ('security_scans', 'workspace_id'), ('test_executions', 'workspace_id'), ('coding_sessions', 'workspace_id')
  ) queues (name, owner) loop
    execute format('alter table %I add column changed_in xid8', queue.name);
    execute format('create trigger queue_row_added before insert on %I for each row execute function note_queue_change()', queue.name);
    execute format('create trigger queue_row_changed before update of due_at, claimed_slot, %2$I on %1$I for each row
      when ((old.due_at, old.claimed_slot, old.%2$I) is distinct from (new.due_at, new.claimed_slot, new.%2$I))
      execute function note_queue_change()', queue.name, queue.owner);
    if queue.name not in ('webhook_deliveries', 'workflow_runs', 'automation_runs') then
      execute format('create index %I on %I (changed_in) where changed_in is not null', queue.name || '_changed', queue.name);
    end if;
  end loop;
end $$;
