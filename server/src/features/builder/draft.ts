// A turn's draft: the app's files and schemas, with the turn's changes so far. Nothing is saved until the turn
// ends (landing.ts). The draft remembers which version of each file and schema the turn has seen, so another user's
// change is never overwritten.
import { createHash } from 'node:crypto';
import type { AppAccess } from '../../core/auth/proofs.ts';
import type { Db } from '../../tables.ts';

/** The app's files, as the builder uses them. */
export interface AppFiles {
  readonly maxFileBytes: number;
  /** Returns the reason why this can't be a file path, or `undefined` if it can. */
  findPathFault(path: string): string | undefined;
  list(db: Db, access: AppAccess): Promise<readonly FileVersion[]>;
  /** Returns the files that exist. Paths without a file are skipped. */
  read(db: Db, access: AppAccess, paths: readonly string[]): Promise<readonly StoredFile[]>;
  /** Applies changes as part of a revision that the caller's transaction has started. */
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

/** The app's entity schemas, as the builder uses them. */
export interface AppSchemas {
  list(db: Db, access: AppAccess): Promise<readonly StoredSchema[]>;
  /** Validates a schema and reports its effect without saving it. Throws a ValidationError or a Problem. */
  preview(db: Db, access: AppAccess, name: string, schema: SchemaDocument, now: Date): Promise<SchemaPreview>;
  /** Must be called before the revision is incremented. */
  lock(db: Db, access: AppAccess): Promise<void>;
  apply(db: Db, access: AppAccess, schemas: readonly SchemaDocument[], revision: number, now: Date): Promise<void>;
  /** Separates what the schemas would open from the rest. Throws a ValidationError. */
  separate(db: Db, access: AppAccess, schemas: readonly SchemaDocument[], now: Date): Promise<HeldSchemas>;
  /** Lists those of the entities that have records. The others can't get any until the transaction ends. */
  listWithRecords(db: Db, access: AppAccess, names: readonly string[]): Promise<readonly string[]>;
  /** Applies a rule that was held, as part of a revision that the caller's transaction has started. */
  applyHeld(
    db: Db,
    access: AppAccess,
    held: { readonly entity: string; readonly operation: HeldOperation; readonly rule: unknown },
    revision: number,
    now: Date,
  ): Promise<void>;
}

export interface HeldSchemas {
  /** What can be saved without opening anything. */
  readonly documents: readonly SchemaDocument[];
  readonly held: readonly (HeldOpening & { readonly entity: string; readonly operation: HeldOperation })[];
  /** Entities that had no records. Nothing was held for the sake of their records. */
  readonly withoutRecords: readonly string[];
}

/** `fields` stands for the rules of the entity's fields. */
export type HeldOperation = 'create' | 'read' | 'update' | 'delete' | 'update_check' | 'fields';

/** A rule that is held because it would open stored records, or anything to callers who are not signed in. */
export interface HeldOpening {
  /** Null for `sign_up`. */
  readonly entity: string | null;
  /** `sign_up` stands for who may sign up: `before` and `after` are the settings. */
  readonly operation: HeldOperation | 'sign_up';
  /** Null if it could not be decided whom the rule lets in. */
  readonly principal: 'anonymous' | 'any_user' | 'creator' | 'some_user' | null;
  readonly before: unknown;
  readonly after: unknown;
  readonly example: {
    readonly record: object;
    readonly change: object | null;
    readonly attributes: object | null;
  } | null;
}

/** Who may sign up in the app, as the builder uses it. */
export interface AppSignUp {
  read(db: Db, access: AppAccess): Promise<SignUpState>;
  save(db: Db, access: AppAccess, mode: SignUp, now: Date): Promise<void>;
}

export interface SignUpState {
  readonly mode: SignUp;
  /** False until somebody has changed the settings. Sign-up is closed until then. */
  readonly isChosen: boolean;
  /** Whether the installation can send e-mail, without which nobody can sign up. */
  readonly canMail: boolean;
}

export type SignUp = 'closed' | 'invited' | 'open';

export interface SignUpChange {
  readonly mode: SignUp;
  /** The mode when the assistant read it. */
  readonly seen: SignUp;
}

export type SchemaDocument = Readonly<Record<string, unknown>>;

export interface StoredSchema {
  readonly name: string;
  readonly document: SchemaDocument;
  readonly revision: number;
}

export interface SchemaPreview {
  readonly created: boolean;
  /** Operations that have no rule, so app users and anonymous callers can't perform them. */
  readonly closed_operations: readonly string[];
  /** Operations that everybody may perform, even without signing in. */
  readonly open_operations: readonly string[];
  readonly impact: {
    readonly records: number;
    readonly violating_records: number;
    readonly fields_removed: readonly string[];
  };
}

/** A file's new text. A null `text` deletes the file. */
export interface FileChange {
  readonly path: string;
  readonly text: string | null;
}

/** The files and schemas that a step has seen and changed. */
export interface DraftChanges {
  /** Whether this step added the starter because the app had no files. */
  readonly begins_with_starter: boolean;
  /** The hash of each file seen, or null if the file did not exist. */
  readonly seen_files: Readonly<Record<string, string | null>>;
  /** The revision of each schema seen, or 0 if the schema did not exist. */
  readonly seen_schemas: Readonly<Record<string, number>>;
  readonly files: Readonly<Record<string, string | null>>;
  readonly schemas: Readonly<Record<string, SchemaDocument>>;
  /** Who may sign up from now on, if the step has set it. */
  readonly sign_up?: SignUpChange;
}

export type DraftFile = { readonly text: string } | { readonly binaryBytes: number };

export interface DraftDeps {
  readonly files: AppFiles;
  readonly schemas: AppSchemas;
  /** An empty app's initial files. */
  readonly starter: ReadonlyMap<string, string>;
}

export type Draft = ReturnType<typeof createDraft>;

/** Creates a turn's draft from the changes recorded by its earlier steps. */
export function createDraft({ files, schemas, starter }: DraftDeps, earlier: readonly DraftChanges[]) {
  const record = createRecord(earlier);
  const { seenFiles, seenSchemas, changedFiles, changedSchemas } = record;
  let hasStarter = earlier.some(({ begins_with_starter }) => begins_with_starter);

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
    /** Whether the turn has changed anything other than adding the starter. */
    get isChanged(): boolean {
      const isChange = ([path, text]: [string, string | null]) => !hasStarter || text !== starter.get(path);
      return changedSchemas.size > 0 || [...changedFiles].some(isChange);
    },
    /** Who may sign up from now on, or `undefined` if the turn has not set it. */
    get signUp(): SignUpChange | undefined {
      return record.signUp;
    },
    setSignUp: record.setSignUp,
    /** All bytes that the turn has written, including those it has since replaced. */
    get writtenBytes(): number {
      return record.writtenBytes;
    },
    get seen(): { files: ReadonlyMap<string, string | null>; schemas: ReadonlyMap<string, number> } {
      return { files: seenFiles, schemas: seenSchemas };
    },
    /** A short hash of all changes. If a change is undone, the hash returns to its earlier value. */
    get digest(): string {
      return record.digest;
    },

    /** Lists the draft's files by path, with their sizes. */
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
      if (!changedFiles.has(path)) record.sawFile(path, stored.get(path)?.sha256 ?? null);
      return found.get(path);
    },
    /** The file's bytes, as a browser would receive them. The file does not count as seen. */
    async readBytes(db: Db, access: AppAccess, path: string): Promise<Buffer | undefined> {
      const text = changedFiles.get(path);
      if (text !== undefined) return text === null ? undefined : Buffer.from(text);
      return (await files.read(db, access, [path]))[0]?.content;
    },
    /** Reads many files, for a search. The files do not count as seen. */
    scanFiles: async (db: Db, access: AppAccess, paths: readonly string[]): Promise<ReadonlyMap<string, DraftFile>> =>
      (await readFiles(db, access, paths)).found,
    /** Writes the starter if the app has no files. */
    async begin(db: Db, access: AppAccess): Promise<void> {
      if ((await this.listFiles(db, access)).length > 0) return;
      hasStarter = true;
      record.beginWithStarter();
      for (const [path, text] of starter) {
        record.sawFile(path, null);
        record.changeFile(path, text);
      }
    },
    /** The file must have been read before. */
    writeFile: (path: string, text: string): void => record.changeFile(path, text),
    removeFile: (path: string): void => record.changeFile(path, null),

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
      record.sawSchema(name, stored?.revision ?? 0);
      return stored?.document;
    },
    /** The schema must have been read before. */
    saveSchema: record.changeSchema,
    takeStep: record.takeStep,
  };
}

/** Records the whole turn's changes, and separately the current step's changes. */
function createRecord(earlier: readonly DraftChanges[]) {
  const seenFiles = new Map<string, string | null>();
  const seenSchemas = new Map<string, number>();
  const changedFiles = new Map<string, string | null>();
  const changedSchemas = new Map<string, SchemaDocument>();
  const hashes = new Map<string, string>();
  let writtenBytes = 0;
  let signUp: SignUpChange | undefined;
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
  const applySignUp = (change: SignUpChange) => {
    hashes.set('sign-up', change.mode);
    signUp = change;
  };
  for (const step of earlier) {
    if (step.sign_up !== undefined) applySignUp(step.sign_up);
    for (const [path, sha256] of Object.entries(step.seen_files)) seenFiles.set(path, sha256);
    for (const [name, revision] of Object.entries(step.seen_schemas)) seenSchemas.set(name, revision);
    for (const [path, text] of Object.entries(step.files)) setFile(path, text);
    for (const [name, schema] of Object.entries(step.schemas)) setSchema(name, schema);
  }

  return {
    seenFiles,
    seenSchemas,
    changedFiles,
    changedSchemas,
    get writtenBytes(): number {
      return writtenBytes;
    },
    get signUp(): SignUpChange | undefined {
      return signUp;
    },
    get digest(): string {
      return hash(JSON.stringify([...hashes].toSorted(([a], [b]) => (a < b ? -1 : 1))));
    },
    // Only the first version that the turn saw counts.
    sawFile(path: string, sha256: string | null): void {
      if (seenFiles.has(path)) return;
      seenFiles.set(path, sha256);
      current.seen_files[path] = sha256;
    },
    sawSchema(name: string, revision: number): void {
      if (seenSchemas.has(name)) return;
      seenSchemas.set(name, revision);
      current.seen_schemas[name] = revision;
    },
    beginWithStarter(): void {
      current.begins_with_starter = true;
    },
    changeFile(path: string, text: string | null): void {
      setFile(path, text);
      current.files[path] = text;
    },
    changeSchema(name: string, document: SchemaDocument): void {
      setSchema(name, document);
      current.schemas[name] = document;
    },
    setSignUp(change: SignUpChange): void {
      applySignUp(change);
      current.sign_up = change;
    },
    /** Returns everything seen and changed since the last call, for the current step's record. */
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
  sign_up?: SignUpChange;
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

/** A file with NUL characters is not text, whatever its encoding claims. */
function toDraftFile({ content, encoding, size }: StoredFile): DraftFile {
  if (encoding === 'base64' || content.includes(0)) return { binaryBytes: size };
  return { text: content.toString('utf8') };
}
