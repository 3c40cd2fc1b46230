-- module: webhooks
-- transaction: none
create index concurrently webhook_deliveries_unread on webhook_deliveries (webhook_id, sequence)
  where status = 'pending' and due_at is null;
