// The order of roles, and how a member's role on an app is derived (docs/api/credentials.md#roles). Pure.

/** Ordered from lowest to highest. */
export const workspaceRoles = ['guest', 'viewer', 'editor', 'admin', 'owner'] as const;
export type WorkspaceRole = (typeof workspaceRoles)[number];

const appRoles = ['viewer', 'editor', 'owner'] as const;
export type AppRole = (typeof appRoles)[number];

export const isRoleAtLeast = (role: WorkspaceRole, required: WorkspaceRole): boolean =>
  workspaceRoles.indexOf(role) >= workspaceRoles.indexOf(required);

export const isAppRoleAtLeast = (role: AppRole, required: AppRole): boolean =>
  appRoles.indexOf(role) >= appRoles.indexOf(required);

/** The facts that determine a member's role on an app. */
interface AppRelation {
  readonly workspace_role: WorkspaceRole;
  readonly visibility: 'workspace' | 'private';
  readonly is_app_owner: boolean;
  readonly share_role: 'editor' | 'viewer' | null;
}

/**
 * Derives a member's role on an app. Undefined if they can't see it.
 *
 *   workspace role   visible app   private app
 *   owner, admin     owner         owner
 *   editor           editor        the share's role, or invisible      (their own app: owner)
 *   viewer           viewer        viewer if shared, or invisible      (their own app: viewer)
 *   guest            the share's role, or invisible
 */
export function deriveAppRole({
  workspace_role,
  visibility,
  is_app_owner,
  share_role,
}: AppRelation): AppRole | undefined {
  switch (workspace_role) {
    case 'owner':
    case 'admin':
      return 'owner';
    case 'editor':
      if (is_app_owner) return 'owner';
      return visibility === 'workspace' ? 'editor' : (share_role ?? undefined);
    case 'viewer':
      return visibility === 'workspace' || is_app_owner || share_role !== null ? 'viewer' : undefined;
    case 'guest':
      return share_role ?? undefined;
  }
}
