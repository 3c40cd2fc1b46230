// The routes for member changes.
import { sessionOrToken, writeCredentials } from '../../../core/auth/credentials.ts';
import { nestedPerson } from '../../../core/auth/guards/row.ts';
import { unlimitedToken, workspaceAs } from '../../../core/auth/guards/workspace.ts';
import { perMinute } from '../../../core/auth/limits.ts';
import { type Route, route } from '../../../core/auth/route.ts';
import { Success } from '../../../kit/http/shapes.ts';
import { MemberEntry } from '../contract.ts';
import { removeMembers, setCreditLimits, setRoles } from './bulk.ts';
import {
  type ChangeDeps,
  removeMember,
  setAccess,
  setCreditLimit,
  setDefaultLimit,
  setRole,
  transferOwnership,
} from './change.ts';
import {
  AccessChange,
  BulkResult,
  DefaultLimit,
  DefaultLimitChange,
  LimitChange,
  LimitChanges,
  RemovalQuery,
  Removals,
  RoleChange,
  RoleChanges,
  Transfer,
  Transferred,
} from './contract.ts';

const admin = unlimitedToken(workspaceAs('admin'));
const memberOrInvitation = nestedPerson(admin, 'members and invitations');
const joinedMember = nestedPerson(admin, 'members');

const memberChanges = perMinute(30, 'workspace', { group: 'member' });
const bulkRejected = { status: 400, code: 'bulk_rejected' } as const;
const ownerProtected = { status: 403, code: 'owner_protected' } as const;
const notSelf = { status: 403, code: 'self_change_not_allowed' } as const;
const abovePool = { status: 400, code: 'limit_above_pool' } as const;
const planRequired = { status: 402, code: 'plan_required' } as const;

const memberText = {
  text: 'The e-mail address of the member or of an invitation, percent-encoded and compared in lower case.',
  example: 'grace@example.com',
};

export const changeRoutes = (deps: ChangeDeps): Route[] => [
  ...singleRoutes(deps),
  ...bulkRoutes(deps),
  ...workspaceRoutes,
];

const singleRoutes = (deps: ChangeDeps): Route[] => [
  route({
    name: 'setMemberRole',
    method: 'PUT',
    path: '/api/workspace/members/{email}/role',
    parameterTexts: { email: memberText },
    summary: 'Change the role of a member or an invitation',
    description: 'A member who becomes a viewer loses their own credit limit, and their app shares become view-only.',
    credentials: writeCredentials,
    access: memberOrInvitation,
    limit: memberChanges,
    body: RoleChange,
    repeat: 'safe',
    audits: ['member.role_changed', 'invitation.role_changed'],
    answers: { 200: MemberEntry },
    refusals: [notSelf, ownerProtected, planRequired],
    handle: ({ db, access, body, now }) => setRole(db, access, body.role, now),
  }),
  route({
    name: 'setMemberAccess',
    method: 'PUT',
    path: '/api/workspace/members/{email}/access',
    summary: 'Block or unblock a member',
    description:
      'Every request of a blocked member to the workspace is refused with `member_blocked`. Nothing is deleted, and unblocking restores access.',
    credentials: writeCredentials,
    access: joinedMember,
    limit: memberChanges,
    body: AccessChange,
    repeat: 'safe',
    audits: ['member.blocked', 'member.unblocked'],
    answers: { 200: MemberEntry },
    refusals: [notSelf, ownerProtected],
    handle: ({ db, access, body, now }) => setAccess(db, access, body.state, now),
  }),
  route({
    name: 'setMemberCreditLimit',
    method: 'PUT',
    path: '/api/workspace/members/{email}/credit-limit',
    summary: "Set or remove a member's own monthly credit limit",
    credentials: writeCredentials,
    access: joinedMember,
    plan: 'member_credit_limits',
    limit: memberChanges,
    body: LimitChange,
    repeat: 'safe',
    audits: ['member.limit_changed'],
    answers: { 200: MemberEntry },
    refusals: [ownerProtected, abovePool, { status: 400, code: 'viewer_cannot_have_limit' }],
    handle: ({ db, access, body, now }) => setCreditLimit(db, access, body.credit_limit, now),
  }),
  route({
    name: 'removeMember',
    headers: ['X-Webhooks-Paused'],
    method: 'DELETE',
    path: '/api/workspace/members/{email}',
    parameterTexts: { email: memberText },
    summary: 'Remove a member or cancel an invitation',
    description:
      "The member's apps and agents are transferred to the workspace's owner. Their tokens and the workspace keys created with these are revoked; their shares and personal folders are deleted. With `pause_webhooks=true` the webhooks that they created are turned off; `X-Webhooks-Paused` says how many.",
    credentials: writeCredentials,
    access: memberOrInvitation,
    limit: memberChanges,
    query: RemovalQuery,
    repeat: 'safe',
    audits: ['member.removed', 'invitation.cancelled', 'webhook.turned_off'],
    answers: { 200: Success },
    refusals: [notSelf, ownerProtected],
    handle: ({ db, access, query, now }) => removeMember(db, deps, access, query.pause_webhooks ?? false, now),
  }),
];

const bulkRoutes = (deps: ChangeDeps): Route[] => [
  route({
    name: 'setMemberRoles',
    method: 'PUT',
    path: '/api/workspace/members/bulk/role',
    summary: 'Change the roles of up to 200 members or invitations, all or none',
    credentials: writeCredentials,
    access: admin,
    limit: memberChanges,
    work: 'slow',
    body: RoleChanges,
    repeat: 'safe',
    audits: ['member.role_changed', 'invitation.role_changed'],
    answers: { 200: BulkResult },
    refusals: [bulkRejected],
    handle: ({ db, access, body, now }) => setRoles(db, access, body.items, now),
  }),
  route({
    name: 'setMemberCreditLimits',
    method: 'PUT',
    path: '/api/workspace/members/bulk/credit-limit',
    summary: 'Set the credit limits of up to 200 members, all or none',
    credentials: writeCredentials,
    access: admin,
    plan: 'member_credit_limits',
    limit: memberChanges,
    work: 'slow',
    body: LimitChanges,
    repeat: 'safe',
    audits: ['member.limit_changed'],
    answers: { 200: BulkResult },
    refusals: [bulkRejected],
    handle: ({ db, access, body, now }) => setCreditLimits(db, access, body.items, now),
  }),
  route({
    name: 'removeMembers',
    effect: 'remove',
    headers: ['X-Webhooks-Paused'],
    method: 'POST',
    path: '/api/workspace/members/bulk/remove',
    summary: 'Remove several members or invitations, up to 200, all or none',
    description:
      'With `pause_webhooks: true` the webhooks that these members created are turned off; `X-Webhooks-Paused` says how many.',
    credentials: writeCredentials,
    access: admin,
    limit: memberChanges,
    work: 'slow',
    body: Removals,
    repeat: 'safe',
    audits: ['member.removed', 'invitation.cancelled', 'webhook.turned_off'],
    answers: { 200: BulkResult },
    refusals: [bulkRejected],
    handle: ({ db, access, body, now }) => removeMembers(db, deps, access, body, now),
  }),
];

const workspaceRoutes: Route[] = [
  route({
    name: 'setDefaultCreditLimit',
    method: 'PUT',
    path: '/api/workspace/default-credit-limit',
    summary: 'Set or remove the default credit limit of members',
    credentials: writeCredentials,
    access: admin,
    plan: 'member_credit_limits',
    limit: memberChanges,
    body: DefaultLimitChange,
    repeat: 'safe',
    audits: ['workspace.default_limit_changed'],
    answers: { 200: DefaultLimit },
    refusals: [abovePool],
    handle: ({ db, access, body, now }) => setDefaultLimit(db, access, body.default_credit_limit, now),
  }),
  route({
    name: 'transferOwnership',
    method: 'POST',
    path: '/api/workspace/transfer-ownership',
    summary: 'Make another member the owner; the old owner becomes an admin',
    credentials: sessionOrToken,
    access: unlimitedToken(workspaceAs('owner')),
    limit: perMinute(5, 'workspace'),
    body: Transfer,
    repeat: 'safe',
    audits: ['workspace.ownership_transferred'],
    answers: { 200: Transferred },
    refusals: [{ status: 404, code: 'member_not_found' }],
    handle: ({ db, access, body, now }) => transferOwnership(db, access, body.email, now),
  }),
];
