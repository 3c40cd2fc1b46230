-- module: core
-- What workflows, conversations, sessions, tests, scans, ads, credits and the audit log keep counts towards the storage of its
-- workspace, and so does what is set up in apps. The migrations after this one add table by table.

alter table storage_changes drop constraint storage_changes_kind_check;
alter table storage_changes add constraint storage_changes_kind_check check (kind in ('records', 'files', 'archives', 'analytics',
  'answers', 'deliveries', 'runs', 'conversations', 'sessions', 'reports', 'ads', 'ledger', 'audit', 'settings'));
alter table storage_usage
  add column runs_bytes bigint not null default 0,
  add column conversations_bytes bigint not null default 0,
  add column sessions_bytes bigint not null default 0,
  add column reports_bytes bigint not null default 0,
  add column ads_bytes bigint not null default 0,
  add column ledger_bytes bigint not null default 0,
  add column audit_bytes bigint not null default 0,
  add column settings_bytes bigint not null default 0;

/*
 * Counts the rows of a table from now on, and those that it has. `bytes` is the expression for the bytes of a row. Inserted and removed
 * rows are summed per statement. Changed rows are counted one by one, and only by statements that set one of the columns
 * `changing`, so that claiming a row of a queue costs nothing. `counted` is what is already counted for a row.
 *
 * The rows of a table without `workspace_id` belong to the workspace of their app. When an app is purged, its row is gone before
 * theirs, so they are subtracted before.
 */
create procedure count_stored(stored text, kind text, bytes text, changing text default null, counted text default '0')
language plpgsql as $procedure$
declare
  is_of_app boolean := not exists (
    select from pg_attribute where attrelid = stored::regclass and attname = 'workspace_id' and not attisdropped);
  -- The workspace and the bytes of each row of `%s`.
  rows_of text := case when is_of_app
    then format('select a.workspace_id, r.bytes from (select app_id, (%s)::bigint as bytes from %%s) r join apps a on a.id = r.app_id',
      bytes)
    else format('select workspace_id, (%s)::bigint as bytes from %%s where workspace_id is not null', bytes)
    end;
begin
  execute format($function$
    create function stored_%1$s() returns trigger language plpgsql as $body$
    begin
      if tg_op = 'INSERT' then
        insert into storage_changes (workspace_id, kind, bytes)
        select workspace_id, %2$L, sum(bytes) from (%3$s) r group by 1;
      elsif tg_op = 'DELETE' then
        insert into storage_changes (workspace_id, kind, bytes)
        select workspace_id, %2$L, -sum(bytes) from (%4$s) r group by 1 having sum(bytes) <> 0;
      else
        insert into storage_changes (workspace_id, kind, bytes)
        select workspace_id, %2$L, sum(bytes)
        from (%5$s union all select workspace_id, -bytes from (%6$s) r) r group by 1 having sum(bytes) <> 0;
      end if;
      return null;
    end $body$ $function$,
    stored, kind, format(rows_of, 'added'), format(rows_of, 'removed'), format(rows_of, '(select new.*) n'),
    format(rows_of, '(select old.*) o'));
  execute format('create trigger stored_added after insert on %1$I referencing new table as added
    for each statement execute function stored_%1$s()', stored);
  execute format('create trigger stored_removed after delete on %1$I referencing old table as removed
    for each statement execute function stored_%1$s()', stored);
  if changing is not null then
    execute format('create trigger stored_changed after update of %2$s on %1$I for each row execute function stored_%1$s()',
      stored, changing);
  end if;
  if is_of_app then
    execute format($function$
      create function stored_%1$s_purged() returns trigger language plpgsql as $body$
      begin
        insert into storage_changes (workspace_id, kind, bytes)
        select old.workspace_id, %2$L, -sum(bytes) from (select (%3$s)::bigint as bytes from %1$I where app_id = old.id) r
        having sum(bytes) <> 0;
        return old;
      end $body$ $function$, stored, kind, bytes);
    execute format('create trigger stored_%1$s_purged before delete on apps for each row execute function stored_%1$s_purged()',
      stored);
  end if;
  execute format('insert into storage_changes (workspace_id, kind, bytes)
    select workspace_id, %1$L, sum(bytes) from (%2$s) r group by 1 having sum(bytes) <> 0', kind,
    format(rows_of, stored) || case when counted = '0' then '' else format(' union all select workspace_id, -(%s) from %I',
      counted, stored) end);
end $procedure$;

-- ---- runs

-- `stored_bytes`: the run, its steps, and its state while it has one, which is `state_bytes` of them. To add up its steps when they are
-- removed would take too long. What is counted follows once it differs by 64 KiB, and when the run ends. Runs from before this count nothing.
alter table workflow_runs
  add column stored_bytes integer not null default 0,
  add column state_bytes integer not null default 0,
  add column counted_bytes integer not null default 0;
call count_stored('workflow_runs', 'runs', 'counted_bytes');
create trigger stored_changed after update on workflow_runs for each row
  when (new.counted_bytes <> old.counted_bytes) execute function stored_workflow_runs();

call count_stored('workflow_analyses', 'runs', '300 + octet_length(explanation)');
call count_stored('automation_runs', 'runs', '900');
