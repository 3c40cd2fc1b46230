-- room: kit/http
-- What was answered to a request with an Idempotency-Key; kept for a day.

create table idempotency_keys (
  id bytea primary key,
  request_hash bytea not null,
  status integer not null,
  body jsonb not null,
  created_date timestamptz not null
);
create index idempotency_keys_by_age on idempotency_keys (created_date);
