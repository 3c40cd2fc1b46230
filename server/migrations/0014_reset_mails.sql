-- room: accounts
-- Mails with a way back in, waiting to be sent. The link is made when its mail is sent, so it is kept nowhere.

create table reset_mails (
  id uuid primary key,
  user_id uuid not null references users on delete cascade,
  created_date timestamptz not null,
  due_at timestamptz,
  claims integer not null default 0,
  failures integer not null default 0,
  interruptions integer not null default 0,
  claimed_slot integer,
  claimed_epoch bigint,
  last_error text,
  failed_at timestamptz
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.05);
create index reset_mails_due on reset_mails (due_at) where claimed_slot is null and due_at is not null;
create index reset_mails_of_owner on reset_mails (user_id, due_at) where claimed_slot is null and due_at is not null;
create index reset_mails_claimed on reset_mails (claimed_slot) where claimed_slot is not null;
create index reset_mails_failed on reset_mails (failed_at) where failed_at is not null;
create index reset_mails_over on reset_mails (created_date) where due_at is null;
