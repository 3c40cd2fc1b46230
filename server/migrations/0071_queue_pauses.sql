-- module: kit
-- Pauses of queues, or of single owners in them, which `plinth queues pause` makes. Claims skip what is paused.
create table queue_pauses (
  queue text not null,
  -- Null: the whole queue.
  owner uuid,
  until timestamptz not null,
  unique nulls not distinct (queue, owner)
);
