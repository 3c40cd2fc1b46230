// Owns the query behind one member entry.
import { sql } from 'kysely';
import type { WorkspaceAccess } from '../../../access/proofs.ts';
import type { Db } from '../../../tables.ts';
import { type EntryRow, type MemberEntry, presentEntry } from '../entry.ts';

/** One person of the workspace, joined or invited, as the list would show them to an admin. */
export async function findEntry(
  db: Db,
  { workspace_id }: WorkspaceAccess,
  email: string,
  now: Date,
): Promise<MemberEntry> {
  const month = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), 1));
  const agent = sql`a.app_type = 'user_agent'`;
  const { rows } = await sql<EntryRow>`
    with person as (
      select m.user_id, u.email, u.full_name, m.role, m.access_state, null::timestamptz as expires_at, m.assigned_via,
        m.credit_limit
      from memberships m join users u on u.id = m.user_id where m.workspace_id = ${workspace_id} and u.email = ${email}
      union all
      select u.id, i.email, u.full_name, i.role, null, i.expires_at, i.assigned_via, null
      from invitations i left join users u on u.email = i.email
      where i.workspace_id = ${workspace_id} and i.email = ${email} and i.accepted_at is null
    ), owned as (
      select count(*) filter (where not ${agent}) as apps_owned, count(*) filter (where ${agent}) as agents_owned
      from apps a where a.workspace_id = ${workspace_id} and a.deleted_date is null
        and a.owner_id = (select user_id from person limit 1)
    ), shared as (
      select count(*) filter (where not ${agent}) as apps_shared, count(*) filter (where ${agent}) as agents_shared
      from app_shares s join apps a on a.id = s.app_id and a.workspace_id = ${workspace_id}
      where s.workspace_id = ${workspace_id} and s.user_id = (select user_id from person limit 1)
        and a.deleted_date is null and a.owner_id <> s.user_id
    ), spent as (
      select coalesce(sum(case l.kind when 'use' then l.amount else -l.amount end)
          filter (where l.created_date >= ${month}), 0) as credits_used,
        max(l.created_date) filter (where l.kind = 'use') as last_active
      from credit_ledger l where l.workspace_id = ${workspace_id} and l.kind in ('use', 'refund')
        and l.user_id = (select user_id from person limit 1)
    ), seen as (
      select max(c.last_used_at) as last_seen from credentials c
      where c.workspace_id = ${workspace_id} and c.user_id = (select user_id from person limit 1)
    )
    select person.*, owned.*, shared.*, spent.*, seen.*, w.default_member_credit_limit as default_limit
    from person, owned, shared, spent, seen, workspaces w where w.id = ${workspace_id}
    order by person.expires_at nulls first limit 1`.execute(db);
  return presentEntry(rows[0] as EntryRow, now);
}
