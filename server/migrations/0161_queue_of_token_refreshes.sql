-- module: connectors
-- Refreshes of tokens are claimed like the rows of other queues. Each connection whose tokens expire has a row, which is due when
-- the connection says so: triggers keep `due_at` at its `next_refresh_at`. Workers of the release before may go on, because the
-- claim of a connection's tokens (`refresh_started_at`) is as it was.
create table connection_refreshes (
  -- The connection.
  id uuid primary key references connections on delete cascade,
  workspace_id uuid not null,
  -- The service.
  integration_type text not null,
  due_at timestamptz,
  claims integer not null default 0,
  failures integer not null default 0,
  crash_count integer not null default 0,
  claimed_slot integer,
  claimed_epoch integer,
  last_error text,
  failed_at timestamptz,
  changed_in xid8
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0,
  vacuum_index_cleanup = on, vacuum_truncate = off, fillfactor = 70);
create index connection_refreshes_due on connection_refreshes (due_at) where claimed_slot is null and due_at is not null;
create index connection_refreshes_of_owner on connection_refreshes (workspace_id, due_at) where claimed_slot is null and due_at is not null;
create index connection_refreshes_claimed on connection_refreshes (claimed_slot) where claimed_slot is not null;
create index connection_refreshes_failed on connection_refreshes (failed_at) where failed_at is not null;
create index connection_refreshes_changed on connection_refreshes (changed_in) where changed_in is not null;
create trigger queue_row_added before insert on connection_refreshes for each row execute function note_queue_change();
create trigger queue_row_changed before update of due_at, claimed_slot, workspace_id on connection_refreshes for each row
  when ((old.due_at, old.claimed_slot, old.workspace_id) is distinct from (new.due_at, new.claimed_slot, new.workspace_id))
  execute function note_queue_change();

create function schedule_token_refresh() returns trigger language plpgsql as $$ begin
  insert into connection_refreshes (id, workspace_id, integration_type, due_at)
  values (new.id, new.workspace_id, new.integration_type, new.next_refresh_at)
  on conflict (id) do update set due_at = excluded.due_at, failed_at = null;
  return null;
end $$;
create trigger refresh_scheduled after insert on connections for each row
  when (new.next_refresh_at is not null) execute function schedule_token_refresh();
create trigger refresh_rescheduled after update of next_refresh_at on connections for each row
  when (old.next_refresh_at is distinct from new.next_refresh_at) execute function schedule_token_refresh();

-- A run that ends leaves its row due at the time that the connection has by then, or later if the run says so. Its name puts it
-- before queue_row_changed.
create function keep_token_refresh_schedule() returns trigger language plpgsql as $$
declare
  next_refresh_at timestamptz := (select c.next_refresh_at from connections c where c.id = new.id);
begin
  new.due_at := case when next_refresh_at is not null then greatest(next_refresh_at, new.due_at) end;
  return new;
end $$;
create trigger keep_schedule before update of claimed_slot on connection_refreshes for each row
  when (old.claimed_slot is not null and new.claimed_slot is null) execute function keep_token_refresh_schedule();

insert into connection_refreshes (id, workspace_id, integration_type, due_at)
select id, workspace_id, integration_type, next_refresh_at from connections where next_refresh_at is not null;
