// Owns the types of access proofs: what a caller may reach, and as whom. Stores and operations require a proof as an
// argument, so a query without one does not compile. Only core/auth issues them (issue-proof.ts).

import type { Plan } from './plans.ts';
import type { AppPrincipal, Principal } from './principal.ts';
import type { AppRole, WorkspaceRole } from './roles.ts';
import type { CredentialKind } from './tokens.ts';

/** Marks a proof. It exists only as a type, so that an object literal is not assignable to one. */
export declare const proof: unique symbol;

/** Any caller, also an app user or an anonymous one. */
export interface AnyCaller {
  readonly kind: CredentialKind | 'anonymous';
  readonly credential_id: string | null;
  /** Null for a workspace key, which does not act for a person, for an app user, and for an anonymous caller. */
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
  /** False for a token of an operator: what is bound to a workspace has no power over the installation. */
  readonly is_operator: boolean;
  readonly permission: 'read_only' | 'full_access';
  /** The workspace that a token or workspace key is bound to; null for a session or personal key. */
  readonly workspace_id: string | null;
  /** The apps that a token or key is limited to; null: all, also future ones. */
  readonly app_ids: readonly string[] | null;
  readonly scopes: readonly string[] | null;
  readonly expires_at: Date | null;
}

/** Access to an open route. */
export interface Visitor {
  readonly [proof]: 'anyone';
  readonly request_id: string;
  readonly ip: string;
  /** What the browser says that it is. */
  readonly user_agent: string | undefined;
}

/** Access to an open route, with the person who is signed in, if anybody is. */
export interface OptionalUserAccess extends Visitor {
  readonly person: { readonly id: string; readonly email: string } | null;
}

/** Access to an open route of an app, such as its sign-in. */
export interface AppVisitor extends Visitor {
  readonly workspace_id: string;
  readonly app: AppRow;
}

/** Access by the token of a hook. It opens this hook and nothing else. */
export interface HookAccess extends AppVisitor {
  /** The row that the hook belongs to. */
  readonly hook_id: string;
  readonly plan: Plan;
}

/** A user of an app, about themselves. */
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

/** What Plinth does with an app by itself (as-service.ts). */
export interface ServiceAccess {
  readonly [proof]: string;
  readonly isService: true;
  readonly workspace_id: string;
  readonly app: AppRow;
}

/** Of a person or a workspace key, or of Plinth itself. */
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
  /** What is published of the app. All four are null if nothing is. */
  readonly live_deployment_id: string | null;
  readonly published_revision: number | null;
  readonly published_at: Date | null;
  readonly published_by: string | null;
  readonly created_date: Date;
  readonly updated_date: Date;
  readonly deleted_date: Date | null;
}
