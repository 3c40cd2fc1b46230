// Owns the types of access proofs: what a caller was allowed to reach, and as whom. Stores and operations require one as
// an argument, so a query without a proof does not compile. Only core/auth issues them (issue-proof.ts).

import type { Plan } from './plans.ts';
import type { Principal } from './principal.ts';
import type { AppRole, WorkspaceRole } from './roles.ts';
import type { CredentialKind } from './tokens.ts';

/** Marks a proof. It exists only as a type, so that an object literal is never taken for one. */
export declare const proof: unique symbol;

/** Whoever asks, also those who use an app without being of the workspace. */
export interface AnyCaller {
  readonly kind: CredentialKind | 'anonymous';
  readonly credential_id: string | null;
  /** A person's; null for a workspace key, which acts for no person, and for those who use an app. */
  readonly user_id: string | null;
  readonly app_user_id: string | null;
  readonly email: string | null;
  readonly request_id: string;
  readonly ip: string;
}

export interface Caller extends AnyCaller {
  readonly kind: Exclude<CredentialKind, 'app_user_token'>;
  readonly credential_id: string;
  readonly is_operator: boolean;
  readonly permission: 'read_only' | 'full_access';
  /** The workspace a token or workspace key is bound to; null where it spans several. */
  readonly workspace_id: string | null;
  /** The apps a token or key is limited to; null means all, also later ones. */
  readonly app_ids: readonly string[] | null;
  readonly scopes: readonly string[] | null;
  readonly expires_at: Date | null;
}

export interface Visitor {
  readonly [proof]: 'anyone';
  readonly request_id: string;
  readonly ip: string;
}

/** Someone who needs no credential, and who they are if a browser session says so. */
export interface OptionalUserAccess extends Visitor {
  readonly person: { readonly id: string; readonly email: string } | null;
}

export interface SelfAccess {
  readonly [proof]: string;
  readonly caller: Caller;
}

export interface WorkspaceAccess extends SelfAccess {
  readonly workspace_id: string;
  readonly plan: Plan;
  /** Null for a workspace key: its scopes decided. */
  readonly role: WorkspaceRole | null;
}

export interface AppAccess extends WorkspaceAccess {
  readonly app: AppRow;
  /** Null for a workspace key. */
  readonly app_role: AppRole | null;
}

/** To an app's data, of which the app's rules decide what `principal` may do. */
export interface DataAccess {
  readonly [proof]: string;
  readonly caller: AnyCaller;
  readonly workspace_id: string;
  readonly plan: Plan;
  readonly app: AppRow;
  /** Null for whoever has none: those who use the app, and workspace keys. */
  readonly app_role: AppRole | null;
  readonly principal: Principal;
}

export interface AppRow {
  readonly id: string;
  readonly workspace_id: string;
  readonly app_type: 'user_app' | 'user_agent' | 'imported_app';
  readonly owner_id: string;
  readonly owner_email: string;
  readonly name: string;
  readonly slug: string;
  readonly user_description: string;
  readonly logo_url: string | null;
  readonly visibility: 'workspace' | 'private';
  readonly public_settings:
    | 'private_with_login'
    | 'workspace_with_login'
    | 'public_with_login'
    | 'public_without_login';
  readonly public_origins: string[];
  readonly hide_authorship: boolean;
  readonly revision: number;
  readonly created_date: Date;
  readonly updated_date: Date;
  readonly deleted_date: Date | null;
}
