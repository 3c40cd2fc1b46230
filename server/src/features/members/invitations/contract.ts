// Owns the shapes of invitations (docs/contract.md §1.3, §2.4).
import { z } from 'zod';
import type { InvitationDetails, InvitationWithToken } from '../../../core/identity/invitations.ts';
import { NewPassword } from '../../../core/identity/passwords.ts';
import { User, WorkspaceOfUser } from '../../../core/identity/shapes.ts';
import { answer, body, distinct, email, list, name, oneOf, optional, timestamp } from '../../../kit/http/shapes.ts';

const role = oneOf('admin', 'editor', 'viewer').default('editor');
const maxItems = 50;

export const NewInvitation = body({ email, role });
export const NewInvitations = body({ invitations: distinct(list(NewInvitation, 1, maxItems), (one) => one.email) });
export const Resend = body({ emails: distinct(list(email, 1, maxItems), (one) => one) });

/** Whether the link left by mail: `failed` when the server did not take it, `off` when none is set up. */
export type MailOutcome = 'sent' | 'failed' | 'off';

export const Invitation = answer('Invitation', {
  id: z.string(),
  email: z.string(),
  role: oneOf('admin', 'editor', 'viewer', 'guest'),
  expires_at: timestamp,
  mail: oneOf('sent', 'failed', 'off'),
  accept_url: z
    .string()
    .nullable()
    .optional()
    .meta({ description: 'only when no mail left: hand it over yourself; null in a replay' }),
});

const failed = z.array(answer('NotInvited', { email: z.string(), code: z.string() }));
export const Invited = answer('Invited', { invited: z.array(Invitation), failed });
export const Resent = answer('Resent', { resent: z.array(Invitation), failed });

export const InvitationPreview = answer('OpenedInvitation', {
  workspace_name: z.string(),
  email: z.string(),
  role: oneOf('admin', 'editor', 'viewer', 'guest'),
  expires_at: timestamp,
  needs_account: z.boolean(),
});

export const Acceptance = body({ full_name: optional(name(1, 200)), password: optional(NewPassword) });
export type Acceptance = z.output<typeof Acceptance>;
export const Accepted = answer('AcceptedInvitation', { user: User, workspace: WorkspaceOfUser });

export const linkTo = (baseUrl: string, text: string): string => `${baseUrl}/invitations/${text}`;

export const presentInvitation = (
  made: InvitationWithToken,
  mail: MailOutcome,
  baseUrl: string,
): z.input<typeof Invitation> => ({
  id: made.id,
  email: made.email,
  role: made.role,
  expires_at: made.expires_at.toISOString(),
  mail,
  ...(mail !== 'sent' && { accept_url: linkTo(baseUrl, made.token) }),
});

export const presentInvitationPreview = (opened: InvitationDetails): z.input<typeof InvitationPreview> => ({
  workspace_name: opened.workspace_name,
  email: opened.email,
  role: opened.role,
  expires_at: opened.expires_at.toISOString(),
  needs_account: opened.user_id === null,
});
