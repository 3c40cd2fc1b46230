// Owns the fields of a finding about a package with a known vulnerability.

export interface DependencyItem {
  readonly package_name: string;
  /** If several versions are installed that the advisory concerns: the first 10 of them, with commas. */
  readonly installed_version: string;
  readonly vulnerable_range: string;
  readonly fixed_version: string | null;
  readonly advisory_id: string;
  readonly aliases: readonly string[];
  /** The app itself asks for the package. False: another package does. */
  readonly direct: boolean;
  readonly file_path: string;
}
