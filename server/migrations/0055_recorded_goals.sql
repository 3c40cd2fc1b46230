-- module: ads
-- The categories whose goals are in the audit log as created. A goal that was created without an answer is entered when it is found.
alter table ads_accounts add column recorded_goals text[] not null default '{}';
