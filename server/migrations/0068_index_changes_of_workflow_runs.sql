-- module: workflows
-- transaction: none
create index concurrently workflow_runs_changed on workflow_runs (changed_in) where changed_in is not null;
