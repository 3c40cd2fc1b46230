// Owns the queue tables of drills: the columns and indexes of every queue table, and columns of the drill's own.

/** SQL that creates the table. */
export const createQueueTable = (name: string, ownColumns: string): string => `
  create table ${name} (
    id uuid primary key, owner_id uuid not null, due_at timestamptz, claims integer not null default 0,
    failures integer not null default 0, crash_count integer not null default 0, claimed_slot integer,
    claimed_epoch bigint, last_error text, failed_at timestamptz, ${ownColumns}
  );
  create index on ${name} (due_at) where claimed_slot is null and due_at is not null;
  create index on ${name} (owner_id, due_at) where claimed_slot is null and due_at is not null;
  create index on ${name} (claimed_slot) where claimed_slot is not null;`;
