-- room: access
-- Credits: one pool per workspace and calendar month, and a ledger that only grows.

create table credit_ledger (
  workspace_id uuid not null references workspaces on delete cascade,
  id uuid not null,
  kind text not null check (kind in ('use', 'reserve', 'release', 'refund', 'grant', 'reset')),
  amount numeric not null,
  user_id uuid,
  app_id uuid,
  operation text not null,
  reference_id text,
  balance_after numeric,
  note text,
  created_date timestamptz not null,
  primary key (workspace_id, id)
);
