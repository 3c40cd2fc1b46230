// The queue tables that measurements and drills use. They have every queue table's columns, indexes and settings
// (docs/internals/background-work.md#queue-tables), plus their own columns.

/** Returns the SQL that creates the table. */
export const createQueueTable = (name: string, ownColumns: string): string => `
  create table ${name} (
    id uuid primary key, owner_id uuid not null, due_at timestamptz, claims integer not null default 0,
    failures integer not null default 0, crash_count integer not null default 0, claimed_slot integer,
    claimed_epoch bigint, last_error text, failed_at timestamptz, changed_in xid8, ${ownColumns}
  ) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0,
    vacuum_index_cleanup = on, vacuum_truncate = off, fillfactor = 70, autovacuum_analyze_scale_factor = 0.05);
  create index on ${name} (due_at) where claimed_slot is null and due_at is not null;
  create index on ${name} (owner_id, due_at) where claimed_slot is null and due_at is not null;
  create index on ${name} (claimed_slot) where claimed_slot is not null;
  create index on ${name} (failed_at) where failed_at is not null;
  create index on ${name} (changed_in) where changed_in is not null;
  create trigger queue_row_added before insert on ${name} for each row execute function note_queue_change();
  create trigger queue_row_changed before update of due_at, claimed_slot, owner_id on ${name} for each row
    when ((old.due_at, old.claimed_slot, old.owner_id) is distinct from (new.due_at, new.claimed_slot, new.owner_id))
    execute function note_queue_change();`;
