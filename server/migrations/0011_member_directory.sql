-- room: access
-- The members list at any size: one narrow row per member or open invitation, kept by triggers in the change's own
-- transaction, with an index for each order. docs/decisions/0010-member-directory.md says why.

create table member_directory (
  workspace_id uuid not null references workspaces on delete cascade,
  -- The member's user id, or the invitation's id.
  id uuid not null,
  joined boolean not null,
  role text not null check (role in ('owner', 'admin', 'editor', 'viewer', 'guest')),
  access_state text not null check (access_state in ('active', 'blocked', 'invited')),
  assigned_via text not null check (assigned_via in ('direct', 'app_share')),
  email text collate "C" not null,
  full_name text not null,
  credit_limit numeric,
  -- Of an invitation; whether it has expired is a question of time and never stored.
  expires_at timestamptz,
  apps_owned integer not null default 0,
  apps_shared integer not null default 0,
  agents_owned integer not null default 0,
  agents_shared integer not null default 0,
  -- The copy of what was spent and seen. Months take turns in two columns, so that a new month begins with a column that
  -- was cleared weeks before, and the order by credits is right from its first second.
  even_credits numeric not null default 0,
  even_month integer not null default 0,
  odd_credits numeric not null default 0,
  odd_month integer not null default 0,
  last_active timestamptz,
  last_seen timestamptz,
  -- What the orders go by.
  role_rank smallint not null generated always as (
    case role when 'owner' then 0 when 'admin' then 1 when 'editor' then 2 when 'viewer' then 3 else 4 end) stored,
  place smallint not null generated always as (
    case role when 'owner' then 0 when 'admin' then 1 when 'editor' then 2 when 'viewer' then 3 else 4 end
    + case when joined then 0 else 5 end) stored,
  name_key text collate "C" not null generated always as (
    lower(case when full_name = '' then email else full_name end collate "und-x-icu")) stored,
  apps integer not null generated always as (apps_owned + apps_shared) stored,
  agents integer not null generated always as (agents_owned + agents_shared) stored,
  -- Of an active guest: whose domain is the operator's own is not listed.
  guest_domain text collate "C" generated always as (
    case when joined and role = 'guest' and access_state = 'active' then split_part(email, '@', 2) end) stored,
  primary key (workspace_id, id)
) with (fillfactor = 85);

-- One index per order and direction: ties are broken the same way in both, so one cannot be read backwards for the other.
create index member_directory_in_order on member_directory (workspace_id, place, email, id);
create index member_directory_by_role on member_directory (workspace_id, role_rank, place, email, id);
create index member_directory_by_role_down on member_directory (workspace_id, role_rank desc, place, email, id);
create index member_directory_by_name on member_directory (workspace_id, name_key, place, email, id);
create index member_directory_by_name_down on member_directory (workspace_id, name_key desc, place, email, id);
create index member_directory_by_apps on member_directory (workspace_id, apps, place, email, id);
create index member_directory_by_apps_down on member_directory (workspace_id, apps desc, place, email, id);
create index member_directory_by_agents on member_directory (workspace_id, agents, place, email, id);
create index member_directory_by_agents_down on member_directory (workspace_id, agents desc, place, email, id);
create index member_directory_by_even on member_directory (workspace_id, even_credits, place, email, id);
create index member_directory_by_even_down on member_directory (workspace_id, even_credits desc, place, email, id);
create index member_directory_by_odd on member_directory (workspace_id, odd_credits, place, email, id);
create index member_directory_by_odd_down on member_directory (workspace_id, odd_credits desc, place, email, id);
create index member_directory_by_active on member_directory (workspace_id, last_active, place, email, id);
create index member_directory_by_active_down
  on member_directory (workspace_id, last_active desc nulls last, place, email, id);
-- Few rows each: invitations, active guests, and who spent in the month a column holds.
create index member_directory_invited on member_directory (email) where not joined;
create index member_directory_expiring on member_directory (workspace_id, expires_at) where not joined;
create index member_directory_guests on member_directory (workspace_id, guest_domain) where guest_domain is not null;
create index member_directory_even on member_directory (even_month, workspace_id) where even_credits <> 0;
create index member_directory_odd on member_directory (odd_month, workspace_id) where odd_credits <> 0;

-- ---- How many there are in each place: changes are added as rows and summed up later, so that nobody waits.

create table member_tallies (
  workspace_id uuid not null,
  place smallint not null,
  members integer not null
);
create index member_tallies_of_workspace on member_tallies (workspace_id);

create function tally_members() returns trigger language plpgsql as $$
begin
  if tg_op = 'INSERT' then
    insert into member_tallies select workspace_id, place, count(*) from came group by 1, 2;
  elsif tg_op = 'DELETE' then
    insert into member_tallies select workspace_id, place, -count(*) from went group by 1, 2;
  else
    insert into member_tallies
      select workspace_id, place, sum(sign) from (
        select workspace_id, place, 1 as sign from came union all select workspace_id, place, -1 from went) moved
      group by 1, 2 having sum(sign) <> 0;
  end if;
  return null;
end $$;
create trigger tally_insert after insert on member_directory
  referencing new table as came for each statement execute function tally_members();
create trigger tally_delete after delete on member_directory
  referencing old table as went for each statement execute function tally_members();
create trigger tally_update after update on member_directory
  referencing old table as went new table as came for each statement execute function tally_members();

-- ---- Search: e-mail and name in lower case, and their pieces of 3 and 6 characters, hashed together with the workspace.
-- A table of its own, because a change of role or credits must not pay for its index.

create table member_words (
  workspace_id uuid not null,
  id uuid not null,
  -- With these a search in the default order needs no look into the directory, hit by hit. No index has it, so that a
  -- change of role stays cheap.
  place smallint not null,
  email text collate "C" not null,
  name text collate "C" not null,
  foreign key (workspace_id, id) references member_directory (workspace_id, id) on delete cascade
) with (fillfactor = 90);
-- No index begins with the workspace: a search would read all of it, to find its few hits among them.
create index member_words_of_entry on member_words (id);

-- The cost keeps the planner from computing this row by row where an index has it.
create function word_pieces(workspace_id uuid, email text, name text) returns bigint[]
  language sql immutable parallel safe cost 1000 as $$
  select coalesce(array_agg(hashtextextended(substr(word, at, size), hashtextextended(workspace_id::text, 0))), '{}')
  from (values (email), (name)) words (word), (values (3), (6)) sizes (size),
    lateral generate_series(1, length(word) - size + 1) at $$;

-- What to look up for a term of at least 3 characters. Most people share the end of an address: what comes before says more.
create function term_pieces(workspace_id uuid, term text) returns bigint[]
  language sql immutable parallel safe as $$
  select array_agg(hashtextextended(substr(part, least(at, length(part) - size + 1), size),
    hashtextextended(workspace_id::text, 0)))
  from (select case when strpos(term, '@') > 6 then left(term, strpos(term, '@')) else term end) parts (part),
    lateral (select case when length(part) < 6 then 3 else 6 end) sizes (size),
    lateral generate_series(1, least(length(part), 3 * size), size) at $$;

create index member_words_pieces on member_words using gin (word_pieces(workspace_id, email, name))
  with (fastupdate = off);

/*
 * Whom any of these terms hits, until there are more than `most` hits; somebody may be hit twice. A function, so that the
 * index is used and the plan kept: the planner knows nothing of pieces and would rather compare everybody.
 */
create function find_words(workspace uuid, terms text[], patterns text[], most integer)
  returns table (id uuid, place smallint, email text) language plpgsql stable
  set enable_seqscan = off set plan_cache_mode = force_generic_plan as $$
begin
  return query select w.id, w.place, w.email
    from (select lower(t.term collate "und-x-icu") as term, lower(t.pattern collate "und-x-icu") as pattern
        from unnest(terms, patterns) t (term, pattern)) t,
      lateral (select m.id, m.place, m.email from member_words m where m.workspace_id = workspace
        and word_pieces(m.workspace_id, m.email, m.name) @> term_pieces(workspace, t.term)
        and (m.email like t.pattern or m.name like t.pattern)) w
    limit most + 1;
end $$;

create function keep_words() returns trigger language plpgsql as $$
begin
  insert into member_words
    select workspace_id, id, place, lower(email collate "und-x-icu"), lower(full_name collate "und-x-icu") from came;
  return null;
end $$;
create trigger words_insert after insert on member_directory
  referencing new table as came for each statement execute function keep_words();
create function keep_changed_words() returns trigger language plpgsql as $$
begin
  update member_words w
    set place = c.place, email = lower(c.email collate "und-x-icu"), name = lower(c.full_name collate "und-x-icu")
    from came c join went o using (workspace_id, id)
    where w.workspace_id = c.workspace_id and w.id = c.id
      and (c.place, c.email, c.full_name) <> (o.place, o.email, o.full_name);
  return null;
end $$;
create trigger words_update after update on member_directory
  referencing old table as went new table as came for each statement execute function keep_changed_words();

-- ---- What was spent and seen since the copy: added as rows, folded into the directory by a job or by a reader.

create table member_activity (
  workspace_id uuid not null,
  -- Null: the members changed, and the next reader wants a fresh copy.
  user_id uuid,
  noted_at timestamptz not null,
  -- Months since year 0, in UTC.
  month integer,
  credits numeric,
  active_at timestamptz,
  seen_at timestamptz
);
create index member_activity_in_order on member_activity (workspace_id, noted_at);
create index member_activity_of_user on member_activity (workspace_id, user_id);

create function month_of(at timestamptz) returns integer language sql stable as $$
  select (extract(year from at at time zone 'UTC') * 12 + extract(month from at at time zone 'UTC'))::integer - 1 $$;

create function note_credits() returns trigger language plpgsql as $$
begin
  insert into member_activity (workspace_id, user_id, noted_at, month, credits, active_at)
    select workspace_id, user_id, min(created_date), month_of(created_date),
      sum(case kind when 'use' then amount else -amount end), max(created_date) filter (where kind = 'use')
    from came where user_id is not null and kind in ('use', 'refund') group by workspace_id, user_id, month_of(created_date);
  return null;
end $$;
create trigger note_credits after insert on credit_ledger
  referencing new table as came for each statement execute function note_credits();
create index credit_ledger_of_member on credit_ledger (workspace_id, user_id, created_date)
  where user_id is not null and kind in ('use', 'refund');

-- ---- What a row of the directory says, from where it is written.

create index apps_of_owner on apps (workspace_id, owner_id) where deleted_date is null;

-- public: apps shared with members and with people who were asked to join.
create view shares_of_entries as
  select workspace_id, user_id as id, app_id from app_shares
  union all select workspace_id, invitation_id, app_id from invitation_shares;

create view entries_of_directory as
  select m.workspace_id, m.user_id as id, true as joined, m.role, m.access_state, m.assigned_via, u.email, u.full_name,
    m.credit_limit, null::timestamptz as expires_at
  from memberships m join users u on u.id = m.user_id
  union all
  select i.workspace_id, i.id, false, i.role, 'invited', i.assigned_via, i.email, coalesce(u.full_name, ''),
    null, i.expires_at
  from invitations i left join users u on u.email = i.email where i.accepted_at is null;

create view app_counts_of_directory as
  select e.workspace_id, e.id, owned.apps as apps_owned, shared.apps as apps_shared,
    owned.agents as agents_owned, shared.agents as agents_shared
  from entries_of_directory e,
    lateral (select count(*) filter (where app_type <> 'user_agent')::integer as apps,
        count(*) filter (where app_type = 'user_agent')::integer as agents
      from apps a where a.workspace_id = e.workspace_id and a.owner_id = e.id and a.deleted_date is null) owned,
    lateral (select count(*) filter (where app_type <> 'user_agent')::integer as apps,
        count(*) filter (where app_type = 'user_agent')::integer as agents
      from shares_of_entries s join apps a on a.id = s.app_id
      where s.workspace_id = e.workspace_id and s.id = e.id and a.deleted_date is null and a.owner_id <> e.id) shared;

/* Lists people who were just added, with what they own and have spent here before. */
create function list_entries(workspaces uuid[], ids uuid[]) returns void language plpgsql as $$
begin
  -- Nobody is renamed, or given an app, between the reading here and the commit.
  perform 1 from users u where u.id = any (ids) or u.email in (
    select i.email from invitations i join unnest(workspaces, ids) n (workspace_id, id) using (workspace_id, id))
    order by u.id for no key update;
  insert into member_directory (workspace_id, id, joined, role, access_state, assigned_via, email, full_name, credit_limit,
      expires_at, apps_owned, apps_shared, agents_owned, agents_shared)
    select e.*, c.apps_owned, c.apps_shared, c.agents_owned, c.agents_shared
    from unnest(workspaces, ids) n (workspace_id, id)
    join entries_of_directory e using (workspace_id, id) join app_counts_of_directory c using (workspace_id, id);
  -- One statement, one picture: what is waiting to be folded is part of what the ledger says.
  with waiting as (
    delete from member_activity a using unnest(workspaces, ids) n (workspace_id, id)
    where a.workspace_id = n.workspace_id and a.user_id = n.id and a.credits is not null)
  insert into member_activity (workspace_id, user_id, noted_at, month, credits, active_at)
    select l.workspace_id, l.user_id, '-infinity', month_of(l.created_date),
      sum(case l.kind when 'use' then l.amount else -l.amount end), max(l.created_date) filter (where l.kind = 'use')
    from unnest(workspaces, ids) n (workspace_id, id)
    join credit_ledger l on l.workspace_id = n.workspace_id and l.user_id = n.id and l.kind in ('use', 'refund')
    group by l.workspace_id, l.user_id, month_of(l.created_date);
end $$;

-- ---- Keeping it so.

create function list_members() returns trigger language plpgsql as $$
begin
  if tg_op = 'INSERT' then
    perform list_entries(array_agg(workspace_id), array_agg(user_id)) from came having count(*) > 0;
  else
    update member_directory d
      set role = c.role, access_state = c.access_state, assigned_via = c.assigned_via, credit_limit = c.credit_limit
      from came c where d.workspace_id = c.workspace_id and d.id = c.user_id
        and (d.role, d.access_state, d.assigned_via, d.credit_limit) is distinct from
          (c.role, c.access_state, c.assigned_via, c.credit_limit);
  end if;
  insert into member_activity (workspace_id, noted_at) select distinct workspace_id, '-infinity'::timestamptz from came;
  return null;
end $$;
create function unlist_members() returns trigger language plpgsql as $$
begin
  delete from member_directory d using went w where d.workspace_id = w.workspace_id and d.id = w.user_id;
  insert into member_activity (workspace_id, noted_at) select distinct workspace_id, '-infinity'::timestamptz from went;
  return null;
end $$;
create trigger directory_insert after insert on memberships
  referencing new table as came for each statement execute function list_members();
create trigger directory_update after update on memberships
  referencing new table as came for each statement execute function list_members();
create trigger directory_delete after delete on memberships
  referencing old table as went for each statement execute function unlist_members();

create function list_invitations() returns trigger language plpgsql as $$
begin
  if tg_op = 'UPDATE' then
    delete from member_directory d using came c
      where d.workspace_id = c.workspace_id and d.id = c.id and c.accepted_at is not null;
    update member_directory d
      set role = c.role, assigned_via = c.assigned_via, email = c.email, expires_at = c.expires_at
      from came c where d.workspace_id = c.workspace_id and d.id = c.id;
  else
    perform list_entries(array_agg(workspace_id), array_agg(id)) from came where accepted_at is null having count(*) > 0;
  end if;
  insert into member_activity (workspace_id, noted_at) select distinct workspace_id, '-infinity'::timestamptz from came;
  return null;
end $$;
create function unlist_invitations() returns trigger language plpgsql as $$
begin
  delete from member_directory d using went w where d.workspace_id = w.workspace_id and d.id = w.id;
  insert into member_activity (workspace_id, noted_at) select distinct workspace_id, '-infinity'::timestamptz from went;
  return null;
end $$;
create trigger directory_insert after insert on invitations
  referencing new table as came for each statement execute function list_invitations();
create trigger directory_update after update on invitations
  referencing new table as came for each statement execute function list_invitations();
create trigger directory_delete after delete on invitations
  referencing old table as went for each statement execute function unlist_invitations();

create function rename_people() returns trigger language plpgsql as $$
begin
  if tg_op = 'UPDATE' then
    if new.email = old.email and new.full_name = old.full_name then return null; end if;
    update member_directory d set email = new.email, full_name = new.full_name
      from memberships m where m.user_id = new.id and d.workspace_id = m.workspace_id and d.id = m.user_id;
  end if;
  -- An invitation shows the name of the account with its address, while there is one.
  update member_directory d set full_name = coalesce((select u.full_name from users u where u.email = d.email), '')
    where not joined and d.email in (coalesce(new.email, old.email), coalesce(old.email, new.email));
  return null;
end $$;
create trigger directory_names after insert or delete or update of email, full_name on users
  for each row execute function rename_people();

/*
 * Adds to what people own and have been given. Rows are held in one order (person, membership, directory; each by id), which
 * is that of every other change, so that no two wait for each other.
 */
create function add_app_counts(workspace uuid, ids uuid[], agents boolean[], owned integer[], shared integer[])
  returns void language sql as $$
  select 1 from users u where u.id = any (ids) order by u.id for share;
  select 1 from memberships m where m.workspace_id = workspace and m.user_id = any (ids) order by m.user_id
    for no key update;
  with moved as (
    select id, sum(owned) filter (where not agent) as apps_owned, sum(shared) filter (where not agent) as apps_shared,
      sum(owned) filter (where agent) as agents_owned, sum(shared) filter (where agent) as agents_shared
    from unnest(ids, agents, owned, shared) m (id, agent, owned, shared) group by id),
  held as (
    select d.id from member_directory d where d.workspace_id = workspace and d.id = any (ids) order by d.id for update)
  update member_directory d
    set apps_owned = d.apps_owned + coalesce(m.apps_owned, 0), apps_shared = d.apps_shared + coalesce(m.apps_shared, 0),
      agents_owned = d.agents_owned + coalesce(m.agents_owned, 0),
      agents_shared = d.agents_shared + coalesce(m.agents_shared, 0)
    from moved m join held using (id) where d.workspace_id = workspace and d.id = m.id $$;

/* What an app counts for: its owner, and those it is shared with. */
create function entries_of_app(app apps, sign integer)
  returns table (id uuid, agent boolean, owned integer, shared integer) language sql as $$
  select e.id, app.app_type = 'user_agent', e.owned, e.shared from (
    select app.owner_id as id, sign as owned, 0 as shared
    union all
    select s.id, 0, sign from shares_of_entries s
    where s.workspace_id = app.workspace_id and s.app_id = app.id and s.id <> app.owner_id) e
  where app.id is not null and app.deleted_date is null $$;

create function count_apps() returns trigger language plpgsql as $$
begin
  perform add_app_counts(coalesce(new.workspace_id, old.workspace_id), array_agg(e.id), array_agg(e.agent),
    array_agg(e.owned), array_agg(e.shared))
  from (select * from entries_of_app(old, -1) union all select * from entries_of_app(new, 1)) e having count(*) > 0;
  return coalesce(new, old);
end $$;
create trigger directory_insert after insert on apps for each row execute function count_apps();
create trigger directory_update after update on apps for each row
  when ((old.owner_id, old.app_type, old.deleted_date is null) is distinct from
    (new.owner_id, new.app_type, new.deleted_date is null))
  execute function count_apps();
-- Before: afterwards its shares are gone too.
create trigger directory_delete before delete on apps for each row
  when (old.deleted_date is null) execute function count_apps();

create function count_share(workspace uuid, entry uuid, shared_app uuid, sign integer) returns void language sql as $$
  -- The app is held, whatever its state: it may be about to leave the trash.
  with app as (select a.app_type, a.owner_id, a.deleted_date from apps a
    where a.workspace_id = workspace and a.id = shared_app for share)
  select add_app_counts(workspace, array[entry], array[app.app_type = 'user_agent'], array[0], array[sign])
  from app where app.deleted_date is null and app.owner_id <> entry $$;

create function count_shares() returns trigger language plpgsql as $$
begin
  if tg_op = 'INSERT' then perform count_share(new.workspace_id, new.user_id, new.app_id, 1);
  else perform count_share(old.workspace_id, old.user_id, old.app_id, -1); end if;
  return null;
end $$;
create trigger directory_shares after insert or delete on app_shares for each row execute function count_shares();

create function count_invitation_shares() returns trigger language plpgsql as $$
begin
  if tg_op = 'INSERT' then perform count_share(new.workspace_id, new.invitation_id, new.app_id, 1);
  else perform count_share(old.workspace_id, old.invitation_id, old.app_id, -1); end if;
  return null;
end $$;
create trigger directory_shares after insert or delete on invitation_shares
  for each row execute function count_invitation_shares();

-- Everybody there is already.
select list_entries(array_agg(workspace_id), array_agg(id)) from entries_of_directory having count(*) > 0;
