// Owns the shapes of a user and of their workspaces, as several features use them (docs/api/accounts.md).
import { z } from 'zod';
import { answer } from '../../kit/http/shapes.ts';
import { plans } from '../auth/plans.ts';
import { workspaceRoles } from '../auth/roles.ts';

export const User = answer('User', {
  id: z.string(),
  email: z.string(),
  full_name: z.string(),
  is_operator: z.boolean(),
});

export const WorkspaceOfUser = answer('WorkspaceOfUser', {
  id: z.string(),
  name: z.string(),
  role: z.enum(workspaceRoles),
  plan: z.enum(plans),
});

export const presentUser = (user: z.input<typeof User>): z.input<typeof User> => ({
  id: user.id,
  email: user.email,
  full_name: user.full_name,
  is_operator: user.is_operator,
});
