-- module: connectors
-- When the last refresh ended, with tokens or without. Null before the first one.
alter table connections add column refresh_ended_at timestamptz;
-- For access tokens that expire and can't be refreshed.
create index connections_by_expiry on connections (expires_at)
  where expires_at is not null and refresh_token_sealed is null;
-- Connections whose token has expired after refreshes that failed are not due any more, so that they need no time.
update connections set next_refresh_at = null
  where next_refresh_at > expires_at and refresh_started_at is null;
