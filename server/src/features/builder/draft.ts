// Owns the draft of a turn: the app's files and schemas as the turn has changed them so far. Nothing of it is saved until the
// turn ends (landing.ts). It remembers which version of each file and schema the turn has seen, so that nobody else's change
// is overwritten.
import { createHash } from 'node:crypto';
import type { AppAccess } from '../../core/auth/proofs.ts';
import type { Db } from '../../tables.ts';

/** The app's files, as builder uses them. */
export interface AppFiles {
  readonly maxFileBytes: number;
  /** Why this can't be the path of a file; undefined if it can. */
  findPathFault(path: string): string | undefined;
  list(db: Db, access: AppAccess): Promise<readonly FileVersion[]>;
  /** Those of these files that exist. */
  read(db: Db, access: AppAccess, paths: readonly string[]): Promise<readonly StoredFile[]>;
  /** Applies changes as part of a revision that the caller has begun in its transaction. */
  apply(db: Db, access: AppAccess, changes: readonly FileChange[], revision: number, now: Date): Promise<unknown>;
}

export interface FileVersion {
  readonly path: string;
  readonly size: number;
  readonly sha256: string;
}

export interface StoredFile extends FileVersion {
  readonly content: Buffer;
  readonly encoding: 'utf-8' | 'base64';
}

/** The app's entity schemas, as builder uses them. */
export interface AppSchemas {
  list(db: Db, access: AppAccess): Promise<readonly StoredSchema[]>;
  /** Validates a schema and says what it would mean, without saving it. Throws a ValidationError or a Problem. */
  preview(db: Db, access: AppAccess, name: string, schema: SchemaDocument, now: Date): Promise<SchemaPreview>;
  /** To be taken before the revision is incremented. */
  lock(db: Db, access: AppAccess): Promise<void>;
  apply(db: Db, access: AppAccess, schemas: readonly SchemaDocument[], revision: number, now: Date): Promise<void>;
}

export type SchemaDocument = Readonly<Record<string, unknown>>;

export interface StoredSchema {
  readonly name: string;
  readonly document: SchemaDocument;
  readonly revision: number;
}

export interface SchemaPreview {
  readonly created: boolean;
  /** Operations that are closed to app users and anonymous callers for want of a rule. */
  readonly closed_operations: readonly string[];
  readonly impact: {
    readonly records: number;
    readonly violating_records: number;
    readonly fields_removed: readonly string[];
    readonly newly_open: readonly { readonly operation: string; readonly example: { readonly principal: string } }[];
  };
}

/** The new text of a file; null: it is deleted. */
export interface FileChange {
  readonly path: string;
  readonly text: string | null;
}

/** What a step has seen and changed. */
export interface DraftChanges {
  /** Whether the turn began here with the starter, because the app had no files. */
  readonly begins_with_starter: boolean;
  /** The hash of each file that was seen; null: it did not exist. */
  readonly seen_files: Readonly<Record<string, string | null>>;
  /** The revision of each schema that was seen; 0: it did not exist. */
  readonly seen_schemas: Readonly<Record<string, number>>;
  readonly files: Readonly<Record<string, string | null>>;
  readonly schemas: Readonly<Record<string, SchemaDocument>>;
}

export type DraftFile = { readonly text: string } | { readonly binaryBytes: number };

export interface DraftDeps {
  readonly files: AppFiles;
  readonly schemas: AppSchemas;
  /** The files that an empty app begins with. */
  readonly starter: ReadonlyMap<string, string>;
}

export type Draft = ReturnType<typeof createDraft>;

/** Creates the draft of a turn from what its steps have seen and changed so far. */
export function createDraft({ files, schemas, starter }: DraftDeps, earlier: readonly DraftChanges[]) {
  const seenFiles = new Map<string, string | null>();
  const seenSchemas = new Map<string, number>();
  const changedFiles = new Map<string, string | null>();
  const changedSchemas = new Map<string, SchemaDocument>();
  const hashes = new Map<string, string>();
  let hasStarter = earlier.some(({ begins_with_starter }) => begins_with_starter);
  let writtenBytes = 0;
  let current = createStep();

  const setFile = (path: string, text: string | null) => {
    writtenBytes += text === null ? 0 : Buffer.byteLength(text);
    hashes.set(`file ${path}`, text === null ? 'deleted' : hash(text));
    changedFiles.set(path, text);
  };
  const setSchema = (name: string, document: SchemaDocument) => {
    const text = JSON.stringify(document);
    writtenBytes += Buffer.byteLength(text);
    hashes.set(`schema ${name}`, hash(text));
    changedSchemas.set(name, document);
  };
  for (const step of earlier) {
    for (const [path, sha256] of Object.entries(step.seen_files)) seenFiles.set(path, sha256);
    for (const [name, revision] of Object.entries(step.seen_schemas)) seenSchemas.set(name, revision);
    for (const [path, text] of Object.entries(step.files)) setFile(path, text);
    for (const [name, schema] of Object.entries(step.schemas)) setSchema(name, schema);
  }

  // The version that counts is the first one that the turn has seen.
  const sawFile = (path: string, sha256: string | null) => {
    if (seenFiles.has(path)) return;
    seenFiles.set(path, sha256);
    current.seen_files[path] = sha256;
  };
  const sawSchema = (name: string, revision: number) => {
    if (seenSchemas.has(name)) return;
    seenSchemas.set(name, revision);
    current.seen_schemas[name] = revision;
  };
  const readFiles = async (db: Db, access: AppAccess, paths: readonly string[]) => {
    const unchanged = paths.filter((path) => !changedFiles.has(path));
    const stored = new Map((await files.read(db, access, unchanged)).map((file) => [file.path, file]));
    const found = new Map<string, DraftFile>();
    for (const path of paths) {
      const text = changedFiles.get(path);
      const file = stored.get(path);
      if (typeof text === 'string') found.set(path, { text });
      else if (text === undefined && file !== undefined) found.set(path, toDraftFile(file));
    }
    return { found, stored };
  };

  return {
    get changedFiles(): ReadonlyMap<string, string | null> {
      return changedFiles;
    },
    get changedSchemas(): ReadonlyMap<string, SchemaDocument> {
      return changedSchemas;
    },
    /** Whether the turn has changed anything. The starter alone is no change. */
    get isChanged(): boolean {
      const isChange = ([path, text]: [string, string | null]) => !hasStarter || text !== starter.get(path);
      return changedSchemas.size > 0 || [...changedFiles].some(isChange);
    },
    /** All bytes that the turn has written, also those that it has replaced since. */
    get writtenBytes(): number {
      return writtenBytes;
    },
    get seen(): { files: ReadonlyMap<string, string | null>; schemas: ReadonlyMap<string, number> } {
      return { files: seenFiles, schemas: seenSchemas };
    },
    /** A short text that is the same as long as nothing is changed, and again once a change is undone. */
    get digest(): string {
      return hash(JSON.stringify([...hashes].toSorted(([a], [b]) => (a < b ? -1 : 1))));
    },

    /** By path, with the sizes that the draft has. */
    async listFiles(db: Db, access: AppAccess): Promise<{ path: string; size: number }[]> {
      const sizes = new Map((await files.list(db, access)).map(({ path, size }) => [path, size]));
      for (const [path, text] of changedFiles) {
        if (text === null) sizes.delete(path);
        else sizes.set(path, Buffer.byteLength(text));
      }
      return [...sizes].map(([path, size]) => ({ path, size })).toSorted((a, b) => (a.path < b.path ? -1 : 1));
    },
    async readFile(db: Db, access: AppAccess, path: string): Promise<DraftFile | undefined> {
      const { found, stored } = await readFiles(db, access, [path]);
      if (!changedFiles.has(path)) sawFile(path, stored.get(path)?.sha256 ?? null);
      return found.get(path);
    },
    /** The bytes of a file, as a browser would get them. It does not count as seen. */
    async readBytes(db: Db, access: AppAccess, path: string): Promise<Buffer | undefined> {
      const text = changedFiles.get(path);
      if (text !== undefined) return text === null ? undefined : Buffer.from(text);
      return (await files.read(db, access, [path]))[0]?.content;
    },
    /** To look for something in many files. They don't count as seen. */
    scanFiles: async (db: Db, access: AppAccess, paths: readonly string[]): Promise<ReadonlyMap<string, DraftFile>> =>
      (await readFiles(db, access, paths)).found,
    /** Writes the starter, if the app has no files. */
    async begin(db: Db, access: AppAccess): Promise<void> {
      if ((await this.listFiles(db, access)).length > 0) return;
      hasStarter = true;
      current.begins_with_starter = true;
      for (const [path, text] of starter) {
        sawFile(path, null);
        this.writeFile(path, text);
      }
    },
    /** The file must have been read before. */
    writeFile(path: string, text: string): void {
      setFile(path, text);
      current.files[path] = text;
    },
    removeFile(path: string): void {
      setFile(path, null);
      current.files[path] = null;
    },

    async listSchemas(db: Db, access: AppAccess): Promise<{ name: string; document: SchemaDocument }[]> {
      const stored = await schemas.list(db, access);
      const all = new Map(stored.map(({ name, document }) => [name, document]));
      for (const [name, document] of changedSchemas) all.set(name, document);
      return [...all].map(([name, document]) => ({ name, document })).toSorted((a, b) => (a.name < b.name ? -1 : 1));
    },
    async readSchema(db: Db, access: AppAccess, name: string): Promise<SchemaDocument | undefined> {
      const changed = changedSchemas.get(name);
      if (changed !== undefined) return changed;
      const stored = (await schemas.list(db, access)).find((schema) => schema.name === name);
      sawSchema(name, stored?.revision ?? 0);
      return stored?.document;
    },
    /** The schema must have been read before. */
    saveSchema(name: string, document: SchemaDocument): void {
      setSchema(name, document);
      current.schemas[name] = document;
    },

    /** What was seen and changed since the last call: the part of the draft that the current step records. */
    takeStep(): DraftChanges {
      const taken = current;
      current = createStep();
      return taken;
    },
  };
}

const hash = (text: string): string => createHash('sha256').update(text).digest('base64url');

interface StepChanges extends DraftChanges {
  begins_with_starter: boolean;
  readonly seen_files: Record<string, string | null>;
  readonly seen_schemas: Record<string, number>;
  readonly files: Record<string, string | null>;
  readonly schemas: Record<string, SchemaDocument>;
}

// Objects without a prototype, because a path may be `__proto__`.
const createStep = (): StepChanges => ({
  begins_with_starter: false,
  seen_files: Object.create(null),
  seen_schemas: Object.create(null),
  files: Object.create(null),
  schemas: Object.create(null),
});

/** A file with NUL characters is not text, whatever its encoding says. */
function toDraftFile({ content, encoding, size }: StoredFile): DraftFile {
  if (encoding === 'base64' || content.includes(0)) return { binaryBytes: size };
  return { text: content.toString('utf8') };
}
