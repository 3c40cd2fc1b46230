-- module: core
-- Tables, columns and indexes get the names that the rest of the code uses. Nothing else changes. Processes of an older
-- release do not know the new names: stop them before this migration runs.

alter table event_turn rename to event_dispatch_state;
alter table event_dispatch_state rename column one to is_singleton;
alter table event_dispatch_state rename column begun to in_progress;
alter table event_dispatch_state rename column deaths to crash_count;
alter table event_dispatch_state rename column event_deaths to event_crash_count;

alter table workflow_marks rename to workflow_run_state;
alter table workflow_run_state rename column interruptions to crash_count;
alter table workflow_run_state rename column counted_for to last_crash_id;
alter index workflow_marks_to_cancel rename to workflow_run_state_cancel_pending;

alter table reset_mails rename column interruptions to crash_count;
alter table agent_turns rename column interruptions to crash_count;
alter table webhook_deliveries rename column interruptions to crash_count;
alter table webhook_warnings rename column interruptions to crash_count;

alter table worker_slots rename column settled_epoch to recovered_epoch;

alter table webhooks rename column unsettled to resync_pending;
alter table webhooks rename column previous_until to previous_secret_expires_at;
alter table webhook_deliveries rename column lane to concurrency_key;
alter table webhook_deliveries rename column counted to failure_counted;

alter table entity_key_states rename column reached to built_up_to;

alter table agent_turns rename column may_teach to may_save_memories;
alter table agent_deltas rename column piece to delta;

alter index webhooks_unsettled rename to webhooks_resync_pending;
alter index reset_mails_over rename to reset_mails_finished;
alter index agent_turns_over rename to agent_turns_finished;
alter index webhook_warnings_over rename to webhook_warnings_finished;

-- The body of a function does not follow a renamed column.
create or replace function entity_schema_saved() returns trigger language plpgsql as $$
declare
  -- The transaction that saves the schema may have started long ago.
  since timestamptz := greatest(new.updated_date, clock_timestamp());
begin
  insert into entity_key_states as k (app_id, entity_name, ready, building_since)
  values (new.app_id, new.name, '{}', since)
  on conflict (app_id, entity_name) do update
  set ready = array(select unnest(k.ready) intersect select unnest(new.keys)), building_since = since,
    built_up_to = null;
  return null;
end $$;
