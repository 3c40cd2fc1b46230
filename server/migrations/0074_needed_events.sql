-- module: automations
-- transaction: none
-- Dispatched events are removed once no run needs them: this finds the runs that do.
create index concurrently automation_runs_unfinished_by_event on automation_runs (event_id)
  where completed_at is null and event_id is not null;
