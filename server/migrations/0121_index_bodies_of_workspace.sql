-- module: webhooks
-- transaction: none
-- The weekly recount adds up the bodies of a workspace.
create index concurrently webhook_bodies_of_workspace on webhook_bodies (workspace_id, event_id);
