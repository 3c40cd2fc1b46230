-- module: webhooks
-- Who created a webhook. Null for webhooks that are older than this column. It stays when the person leaves.

alter table webhooks add column created_by_id uuid references users on delete set null;
create index webhooks_of_creator on webhooks (workspace_id, created_by_id, id) where created_by_id is not null;
