-- module: core
-- A place is an address and a browser. A mail says that somebody signed in at a place that the person has not used before.

-- '' for what was recorded before browsers were. Such a row stands for any browser at its address.
alter table sign_in_addresses
  add column browser text not null default '',
  drop constraint sign_in_addresses_pkey,
  add primary key (user_id, address_hash, browser);

-- Places are forgotten after a while. This says that there were some.
alter table users add column first_sign_in_at timestamptz;
update users u set first_sign_in_at = a.used_at
  from (select user_id, min(used_at) as used_at from sign_in_addresses group by user_id) a where a.user_id = u.id;

-- Mails about a sign-in, waiting to be sent.
create table sign_in_mails (
  id uuid primary key,
  user_id uuid not null references users on delete cascade,
  address text not null,
  browser text not null,
  created_date timestamptz not null,
  due_at timestamptz,
  claims integer not null default 0,
  failures integer not null default 0,
  crash_count integer not null default 0,
  claimed_slot integer,
  claimed_epoch bigint,
  last_error text,
  failed_at timestamptz
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.05);
create index sign_in_mails_due on sign_in_mails (due_at) where claimed_slot is null and due_at is not null;
create index sign_in_mails_of_owner on sign_in_mails (user_id, due_at) where claimed_slot is null and due_at is not null;
create index sign_in_mails_claimed on sign_in_mails (claimed_slot) where claimed_slot is not null;
create index sign_in_mails_failed on sign_in_mails (failed_at) where failed_at is not null;
create index sign_in_mails_finished on sign_in_mails (created_date) where due_at is null;
create index sign_in_mails_of_user on sign_in_mails (user_id, created_date);
