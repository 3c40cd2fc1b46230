// Owns the operations on an app's schemas. Each change is one revision of the app (docs/api/entities.md#schema-operations).
import canonicalize from 'canonicalize';
import { audit } from '../../../core/audit/audit.ts';
import type { AppAccess } from '../../../core/auth/proofs.ts';
import { incrementRevision } from '../../../core/identity/apps.ts';
import { takeAdvisoryLock, transaction } from '../../../kit/db/database.ts';
import { withNotes } from '../../../kit/http/answer.ts';
import { type Fault, ValidationError } from '../../../kit/http/faults.ts';
import { limitReached, notFound, Problem } from '../../../kit/problem.ts';
import type { Db } from '../../../tables.ts';
import { listMissingRules, rowOperations } from '../rules/grammar.ts';
import { parseSchema } from './document.ts';
import type { EntitySchema } from './field.ts';
import { measureImpact } from './impact.ts';
import { deriveKeys } from './keys.ts';
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
const maxTrashedWithSchema = 5_000; // as many as one call of deleteRecords

type Document = Readonly<Record<string, unknown>>;
type SchemaRow = Awaited<ReturnType<typeof listSchemas>>[number];

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

export interface PutOptions {
  readonly dry_run?: boolean | undefined;
  readonly expected_revision?: number | undefined;
}

export async function putEntitySchema(
  db: Db,
  access: AppAccess,
  name: string,
  document: Document,
  { dry_run, expected_revision }: PutOptions,
  now: Date,
) {
  const schema = parseDocuments([{ document, loc: ['body'] }], name)[0] as EntitySchema;
  const records = await countRecords(db, access, name); // before the lock, because counting may take long
  return transaction(db, async (db) => {
    await lockSchemas(db, access);
    const before = await findSchema(db, access, name);
    const currentRevision = before?.revision ?? 0;
    if (expected_revision !== undefined && expected_revision !== currentRevision)
      throw revisionConflict(currentRevision);
    const known = before === undefined ? findImplicitSchema(name) : parseStoredSchema(before.document);
    const { impact, partial } = await measureImpact(db, access, known, schema, records, now);
    const isSame = before !== undefined && isSameDocument(before.document, document);
    const revision =
      isSame || dry_run ? currentRevision : await saveAsRevision(db, access, [{ schema, document, before }], now);
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

/** What saving a schema would mean. Throws as `putEntitySchema` does, and saves nothing. */
export const previewEntitySchema = async (db: Db, access: AppAccess, name: string, document: Document, now: Date) =>
  (await putEntitySchema(db, access, name, document, { dry_run: true }, now)).body;

export interface SyncInput {
  readonly schemas: readonly Document[];
  readonly delete_missing?: boolean | undefined;
  readonly dry_run?: boolean | undefined;
}

/** Creates, replaces and (with `delete_missing`) deletes schemas in one revision, all or nothing. */
export async function syncEntitySchemas(
  db: Db,
  access: AppAccess,
  input: SyncInput,
  listNamed: ListNamedEntities,
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
    await refuseNamed(db, access, removed, listNamed);
    const isChange = changed.length > 0 || removed.length > 0;
    if (isChange && !input.dry_run) {
      const revision =
        changed.length > 0 ? await saveAsRevision(db, access, changed, now) : await incrementRevision(db, access, now);
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
 * Creates and replaces schemas as part of the revision `revision`, which the caller has begun with `incrementRevision` in its
 * transaction. The caller must have called `lockSchemas` before that. A schema that is the same already is left alone.
 */
export async function applySchemas(
  db: Db,
  access: AppAccess,
  documents: readonly Document[],
  revision: number,
  now: Date,
): Promise<void> {
  // One by one, as each was accepted when it was previewed: the budget of patterns is for one document.
  const schemas = documents.flatMap((document) => parseDocuments([{ document, loc: [String(document.name)] }]));
  const known = new Map((await listSchemas(db, access)).map((row) => [row.name, row]));
  const changes = schemas.map((schema, index) => ({
    schema,
    document: documents[index] as Document,
    before: known.get(schema.name),
  }));
  const changed = changes.filter(({ document, before }) => !before || !isSameDocument(before.document, document));
  if (changed.length > 0) await saveChanges(db, access, changed, revision, now);
}

/** Moves all records of an entity to the trash, with their keys and events. */
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
    await removeWithAudit(db, access, row, await incrementRevision(db, access, now), now);
    return { success: true } as const;
  });
}

/** Changes of an app's schemas run one at a time. Taken before the lock on the app's row, by everybody who takes both. */
export const lockSchemas = (db: Db, { app }: AppAccess) => takeAdvisoryLock(db, `entity schemas of ${app.id}`);

/** Throws a ValidationError with the faults of all documents. */
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
      faults.push({ loc: at, msg: 'must be the name in the path', type: 'schema_syntax' });
    if (names.has(document.name)) faults.push({ loc: at, msg: 'must not repeat a name', type: 'duplicate_items' });
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

async function saveAsRevision(db: Db, access: AppAccess, changes: readonly SchemaChange[], now: Date): Promise<number> {
  const revision = await incrementRevision(db, access, now);
  await saveChanges(db, access, changes, revision, now);
  return revision;
}

async function saveChanges(
  db: Db,
  access: AppAccess,
  changes: readonly SchemaChange[],
  revision: number,
  now: Date,
): Promise<void> {
  for (const { schema, document, before } of changes) {
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
        after: { revision, rls: document.rls },
      },
      now,
    );
  }
  if ((await listSchemas(db, access)).length > maxEntities)
    throw limitReached(maxEntities, 'entities', `An app can have at most ${maxEntities} entities. Delete one first.`);
}

async function removeWithAudit(db: Db, access: AppAccess, row: SchemaRow, revision: number, now: Date): Promise<void> {
  await removeSchema(db, access, row.name);
  const target = { kind: 'entity_schema', id: row.name };
  const [before, after] = [{ revision: row.revision }, { revision }];
  await audit(db, access, { type: 'entity_schema.deleted', target, app_id: access.app.id, before, after }, now);
}

/** Refuses if an entity has more than `max` records. The lock prevents that records are created until the commit. */
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
      : 'The entity has records. Delete them first, or send `delete_records=true` with deleteEntitySchema.',
    {
      members: { entity_names: used },
      retrySafe: false,
    },
  );
}

/** Those of these entities that something else of the app names: an automation, for example. */
export type ListNamedEntities = (db: Db, access: AppAccess, names: readonly string[]) => Promise<readonly string[]>;

/** Called with the schemas locked: whoever names one of them locks it too (`hasEntity`). */
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
    'An automation, a workflow or a conversion mapping of the app names the entity. Change or delete it first.',
    {
      members: { entity_names: [...new Set(named)].toSorted() },
      retrySafe: false,
    },
  );
}

/** Whether the app has the entity. Until the transaction ends, its schema is not deleted. */
export const hasEntity = async (db: Db, access: AppAccess, name: string): Promise<boolean> =>
  (await lockSchemaName(db, access, name)) !== undefined || findImplicitSchema(name) !== undefined;

/** The fields of an entity; undefined if the app has no such entity. Until the transaction ends, its schema is not deleted. */
export async function listFieldNames(db: Db, access: AppAccess, name: string): Promise<string[] | undefined> {
  if (!(await hasEntity(db, access, name))) return undefined;
  const row = await findSchema(db, access, name);
  const schema = row === undefined ? findImplicitSchema(name) : parseStoredSchema(row.document);
  return [...(schema?.fields.keys() ?? [])];
}

/** Whether the documents are equal. The order of members does not matter. */
const isSameDocument = (a: unknown, b: unknown): boolean => canonicalize(a) === canonicalize(b);

/** The operations that app users and anonymous callers can't perform for want of a rule. `User` is open without rules. */
const listClosedOperations = ({ name, rls }: Document) => (name === 'User' ? [] : listMissingRules(rls));

/** Warns of operations without a rule. */
function listWarnings(documents: readonly Document[]): string[] {
  const missing = new Set(documents.flatMap(({ rls }) => listMissingRules(rls)));
  const inOrder = rowOperations.filter((operation) => missing.has(operation));
  return inOrder.length > 0 ? [`rule_missing:${inOrder.join('+')}`] : [];
}

const revisionConflict = (revision: number) =>
  new Problem(
    'conflict',
    'revision_conflict',
    'The schema has changed since you read it. Read it again and repeat your change.',
    {
      members: { revision },
      retrySafe: false,
    },
  );
