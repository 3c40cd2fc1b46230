// The routes for sending, reading and accepting invitations, and for the page that an invitation's link opens.
import { open, writeCredentials } from '../../../core/auth/credentials.ts';
import { nestedResource } from '../../../core/auth/guards/row.ts';
import { anyone, anyoneWithSession } from '../../../core/auth/guards/visitor.ts';
import { unlimitedToken, workspaceAs } from '../../../core/auth/guards/workspace.ts';
import { perMinute } from '../../../core/auth/limits.ts';
import { type Route, route } from '../../../core/auth/route.ts';
import { media } from '../../../kit/http/operation.ts';
import { answerWithPage } from '../../../kit/http/page/page.ts';
import type { Db } from '../../../tables.ts';
import { type AcceptDeps, acceptByLink, findValidInvitation, getValidInvitation } from './accept.ts';
import {
  Acceptance,
  AcceptanceByLink,
  Accepted,
  Invitation,
  InvitationLink,
  InvitationPreview,
  Invited,
  NewInvitation,
  NewInvitations,
  presentInvitationPreview,
  Resend,
  Resent,
} from './contract.ts';
import { inviteMember, inviteMembers, resendInvitations } from './invitation.ts';
import { countInvitations } from './limits.ts';
import { invitationPage } from './page.ts';

const admin = unlimitedToken(workspaceAs('admin'));
const invitationLimit = perMinute(6, 'workspace', { group: 'invite' });
const planRequired = { status: 402, code: 'plan_required' } as const;
const expired = { status: 410, code: 'invitation_expired' } as const;
const notFound = { status: 404, code: 'invitation_not_found' } as const;
const page = media('text/html; charset=utf-8', 'HTML page');

export const invitationRoutes = (deps: AcceptDeps): Route[] => [
  ...invitingRoutes(deps),
  ...acceptingRoutes(deps),
  ...acceptingByPathRoutes(deps),
];

const invitingRoutes = (deps: AcceptDeps): Route[] => [
  route({
    name: 'inviteMember',
    method: 'POST',
    path: '/api/workspace/invitations/invite',
    summary: 'Invite a person by e-mail',
    description:
      'The link works for 60 days. If mail is not configured or could not be sent, the response contains the link as `accept_url`.',
    credentials: writeCredentials,
    access: admin,
    limit: invitationLimit,
    idempotency: 'optional',
    secretFields: ['accept_url'],
    body: NewInvitation,
    audits: ['invitation.created', 'invitation.resent'],
    answers: { 200: Invitation },
    refusals: [planRequired, { status: 409, code: 'member_exists' }, { status: 409, code: 'invitation_pending' }],
    precheck: ({ db, access }) => countInvitations(db, access, 1, deps.counters),
    handle: ({ db, access, body, now }) => inviteMember(db, deps, access, body, now),
  }),
  route({
    name: 'inviteMembers',
    method: 'POST',
    path: '/api/workspace/invitations/bulk-invite',
    summary: 'Invite up to 50 people',
    description:
      'If the plan does not include a requested role, nobody is invited. People who are already members or invited are listed in `failed`.',
    credentials: writeCredentials,
    access: admin,
    limit: invitationLimit,
    work: 'slow',
    idempotency: 'optional',
    secretFields: ['accept_url'],
    body: NewInvitations,
    audits: ['invitation.created', 'invitation.resent'],
    answers: { 200: Invited },
    refusals: [{ status: 400, code: 'bulk_rejected' }],
    precheck: ({ db, access, body }) => countInvitations(db, access, body.invitations.length, deps.counters),
    handle: ({ db, access, body, now }) => inviteMembers(db, deps, access, body.invitations, now),
  }),
  route({
    name: 'resendInvitation',
    secretFields: ['accept_url'],
    method: 'POST',
    path: '/api/workspace/invitations/resend',
    summary: 'Send up to 50 invitations again, with new links',
    description:
      'Works for pending and expired invitations, for example if the mail was lost. The old links stop working.',
    credentials: writeCredentials,
    access: admin,
    limit: invitationLimit,
    body: Resend,
    idempotency: 'optional',
    audits: ['invitation.resent'],
    answers: { 200: Resent },
    precheck: ({ db, access, body }) => countInvitations(db, access, body.emails.length, deps.counters),
    handle: ({ db, access, body, now }) => resendInvitations(db, deps, access, body.emails, now),
  }),
];

const acceptingRoutes = (deps: AcceptDeps): Route[] => [
  route({
    name: 'openInvitation',
    effect: 'read',
    method: 'POST',
    path: '/api/invitations/open',
    summary: 'Read an invitation by the token of its link',
    description: 'The token is the part of the link after `#`.',
    credentials: open,
    access: anyone,
    limit: perMinute(30, 'address'),
    body: InvitationLink,
    audits: 'nothing',
    answers: { 200: InvitationPreview },
    refusals: [notFound, expired],
    handle: async ({ db, body, now }) =>
      presentInvitationPreview(await getValidInvitation(db, deps, body.invitation_token, now)),
  }),
  route({
    name: 'joinWorkspace',
    headers: ['Set-Cookie'],
    method: 'POST',
    path: '/api/invitations/accept',
    summary: 'Accept an invitation and join its workspace',
    description:
      'A person without an account sends a name and a password and gets a browser session. A person with an account must be signed in.',
    credentials: open,
    access: anyoneWithSession,
    limit: perMinute(10, 'address'),
    body: AcceptanceByLink,
    audits: ['invitation.accepted', 'token.revoked'],
    answers: { 200: Accepted },
    refusals: [notFound, expired, { status: 403, code: 'invitation_email_mismatch' }],
    handle: async ({ db, access, body, now }) => {
      const invitation = await getValidInvitation(db, deps, body.invitation_token, now);
      return acceptByLink(db, deps, { ...access, invitation }, { token: body.invitation_token, input: body }, now);
    },
  }),
  route({
    name: 'joinPage',
    method: 'GET',
    path: '/invitations',
    summary: "Show the page that an invitation's link opens",
    credentials: open,
    access: anyone,
    limit: perMinute(60, 'address'),
    answers: { 200: page },
    handle: () => answerWithPage(invitationPage),
  }),
];

/** The same routes with the token in the path, for links sent before the token was moved to the fragment. */
const acceptingByPathRoutes = (deps: AcceptDeps): Route[] => {
  const findByToken = (db: Db, _access: unknown, token: string, now: Date) => findValidInvitation(db, deps, token, now);
  return [
    route({
      name: 'getInvitation',
      method: 'GET',
      path: '/api/invitations/{invitation_token}',
      summary: 'Read an invitation by its link',
      description: 'Prefer `openInvitation`, which keeps the token out of URLs and therefore out of logs.',
      credentials: open,
      access: nestedResource(anyone, 'invitation', findByToken, 'invitation_token'),
      limit: perMinute(30, 'address'),
      answers: { 200: InvitationPreview },
      refusals: [expired],
      handle: ({ access }) => presentInvitationPreview(access.invitation),
    }),
    route({
      name: 'acceptInvitation',
      headers: ['Set-Cookie'],
      method: 'POST',
      path: '/api/invitations/{invitation_token}/accept',
      summary: 'Accept an invitation and join the workspace',
      description:
        'Prefer `joinWorkspace`, which does the same and keeps the token out of URLs and therefore out of logs.',
      credentials: open,
      access: nestedResource(anyoneWithSession, 'invitation', findByToken, 'invitation_token'),
      limit: perMinute(10, 'address'),
      body: Acceptance,
      audits: ['invitation.accepted', 'token.revoked'],
      answers: { 200: Accepted },
      refusals: [expired, { status: 403, code: 'invitation_email_mismatch' }],
      handle: ({ db, access, params, body, now }) =>
        acceptByLink(db, deps, access, { token: params.invitation_token, input: body }, now),
    }),
    route({
      name: 'invitationPage',
      method: 'GET',
      path: '/invitations/{invitation_token}',
      summary: 'Show the page that an older link of an invitation opens',
      credentials: open,
      access: anyone,
      limit: perMinute(60, 'address'),
      answers: { 200: page },
      handle: () => answerWithPage(invitationPage),
    }),
  ];
};
