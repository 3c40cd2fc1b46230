-- module: core
-- The keys that this database was used with: a text for each, which only the same key computes again. A process refuses to start
-- with other keys, before it writes what the first ones can't read.
create table known_keys (
  setting text not null check (setting in ('MASTER_KEYS', 'TOKEN_PEPPERS')),
  key_id text not null,
  probe text not null,
  first_used_at timestamptz not null,
  -- Since then it is known to be lost: processes start without it, or with another key of the same id.
  forgotten_at timestamptz,
  primary key (setting, key_id)
);
