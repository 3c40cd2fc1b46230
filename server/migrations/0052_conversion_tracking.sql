-- module: ads
-- Conversion tracking: which changes of records count as conversions, and whether the published app reports them.

create table conversion_mappings (
  id uuid primary key,
  workspace_id uuid not null,
  app_id uuid not null,
  account_id uuid not null references ads_accounts on delete cascade,
  entity_name text not null,
  trigger_action text not null check (trigger_action in ('create', 'update', 'delete')),
  conversion_type text not null check (conversion_type in ('PURCHASE', 'ADD_TO_CART', 'BEGIN_CHECKOUT', 'SIGNUP',
    'SUBMIT_LEAD_FORM', 'CONTACT', 'REQUEST_QUOTE', 'BOOK_APPOINTMENT', 'SUBSCRIBE_PAID', 'PHONE_CALL_LEAD')),
  -- The platform's id of the conversion action. Empty: the goal of the conversion type.
  conversion_action_id text not null,
  -- The fields of the record with the value and the currency of a conversion. Empty: none.
  value_field text not null,
  currency_field text not null,
  is_enabled boolean not null,
  created_date timestamptz not null,
  updated_date timestamptz not null,
  foreign key (workspace_id, app_id) references apps (workspace_id, id) on delete cascade
);
create index conversion_mappings_of_app on conversion_mappings (workspace_id, app_id, id);
create index conversion_mappings_of_account on conversion_mappings (account_id);

-- The result of the last verification that could be carried out. It holds for one deployment: another one may lack the tag.
create table tracking_checks (
  app_id uuid primary key references apps on delete cascade,
  deployment_id uuid,
  verified boolean not null,
  checked_at timestamptz not null,
  check (not verified or deployment_id is not null)
);
