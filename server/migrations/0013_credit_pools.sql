-- room: access
-- What a workspace may spend: a pool for each month, what is reserved from it, and what each member took of it. These
-- are running sums of the ledger, so that spending never adds it up; a nightly check does.

create table credit_pools (
  workspace_id uuid not null references workspaces on delete cascade,
  -- The first moment of the month, UTC.
  period_start timestamptz not null,
  -- The workspace's limit as the ledger knows it; null: unlimited. A pool begins with none and takes it over by a row.
  monthly_limit numeric default 0,
  granted numeric not null default 0,
  used numeric not null default 0 check (used >= 0),
  reserved numeric not null default 0 check (reserved >= 0),
  -- When the nightly check last compared this pool with the ledger.
  checked_date timestamptz not null default '-infinity',
  primary key (workspace_id, period_start)
) with (fillfactor = 50); -- one hot row per workspace: room for its next version on the same page
create index credit_pools_by_check on credit_pools (period_start, checked_date);

create table credit_use (
  workspace_id uuid not null,
  period_start timestamptz not null,
  user_id uuid not null,
  used numeric not null,
  reserved numeric not null,
  primary key (workspace_id, period_start, user_id),
  foreign key (workspace_id, period_start) references credit_pools on delete cascade
) with (fillfactor = 70);

create table credit_reservations (
  workspace_id uuid not null,
  id uuid not null,
  -- The month it was made in, to which it belongs also when it is settled in the next.
  period_start timestamptz not null,
  user_id uuid,
  app_id uuid,
  operation text not null,
  reference_id text,
  amount numeric not null check (amount > 0),
  state text not null check (state in ('open', 'settled', 'released', 'refunded')),
  -- What the act cost in truth, and what of it was charged.
  cost numeric,
  charged numeric,
  created_date timestamptz not null,
  expires_at timestamptz not null,
  closed_date timestamptz,
  primary key (workspace_id, id),
  foreign key (workspace_id, period_start) references credit_pools on delete cascade,
  check ((state = 'open') = (closed_date is null))
);
create index credit_reservations_by_lease on credit_reservations (expires_at) where state = 'open';
create index credit_reservations_open on credit_reservations (workspace_id, period_start) where state = 'open';
create index credit_reservations_by_end on credit_reservations (closed_date) where state <> 'open';

-- What a kind does to the balance is said by the kind; only an operator's grant and a changed limit go both ways.
alter table credit_ledger add check (amount >= 0 or kind in ('grant', 'reset'));
-- The month whose pool a row moved. Not always that of its date: see credit_reservations.
alter table credit_ledger add column period_start timestamptz not null default date_trunc('month', now(), 'UTC');
update credit_ledger set period_start = date_trunc('month', created_date, 'UTC');
insert into credit_pools (workspace_id, period_start, granted)
  select workspace_id, period_start, sum(amount) from credit_ledger where kind = 'grant' group by 1, 2;

create index credit_ledger_by_time on credit_ledger (workspace_id, created_date, id);
create index credit_ledger_of_user on credit_ledger (workspace_id, user_id, created_date, id) where user_id is not null;
create index credit_ledger_of_app on credit_ledger (workspace_id, app_id, created_date, id) where app_id is not null;
-- The other kinds are a good part of all rows each, and are found by time.
create index credit_ledger_of_kind on credit_ledger (workspace_id, kind, created_date, id)
  where kind in ('grant', 'reset', 'refund');

-- The ledger only grows, whoever is connected; it goes with its workspace alone.
create function refuse_ledger_change() returns trigger language plpgsql as $$
begin
  if tg_op = 'DELETE' and not exists (select from workspaces where id = old.workspace_id) then return old; end if;
  raise exception 'rows of the credit ledger cannot be changed';
end $$;
create trigger credit_ledger_grows before update or delete on credit_ledger
  for each row execute function refuse_ledger_change();
create trigger credit_ledger_kept before truncate on credit_ledger
  for each statement execute function refuse_ledger_change();
