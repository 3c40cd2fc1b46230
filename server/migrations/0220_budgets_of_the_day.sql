-- module: ads
-- A budget counts towards the ceilings for a day after its campaign stopped or it was lowered, because it may have been spent.
-- Otherwise, one campaign after the other could spend what a ceiling allows only once.
alter table ads_campaigns
  add column spent_budget_micros bigint not null default 0,
  add column spent_until timestamptz;

create function ads_campaigns_spent() returns trigger language plpgsql as $$
begin
  new.spent_budget_micros := greatest(old.daily_budget_micros,
    case when old.spent_until > now() then old.spent_budget_micros else 0 end);
  new.spent_until := now() + interval '1 day';
  return new;
end $$;
create trigger ads_campaigns_spent before update on ads_campaigns for each row
  when (old.status = 'ENABLED' and (new.status <> 'ENABLED' or new.daily_budget_micros < old.daily_budget_micros))
  execute function ads_campaigns_spent();
