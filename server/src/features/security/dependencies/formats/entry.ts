// Owns what the readers of lock files have in common: the packages that they report, and the fields of files of any shape.

export interface LockedPackage {
  readonly name: string;
  readonly version: string;
  readonly direct: boolean;
}

export interface InstalledPackage extends LockedPackage {
  readonly file_path: string;
}

/** `isComplete` is false if the file names packages without saying their version. */
export interface LockedPackages {
  readonly packages: readonly LockedPackage[];
  readonly isComplete: boolean;
}

/** The ranges of a `package.json` by the name under which they are installed. */
export type Manifest = ReadonlyMap<string, string>;

/** What a package asks for. Also for the entries of lock files, which have the same fields. */
export function listRanges(entry: unknown): Manifest {
  const groups = ['dependencies', 'devDependencies', 'optionalDependencies', 'peerDependencies'];
  return new Map(
    groups.flatMap((group) => entriesOf(fieldOf(entry, group)).map(([name, range]) => [name, String(range)] as const)),
  );
}

/** What is read of others' files may have any shape. */
export const fieldOf = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null && Object.hasOwn(value, name)
    ? (value as Readonly<Record<string, unknown>>)[name]
    : undefined;

export const entriesOf = (value: unknown): [string, unknown][] =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? Object.entries(value) : [];

export const textOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);
