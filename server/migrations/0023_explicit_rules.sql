-- module: entities
-- From now on an operation without a rule is closed to app users and anonymous callers. Existing schemas get the rule
-- that they meant: everyone who is signed in, which never included anonymous callers. `User` keeps its meaning without one.

create or replace function pg_temp.is_missing(rule json) returns boolean language sql as $$
  select rule is null or json_typeof(rule) = 'null' or rule::jsonb in ('""', '{}');
$$;

-- Replaces a member in its place, or adds it at the end. jsonb would lose the order of the members.
create or replace function pg_temp.set_member(object json, name text, value json) returns json language sql as $$
  select json_object_agg(member.key, member.value order by member.at) from (
    select key, case when key = name then $3 else o.value end as value, at
    from json_each(object) with ordinality o(key, value, at)
    union all
    select name, $3, 1000000 where object->name is null
  ) member;
$$;

create or replace function pg_temp.with_explicit_rules(document json) returns json language plpgsql as $$
declare
  rls json := case when json_typeof(document->'rls') = 'object' then document->'rls' else '{}' end;
  has_write boolean := not pg_temp.is_missing(rls->'write');
  operation text;
  is_changed boolean := false;
begin
  foreach operation in array array['create', 'read', 'update', 'delete'] loop
    if pg_temp.is_missing(rls->operation) and (operation = 'read' or not has_write) then
      rls := pg_temp.set_member(rls, operation, '{"user_condition": {"id": "{{user.id}}"}}');
      is_changed := true;
    end if;
  end loop;
  return case when is_changed then pg_temp.set_member(document, 'rls', rls) end;
end $$;

-- `entry_id` is a UUIDv7: the time in milliseconds, then random bits.
create temporary table explicit_rules on commit drop as
  select app_id, name, explicit.document, encode(set_bit(set_bit(overlay(uuid_send(gen_random_uuid())
    placing substring(int8send((extract(epoch from now()) * 1000)::bigint) from 3) from 1 for 6), 52, 1), 53, 1),
    'hex')::uuid as entry_id
  from entity_schemas cross join lateral (select pg_temp.with_explicit_rules(document) as document) explicit
  where name <> 'User' and explicit.document is not null;

-- A new revision, so that no process goes on using the document that it has cached.
update apps set revision = revision + 1, updated_date = now() where id in (select app_id from explicit_rules);

insert into audit_pending (id, workspace_id, entry)
  select e.entry_id, a.workspace_id, jsonb_build_object(
    'id', e.entry_id, 'occurred_at', to_char(now() at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
    'type', 'entity_schema.updated', 'actor', '{"kind": "service", "id": null, "email": null}'::jsonb,
    'credential_id', null, 'request_id', 'service', 'ip', null, 'outcome', 'done', 'app_id', s.app_id,
    'target', jsonb_build_object('kind', 'entity_schema', 'id', s.name),
    'before', jsonb_build_object('revision', s.revision, 'rls', s.document->'rls'),
    'after', jsonb_build_object('revision', a.revision, 'rls', e.document->'rls'))
  from explicit_rules e
  join entity_schemas s on s.app_id = e.app_id and s.name = e.name
  join apps a on a.id = e.app_id;

update entity_schemas s set document = e.document, revision = a.revision, updated_date = now()
  from explicit_rules e join apps a on a.id = e.app_id
  where s.app_id = e.app_id and s.name = e.name;
