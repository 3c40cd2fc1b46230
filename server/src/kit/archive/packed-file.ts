// A file as archives for people contain it.
export interface PackedFile {
  /** Relative, with `/` between its segments. */
  readonly path: string;
  readonly content: Buffer;
  readonly modifiedAt: Date;
}
