// The schemas for the members list (docs/api/members.md#list-members), and which values a caller may see.
import { z } from 'zod';
import type { WorkspaceAccess } from '../../core/auth/proofs.ts';
import {
  answer,
  body,
  count,
  described,
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
  user_id: described(
    z.string(),
    'The id of the user; empty for an invitation.',
    '0198c20b-13e4-7f52-a9d6-7b08c4e1f392',
  ),
  email: described(z.string(), 'The e-mail address of the person, compared in lower case.', 'grace@example.com'),
  full_name: described(z.string(), 'The name of the person; empty for an invitation.', 'Grace Hopper'),
  role: described(oneOf(...roles), 'The role of the member, or the one that the invited person gets by joining.'),
  status: described(
    oneOf(...statuses),
    'Whether the person has joined; an invitation is `pending` for 60 days, then `expired`.',
  ),
  access_state: described(
    oneOf('active', 'blocked', 'invited'),
    "Whether the member may use the workspace: a blocked member can't, and a person who is invited has not joined yet.",
  ),
  assigned_via: described(
    oneOf('direct', 'app_share'),
    'How the person got the role: directly, or as a guest through a shared app.',
  ),
  apps_owned: described(count, 'How many apps the member owns, without those in the trash.', 3),
  apps_shared: described(count, 'How many apps others have shared with the member, or with the invitation.', 1),
  agents_owned: described(count, 'How many agents the member owns, without those in the trash.', 1),
  agents_shared: described(count, 'How many agents others have shared with the member, or with the invitation.', 0),
  credit_limit: described(
    z.number().nullable(),
    "The credits that the member may use per month: the member's own limit, or else the default of the workspace; null if there is neither.",
    100,
  ),
  is_default_limit: described(
    z.boolean(),
    'Whether `credit_limit` is the default of the workspace, because the member has no limit of their own.',
  ),
  credits_used: described(
    z.number().nullable(),
    'The credits used since the start of the month in UTC, less refunds; null for other people unless the caller is an owner or admin.',
    41.5,
  ),
  last_active: described(
    z.string().nullable(),
    'When the member last used credits, in UTC without a time zone suffix; null if never.',
    '2026-11-15T09:30:00.000',
  ),
  last_seen: described(
    timestamp.nullable(),
    'When the member last made a request, to the minute; null if never, and for other people unless the caller is an owner or admin.',
    '2026-11-15T09:30:00.000Z',
  ),
});
export type MemberEntry = z.input<typeof MemberEntry>;

export const MemberList = answer('WorkspaceMembers', {
  members: described(z.array(MemberEntry), 'The members and open invitations of this page.'),
  next_cursor: described(
    z.string().nullable(),
    'The `cursor` with which to request the next page, with the same body; null on the last page.',
    'b0R4Zk1hUTJ5',
  ),
  has_more: described(z.boolean(), 'Whether there are more.'),
  total: described(count, 'The number of members that match, on all pages.', 12),
  monthly_limit: described(
    z.number().nullable(),
    'The credits of the workspace per month, set by the plan or by an operator; null means unlimited.',
    1000,
  ),
  default_member_credit_limit: described(
    z.number().nullable(),
    'The monthly credits of members without a limit of their own; null if there is no default.',
    50,
  ),
});

const anyInteger = integer(Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER);
const integers = body({
  gte: described(optional(anyInteger), 'The lower bound, inclusive.'),
  lte: described(optional(anyInteger), 'The upper bound, inclusive.'),
});
const times = body({
  gte: described(optional(queryTime), 'The lower bound, inclusive.'),
  lte: described(optional(queryTime), 'The upper bound, inclusive.'),
});

export const MemberQuery = body({
  search: described(
    optional(text(0, 256)),
    'Text that must be part of the e-mail address, name, role or status, regardless of case.',
    'grace',
  ),
  search_terms: described(
    optional(list(text(0, 256), 0, 200)),
    'Texts of which at least one must be part of the e-mail address, name, role or status, regardless of case.',
    ['grace', 'ada'],
  ),
  sort_by: described(
    optional(oneOf('member', 'credits', 'apps', 'agents', 'last_active', 'role')),
    'The field to sort by; requires `sort_dir`.',
  ),
  sort_dir: described(optional(oneOf('asc', 'desc')), 'Whether to sort ascending or descending; requires `sort_by`.'),
  roles: described(
    optional(list(oneOf(...roles), 0, 20)),
    'Only members with one of these roles; an empty list means all.',
    ['admin', 'editor'],
  ),
  invite_statuses: described(
    optional(list(oneOf(...statuses), 0, 3)),
    'Only entries with one of these statuses; an empty list means all.',
    ['joined', 'pending'],
  ),
  credit_limit_set: described(
    optional(z.boolean()),
    'Only members with a limit of their own (true), or only those without (false); the default of the workspace does not count.',
  ),
  apps_owned: described(
    optional(integers),
    'Only members whose number of apps, owned and shared together, is in this range.',
    { gte: 1, lte: 5 },
  ),
  agents_owned: described(
    optional(integers),
    'Only members whose number of agents, owned and shared together, is in this range.',
    { gte: 1, lte: 5 },
  ),
  last_active: described(
    optional(times),
    'Only members whose last use of credits is in this range; members who never used any do not match.',
    { gte: '2026-11-01T00:00:00.000Z' },
  ),
  cursor: described(
    optional(unstoredText(0, 256)),
    'The `next_cursor` of the previous page; a cursor that does not match the body starts again at the first page.',
    'b0R4Zk1hUTJ5',
  ),
  page_size: described(integer(1, 100).default(50), 'The maximum number of entries per page.', 50),
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

/** A row in the member directory, which is a member or an open invitation. */
export interface DirectoryRow {
  /** The user's or the invitation's id. */
  readonly id: string;
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

/** Only owners and admins see other people's credits and presence. Everyone else gets `null`. */
export function presentMember(
  row: DirectoryRow,
  access: WorkspaceAccess,
  defaultLimit: number | null,
  now: Date,
): MemberEntry {
  const isVisible = maySeeAllActivity(access) || (row.joined && row.id === access.caller.user_id);
  // The workspace's default applies to roles that can spend credits and have a limit.
  const mayUseDefault = row.joined && (row.role === 'admin' || row.role === 'editor');
  const isDefault = row.credit_limit === null && mayUseDefault && defaultLimit !== null;
  return {
    user_id: row.joined ? row.id : '', // even if the invited address has an account
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
