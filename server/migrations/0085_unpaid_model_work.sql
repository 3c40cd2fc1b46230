-- module: credits
-- How often the language model worked today without anybody being charged: one row per kind of work, and workspace or app.
create table unpaid_model_work (
  workspace_id uuid not null references workspaces on delete cascade,
  kind text not null check (kind in ('explanation', 'test_run', 'suggestion')),
  -- The workspace or the app whose number this is.
  subject_id uuid not null,
  day date not null,
  times integer not null check (times >= 0),
  primary key (workspace_id, kind, subject_id)
);
create index unpaid_model_work_by_day on unpaid_model_work (day);

-- Until then, a run whose explanation failed is not explained again.
alter table workflow_analysis_leases add retry_at timestamptz;

-- Whether this run has called the language model, in any of its claims.
alter table test_executions add has_called_model boolean not null default false;
