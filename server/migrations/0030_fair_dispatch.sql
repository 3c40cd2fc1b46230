-- module: kit
-- Pending events by the workspace they belong to, so that the dispatcher takes some of each and no long backlog of one
-- workspace delays the others.

create index events_waiting_by_owner on events ((coalesce(payload ->> 'workspace_id', '-')) collate "C", id)
  where dispatched_at is null and retry_at is null;
