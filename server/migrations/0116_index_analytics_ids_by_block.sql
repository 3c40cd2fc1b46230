-- module: analytics
-- transaction: none
-- One entry for 32 pages, in place of an entry for each id: ids are stored in the order of their days.
create index concurrently analytics_event_ids_by_block on analytics_event_ids
  using brin (day) with (pages_per_range = 32, autosummarize = on);
