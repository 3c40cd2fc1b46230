-- module: workflows
-- The steps of runs that began in the same week are removed together, when the last of these runs has expired.
select lock_briefly('workflow_steps', 'workflow_runs');
-- It would lock the runs whenever a week is removed.
alter table workflow_steps drop constraint workflow_steps_run_id_fkey;
select move_to_partition('workflow_steps');

create table workflow_steps (
  workspace_id uuid not null,
  run_id uuid not null,
  number integer not null,
  task_path text not null,
  name text not null,
  task_type text not null,
  status text not null check (status in ('running', 'completed', 'failed', 'skipped', 'cancelled')),
  attempt integer not null default 1,
  started_at timestamptz not null,
  completed_at timestamptz,
  -- Secrets are masked, and long values cut.
  input json,
  output json,
  error jsonb,
  primary key (run_id, number)
) partition by range (run_id);

-- Runs are kept for 90 days after their end.
insert into partitioned_tables (name, key_column, days, kept_days, needed_if)
values ('workflow_steps', 'run_id', 7, 90, 'exists (select from workflow_runs where id >= $1 and id < $2)');
select attach_first_partition('workflow_steps');

-- The steps of a run that is deleted before it expires, such as with its workflow, are removed with it.
create function remove_steps_of_runs() returns trigger language plpgsql as $$
begin
  perform from removed where completed_at is null or completed_at > now() - interval '90 days';
  if found then
    delete from workflow_steps where run_id = any(array(select id from removed));
  end if;
  return null;
end $$;
create trigger steps_removed after delete on workflow_runs referencing old table as removed
  for each statement execute function remove_steps_of_runs();

-- A run takes at most 30 days, so something needs a week of steps for up to 30 days longer than it is kept.
alter table partitioned_tables
  -- How many days more a partition may be needed. Only after that is it overdue.
  add column needed_days integer not null default 0;
update partitioned_tables set needed_days = 31 where name = 'workflow_steps';
