-- module: webhooks
-- Bodies are removed by the day, 37 days after their event, and not with their last delivery. They still go with the log of a
-- deleted webhook.
select move_to_partition('webhook_bodies');
drop trigger stored_added on partitions.webhook_bodies;
drop trigger stored_removed on partitions.webhook_bodies;

create table webhook_bodies (
  workspace_id uuid not null,
  event_id uuid not null,
  body text not null,
  -- How many deliveries have this body, if it is counted. It is removed with the last of them if their webhook is deleted.
  deliveries integer,
  primary key (event_id)
) partition by range (event_id);
-- As in the partition, so none is built.
create index webhook_bodies_of_workspace on webhook_bodies (workspace_id, event_id);
create trigger stored_added after insert on webhook_bodies referencing new table as added
  for each statement execute function count_delivery_bodies();
create trigger stored_removed after delete on webhook_bodies referencing old table as removed
  for each statement execute function count_delivery_bodies();

-- An event that still waits for its dispatch needs the partition of its day. What a day counts towards the storage of workspaces
-- is subtracted with it.
insert into partitioned_tables (name, key_column, days, kept_days, needed_if, before_removal) values (
  'webhook_bodies', 'event_id', 1, 37,
  'exists (select from events where id < $2 and dispatched_at is null)',
  'insert into storage_changes (workspace_id, kind, bytes)
   select workspace_id, ''deliveries'', -sum(150 + octet_length(body)) from %s where deliveries is not null group by 1');
select attach_first_partition('webhook_bodies');
