-- module: kit/http
-- Stored answers count towards the storage of the workspace in which they were given. A large answer is not stored: only what it
-- takes to read it again is.

alter table idempotency_keys
  -- Null if the caller acts in no workspace, and for answers that were stored before this.
  add column workspace_id uuid,
  add column size_bytes integer not null default 0,
  -- The body is what the operation needs to read its answer again.
  add column is_reread boolean not null default false;

alter table storage_changes drop constraint storage_changes_kind_check;
alter table storage_changes add constraint storage_changes_kind_check
  check (kind in ('records', 'files', 'archives', 'analytics', 'answers'));
alter table storage_usage add column answers_bytes bigint not null default 0;

/*
 * Counts the rows of a table that a statement added, changed or removed. The arguments are the kind of storage, and the expression
 * for the bytes of a row.
 */
create function count_stored_rows() returns trigger language plpgsql as $$
declare
  source text := case tg_op
    when 'INSERT' then format('select workspace_id, (%s)::bigint as bytes from added', tg_argv[1])
    when 'DELETE' then format('select workspace_id, -(%s)::bigint as bytes from removed', tg_argv[1])
    else format('select workspace_id, (%1$s)::bigint as bytes from added union all select workspace_id, -(%1$s)::bigint from removed',
      tg_argv[1])
  end;
begin
  execute format('insert into storage_changes (workspace_id, kind, bytes)
    select workspace_id, %L, sum(bytes) from (%s) rows where workspace_id is not null group by 1 having sum(bytes) <> 0',
    tg_argv[0], source);
  return null;
end $$;

create trigger stored_added after insert on idempotency_keys referencing new table as added
  for each statement execute function count_stored_rows('answers', 'size_bytes');
create trigger stored_changed after update on idempotency_keys referencing old table as removed new table as added
  for each statement execute function count_stored_rows('answers', 'size_bytes');
create trigger stored_removed after delete on idempotency_keys referencing old table as removed
  for each statement execute function count_stored_rows('answers', 'size_bytes');
