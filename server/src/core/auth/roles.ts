// Owns the order of roles and what a role gives over an app (contract §1.2). Pure.

export const workspaceRoles = ['guest', 'viewer', 'editor', 'admin', 'owner'] as const;
export type WorkspaceRole = (typeof workspaceRoles)[number];

const appRoles = ['viewer', 'editor', 'owner'] as const;
export type AppRole = (typeof appRoles)[number];

export const isRoleAtLeast = (role: WorkspaceRole, required: WorkspaceRole): boolean =>
  workspaceRoles.indexOf(role) >= workspaceRoles.indexOf(required);

export const isAppRoleAtLeast = (role: AppRole, required: AppRole): boolean =>
  appRoles.indexOf(role) >= appRoles.indexOf(required);

export interface AppRelation {
  readonly workspace_role: WorkspaceRole;
  readonly visibility: 'workspace' | 'private';
  readonly is_app_owner: boolean;
  readonly share_role: 'editor' | 'viewer' | null;
}

/** The caller's role over an app; undefined when the app is invisible to them. */
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
