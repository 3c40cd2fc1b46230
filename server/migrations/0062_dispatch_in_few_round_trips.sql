-- module: kit
-- How many batches of events were begun since one was completed. A sequence, because `setval` outlasts a rollback: the number
-- survives a crash of the worker without a transaction of its own. `in_progress` and `crash_count` of event_dispatch_state were
-- used for this; workers of the release before still write them.
create sequence unfinished_event_batches minvalue 0 start 0;
