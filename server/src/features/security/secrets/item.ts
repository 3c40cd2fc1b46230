// Owns the fields of a finding about a secret in a file.

export interface SecretItem {
  readonly file_path: string;
  readonly line: number;
  readonly secret_type: string;
  /** The first four characters. The secret itself is kept nowhere. */
  readonly masked_value: string;
  readonly reachable_from_browser: boolean;
}
