// The operations on an app's schemas. Each change creates one revision of the app
// (docs/api/entities.md#schema-operations).
import canonicalize from 'canonicalize';
import { audit } from '../../../core/audit/audit.ts';
import type { AppAccess } from '../../../core/auth/proofs.ts';
import { incrementRevision } from '../../../core/identity/apps.ts';
import type { StorageQuota } from '../../../core/storage/quota.ts';
import { takeAdvisoryLock, transaction } from '../../../kit/db/database.ts';
import { withNotes } from '../../../kit/http/answer.ts';
import { type Fault, ValidationError } from '../../../kit/http/faults.ts';
import { limitReached, notFound, Problem } from '../../../kit/problem.ts';
import type { Db } from '../../../tables.ts';
import { listMissingRules, listOpenRules, rowOperations } from '../rules/grammar.ts';
import { parseSchema } from './document.ts';
import type { EntitySchema } from './field.ts';
import { measureImpact } from './impact.ts';
import { deriveKeys } from './keys.ts';
import { listNewlyOpened, newAuditBudget } from './openings-apart.ts';
import { findImplicitSchema, parseStoredSchema } from './schema-cache.ts';
import {
  countRecords,
  countRecordsByEntity,
  findSchema,
  hasMoreRecordsThan,
  listSchemas,
  lockSchema,
  lockSchemaName,
  removeSchema,
  saveSchema,
} from './store.ts';
import { newValidation } from './values.ts';

export const maxEntities = 100;
const maxTrashedWithSchema = 5_000; // the same as for one deleteRecords call

type Document = Readonly<Record<string, unknown>>;
type SchemaRow = Awaited<ReturnType<typeof listSchemas>>[number];
type RemovedSchema = Pick<SchemaRow, 'name' | 'revision'>;

export async function listEntitySchemas(db: Db, access: AppAccess) {
  const [rows, counts] = [await listSchemas(db, access), await countRecordsByEntity(db, access)];
  return rows.map((row) => presentSchema(row, counts.get(row.name) ?? 0));
}

export const getEntitySchema = async (db: Db, access: AppAccess & { entity: SchemaRow }) =>
  presentSchema(access.entity, await countRecords(db, access, access.entity.name));

const presentSchema = (row: SchemaRow, record_count: number) => ({
  name: row.name,
  schema: row.document as Document,
  closed_operations: listClosedOperations(row.document as Document),
  revision: row.revision,
  record_count,
  updated_date: row.updated_date.toISOString(),
});

/** Throws 402 if the workspace has no space for what the history keeps. */
export type SchemaSpace = Pick<StorageQuota, 'admit'>;

export interface PutOptions {
  readonly dry_run?: boolean | undefined;
  readonly expected_revision?: number | undefined;
}

export async function putEntitySchema(
  db: Db,
  storage: SchemaSpace,
  access: AppAccess,
  {
    name,
    document,
    options: { dry_run, expected_revision },
  }: { readonly name: string; readonly document: Document; readonly options: PutOptions },
  now: Date,
) {
  const schema = parseDocuments([{ document, loc: ['body'] }], name)[0] as EntitySchema;
  const records = await countRecords(db, access, name); // before taking the lock, because counting can be slow
  return transaction(db, async (db) => {
    await lockSchemas(db, access);
    const before = await findSchema(db, access, name);
    const currentRevision = before?.revision ?? 0;
    if (expected_revision !== undefined && expected_revision !== currentRevision)
      throw revisionConflict(currentRevision);
    const known = before === undefined ? findImplicitSchema(name) : parseStoredSchema(before.document);
    const { impact, partial } = await measureImpact(db, access, { before: known, after: schema, records }, now);
    const isSame = before !== undefined && isSameDocument(before.document, document);
    const revision =
      isSame || dry_run
        ? currentRevision
        : await saveAsRevision(db, storage, access, [{ schema, document, before }], now);
    return withNotes(
      {
        name,
        schema: document,
        closed_operations: listClosedOperations(document),
        revision,
        created: before === undefined,
        impact,
      },
      {
        warnings: listWarnings([document]),
        ...(partial.length > 0 && { partial }),
        ...((isSame || dry_run) && { changed: false as const }),
      },
    );
  });
}

/** Describes the effect of saving a schema without saving it. Throws the same errors as `putEntitySchema`. */
export const previewEntitySchema = async (db: Db, access: AppAccess, name: string, document: Document, now: Date) => ({
  ...(await putEntitySchema(db, unlimited, access, { name, document, options: { dry_run: true } }, now)).body,
  open_operations: listOpenRules(document.rls),
});

export interface SyncInput {
  readonly schemas: readonly Document[];
  readonly delete_missing?: boolean | undefined;
  readonly dry_run?: boolean | undefined;
}

export interface SyncDeps {
  readonly storage: SchemaSpace;
  readonly listNamedEntities: ListNamedEntities;
}

/** Creates, replaces and (with `delete_missing`) deletes schemas in one revision, all or nothing. */
export async function syncEntitySchemas(
  db: Db,
  { storage, listNamedEntities }: SyncDeps,
  access: AppAccess,
  input: SyncInput,
  now: Date,
) {
  const schemas = parseDocuments(
    input.schemas.map((document, index) => ({ document, loc: ['body', 'schemas', index] })),
  );
  return transaction(db, async (db) => {
    await lockSchemas(db, access);
    const known = new Map((await listSchemas(db, access)).map((row) => [row.name, row]));
    const sent = schemas.map((schema, index) => ({
      schema,
      document: input.schemas[index] as Document,
      before: known.get(schema.name),
    }));
    const changed = sent.filter(({ document, before }) => !before || !isSameDocument(before.document, document));
    const names = new Set(schemas.map((schema) => schema.name));
    const removed = input.delete_missing ? [...known.values()].filter((row) => !names.has(row.name)) : [];
    await refuseInUse(db, access, removed);
    await refuseNamed(db, access, removed, listNamedEntities);
    const isChange = changed.length > 0 || removed.length > 0;
    if (isChange && !input.dry_run) {
      const revision =
        changed.length > 0
          ? await saveAsRevision(db, storage, access, changed, now)
          : await incrementRevision(db, access, { cause: 'schema' }, now);
      for (const row of removed) await removeWithAudit(db, access, row, revision, now);
    }
    const named = (which: typeof changed) => which.map(({ schema }) => schema.name);
    return withNotes(
      {
        created: named(changed.filter(({ before }) => before === undefined)),
        updated: named(changed.filter(({ before }) => before !== undefined)),
        deleted: removed.map((row) => row.name),
      },
      { warnings: listWarnings(input.schemas), ...((!isChange || input.dry_run) && { changed: false as const }) },
    );
  });
}

/**
 * Creates and replaces schemas as part of `revision`, which the caller has started with `incrementRevision` in its own
 * transaction, after calling `lockSchemas`. Identical schemas are left unchanged.
 */
export async function applySchemas(
  db: Db,
  storage: SchemaSpace,
  access: AppAccess,
  { documents, revision }: { readonly documents: readonly Document[]; readonly revision: number },
  now: Date,
): Promise<void> {
  // Documents are parsed one by one, as in the preview, because the pattern budget is meant for a single document.
  const schemas = documents.flatMap((document) => parseDocuments([{ document, loc: [String(document.name)] }]));
  const known = new Map((await listSchemas(db, access)).map((row) => [row.name, row]));
  const changes = schemas.map((schema, index) => ({
    schema,
    document: documents[index] as Document,
    before: known.get(schema.name),
  }));
  const changed = changes.filter(({ document, before }) => !before || !isSameDocument(before.document, document));
  if (changed.length > 0) await saveChanges(db, storage, access, { changes: changed, revision }, now);
}

/** Moves all of an entity's records to the trash, with their keys and events. */
export type TrashAllRecords = (db: Db, access: AppAccess, name: string, now: Date) => Promise<void>;

export async function deleteEntitySchema(
  db: Db,
  access: AppAccess & { entity: SchemaRow },
  trashAllRecords: TrashAllRecords | undefined,
  listNamed: ListNamedEntities,
  now: Date,
) {
  return transaction(db, async (db) => {
    await lockSchemas(db, access);
    const row = await findSchema(db, access, access.entity.name);
    if (row === undefined) throw notFound('entity_not_found'); // a concurrent request deleted it
    await refuseInUse(db, access, [row], trashAllRecords === undefined ? 0 : maxTrashedWithSchema);
    await refuseNamed(db, access, [row], listNamed);
    await trashAllRecords?.(db, access, row.name, now);
    await removeWithAudit(db, access, row, await incrementRevision(db, access, { cause: 'schema' }, now), now);
    return { success: true } as const;
  });
}

/**
 * Makes changes to an app's schemas run one at a time. Callers that also lock the app's row must take this lock first.
 */
export const lockSchemas = (db: Db, { app }: AppAccess) => takeAdvisoryLock(db, `entity schemas of ${app.id}`);

/** Throws a ValidationError with the faults from all documents. */
function parseDocuments(
  documents: readonly { document: Document; loc: Fault['loc'] }[],
  nameInPath?: string,
): EntitySchema[] {
  const faults: Fault[] = [];
  const schemas: EntitySchema[] = [];
  const names = new Set<unknown>();
  const patternBudget = newValidation();
  for (const { document, loc } of documents) {
    const at = [...loc, 'name'];
    const parsed = parseSchema(document, loc, 'new', patternBudget);
    if ('faults' in parsed) faults.push(...parsed.faults);
    else schemas.push(parsed.schema);
    if (nameInPath !== undefined && document.name !== nameInPath)
      faults.push({ loc: at, msg: 'must match the name in the path', type: 'schema_syntax' });
    if (names.has(document.name))
      faults.push({ loc: at, msg: 'must be unique within the request', type: 'duplicate_items' });
    names.add(document.name);
  }
  if (faults.length > 0) throw new ValidationError(faults);
  return schemas;
}

interface SchemaChange {
  readonly schema: EntitySchema;
  readonly document: Document;
  readonly before: SchemaRow | undefined;
}

async function saveAsRevision(
  db: Db,
  storage: SchemaSpace,
  access: AppAccess,
  changes: readonly SchemaChange[],
  now: Date,
): Promise<number> {
  const revision = await incrementRevision(db, access, { cause: 'schema' }, now);
  await saveChanges(db, storage, access, { changes, revision }, now);
  return revision;
}

/** What a version counts beside its name and document (core/storage/stored-tables.ts). */
const versionBytes = 200;

/**
 * What the history keeps of a change: the document that is replaced. A new document counts once it is replaced or
 * deleted, and deleting is never refused, so it needs the space before it is saved.
 */
const measureKept = ({ schema, document, before }: SchemaChange): number =>
  versionBytes + Buffer.byteLength(schema.name) + Buffer.byteLength(JSON.stringify(before?.document ?? document));

/** What a schema counts besides its document (core/storage/stored-tables.ts). */
const schemaBytes = 500;

const measureGrowth = ({ document, before }: SchemaChange): number =>
  Buffer.byteLength(JSON.stringify(document)) -
  (before === undefined ? -schemaBytes : Buffer.byteLength(JSON.stringify(before.document)));

const sumBytes = (changes: readonly SchemaChange[], measure: (change: SchemaChange) => number): number =>
  changes.reduce((sum, change) => sum + measure(change), 0);

/** For changes that are made at a full quota too. */
export const unlimited: SchemaSpace = { admit: () => undefined };

async function saveChanges(
  db: Db,
  storage: SchemaSpace,
  access: AppAccess,
  { changes, revision }: { readonly changes: readonly SchemaChange[]; readonly revision: number },
  now: Date,
): Promise<void> {
  await storage.admit(db, access, sumBytes(changes, measureKept) + sumBytes(changes, measureGrowth), now);
  const budget = newAuditBudget();
  for (const { schema, document, before } of changes) {
    const known = before === undefined ? undefined : parseStoredSchema(before.document);
    const newly_open = listNewlyOpened(known, schema, now, budget);
    const keys = deriveKeys(schema, revision, before?.keys ?? []).map((key) => key.name);
    await saveSchema(db, access, { name: schema.name, document, keys, revision }, now);
    await audit(
      db,
      access,
      {
        type: before === undefined ? 'entity_schema.created' : 'entity_schema.updated',
        target: { kind: 'entity_schema', id: schema.name },
        app_id: access.app.id,
        before: before === undefined ? null : { revision: before.revision, rls: (before.document as Document).rls },
        after: { revision, rls: document.rls, newly_open },
      },
      now,
    );
  }
  if ((await listSchemas(db, access)).length > maxEntities)
    throw limitReached(maxEntities, 'entities', `An app can have at most ${maxEntities} entities. Delete one first.`);
}

/** Removes a schema as part of `revision`. */
export async function removeWithAudit(
  db: Db,
  access: AppAccess,
  row: RemovedSchema,
  revision: number,
  now: Date,
): Promise<void> {
  await removeSchema(db, access, row.name);
  const target = { kind: 'entity_schema', id: row.name };
  const [before, after] = [{ revision: row.revision }, { revision }];
  await audit(db, access, { type: 'entity_schema.deleted', target, app_id: access.app.id, before, after }, now);
}

/** Throws if an entity has more than `max` records. The lock prevents new records until the commit. */
async function refuseInUse(db: Db, access: AppAccess, rows: readonly SchemaRow[], max = 0): Promise<void> {
  const used: string[] = [];
  for (const { name } of rows) {
    await lockSchema(db, access, name);
    if (await hasMoreRecordsThan(db, access, name, max)) used.push(name);
  }
  if (used.length === 0) return;
  throw new Problem(
    'conflict',
    'schema_in_use',
    max > 0
      ? `The entity has more than ${max} records. Delete records with deleteRecords first.`
      : 'The entity has records. Delete them first, or call deleteEntitySchema with `delete_records=true`.',
    {
      members: { entity_names: used },
      retrySafe: false,
    },
  );
}

/** Returns the entities among `names` that are referenced elsewhere in the app, for example by an automation. */
export type ListNamedEntities = (db: Db, access: AppAccess, names: readonly string[]) => Promise<readonly string[]>;

/**
 * Requires the schemas to be locked. A transaction that adds a reference to an entity also locks its schema
 * (`hasEntity`).
 */
async function refuseNamed(
  db: Db,
  access: AppAccess,
  rows: readonly SchemaRow[],
  listNamed: ListNamedEntities,
): Promise<void> {
  const named = await listNamed(
    db,
    access,
    rows.map(({ name }) => name),
  );
  if (named.length === 0) return;
  throw new Problem(
    'conflict',
    'schema_in_use',
    'An automation, workflow or conversion mapping in this app uses the entity. Change or delete it first.',
    {
      members: { entity_names: [...new Set(named)].toSorted() },
      retrySafe: false,
    },
  );
}

/** Whether the app has the entity. Its schema can't be deleted until the transaction ends. */
export const hasEntity = async (db: Db, access: AppAccess, name: string): Promise<boolean> =>
  (await lockSchemaName(db, access, name)) !== undefined || findImplicitSchema(name) !== undefined;

/**
 * An entity's field names, or undefined if the app does not have the entity. Its schema can't be deleted until the
 * transaction ends.
 */
export async function listFieldNames(db: Db, access: AppAccess, name: string): Promise<string[] | undefined> {
  if (!(await hasEntity(db, access, name))) return undefined;
  const row = await findSchema(db, access, name);
  const schema = row === undefined ? findImplicitSchema(name) : parseStoredSchema(row.document);
  return [...(schema?.fields.keys() ?? [])];
}

/** Whether the documents are equal. The order of members does not matter. */
const isSameDocument = (a: unknown, b: unknown): boolean => canonicalize(a) === canonicalize(b);

/**
 * Operations without a rule, which are therefore closed to app users and anonymous callers. `User` is open without
 * rules.
 */
const listClosedOperations = ({ name, rls }: Document) => (name === 'User' ? [] : listMissingRules(rls));

/** Warns about operations without a rule, and about those that are open to everybody. */
function listWarnings(documents: readonly Document[]): string[] {
  const warn = (code: string, list: typeof listOpenRules) => {
    const found = new Set(documents.flatMap(({ rls }) => list(rls)));
    const inOrder = rowOperations.filter((operation) => found.has(operation));
    return inOrder.length > 0 ? [`${code}:${inOrder.join('+')}`] : [];
  };
  return [...warn('rule_missing', listMissingRules), ...warn('rule_open', listOpenRules)];
}

const revisionConflict = (revision: number) =>
  new Problem(
    'conflict',
    'revision_conflict',
    'The schema has changed since you read it. Read it again, then repeat your change.',
    {
      members: { revision },
      retrySafe: false,
    },
  );
