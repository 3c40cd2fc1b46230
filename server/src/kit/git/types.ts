// The interface for a bare git repository. Trees and blobs are read and written by id, without a work tree.

export interface BareRepository {
  readonly folder: string;
  /** Resolves a ref or an id to a commit id. Returns undefined if there is no such commit. */
  resolve(ref: string): Promise<string | undefined>;
  treeOf(commit: string): Promise<string>;
  /**
   * Returns at most `limit` entries below `path` (default: the root), in git's order. To detect whether there are more,
   * request one more than you need.
   */
  listTree(tree: string, path?: string, limit?: number): Promise<TreeEntry[]>;
  readBlob(tree: string, path: string, maxBytes: number): Promise<BlobRead>;
  search(tree: string, pattern: string, options?: SearchOptions): Promise<SearchResult>;
  /**
   * Applies the changes and returns the new tree's id. Throws `PathRefused` for a path that git or a file system could
   * misinterpret.
   */
  writeTree(tree: string, changes: readonly TreeChange[]): Promise<string>;
  /** Compares two trees or commits. */
  diff(from: string, to: string, options?: DiffOptions): Promise<DiffSummary>;
  /** Whether a submodule was added, removed or moved to another commit between two trees. */
  changesSubmodules(from: string, to: string): Promise<boolean>;
  /** Lists the paths that differ between two trees or commits, if `isWanted` returns true for them. */
  listChangedPaths(from: string, to: string, isWanted: (path: string) => boolean): Promise<string[]>;
  /** The id depends only on these values, so repeating a commit returns the same id. */
  commit(commit: NewCommit): Promise<string>;
  isAncestor(ancestor: string, descendant: string): Promise<boolean>;
  /**
   * Merges two commits as `git merge` does. Returns the merged tree and the common base. `conflicts` means that git
   * can't merge their changes. `unrelated` means that the fetched history contains no common commit.
   */
  merge(ours: string, theirs: string): Promise<MergeResult>;
  /**
   * Writes a bundle that contains a commit with this tree. Its parent is `base`, which the reader must already have.
   */
  createBundle(file: string, tree: string, base: string): Promise<void>;
  /** Checks and stores the bundle's contents, and returns its commit's tree. Throws `BundleRefused`. */
  readBundle(file: string, maxBytes: number): Promise<string>;
  /** Returns the packs' total size on disk, in bytes. */
  measurePacks(): Promise<number>;
  remove(): Promise<void>;
}

export interface TreeEntry {
  readonly path: string;
  readonly mode: string;
  readonly kind: 'file' | 'symlink' | 'submodule';
  /** 0 for a submodule. */
  readonly size_bytes: number;
  /** The blob's id, or the commit's id if the entry is a submodule. */
  readonly blob: string;
}

export type BlobRead =
  | { readonly outcome: 'found'; readonly content: Buffer; readonly mode: FileMode }
  | { readonly outcome: 'missing' }
  | { readonly outcome: 'too_large'; readonly size_bytes: number }
  /** The path is a folder, a symbolic link or a submodule. */
  | { readonly outcome: 'not_a_file'; readonly kind: 'folder' | 'symlink' | 'submodule' };

export type FileMode = '100644' | '100755';

export interface TreeChange {
  readonly path: string;
  /** A null content deletes the file. */
  readonly content: Buffer | null;
  /** Default: the file's current mode, or 100644 for a new file. */
  readonly mode?: FileMode;
}

export interface SearchOptions {
  /**
   * With `fixed` (the default), the pattern is plain text. With `extended`, it is a POSIX extended regular expression.
   */
  readonly syntax?: 'fixed' | 'extended';
  readonly ignoreCase?: boolean;
  /** Searches only this file, or only the files in this folder. */
  readonly path?: string;
  /** Default: 200. */
  readonly maxHits?: number;
  /** Default: 10,000. */
  readonly timeoutMs?: number;
}

export type SearchResult =
  /** `isComplete` is false if there may be more hits because a limit was reached or the time ran out. */
  | { readonly outcome: 'searched'; readonly hits: readonly SearchHit[]; readonly isComplete: boolean }
  /** Git rejected the pattern. */
  | { readonly outcome: 'invalid_pattern'; readonly reason: string };

export interface SearchHit {
  readonly path: string;
  readonly line: number;
  /** Cut to 500 characters. */
  readonly text: string;
}

export interface DiffOptions {
  /** The patch is cut to this size, at a line break. Default: 0, which means no patch. */
  readonly maxPatchBytes?: number;
  /** Default: 1,000. */
  readonly maxFiles?: number;
}

export interface DiffSummary {
  readonly files: readonly DiffFile[];
  /** Counts all files, including those that are not listed. */
  readonly file_count: number;
  readonly added: number;
  readonly removed: number;
  readonly patch: string;
  readonly is_patch_cut: boolean;
}

export interface DiffFile {
  readonly path: string;
  readonly status: 'added' | 'modified' | 'deleted';
  /** The number of lines. Null for a binary file. */
  readonly added: number | null;
  readonly removed: number | null;
}

export interface NewCommit {
  readonly tree: string;
  readonly parents: readonly string[];
  readonly message: string;
  readonly author: { readonly name: string; readonly email: string };
  readonly date: Date;
}

export type MergeResult =
  | { readonly outcome: 'merged'; readonly tree: string; readonly base: string }
  | { readonly outcome: 'conflicts'; readonly paths: readonly string[]; readonly base: string }
  | { readonly outcome: 'unrelated' };

/**
 * Thrown if a path is not allowed in a repository. `reason` completes a sentence about the path: "must not contain …".
 */
export class PathRefused extends Error {
  readonly path: string;
  readonly reason: string;

  constructor(path: string, reason: string) {
    super(`The path ${reason}.`);
    this.path = path;
    this.reason = reason;
  }
}

/** Thrown if a bundle is corrupt, too large, or of an unsupported kind. */
export class BundleRefused extends Error {}
