-- module: ads
-- Whether the ad platform has approved how an account is paid for, as it last answered: APPROVED and the like, NONE without a billing
-- setup. Null if it was never read. It is read together with the status.
alter table ads_accounts add column billing_status text;
