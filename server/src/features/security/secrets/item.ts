// The fields of a finding about a secret in a file.

export interface SecretItem {
  readonly file_path: string;
  readonly line: number;
  readonly secret_type: string;
  /** The first four characters, or none for a short secret. The secret itself is never stored. */
  readonly masked_value: string;
  readonly reachable_from_browser: boolean;
}
