-- room: access
-- The audit log. A change inserts its entry here in its own transaction, with no lock and no order; a sealer moves the
-- entries of each workspace, in turn, into its chain.

create table audit_pending (
  id uuid not null,
  -- Null: the chain of the installation itself (sign-ins, operators).
  workspace_id uuid,
  entry jsonb not null
);
-- The only index: every change pays for it.
create index audit_pending_by_workspace on audit_pending (workspace_id, id);

create table audit_entries (
  workspace_id uuid,
  sequence bigint not null,
  id uuid not null,
  occurred_at timestamptz not null,
  type text not null,
  app_id uuid,
  actor_email text,
  outcome text not null check (outcome in ('done', 'refused')),
  request_id text not null,
  entry jsonb not null,
  prev_hash text not null,
  hash text not null
);
create unique index audit_entries_in_chain on audit_entries (workspace_id, sequence) nulls not distinct;
create index audit_entries_by_time on audit_entries (workspace_id, occurred_at);
create index audit_entries_by_id on audit_entries (workspace_id, id);

-- The end of each chain. Where old entries were dropped, first_* keep the place where the rest begins.
create table audit_chains (
  chain_id uuid primary key,
  workspace_id uuid,
  last_sequence bigint not null,
  last_hash text not null,
  first_sequence bigint not null,
  first_prev_hash text not null
);
create unique index audit_chains_of_workspace on audit_chains (workspace_id) nulls not distinct;

-- A sealed entry is never changed, by whoever is connected. What gets round this is found by verifying the chain.
create function refuse_audit_change() returns trigger language plpgsql as $$
begin
  if tg_op = 'DELETE' and current_setting('plinth.audit_retention', true) = 'on' then return old; end if;
  raise exception 'sealed audit entries cannot be changed';
end $$;
create trigger audit_entries_sealed before update or delete on audit_entries
  for each row execute function refuse_audit_change();
create trigger audit_entries_kept before truncate on audit_entries
  for each statement execute function refuse_audit_change();
