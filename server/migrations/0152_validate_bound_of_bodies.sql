-- module: webhooks
-- transaction: none
-- Reads all bodies, so that attaching them need not.
alter table webhook_bodies validate constraint webhook_bodies_until_partitioned;
