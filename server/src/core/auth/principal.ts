// The principal, which is the caller as an app's rules see it: an app user, a workspace member or an anonymous
// caller. Pure.
interface AnyPrincipal {
  /**
   * Whether the principal may take actions that no rule covers. True for workspace keys, and for people with a role on
   * the app, either as a member of the workspace or through a share. False for app users and strangers.
   */
  readonly isManager: boolean;
}

/**
 * A principal that can't meet any condition: a caller without credentials, or a workspace key, which does not act on
 * behalf of a person.
 */
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

/** A principal that the app's rules apply to. */
export type Principal = Anonymous | SignedIn;

/** The app itself, acting through its workflows and automations. Rules do not apply to it. */
export interface AppPrincipal extends AnyPrincipal {
  readonly kind: 'app';
}
