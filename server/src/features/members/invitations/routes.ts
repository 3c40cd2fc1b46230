// Owns the HTTP contract of invitations: sending them, opening one, accepting it, and the page a link leads to.
import { open, writeCredentials } from '../../../core/auth/credentials.ts';
import { perMinute } from '../../../core/auth/limits.ts';
import {
  anyone,
  anyoneWithSession,
  nestedResource,
  unlimitedToken,
  workspaceAs,
} from '../../../core/auth/resource-guards.ts';
import { type Route, route } from '../../../core/auth/route.ts';
import { withNotes } from '../../../kit/http/answer.ts';
import { media } from '../../../kit/http/operation.ts';
import type { Db } from '../../../tables.ts';
import { type AcceptDeps, acceptByLink, findValidInvitation } from './accept.ts';
import {
  Acceptance,
  Accepted,
  Invitation,
  InvitationPreview,
  Invited,
  NewInvitation,
  NewInvitations,
  presentInvitationPreview,
  Resend,
  Resent,
} from './contract.ts';
import { inviteMember, inviteMembers, resendInvitations } from './invitation.ts';
import { invitationPage } from './page.ts';

const admin = unlimitedToken(workspaceAs('admin'));
const invitations = perMinute(6, 'workspace', { group: 'invite' });
const planRequired = { status: 402, code: 'plan_required' } as const;
const expired = { status: 410, code: 'invitation_expired' } as const;

export const invitationRoutes = (deps: AcceptDeps): Route[] => [...invitingRoutes(deps), ...acceptingRoutes(deps)];

const invitingRoutes = (deps: AcceptDeps): Route[] => [
  route({
    name: 'inviteMember',
    method: 'POST',
    path: '/api/workspace/invitations/invite',
    summary: 'Invite a person by e-mail',
    description: 'The link works for 60 days. Without mail, or when it failed, the answer carries it as `accept_url`.',
    credentials: writeCredentials,
    access: admin,
    limit: invitations,
    idempotency: 'optional',
    shownOnce: ['accept_url'],
    body: NewInvitation,
    audits: ['invitation.created', 'invitation.resent'],
    answers: { 200: Invitation },
    refusals: [planRequired, { status: 409, code: 'member_exists' }, { status: 409, code: 'invitation_pending' }],
    handle: ({ db, access, body, now }) => inviteMember(db, access, body, deps, now),
  }),
  route({
    name: 'inviteMembers',
    method: 'POST',
    path: '/api/workspace/invitations/bulk-invite',
    summary: 'Invite up to 50 people',
    description: 'A role that the plan does not give refuses all; who is a member or invited is listed in `failed`.',
    credentials: writeCredentials,
    access: admin,
    limit: invitations,
    idempotency: 'optional',
    shownOnce: ['accept_url'],
    body: NewInvitations,
    audits: ['invitation.created', 'invitation.resent'],
    answers: { 200: Invited },
    refusals: [{ status: 400, code: 'bulk_rejected' }],
    handle: ({ db, access, body, now }) => inviteMembers(db, access, body.invitations, deps, now),
  }),
  route({
    name: 'resendInvitation',
    method: 'POST',
    path: '/api/workspace/invitations/resend',
    summary: 'Send up to 50 invitations again, with new links',
    description: 'Pending or expired; the old links are dead.',
    credentials: writeCredentials,
    access: admin,
    limit: invitations,
    body: Resend,
    audits: ['invitation.resent'],
    answers: { 200: Resent },
    handle: ({ db, access, body, now }) => resendInvitations(db, access, body.emails, deps, now),
  }),
];

const acceptingRoutes = (deps: AcceptDeps): Route[] => {
  const findLink = (db: Db, _access: unknown, text: string, now: Date) => findValidInvitation(db, text, deps, now);
  return [
    route({
      name: 'getInvitation',
      method: 'GET',
      path: '/api/invitations/{invitation_token}',
      summary: 'What an invitation is to, and for whom',
      credentials: open,
      access: nestedResource(anyone, 'invitation', findLink, 'invitation_token'),
      limit: perMinute(30, 'address'),
      answers: { 200: InvitationPreview },
      refusals: [expired],
      handle: ({ access }) => presentInvitationPreview(access.invitation),
    }),
    route({
      name: 'acceptInvitation',
      method: 'POST',
      path: '/api/invitations/{invitation_token}/accept',
      summary: 'Join the workspace',
      description:
        'A new person sends a name and a password and gets a session; who has an account is signed in as that person.',
      credentials: open,
      access: nestedResource(anyoneWithSession, 'invitation', findLink, 'invitation_token'),
      limit: perMinute(10, 'address'),
      body: Acceptance,
      audits: ['invitation.accepted'],
      answers: { 200: Accepted },
      refusals: [expired, { status: 403, code: 'invitation_email_mismatch' }],
      handle: ({ db, access, params, body, now }) => acceptByLink(db, access, params.invitation_token, body, deps, now),
    }),
    route({
      name: 'invitationPage',
      method: 'GET',
      path: '/invitations/{invitation_token}',
      summary: 'The page that the link in the mail leads to',
      credentials: open,
      access: anyone,
      limit: perMinute(60, 'address'),
      answers: { 200: media('text/html; charset=utf-8', 'a page') },
      handle: () =>
        withNotes(invitationPage.html, {
          headers: { 'content-security-policy': invitationPage.policy, 'referrer-policy': 'no-referrer' },
        }),
    }),
  ];
};
