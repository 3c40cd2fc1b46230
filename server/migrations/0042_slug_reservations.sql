-- module: core/identity
-- A slug is the host name of a published app: browsers keep what its pages stored, and people keep links to it. So a slug that an
-- app gave up stays its own for a while. A job removes rows that are old enough; until then nobody else gets the slug.

create table released_slugs (
  slug text primary key,
  app_id uuid not null, -- no reference: the app may be purged
  released_at timestamptz not null
);
create index released_slugs_app on released_slugs (app_id, released_at);
create index released_slugs_released on released_slugs (released_at);

-- An app keeps its last 20. Otherwise whoever renames an app again and again could take slugs from everybody.
create function slug_released() returns trigger language plpgsql as $$
begin
  insert into released_slugs (slug, app_id, released_at) values (old.slug, old.id, now())
  on conflict (slug) do update set app_id = excluded.app_id, released_at = excluded.released_at;
  delete from released_slugs where app_id = old.id and slug in (
    select slug from released_slugs where app_id = old.id order by released_at desc, slug offset 20);
  return null;
end $$;
create trigger slug_released after delete on apps for each row execute function slug_released();
create trigger slug_changed after update of slug on apps for each row
  when (old.slug <> new.slug) execute function slug_released();

-- After the row is written: whoever waited for the transaction that releases the slug sees what it released.
create function slug_taken() returns trigger language plpgsql as $$
begin
  delete from released_slugs where slug = new.slug and app_id = new.id;
  if exists (select from released_slugs where slug = new.slug) then
    raise unique_violation using constraint = 'apps_slug_key', message = 'the slug was released by another app';
  end if;
  return null;
end $$;
create trigger slug_taken after insert on apps for each row execute function slug_taken();
create trigger slug_taken_by_change after update of slug on apps for each row
  when (old.slug <> new.slug) execute function slug_taken();
