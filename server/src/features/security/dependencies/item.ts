// The fields of a finding about a package with a known vulnerability.

export interface DependencyItem {
  readonly package_name: string;
  /** If several affected versions are installed, the first 10 of them, separated by commas. */
  readonly installed_version: string;
  readonly vulnerable_range: string;
  readonly fixed_version: string | null;
  readonly advisory_id: string;
  readonly aliases: readonly string[];
  /** True if the app itself depends on the package. False if only another package does. */
  readonly direct: boolean;
  readonly file_path: string;
}
