-- module: coding-sessions
-- Of the files that a session has pushed, those that run in CI, when something is installed or when it is built. The pull request names them.
alter table coding_sessions add column run_files text[] not null default '{}';
