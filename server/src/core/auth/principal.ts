// Owns the principal: the caller as an app's rules see them. An app user, a member of the workspace, or anonymous.
// Pure.
interface AnyPrincipal {
  /**
   * Whether they are allowed what the app has no rule for: a person with a role on the app, as a member of the workspace or
   * by a share, and a workspace key. App users and strangers are not.
   */
  readonly isManager: boolean;
}

/** Nobody that conditions could be met by: a caller without credentials, or a workspace key, which acts for no person. */
interface Anonymous extends AnyPrincipal {
  readonly kind: 'anonymous';
}

export interface SignedIn extends AnyPrincipal {
  readonly kind: 'signed_in';
  readonly id: string;
  readonly email: string;
  readonly full_name: string;
  readonly role: string;
  readonly data: Readonly<Record<string, unknown>>;
}

/** Whoever the app's rules apply to. */
export type Principal = Anonymous | SignedIn;

/** The app itself, by its workflows and automations. No rule applies to it. */
export interface AppPrincipal extends AnyPrincipal {
  readonly kind: 'app';
}
