-- module: kit
-- `changed_in` is the transaction in which an event last became pending, as for queues (0066). The dispatch finds new events by
-- it, and so need not read past those that were dispatched before
-- (docs/internals/background-work.md#how-a-claim-finds-rows). Other events have none. The triggers set it, so workers of the
-- release before may go on. `started_after` of event_dispatch_state was used for fairness between workspaces; these workers still
-- write it.
alter table events add column changed_in xid8;

create function note_event_change() returns trigger language plpgsql as $$ begin
  new.changed_in := case when new.dispatched_at is null and new.retry_at is null then pg_current_xact_id() end;
  return new;
end $$;

create trigger event_added before insert on events for each row execute function note_event_change();
create trigger event_changed before update of dispatched_at, retry_at on events for each row
  when ((old.dispatched_at, old.retry_at) is distinct from (new.dispatched_at, new.retry_at))
  execute function note_event_change();
