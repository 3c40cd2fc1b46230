// The types of access proofs, which state what a caller has access to, and as whom. Stores and operations require
// a proof as an argument, so a query without one does not compile. Only core/auth issues proofs (issue-proof.ts).

import type { Plan } from './plans.ts';
import type { AppPrincipal, Principal } from './principal.ts';
import type { AppRole, WorkspaceRole } from './roles.ts';
import type { CredentialKind } from './tokens.ts';

/** Marks a proof. The mark exists only as a type, so no object literal can be assigned to a proof. */
export declare const proof: unique symbol;

/** Any caller, including app users and anonymous callers. */
export interface AnyCaller {
  readonly kind: CredentialKind | 'anonymous';
  readonly credential_id: string | null;
  /** Null for app users, anonymous callers and workspace keys, which do not act on behalf of a person. */
  readonly user_id: string | null;
  readonly app_user_id: string | null;
  readonly email: string | null;
  readonly request_id: string;
  readonly ip: string;
}

/** A person or a workspace key. */
export interface Caller extends AnyCaller {
  readonly kind: Exclude<CredentialKind, 'app_user_token'>;
  readonly credential_id: string;
  /** False for an operator's token, because a credential bound to one workspace has no rights over the installation. */
  readonly is_operator: boolean;
  readonly permission: 'read_only' | 'full_access';
  /** The workspace that a token or workspace key is bound to. Null for a session or personal key. */
  readonly workspace_id: string | null;
  /** The apps that a token or key is limited to. Null means all apps, including future ones. */
  readonly app_ids: readonly string[] | null;
  readonly scopes: readonly string[] | null;
  readonly expires_at: Date | null;
}

/** Access to an open route. */
export interface Visitor {
  readonly [proof]: 'anyone';
  readonly request_id: string;
  readonly ip: string;
  /** The `User-Agent` header. */
  readonly user_agent: string | undefined;
}

/** Access to an open route, with the signed-in person, if there is one. */
export interface OptionalUserAccess extends Visitor {
  readonly person: { readonly id: string; readonly email: string } | null;
}

/** Access to an open route of an app, such as its sign-in. */
export interface AppVisitor extends Visitor {
  readonly workspace_id: string;
  readonly app: AppRow;
}

/** Access with a hook's token, which grants access to that hook only. */
export interface HookAccess extends AppVisitor {
  /** The row that the hook belongs to. */
  readonly hook_id: string;
  readonly plan: Plan;
}

/** An app user's access to their own account. */
export interface AppUserSelfAccess {
  readonly [proof]: string;
  readonly caller: AnyCaller & { readonly credential_id: string; readonly app_user_id: string };
  readonly workspace_id: string;
  readonly app: AppRow;
}

export interface SelfAccess {
  readonly [proof]: string;
  readonly caller: Caller;
}

export interface WorkspaceAccess extends SelfAccess {
  readonly workspace_id: string;
  readonly plan: Plan;
  /** Null for a workspace key, which has scopes instead. */
  readonly role: WorkspaceRole | null;
}

export interface AppAccess extends WorkspaceAccess {
  readonly app: AppRow;
  /** Null for a workspace key. */
  readonly app_role: AppRole | null;
}

/** Access for Plinth's own actions on an app (proofs-without-guard.ts). */
export interface ServiceAccess {
  readonly [proof]: string;
  readonly isService: true;
  readonly workspace_id: string;
  readonly app: AppRow;
}

/** Access to an app by a person, a workspace key or Plinth itself. */
export type AppReach = AppAccess | ServiceAccess;

/** Access to an app's data. The app's rules decide what `principal` may do with it. */
export interface DataAccess {
  readonly [proof]: string;
  readonly caller: AnyCaller;
  readonly workspace_id: string;
  readonly plan: Plan;
  readonly app: AppRow;
  /** Null for app users, anonymous callers and workspace keys. */
  readonly app_role: AppRole | null;
  readonly principal: Principal | AppPrincipal;
}

/** Access to an app's data as a member with a role on the app. */
export interface MemberDataAccess extends AppAccess {
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
  readonly status_state: 'ready' | 'processing' | 'error';
  readonly status_message: string;
  readonly status_error_source: 'builder' | 'paywall' | 'model' | null;
  readonly revision: number;
  /** The app's published version. All four fields are null if nothing is published. */
  readonly live_deployment_id: string | null;
  readonly published_revision: number | null;
  readonly published_at: Date | null;
  readonly published_by: string | null;
  readonly created_date: Date;
  readonly updated_date: Date;
  readonly deleted_date: Date | null;
}
