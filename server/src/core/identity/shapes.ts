// The shapes of users and their workspaces, which several features share (docs/api/accounts.md).
import { z } from 'zod';
import { answer, described, id } from '../../kit/http/shapes.ts';
import { plans } from '../auth/plans.ts';
import { workspaceRoles } from '../auth/roles.ts';

export const User = answer('User', {
  id: described(id, 'The id of the user.', '0198c1f2-7d2b-7a10-8c3f-41d7e9b2a605'),
  email: described(z.string(), 'The e-mail address with which the user signs in.', 'ada@example.com'),
  full_name: described(z.string(), 'The name of the user.', 'Ada Lovelace'),
  is_operator: described(z.boolean(), 'Whether the user runs the installation and may call operator operations.'),
  email_verified: described(z.boolean(), 'Whether the e-mail address was verified by a link that was sent to it.'),
});

export const WorkspaceOfUser = answer('WorkspaceOfUser', {
  id: described(id, 'The id of the workspace.', '0198c1f2-7d3a-7c41-9b1e-2f6a5d0c8e11'),
  name: described(z.string(), 'The name of the workspace.', 'Corner Bakery'),
  role: described(z.enum(workspaceRoles), 'The role of the user in the workspace.'),
  plan: described(z.enum(plans), 'The plan of the workspace.'),
});

type UserRow = Omit<z.input<typeof User>, 'email_verified'> & { readonly email_verified_at: Date | null };

export const presentUser = (user: UserRow): z.input<typeof User> => ({
  id: user.id,
  email: user.email,
  full_name: user.full_name,
  is_operator: user.is_operator,
  email_verified: user.email_verified_at !== null,
});
