-- module: kit
-- The dispatch finds the waiting events of each owner by events_waiting_by_owner. With statistics from a moment when nothing was
-- waiting, the planner preferred this index and read the whole backlog for each batch.
drop index events_waiting;
