-- module: kit
-- transaction: none
create index concurrently events_changed on events (changed_in) where changed_in is not null;
