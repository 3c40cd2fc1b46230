-- module: core
-- When the last complete back-up was made, and when one was last restored to see whether it is whole. Written by `plinth backup`.
create table backup_state (
  is_only_row boolean primary key default true check (is_only_row),
  -- The moment whose data the last complete back-up has.
  backed_up_at timestamptz,
  backup_name text,
  verified_at timestamptz,
  verified_name text,
  -- Set if the last attempt to verify one has failed.
  verify_failed_at timestamptz,
  failed_name text
);
