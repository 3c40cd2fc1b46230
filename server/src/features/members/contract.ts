// Owns the schemas of the members list (docs/api/members.md#list-members), and which values a caller may see.
import { z } from 'zod';
import type { WorkspaceAccess } from '../../core/auth/proofs.ts';
import {
  answer,
  body,
  count,
  integer,
  list,
  oneOf,
  optional,
  queryTime,
  text,
  timestamp,
  unstoredText,
} from '../../kit/http/shapes.ts';

export const roles = ['owner', 'admin', 'editor', 'viewer', 'guest'] as const;
export const statuses = ['joined', 'pending', 'expired'] as const;

export const MemberEntry = answer('WorkspaceMember', {
  user_id: z.string().meta({ description: 'Empty for an invitation.' }),
  email: z.string(),
  full_name: z.string().meta({ description: 'Empty for an invitation.' }),
  role: oneOf(...roles),
  status: oneOf(...statuses),
  access_state: oneOf('active', 'blocked', 'invited'),
  assigned_via: oneOf('direct', 'app_share'),
  apps_owned: count,
  apps_shared: count,
  agents_owned: count,
  agents_shared: count,
  credit_limit: z.number().nullable(),
  is_default_limit: z.boolean(),
  credits_used: z.number().nullable(),
  last_active: z.string().nullable().meta({ description: 'The last use of credits. UTC, without a time zone suffix.' }),
  last_seen: timestamp.nullable(),
});
export type MemberEntry = z.input<typeof MemberEntry>;

export const MemberList = answer('WorkspaceMembers', {
  members: z.array(MemberEntry),
  next_cursor: z.string().nullable(),
  has_more: z.boolean(),
  total: count.meta({ description: 'How many members match, on all pages.' }),
  monthly_limit: z.number().nullable(),
  default_member_credit_limit: z.number().nullable(),
});

const anyInteger = integer(Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER);
const integers = body({ gte: optional(anyInteger), lte: optional(anyInteger) });
const times = body({ gte: optional(queryTime), lte: optional(queryTime) });

export const MemberQuery = body({
  search: optional(text(0, 256)),
  search_terms: optional(list(text(0, 256), 0, 200)),
  sort_by: optional(oneOf('member', 'credits', 'apps', 'agents', 'last_active', 'role')),
  sort_dir: optional(oneOf('asc', 'desc')),
  roles: optional(list(oneOf(...roles), 0, 20)),
  invite_statuses: optional(list(oneOf(...statuses), 0, 3)),
  credit_limit_set: optional(z.boolean()),
  apps_owned: optional(integers),
  agents_owned: optional(integers),
  last_active: optional(times),
  cursor: optional(unstoredText(0, 256)),
  page_size: integer(1, 100).default(50),
}).superRefine((query, context) => {
  const requireBoth = (field: 'sort_by' | 'sort_dir', other: 'sort_by' | 'sort_dir') =>
    query[field] === undefined &&
    query[other] !== undefined &&
    context.addIssue({
      code: 'custom',
      path: [field],
      params: { type: 'missing' },
      message: `is required with ${other}`,
    });
  requireBoth('sort_by', 'sort_dir');
  requireBoth('sort_dir', 'sort_by');
});
export type MemberQuery = z.output<typeof MemberQuery>;

/** A row of the member directory: a member or an open invitation. */
export interface DirectoryRow {
  readonly id: string;
  /** Null for an invitation, also if the address has an account elsewhere. */
  readonly user_id: string | null;
  readonly joined: boolean;
  readonly role: MemberEntry['role'];
  readonly access_state: MemberEntry['access_state'];
  readonly assigned_via: MemberEntry['assigned_via'];
  readonly email: string;
  readonly full_name: string;
  readonly credit_limit: number | null;
  readonly expires_at: Date | null;
  readonly apps_owned: number;
  readonly apps_shared: number;
  readonly agents_owned: number;
  readonly agents_shared: number;
  readonly credits_used: number;
  readonly last_active: Date | null;
  readonly last_seen: Date | null;
}

export const maySeeAllActivity = ({ role }: WorkspaceAccess): boolean => role === 'owner' || role === 'admin';

/** Credits and presence of other people are shown to owners and admins only; `null` for everybody else. */
export function presentMember(
  row: DirectoryRow,
  access: WorkspaceAccess,
  defaultLimit: number | null,
  now: Date,
): MemberEntry {
  const isVisible = maySeeAllActivity(access) || (row.joined && row.id === access.caller.user_id);
  // The workspace's default applies to roles that may spend credits and can have a limit.
  const mayUseDefault = row.joined && (row.role === 'admin' || row.role === 'editor');
  const isDefault = row.credit_limit === null && mayUseDefault && defaultLimit !== null;
  return {
    user_id: row.user_id ?? '',
    email: row.email,
    full_name: row.full_name,
    role: row.role,
    status: row.expires_at === null ? 'joined' : row.expires_at > now ? 'pending' : 'expired',
    access_state: row.access_state,
    assigned_via: row.assigned_via,
    apps_owned: row.apps_owned,
    apps_shared: row.apps_shared,
    agents_owned: row.agents_owned,
    agents_shared: row.agents_shared,
    credit_limit: isDefault ? defaultLimit : row.credit_limit,
    is_default_limit: isDefault,
    credits_used: isVisible ? Math.round(row.credits_used * 1e4) / 1e4 : null,
    last_active: row.last_active?.toISOString().slice(0, -1) ?? null,
    last_seen: isVisible ? (row.last_seen?.toISOString() ?? null) : null,
  };
}
