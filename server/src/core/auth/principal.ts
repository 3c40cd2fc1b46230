// Owns the principal: the caller as an app's rules see them. An app user, a member of the workspace, or anonymous.
// Pure.
export interface SignedIn {
  readonly kind: 'signed_in';
  readonly id: string;
  readonly email: string;
  readonly full_name: string;
  readonly role: string;
  readonly data: Readonly<Record<string, unknown>>;
}
export type Principal = { readonly kind: 'anonymous' } | SignedIn;
