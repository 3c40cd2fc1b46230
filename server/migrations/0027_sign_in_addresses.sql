-- module: core
-- The addresses at which people have signed in. Tries to sign in from elsewhere do not slow down tries from there.

create table sign_in_addresses (
  user_id uuid not null references users on delete cascade,
  -- Keyed, like the hash of a credential: the table tells nobody where a person was.
  address_hash bytea not null,
  used_at timestamptz not null,
  primary key (user_id, address_hash)
);
create index sign_in_addresses_hash on sign_in_addresses (address_hash);
create index sign_in_addresses_used on sign_in_addresses (used_at);
