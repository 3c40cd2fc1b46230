// Owns the interface of a bare git repository: trees and blobs are read and written by their ids, without files of a work tree.

export interface BareRepository {
  readonly folder: string;
  /** The id of the commit that a ref or an id names. Undefined if there is none. */
  resolve(ref: string): Promise<string | undefined>;
  treeOf(commit: string): Promise<string>;
  /** All entries below `path` (default: the root), sorted as git sorts them, at most `limit`. Ask for one more than you show to know whether there are more. */
  listTree(tree: string, path?: string, limit?: number): Promise<TreeEntry[]>;
  readBlob(tree: string, path: string, maxBytes: number): Promise<BlobRead>;
  search(tree: string, pattern: string, options?: SearchOptions): Promise<SearchResult>;
  /** The id of the tree with these changes. Throws `PathRefused` for a path that git or a file system could misread. */
  writeTree(tree: string, changes: readonly TreeChange[]): Promise<string>;
  /** Between two trees or commits. */
  diff(from: string, to: string, options?: DiffOptions): Promise<DiffSummary>;
  /** Whether a submodule is added, removed or moved to another commit between two trees. */
  changesSubmodules(from: string, to: string): Promise<boolean>;
  /** Of what differs between two trees or commits, the paths that are wanted. */
  listChangedPaths(from: string, to: string, isWanted: (path: string) => boolean): Promise<string[]>;
  /** The id depends on nothing but these values, so that a repeated commit is the same commit. */
  commit(commit: NewCommit): Promise<string>;
  isAncestor(ancestor: string, descendant: string): Promise<boolean>;
  /**
   * The common base of two commits, and their trees joined as `git merge` joins them. `conflicts` are paths that both changed.
   * `unrelated`: they have no commit in common, as far as the repository was fetched.
   */
  merge(ours: string, theirs: string): Promise<MergeResult>;
  /** A bundle file with a commit that has this tree and the parent `base`, which the reader must have. */
  createBundle(file: string, tree: string, base: string): Promise<void>;
  /** Checks and stores what the bundle contains, and returns the tree of its commit. Throws `BundleRefused`. */
  readBundle(file: string, maxBytes: number): Promise<string>;
  /** What the packs take up on the disk. */
  measurePacks(): Promise<number>;
  remove(): Promise<void>;
}

export interface TreeEntry {
  readonly path: string;
  readonly mode: string;
  readonly kind: 'file' | 'symlink' | 'submodule';
  /** 0 for a submodule. */
  readonly size_bytes: number;
  /** The id of the blob; of a submodule, the id of its commit. */
  readonly blob: string;
}

export type BlobRead =
  | { readonly outcome: 'found'; readonly content: Buffer; readonly mode: FileMode }
  | { readonly outcome: 'missing' }
  | { readonly outcome: 'too_large'; readonly size_bytes: number }
  /** A folder, a symbolic link or a submodule. */
  | { readonly outcome: 'not_a_file'; readonly kind: 'folder' | 'symlink' | 'submodule' };

export type FileMode = '100644' | '100755';

export interface TreeChange {
  readonly path: string;
  /** Null deletes the file. */
  readonly content: Buffer | null;
  /** Default: as before, and 100644 for a new file. */
  readonly mode?: FileMode;
}

export interface SearchOptions {
  /** `fixed` (default): the pattern is plain text. `extended`: a POSIX extended regular expression. */
  readonly syntax?: 'fixed' | 'extended';
  readonly ignoreCase?: boolean;
  /** Only files below this folder, or this file. */
  readonly path?: string;
  /** Default 200. */
  readonly maxHits?: number;
  /** Default 10,000. */
  readonly timeoutMs?: number;
}

export type SearchResult =
  /** `isComplete` is false if there may be more hits: too many, or the time was up. */
  | { readonly outcome: 'searched'; readonly hits: readonly SearchHit[]; readonly isComplete: boolean }
  /** Git can't read the pattern. */
  | { readonly outcome: 'invalid_pattern'; readonly reason: string };

export interface SearchHit {
  readonly path: string;
  readonly line: number;
  /** Cut at 500 characters. */
  readonly text: string;
}

export interface DiffOptions {
  /** The patch is cut here, at the end of a line. Default 0: no patch. */
  readonly maxPatchBytes?: number;
  /** Default 1,000. */
  readonly maxFiles?: number;
}

export interface DiffSummary {
  readonly files: readonly DiffFile[];
  /** Of all files, also of those that are not listed. */
  readonly file_count: number;
  readonly added: number;
  readonly removed: number;
  readonly patch: string;
  readonly is_patch_cut: boolean;
}

export interface DiffFile {
  readonly path: string;
  readonly status: 'added' | 'modified' | 'deleted';
  /** Lines. Null for a binary file. */
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

/** The path of a change can't be part of a repository. `reason` follows the path: "must not contain …". */
export class PathRefused extends Error {
  readonly path: string;
  readonly reason: string;

  constructor(path: string, reason: string) {
    super(`The path ${reason}.`);
    this.path = path;
    this.reason = reason;
  }
}

/** The bundle is broken, too large, or not one of ours. */
export class BundleRefused extends Error {}
