-- module: webhooks
-- transaction: none
create index concurrently webhook_deliveries_changed on webhook_deliveries (changed_in) where changed_in is not null;
