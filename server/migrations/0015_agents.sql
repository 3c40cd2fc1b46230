-- room: agents
-- What makes an app an agent, the conversations people have with it, what it remembers, and the turns in which it answers.

-- An agent is an app; one without a row here has no instructions and the installation's model.
create table agents (
  workspace_id uuid not null,
  app_id uuid not null,
  instructions text not null,
  model text,
  primary key (workspace_id, app_id),
  foreign key (workspace_id, app_id) references apps (workspace_id, id) on delete cascade
);

create table agent_conversations (
  workspace_id uuid not null,
  id uuid not null,
  app_id uuid not null,
  user_id uuid not null references users on delete cascade,
  metadata jsonb not null,
  -- The place of the newest message ever added: ids of two processes are not in order, places are.
  last_position integer not null default 0,
  created_date timestamptz not null,
  updated_date timestamptz not null,
  primary key (workspace_id, id),
  unique (workspace_id, app_id, user_id),
  foreign key (workspace_id, app_id) references apps (workspace_id, id) on delete cascade
);
create index agent_conversations_of_user on agent_conversations (user_id);

create table agent_messages (
  workspace_id uuid not null,
  conversation_id uuid not null,
  position integer not null,
  id uuid not null,
  role text not null check (role in ('user', 'assistant', 'system')),
  content text not null,
  file_urls text[] not null default '{}',
  tool_calls jsonb not null default '[]',
  -- Null where the model does not tell.
  prompt_tokens integer,
  completion_tokens integer,
  model text,
  hidden boolean not null default false,
  created_date timestamptz not null,
  updated_date timestamptz not null,
  primary key (workspace_id, conversation_id, position),
  unique (workspace_id, id),
  foreign key (workspace_id, conversation_id) references agent_conversations (workspace_id, id) on delete cascade
);

create table agent_memories (
  workspace_id uuid not null,
  id uuid not null,
  app_id uuid not null,
  -- Whose it is; null: the agent's own, the same for everybody.
  user_id uuid references users on delete cascade,
  content text not null,
  created_date timestamptz not null,
  primary key (workspace_id, id),
  foreign key (workspace_id, app_id) references apps (workspace_id, id) on delete cascade
);
create index agent_memories_of_agent on agent_memories (workspace_id, app_id, id);
create index agent_memories_of_user on agent_memories (user_id);

-- A turn: a person's message and the reply to it, which a worker fetches. A queue table (due_at: it is running).
create table agent_turns (
  id uuid primary key,
  workspace_id uuid not null,
  conversation_id uuid not null,
  -- The person's message, and the reply once there is one. Either may have been deleted since.
  message_id uuid not null,
  reply_id uuid,
  reservation_id uuid not null,
  -- Whether what the person says may be remembered for everybody.
  may_teach boolean not null,
  created_date timestamptz not null,
  ended_date timestamptz,
  due_at timestamptz,
  claims integer not null default 0,
  failures integer not null default 0,
  interruptions integer not null default 0,
  claimed_slot integer,
  claimed_epoch bigint,
  last_error text,
  failed_at timestamptz,
  foreign key (workspace_id, conversation_id) references agent_conversations (workspace_id, id) on delete cascade
);
-- One at a time in a conversation: side by side their replies would interleave.
create unique index agent_turns_running on agent_turns (workspace_id, conversation_id) where due_at is not null;
create index agent_turns_of_conversation on agent_turns (workspace_id, conversation_id);
create index agent_turns_due on agent_turns (due_at) where claimed_slot is null and due_at is not null;
create index agent_turns_of_owner on agent_turns (workspace_id, due_at) where claimed_slot is null and due_at is not null;
create index agent_turns_claimed on agent_turns (claimed_slot) where claimed_slot is not null;
create index agent_turns_over on agent_turns (created_date) where due_at is null;

-- A reply on its way, in pieces, for whoever watches. Nothing that must last: the whole reply becomes a message. So it is
-- not logged, and a database that crashes forgets it; the turn is then run again.
create unlogged table agent_deltas (
  workspace_id uuid not null,
  turn_id uuid not null,
  -- The run it is of: what an earlier one left is void.
  claim integer not null,
  seq integer not null,
  piece jsonb not null,
  created_date timestamptz not null,
  primary key (turn_id, claim, seq)
);
create index agent_deltas_by_age on agent_deltas (created_date);
