// Owns the shapes of a user and of their workspaces, as several features use them (docs/api/accounts.md).
import { z } from 'zod';
import { answer, id } from '../../kit/http/shapes.ts';
import { plans } from '../auth/plans.ts';
import { workspaceRoles } from '../auth/roles.ts';

export const User = answer('User', {
  id,
  email: z.string(),
  full_name: z.string(),
  is_operator: z.boolean(),
  email_verified: z.boolean().meta({ description: 'Whether the address was proven by a link that was sent to it.' }),
});

export const WorkspaceOfUser = answer('WorkspaceOfUser', {
  id,
  name: z.string(),
  role: z.enum(workspaceRoles),
  plan: z.enum(plans),
});

type UserRow = Omit<z.input<typeof User>, 'email_verified'> & { readonly email_verified_at: Date | null };

export const presentUser = (user: UserRow): z.input<typeof User> => ({
  id: user.id,
  email: user.email,
  full_name: user.full_name,
  is_operator: user.is_operator,
  email_verified: user.email_verified_at !== null,
});
