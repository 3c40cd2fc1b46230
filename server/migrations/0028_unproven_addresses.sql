-- module: core
-- An invitation shows nothing of an account that has its address, and an address is trusted once it was proven.

-- Null until somebody used a link that was sent to the address. Accounts that exist keep what they may do.
alter table users add column email_verified_at timestamptz;
update users set email_verified_at = created_date;

-- Whether the link was sent by mail and shown to nobody else, so that whoever has it has the mailbox.
alter table invitations add column mailed boolean not null default false;

-- ---- The member directory: no names of invited people, and no trust in the domain of an address that was not proven.

alter table member_directory drop column guest_domain; -- and its index
alter table member_directory
  add column email_verified boolean not null default true,
  -- Of an active guest: whose domain is the operator's own is not listed.
  add column guest_domain text collate "C" generated always as (
    case when joined and role = 'guest' and access_state = 'active' and email_verified
      then split_part(email, '@', 2) end) stored;
create index member_directory_guests on member_directory (workspace_id, guest_domain) where guest_domain is not null;

create or replace view entries_of_directory as
  select m.workspace_id, m.user_id as id, true as joined, m.role, m.access_state, m.assigned_via, u.email, u.full_name,
    m.credit_limit, null::timestamptz as expires_at, u.email_verified_at is not null as email_verified
  from memberships m join users u on u.id = m.user_id
  union all
  select i.workspace_id, i.id, false, i.role, 'invited', i.assigned_via, i.email, '', null, i.expires_at, false
  from invitations i where i.accepted_at is null;

create or replace function list_entries(workspaces uuid[], ids uuid[]) returns void language plpgsql as $$
begin
  -- Nobody is renamed, or given an app, between the reading here and the commit.
  perform 1 from users u where u.id = any (ids) order by u.id for no key update;
  insert into member_directory (workspace_id, id, joined, role, access_state, assigned_via, email, full_name, credit_limit,
      expires_at, email_verified, apps_owned, apps_shared, agents_owned, agents_shared)
    select e.workspace_id, e.id, e.joined, e.role, e.access_state, e.assigned_via, e.email, e.full_name, e.credit_limit,
      e.expires_at, e.email_verified, c.apps_owned, c.apps_shared, c.agents_owned, c.agents_shared
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

drop trigger directory_names on users;
create or replace function rename_people() returns trigger language plpgsql as $$
begin
  update member_directory d
    set email = new.email, full_name = new.full_name, email_verified = new.email_verified_at is not null
    from memberships m where m.user_id = new.id and d.workspace_id = m.workspace_id and d.id = m.user_id;
  return null;
end $$;
create trigger directory_names after update of email, full_name, email_verified_at on users for each row
  when ((old.email, old.full_name, old.email_verified_at is null) is distinct from
    (new.email, new.full_name, new.email_verified_at is null))
  execute function rename_people();

update member_directory set full_name = '' where not joined and full_name <> '';
-- It found the invitations of a person who was renamed.
drop index member_directory_invited;
