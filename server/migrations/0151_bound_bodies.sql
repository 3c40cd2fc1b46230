-- module: webhooks
-- Bodies of webhook events get partitions by day. For two weeks, all of them belong to the first one.
select prepare_partitions('webhook_bodies', 'event_id', 1);
