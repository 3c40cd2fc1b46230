// Owns the member entry: how one person of the workspace looks to a caller (docs/contract.md §2.2).
import { z } from 'zod';
import { roleReaches, type WorkspaceRole, workspaceRoles } from '../../access/roles.ts';
import { answer, count, oneOf, timestamp } from '../../kit/http/shapes.ts';

export const MemberEntry = answer('MemberEntry', {
  user_id: z.string().meta({ description: 'empty for an invitee without an account' }),
  email: z.string(),
  full_name: z.string(),
  role: z.enum(workspaceRoles),
  status: oneOf('joined', 'pending', 'expired'),
  access_state: oneOf('active', 'blocked', 'invited'),
  assigned_via: oneOf('direct', 'app_share'),
  credit_limit: z.number().nullable(),
  is_default_limit: z.boolean(),
  credits_used: z.number().nullable(),
  last_active: z.string().nullable().meta({ description: 'last credit use; a UTC time without zone suffix' }),
  last_seen: timestamp.nullable(),
  apps_owned: count,
  apps_shared: count,
  agents_owned: count,
  agents_shared: count,
});
export type MemberEntry = z.input<typeof MemberEntry>;

export interface EntryRow {
  readonly user_id: string | null;
  readonly email: string;
  readonly full_name: string | null;
  readonly role: WorkspaceRole;
  /** Null for an invitee. */
  readonly access_state: 'active' | 'blocked' | null;
  /** Of an invitation; null for a member. */
  readonly expires_at: Date | null;
  readonly assigned_via: 'direct' | 'app_share';
  readonly credit_limit: number | null;
  readonly default_limit: number | null;
  readonly credits_used: number;
  readonly last_active: Date | null;
  readonly last_seen: Date | null;
  readonly apps_owned: number;
  readonly apps_shared: number;
  readonly agents_owned: number;
  readonly agents_shared: number;
}

export function presentEntry(row: EntryRow, now: Date): MemberEntry {
  const { default_limit, expires_at, ...fields } = row;
  // The default holds for those who spend under a limit: editors and admins who have joined.
  const takesDefault = expires_at === null && row.role !== 'owner' && roleReaches(row.role, 'editor');
  const onDefault = takesDefault && row.credit_limit === null && default_limit !== null;
  return {
    ...fields,
    user_id: row.user_id ?? '',
    full_name: row.full_name ?? '',
    status: expires_at === null ? 'joined' : expires_at > now ? 'pending' : 'expired',
    access_state: row.access_state ?? 'invited',
    credit_limit: onDefault ? default_limit : row.credit_limit,
    is_default_limit: onDefault,
    last_active: row.last_active?.toISOString().slice(0, -1) ?? null,
    last_seen: row.last_seen?.toISOString() ?? null,
  };
}
