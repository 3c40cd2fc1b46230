// Owns the schemas of invitations (docs/api/members.md#invitations).
import { z } from 'zod';
import type { InvitationDetails, InvitationWithToken } from '../../../core/identity/invitations.ts';
import { NewPassword } from '../../../core/identity/passwords.ts';
import { User, WorkspaceOfUser } from '../../../core/identity/shapes.ts';
import {
  answer,
  body,
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

const role = oneOf('admin', 'editor', 'viewer').default('editor');
const maxItems = 50;

export const NewInvitation = body({ email, role });
export const NewInvitations = body({ invitations: distinct(list(NewInvitation, 1, maxItems), (one) => one.email) });
export const Resend = body({ emails: distinct(list(email, 1, maxItems), (one) => one) });

/**
 * Whether the link was sent by mail. `failed`: the mail server refused it, or the address got too many invitations today;
 * which of them is not said, because it would tell about other workspaces. `off`: mail is not configured.
 */
export type MailOutcome = 'sent' | 'failed' | 'off';

export const Invitation = answer('Invitation', {
  id,
  email: z.string(),
  role: oneOf('admin', 'editor', 'viewer', 'guest'),
  expires_at: timestamp,
  mail: oneOf('sent', 'failed', 'off'),
  accept_url: z.string().nullable().optional().meta({
    description: 'The link, if no mail was sent: pass it on yourself. Otherwise, and in an idempotent replay, null.',
  }),
});

const failed = z.array(answer('NotInvited', { email: z.string(), code: z.string() }));
export const Invited = answer('Invited', { invited: z.array(Invitation), failed });
export const Resent = answer('Resent', { resent: z.array(Invitation), failed });

export const InvitationPreview = answer('OpenedInvitation', {
  workspace_name: z.string(),
  email: z.string(),
  role: oneOf('admin', 'editor', 'viewer', 'guest'),
  expires_at: timestamp,
  accepted: z.boolean().meta({ description: 'Whether the invited person is a member already, by this invitation.' }),
  needs_account: z.boolean().nullable().meta({
    description:
      'Whether a new account must be created. Null if the link was not sent by mail: whoever has it must not learn whether the address has an account.',
  }),
});

const account = { full_name: optional(name(1, 200)), password: optional(NewPassword) };
export const Acceptance = body(account);
export type Acceptance = z.output<typeof Acceptance>;

/** The token of a link, in a body: URLs are logged. */
const invitation_token = text(1, 256);
export const InvitationLink = body({ invitation_token });
export const AcceptanceByLink = body({ invitation_token, ...account });

export const Accepted = answer('AcceptedInvitation', { user: User, workspace: WorkspaceOfUser });

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
  email: invitation.email,
  role: invitation.role,
  expires_at: invitation.expires_at.toISOString(),
  accepted: invitation.accepted_at !== null,
  needs_account: invitation.mailed ? invitation.user_id === null : null,
});
