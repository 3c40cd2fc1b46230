// The common parts of the lock file readers: the packages they report, and reading fields from untrusted data.

export interface LockedPackage {
  readonly name: string;
  readonly version: string;
  readonly direct: boolean;
}

export interface InstalledPackage extends LockedPackage {
  readonly file_path: string;
}

/** `isComplete` is false if the file lists packages without a version. */
export interface LockedPackages {
  readonly packages: readonly LockedPackage[];
  readonly isComplete: boolean;
}

/** The ranges in a `package.json`, keyed by the name under which each package is installed. */
export type Manifest = ReadonlyMap<string, string>;

/** The packages that an entry depends on. Also works for lock file entries, which have the same fields. */
export function listRanges(entry: unknown): Manifest {
  const groups = ['dependencies', 'devDependencies', 'optionalDependencies', 'peerDependencies'];
  return new Map(
    groups.flatMap((group) => entriesOf(fieldOf(entry, group)).map(([name, range]) => [name, String(range)] as const)),
  );
}

/** Reads a field from data that may have any shape. */
export const fieldOf = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null && Object.hasOwn(value, name)
    ? (value as Readonly<Record<string, unknown>>)[name]
    : undefined;

export const entriesOf = (value: unknown): [string, unknown][] =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? Object.entries(value) : [];

export const textOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);
