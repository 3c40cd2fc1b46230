// Owns whom the rules of an app's data see: an app's own user, a person of the workspace, or nobody known. Pure.
export interface SignedIn {
  readonly kind: 'signed_in';
  readonly id: string;
  readonly email: string;
  readonly full_name: string;
  readonly role: string;
  readonly data: Readonly<Record<string, unknown>>;
}
export type Principal = { readonly kind: 'anonymous' } | SignedIn;
