-- module: workspaces
-- Exports are claimed like the rows of other queues. A crash of a worker is noticed at once, instead of after a lease of half an hour.
-- API processes of the release before set no `due_at`, so it has a default. Their workers must be stopped.
alter table workspace_exports
  add column due_at timestamptz default now(),
  add column claims integer not null default 0,
  add column failures integer not null default 0,
  add column crash_count integer not null default 0,
  add column claimed_slot integer,
  add column claimed_epoch integer,
  add column last_error text,
  add column failed_at timestamptz,
  add column changed_in xid8,
  -- What the present attempt has read. `counts` are its rows.
  add column pages integer not null default 0,
  add constraint workspace_exports_id unique (id),
  drop column claimed_until,
  drop column attempts;
update workspace_exports set due_at = null where state not in ('queued', 'running');
update workspace_exports set state = 'queued' where state = 'running';

drop index if exists workspace_exports_waiting;
create index workspace_exports_due on workspace_exports (due_at) where claimed_slot is null and due_at is not null;
create index workspace_exports_of_owner on workspace_exports (workspace_id, due_at) where claimed_slot is null and due_at is not null;
create index workspace_exports_claimed on workspace_exports (claimed_slot) where claimed_slot is not null;
create index workspace_exports_failed on workspace_exports (failed_at) where failed_at is not null;
create index workspace_exports_changed on workspace_exports (changed_in) where changed_in is not null;
update workspace_exports set changed_in = pg_current_xact_id() where due_at is not null;
create trigger queue_row_added before insert on workspace_exports for each row execute function note_queue_change();
create trigger queue_row_changed before update of due_at, claimed_slot, workspace_id on workspace_exports for each row
  when ((old.due_at, old.claimed_slot, old.workspace_id) is distinct from (new.due_at, new.claimed_slot, new.workspace_id))
  execute function note_queue_change();
alter table workspace_exports set (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000,
  autovacuum_vacuum_cost_delay = 0, vacuum_index_cleanup = on, vacuum_truncate = off, fillfactor = 70);
