-- module: automations
-- transaction: none
create index concurrently automation_runs_changed on automation_runs (changed_in) where changed_in is not null;
