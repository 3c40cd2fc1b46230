-- module: builder
-- The chat in which an assistant builds an app: its messages, the turns in which the assistant works, and their steps.

-- Deltas serve all turns, not only those of agents. Processes of an older release do not know the new name.
alter table agent_deltas rename to turn_deltas;
alter index agent_deltas_pkey rename to turn_deltas_pkey;
alter index agent_deltas_by_age rename to turn_deltas_by_age;

-- What the chat is doing with the app: processing while a turn runs, error until the next turn.
alter table apps
  add column status_state text not null default 'ready' check (status_state in ('ready', 'processing', 'error')),
  add column status_message text not null default '',
  add column status_error_source text check (status_error_source in ('builder', 'paywall', 'model')),
  add check ((status_state = 'error') = (status_error_source is not null));

create table chat_messages (
  workspace_id uuid not null,
  app_id uuid not null,
  position integer not null,
  id uuid not null,
  -- Null if the message was imported.
  turn_id uuid,
  role text not null check (role in ('user', 'assistant', 'system')),
  content text not null,
  file_urls text[] not null default '{}',
  tool_calls jsonb not null default '[]',
  -- Null if the model did not report them.
  prompt_tokens integer,
  completion_tokens integer,
  model text,
  created_date timestamptz not null,
  primary key (workspace_id, app_id, position),
  unique (workspace_id, id),
  foreign key (workspace_id, app_id) references apps (workspace_id, id) on delete cascade
);
create index chat_messages_of_turn on chat_messages (workspace_id, turn_id);

-- A turn: a person's message and what the assistant does about it. A queue table. It is running until it has an end.
create table chat_turns (
  id uuid primary key,
  workspace_id uuid not null,
  app_id uuid not null,
  message_id uuid not null,
  -- The request on whose behalf it runs: whose role decides before each step, and who is named in the audit log.
  user_id uuid not null references users on delete cascade,
  credential_id uuid not null,
  request_id text not null,
  ip text not null,
  created_date timestamptz not null,
  -- When a worker first ran it.
  started_date timestamptz,
  ended_date timestamptz,
  -- Why it failed; null if it did not.
  error_source text check (error_source in ('builder', 'paywall', 'model')),
  error_message text,
  due_at timestamptz,
  claims integer not null default 0,
  failures integer not null default 0,
  crash_count integer not null default 0,
  claimed_slot integer,
  claimed_epoch bigint,
  last_error text,
  failed_at timestamptz,
  check ((error_source is null) = (error_message is null)),
  foreign key (workspace_id, app_id) references apps (workspace_id, id) on delete cascade
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.05);
-- One at a time for an app: two would work on the same files.
create unique index chat_turns_running on chat_turns (workspace_id, app_id) where ended_date is null;
create index chat_turns_of_app on chat_turns (workspace_id, app_id);
create index chat_turns_of_user on chat_turns (user_id);
create index chat_turns_due on chat_turns (due_at) where claimed_slot is null and due_at is not null;
create index chat_turns_of_owner on chat_turns (workspace_id, due_at) where claimed_slot is null and due_at is not null;
create index chat_turns_claimed on chat_turns (claimed_slot) where claimed_slot is not null;
create index chat_turns_failed on chat_turns (failed_at) where failed_at is not null;
create index chat_turns_finished on chat_turns (created_date) where due_at is null;

-- A step of a turn: one call of the model and of the tools that it asked for. The row is inserted before the call, with the
-- credits reserved for it, and gets its record after the last tool. A turn that is run again goes on after the last record.
create table chat_steps (
  workspace_id uuid not null,
  turn_id uuid not null references chat_turns on delete cascade,
  number integer not null,
  -- Null if what was charged for earlier steps covers this one, as far as it can be estimated.
  reservation_id uuid,
  -- What the model said, what the tools answered, and what they changed; null until the step is complete.
  record jsonb,
  created_date timestamptz not null,
  primary key (turn_id, number)
);
