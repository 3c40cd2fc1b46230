// The schemas for invitations (docs/api/members.md#invitations).
import { z } from 'zod';
import type { InvitationDetails, InvitationWithToken } from '../../../core/identity/invitations.ts';
import { NewPassword } from '../../../core/identity/passwords.ts';
import { User, WorkspaceOfUser } from '../../../core/identity/shapes.ts';
import {
  answer,
  body,
  described,
  distinct,
  email,
  id,
  list,
  name,
  oneOf,
  optional,
  text,
  timestamp,
} from '../../../kit/http/shapes.ts';

const role = described(
  oneOf('admin', 'editor', 'viewer').default('editor'),
  'The role that the person gets by joining; `admin` requires a plan that includes it.',
);
const maxItems = 50;

export const NewInvitation = body({
  email: described(email, 'The e-mail address of the person, compared in lower case.', 'grace@example.com'),
  role,
});
export const NewInvitations = body({
  invitations: described(
    distinct(list(NewInvitation, 1, maxItems), (one) => one.email),
    'The people to invite; an e-mail address must not be repeated.',
    [{ email: 'grace@example.com', role: 'editor' }],
  ),
});
export const Resend = body({
  emails: described(
    distinct(list(email, 1, maxItems), (one) => one),
    'The e-mail addresses whose pending or expired invitation gets a new link; the old link stops working.',
    ['grace@example.com'],
  ),
});

/**
 * Whether the link was sent by mail. `failed` means that the mail server rejected it, or that the address has reached
 * its limit for today. The response does not say which, because that would reveal information about other workspaces.
 * `off` means that mail is not configured.
 */
export type MailOutcome = 'sent' | 'failed' | 'off';

export const Invitation = answer('Invitation', {
  id: described(
    id,
    'The id of the invitation, which stays the same when an expired invitation is renewed.',
    '0198c1fe-c45b-7a07-9e38-8b61d2f05c7a',
  ),
  email: described(z.string(), 'The e-mail address that was invited.', 'grace@example.com'),
  role: described(
    oneOf('admin', 'editor', 'viewer', 'guest'),
    'The role that the person gets by joining; `guest` if only apps are shared with them.',
  ),
  expires_at: described(
    timestamp,
    'When the link stops working, 60 days after the invitation was sent or resent.',
    '2027-01-14T09:30:00.000Z',
  ),
  mail: described(
    oneOf('sent', 'failed', 'off'),
    'Whether the mail was sent; `off` means that mail is not configured, and `failed` that it was refused or the address received too many.',
  ),
  accept_url: described(
    z.string().nullable().optional(),
    'The link, for you to pass on if no mail was sent; otherwise, and in an idempotent replay, null.',
    'https://plinth.example.com/invitations#EXAMPLE',
  ),
});

const failed = described(
  z.array(
    answer('NotInvited', {
      email: described(z.string(), 'The e-mail address that was not invited.', 'grace@example.com'),
      code: described(
        z.string(),
        'Why the person was not invited: `member_exists`, `invitation_pending` or `invitation_not_found`.',
        'member_exists',
      ),
    }),
  ),
  'The addresses for which no invitation was sent, each with the reason.',
);
export const Invited = answer('Invited', {
  invited: described(z.array(Invitation), 'The invitations that were created or renewed.'),
  failed,
});
export const Resent = answer('Resent', {
  resent: described(z.array(Invitation), 'The invitations with their new links.'),
  failed,
});

export const InvitationPreview = answer('OpenedInvitation', {
  workspace_name: described(z.string(), 'The name of the workspace.', 'Corner Bakery'),
  invited_by: described(
    z.string().nullable(),
    'The e-mail address of the person who invited; null if it is not verified, or their account is gone.',
    'owner@example.com',
  ),
  app_names: described(z.array(z.string()), 'The names of the apps that are shared by the invitation, at most three.', [
    'Orders',
  ]),
  email: described(z.string(), 'The e-mail address that was invited.', 'grace@example.com'),
  role: described(
    oneOf('admin', 'editor', 'viewer', 'guest'),
    'The role that the person gets by joining; `guest` if only apps are shared with them.',
  ),
  expires_at: described(
    timestamp,
    'When the link stops working, 60 days after the invitation was sent or resent.',
    '2027-01-14T09:30:00.000Z',
  ),
  accepted: described(z.boolean(), 'Whether the invited person has already joined with this invitation.'),
  needs_account: described(
    z.boolean().nullable(),
    'Whether a new account must be created. Null if the link was not sent by mail, because its holder must not learn whether the address has an account.',
  ),
});

const account = {
  full_name: described(
    optional(name(1, 200)),
    'The name of the new user; required if the invited person has no account.',
    'Grace Hopper',
  ),
  password: described(
    optional(NewPassword),
    'The password of the new user, 12 to 256 characters; required if the invited person has no account.',
    'EXAMPLE passphrase',
  ),
};
export const Acceptance = body(account);
export type Acceptance = z.output<typeof Acceptance>;

/** A link's token, which is sent in the body because URLs are logged. */
const invitation_token = described(
  text(1, 256),
  'The token of the invitation, which is the part of its link after `#`.',
  'EXAMPLE-invitation-token',
);
export const InvitationLink = body({ invitation_token });
export const AcceptanceByLink = body({ invitation_token, ...account });

export const Accepted = answer('AcceptedInvitation', {
  user: described(User, 'The user who has joined.'),
  workspace: described(WorkspaceOfUser, 'The workspace, with the role of the user in it.'),
});

/** The token is in the fragment, which browsers do not send, so no server or proxy logs it. */
export const linkTo = (baseUrl: string, token: string): string => `${baseUrl}/invitations#${token}`;

export const presentInvitation = (
  invitation: InvitationWithToken,
  mail: MailOutcome,
  baseUrl: string,
): z.input<typeof Invitation> => ({
  id: invitation.id,
  email: invitation.email,
  role: invitation.role,
  expires_at: invitation.expires_at.toISOString(),
  mail,
  ...(mail !== 'sent' && { accept_url: linkTo(baseUrl, invitation.token) }),
});

export const presentInvitationPreview = (invitation: InvitationDetails): z.input<typeof InvitationPreview> => ({
  workspace_name: invitation.workspace_name,
  invited_by: invitation.inviter,
  app_names: [...invitation.app_names],
  email: invitation.email,
  role: invitation.role,
  expires_at: invitation.expires_at.toISOString(),
  accepted: invitation.accepted_at !== null,
  needs_account: invitation.mailed ? invitation.user_id === null : null,
});
