-- module: billing
-- Customers at the payment provider.

-- A workspace has at most one customer. The row exists before the provider is asked for it.
create table billing_customers (
  workspace_id uuid primary key references workspaces on delete cascade,
  -- Sent with the request, so that the provider applies a repeated one only once. It forgets keys after a day.
  request_key uuid not null,
  requested_at timestamptz not null,
  -- Null until the provider has answered.
  provider_customer_id text unique
);
