-- module: audit
-- Sealed entries are removed by this function alone. It runs with the rights of the role that owns the tables, so that the
-- role of the running service needs no right to delete them. It decides by itself, and by the clock of the database, what has
-- expired.

/*
 * Removes the oldest entries of a workspace's chain (null: the installation's), up to the first that is not older than 400
 * days, and records where the rest starts. Entries are removed from the start only: a chain with a gap could not be verified.
 * Returns how many were removed.
 */
create function remove_expired_audit_entries(chain_of uuid, max_removed integer) returns integer
language plpgsql security definer
set search_path = pg_catalog, public, pg_temp
-- With the workspace's id known, the conditions below use the indexes.
set plan_cache_mode = force_custom_plan
as $$
declare
  removed integer;
begin
  -- The trigger on the table lets deletes pass while this is on.
  perform set_config('plinth.audit_retention', 'on', true);
  with first_kept as (
    select coalesce(min(sequence), 9007199254740991) as sequence from audit_entries
    where (workspace_id = chain_of or chain_of is null and workspace_id is null)
      and occurred_at >= now() - interval '400 days'
  ), expired as (
    delete from audit_entries
    where (workspace_id = chain_of or chain_of is null and workspace_id is null) and sequence in (
      select sequence from audit_entries
      where (workspace_id = chain_of or chain_of is null and workspace_id is null)
        and sequence < (select sequence from first_kept)
      order by sequence limit max_removed)
    returning sequence, hash
  ), new_start as (
    update audit_chains set first_sequence = last.sequence + 1, first_prev_hash = last.hash
    from (select sequence, hash from expired order by sequence desc limit 1) last
    where workspace_id = chain_of or chain_of is null and workspace_id is null
  )
  select count(*) into removed from expired;
  perform set_config('plinth.audit_retention', 'off', true);
  return removed;
end $$;
revoke execute on function remove_expired_audit_entries from public;
