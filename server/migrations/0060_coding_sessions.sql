-- module: coding-sessions
-- Repositories of imported apps at a git host, and the sessions in which an agent works on them and opens pull requests.

create table app_repositories (
  app_id uuid primary key,
  workspace_id uuid not null,
  -- Of the git host: `github.com`.
  host text not null,
  repository_full_name text not null,
  -- Where new branches start and pull requests lead to.
  base_branch text not null,
  -- Of the repository, as the git host said when it was connected.
  default_branch text not null,
  -- Encrypted. Null: the operator's App of the git host is used.
  token_sealed text,
  -- What the credential may not do and sessions need.
  missing_permissions text[] not null default '{}',
  connected_by text not null,
  connected_at timestamptz not null,
  foreign key (workspace_id, app_id) references apps (workspace_id, id) on delete cascade
);

-- A session: a queue table, and the history. It is active until it has an end; a message to one that has ended begins another turn.
create table coding_sessions (
  id uuid primary key,
  workspace_id uuid not null,
  app_id uuid not null,
  -- Who launched it; null if that person's account was removed.
  user_id uuid references users on delete set null,
  state text not null default 'queued' check (state in
    ('queued', 'running', 'opening_pull_request', 'needs_input', 'completed', 'failed', 'cancelling', 'cancelled')),
  -- Incremented by each change and each event.
  version integer not null default 1,
  -- 1: the launch; incremented by each follow-up.
  turn integer not null default 1,
  launch_key text not null,
  -- Of the inputs that a repeated launch must have, too.
  launch_hash text not null,
  client_reference text,
  prompt text not null,
  title text not null,
  existing_branch text,
  source_ref text,
  pull_request_body text,
  commit_message text,
  repository_full_name text not null,
  base_branch text not null,
  -- The branch that it works on: the existing one, or the one that it creates.
  work_branch text not null,
  -- Null until the branch is ready. `branch_name` is then the work branch.
  branch_id uuid,
  branch_name text,
  message_id uuid,
  pull_request jsonb,
  pull_request_read_at timestamptz,
  -- When somebody last began to read it, so that many readers cause one request to the git host.
  pull_request_tried_at timestamptz,
  error_code text,
  error_message text,
  input_request jsonb,
  input_request_id uuid,
  outcome text check (outcome in ('pull_request', 'answer')),
  summary text,
  -- Where the work of the turn started.
  base_commit text,
  -- What the branch had when it was last read, if something of the session is on it.
  head_commit text,
  -- What workers of this turn have tried to push. An answer may be lost: then the git host tells which of them has arrived.
  tried_commits text[] not null default '{}',
  -- The newest tree of the turn that was saved.
  checkpoint_tree text,
  turn_started_at timestamptz,
  -- How long workers have worked on this turn.
  work_ms bigint not null default 0,
  -- What was charged for steps that were stopped, in all turns. They have no row.
  stopped_credits numeric(14, 4) not null default 0,
  -- The request on whose behalf the turn runs.
  credential_id uuid not null,
  request_id text not null,
  ip text not null,
  cancel_requested_at timestamptz,
  -- Of the events that say what is being done.
  log_rows integer not null default 0,
  log_bytes integer not null default 0,
  -- Events are removed some days after the end.
  has_events boolean not null default true,
  created_date timestamptz not null,
  updated_date timestamptz not null,
  ended_at timestamptz,
  due_at timestamptz,
  claims integer not null default 0,
  failures integer not null default 0,
  crash_count integer not null default 0,
  claimed_slot integer,
  claimed_epoch bigint,
  last_error text,
  failed_at timestamptz,
  check ((ended_at is not null) = (state in ('completed', 'failed', 'cancelled'))),
  check ((error_code is not null) = (state = 'failed')),
  check ((outcome is not null) = (state = 'completed')),
  check ((input_request_id is not null) = (state = 'needs_input')),
  check ((input_request_id is null) = (input_request is null)),
  check ((branch_id is null) = (branch_name is null)),
  check (branch_name is null or branch_name = work_branch),
  check (length(summary) <= 10000),
  foreign key (workspace_id, app_id) references apps (workspace_id, id) on delete cascade
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.05);
create unique index coding_sessions_by_key on coding_sessions (workspace_id, app_id, user_id, launch_key);
-- One at a time on a branch. Names that differ only in case are one file on some systems.
create unique index coding_sessions_active on coding_sessions (workspace_id, app_id, lower(work_branch))
  where ended_at is null;
create index coding_sessions_of_app on coding_sessions (workspace_id, app_id, id desc);
create index coding_sessions_by_reference on coding_sessions (workspace_id, app_id, client_reference, id desc)
  where client_reference is not null;
create index coding_sessions_of_user on coding_sessions (user_id);
create index coding_sessions_by_state on coding_sessions (state);
create index coding_sessions_ended on coding_sessions (ended_at) where ended_at is not null and has_events;
create index coding_sessions_due on coding_sessions (due_at) where claimed_slot is null and due_at is not null;
create index coding_sessions_of_owner on coding_sessions (workspace_id, due_at)
  where claimed_slot is null and due_at is not null;
create index coding_sessions_claimed on coding_sessions (claimed_slot) where claimed_slot is not null;
create index coding_sessions_failed on coding_sessions (failed_at) where failed_at is not null;

-- As features/coding-sessions/transitions.ts says.
create function coding_session_moved() returns trigger language plpgsql as $$
begin
  if new.state <> old.state and not (case old.state
    when 'queued' then new.state in ('running', 'failed', 'cancelled')
    when 'running' then new.state in ('opening_pull_request', 'needs_input', 'completed', 'failed', 'cancelling')
    when 'needs_input' then new.state in ('running', 'failed', 'cancelling')
    when 'opening_pull_request' then new.state in ('completed', 'failed', 'cancelling')
    when 'cancelling' then new.state = 'cancelled'
    else new.state = 'queued'
  end) then
    raise exception 'a coding session can''t become % after %', new.state, old.state using errcode = 'check_violation';
  end if;
  return new;
end $$;
create trigger coding_session_moved before update of state on coding_sessions
  for each row execute function coding_session_moved();

-- What the person wrote after the launch: follow-ups, answers, approvals. The text of the launch is the session's prompt.
create table coding_messages (
  id uuid primary key,
  workspace_id uuid not null,
  app_id uuid not null,
  session_id uuid not null references coding_sessions on delete cascade,
  user_id uuid references users on delete set null,
  -- The turn that it belongs to.
  turn integer not null,
  key text not null,
  hash text not null,
  text text,
  answers jsonb,
  approve boolean,
  input_request_id uuid,
  author text,
  -- pending: the agent has not read it yet.
  state text not null default 'pending' check (state in ('pending', 'delivered', 'failed')),
  error_code text check (error_code in ('input_request_changed', 'session_busy', 'cancelled', 'delivery_interrupted')),
  created_date timestamptz not null,
  check ((error_code is not null) = (state = 'failed'))
);
create unique index coding_messages_by_key on coding_messages (workspace_id, app_id, user_id, key);
create index coding_messages_of_session on coding_messages (workspace_id, session_id, id);
create index coding_messages_removal on coding_messages (session_id);
create index coding_messages_of_user on coding_messages (user_id);

-- One call of the model and of the tools that it asked for. The row is inserted before the call, with the credits reserved for it,
-- and gets its record after the last tool. A turn that is run again goes on after the last record.
create table coding_steps (
  workspace_id uuid not null,
  session_id uuid not null references coding_sessions on delete cascade,
  turn integer not null,
  step integer not null,
  -- Null if what was charged for earlier steps covers this one, as far as it can be estimated.
  reservation_id uuid,
  -- What the model said, what the tools answered, and the tree after them; null until the step is complete.
  record jsonb,
  created_date timestamptz not null,
  primary key (session_id, turn, step)
);
create index coding_steps_of_session on coding_steps (workspace_id, session_id);

-- What streamSession sends. The id on the wire is the version of the session.
create table coding_events (
  workspace_id uuid not null,
  session_id uuid not null references coding_sessions on delete cascade,
  version integer not null,
  event text not null check (event in ('state', 'input_request', 'log')),
  data jsonb not null,
  created_date timestamptz not null,
  primary key (session_id, version)
);
create index coding_events_of_session on coding_events (workspace_id, session_id, version);

-- Bundles of the trees of unfinished turns, in the object storage. A row is inserted before its object is written.
create table coding_checkpoints (
  -- Also in the key of the object, so that no key is used twice.
  id uuid primary key,
  workspace_id uuid not null,
  session_id uuid not null references coding_sessions on delete cascade,
  turn integer not null,
  step integer not null,
  tree text not null,
  size_bytes bigint not null,
  created_date timestamptz not null
);
create index coding_checkpoints_of_session on coding_checkpoints (workspace_id, session_id, turn, step);
create index coding_checkpoints_removal on coding_checkpoints (session_id);

create function coding_checkpoints_changed() returns trigger language plpgsql as $$
begin
  if tg_op = 'INSERT' then
    insert into storage_changes (workspace_id, kind, bytes)
    select workspace_id, 'files', sum(size_bytes) from changed group by 1;
  else
    insert into object_removals (key, added_at)
    select 'coding/' || session_id || '/' || id || '.bundle', now() from changed;
    insert into storage_changes (workspace_id, kind, bytes)
    select workspace_id, 'files', -sum(size_bytes) from changed group by 1;
  end if;
  return null;
end $$;
create trigger coding_checkpoints_added after insert on coding_checkpoints
  referencing new table as changed for each statement execute function coding_checkpoints_changed();
create trigger coding_checkpoints_removed after delete on coding_checkpoints
  referencing old table as changed for each statement execute function coding_checkpoints_changed();
