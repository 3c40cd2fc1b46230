-- module: kit
-- Where the batch in progress begins, so that after a crash the same batch is tried again, and not one of other workspaces.

alter table event_dispatch_state add column started_after text not null default '';
