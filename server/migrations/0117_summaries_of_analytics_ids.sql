-- module: analytics
drop index analytics_event_ids_by_day;

-- The index of days keeps the first and the last day of each 32 pages. When the pages of a removed day are filled with new ids, the
-- first day of such pages stays what it was, so the removal of old ids would read more and more pages for nothing. This function
-- summarizes one part of the table's pages again: part 0 to parts - 1. Ids are stored meanwhile.
create function summarize_analytics_ids(part integer, parts integer) returns integer
language plpgsql security definer
set search_path = pg_catalog, public, pg_temp
set lock_timeout = '200ms'
as $$
declare
  pages_per_range constant bigint := 32;
  ranges bigint := ceil(pg_relation_size('analytics_event_ids') / current_setting('block_size')::numeric / pages_per_range);
  first bigint := ranges * part / parts;
  past_last bigint := ranges * (part + 1) / parts;
begin
  if part < 0 or part >= parts then
    raise exception 'there is no part % of %', part, parts;
  end if;
  for range in first .. past_last - 1 loop
    -- Until it has a summary again, a range is read by every query. So an interrupted run loses nothing.
    perform brin_desummarize_range('analytics_event_ids_by_block', range * pages_per_range);
    perform brin_summarize_range('analytics_event_ids_by_block', range * pages_per_range);
  end loop;
  return past_last - first;
end
$$;
revoke execute on function summarize_analytics_ids from public;
