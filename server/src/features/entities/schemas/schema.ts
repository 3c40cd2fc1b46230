// Owns the schemas of an app: each change is one revision of the app, whole or not at all (docs/contract.md §5.2).
import canonicalize from 'canonicalize';
import { audit } from '../../../core/audit/audit.ts';
import type { AppAccess } from '../../../core/auth/proofs.ts';
import { incrementRevision } from '../../../core/identity/apps.ts';
import { takeAdvisoryLock, transaction } from '../../../kit/db/database.ts';
import { withNotes } from '../../../kit/http/answer.ts';
import { type Fault, ValidationError } from '../../../kit/http/faults.ts';
import { limitReached, notFound, Problem } from '../../../kit/problem.ts';
import type { Db } from '../../../tables.ts';
import { parseSchema } from './document.ts';
import type { EntitySchema } from './field.ts';
import { impactOf } from './impact.ts';
import { keysFor } from './keys.ts';
import { implicitSchema, storedSchema } from './schema-cache.ts';
import {
  countByEntity,
  countOf,
  findSchema,
  hasMoreThan,
  listSchemas,
  lockSchema,
  removeSchema,
  saveSchema,
} from './store.ts';
import { nothingFound } from './values.ts';

const maxEntities = 100;
const mostThrownAway = 5_000; // as many as one call deletes

type Document = Readonly<Record<string, unknown>>;
type Row = Awaited<ReturnType<typeof listSchemas>>[number];

export async function listEntitySchemas(db: Db, access: AppAccess) {
  const [rows, counts] = [await listSchemas(db, access), await countByEntity(db, access)];
  return rows.map((row) => presentSchema(row, counts.get(row.name) ?? 0));
}

export const getEntitySchema = async (db: Db, access: AppAccess & { entity: Row }) =>
  presentSchema(access.entity, await countOf(db, access, access.entity.name));

const presentSchema = (row: Row, record_count: number) => ({
  name: row.name,
  schema: row.document as Document,
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
  const schema = readAll([{ document, loc: ['body'] }], name)[0] as EntitySchema;
  const records = await countOf(db, access, name); // before anybody waits for us
  return transaction(db, async (db) => {
    await lockSchemas(db, access);
    const before = await findSchema(db, access, name);
    const had = before?.revision ?? 0;
    if (expected_revision !== undefined && expected_revision !== had) throw conflict(had);
    const known = before === undefined ? implicitSchema(name) : storedSchema(before.document);
    const { impact, isWhole } = await impactOf(db, access, known, schema, records);
    const isSame = before !== undefined && isSameDocument(before.document, document);
    const revision = isSame || dry_run ? had : await save(db, access, [{ schema, document, before }], now);
    return withNotes(
      { name, schema: document, revision, created: before === undefined, impact },
      {
        warnings: warningsOf([schema]),
        ...(!isWhole && { partial: ['impact.violating_records', 'impact.newly_open'] }),
        ...((isSame || dry_run) && { changed: false as const }),
      },
    );
  });
}

export interface SyncInput {
  readonly schemas: readonly Document[];
  readonly delete_missing?: boolean | undefined;
  readonly dry_run?: boolean | undefined;
}

/** All or nothing: the app's schemas become what was sent, in one revision. */
export async function syncEntitySchemas(db: Db, access: AppAccess, input: SyncInput, now: Date) {
  const schemas = readAll(input.schemas.map((document, index) => ({ document, loc: ['body', 'schemas', index] })));
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
    const gone = input.delete_missing ? [...known.values()].filter((row) => !names.has(row.name)) : [];
    await refuseInUse(db, access, gone);
    const isChange = changed.length > 0 || gone.length > 0;
    if (isChange && !input.dry_run) {
      const revision =
        changed.length > 0 ? await save(db, access, changed, now) : await incrementRevision(db, access, now);
      for (const row of gone) await remove(db, access, row, revision, now);
    }
    const named = (which: typeof changed) => which.map(({ schema }) => schema.name);
    return withNotes(
      {
        created: named(changed.filter(({ before }) => before === undefined)),
        updated: named(changed.filter(({ before }) => before !== undefined)),
        deleted: gone.map((row) => row.name),
      },
      { warnings: warningsOf(schemas), ...((!isChange || input.dry_run) && { changed: false as const }) },
    );
  });
}

/** What throws an entity's records away, with all that this entails. */
export type ThrowAway = (db: Db, access: AppAccess, name: string, now: Date) => Promise<void>;

export async function deleteEntitySchema(
  db: Db,
  access: AppAccess & { entity: Row },
  throwAway: ThrowAway | undefined,
  now: Date,
) {
  return transaction(db, async (db) => {
    await lockSchemas(db, access);
    const row = await findSchema(db, access, access.entity.name);
    if (row === undefined) throw notFound('entity_not_found'); // another was first
    await refuseInUse(db, access, [row], throwAway === undefined ? 0 : mostThrownAway);
    await throwAway?.(db, access, row.name, now);
    await remove(db, access, row, await incrementRevision(db, access, now), now);
    return { success: true } as const;
  });
}

/** Schemas of an app change in turns. */
const lockSchemas = (db: Db, { app }: AppAccess) => takeAdvisoryLock(db, `entity schemas of ${app.id}`);

/** All that can be wrong with the documents, at once. */
function readAll(sent: readonly { document: Document; loc: Fault['loc'] }[], named?: string): EntitySchema[] {
  const faults: Fault[] = [];
  const schemas: EntitySchema[] = [];
  const names = new Set<unknown>();
  const matching = nothingFound();
  for (const { document, loc } of sent) {
    const at = [...loc, 'name'];
    const parsed = parseSchema(document, loc, matching);
    if ('faults' in parsed) faults.push(...parsed.faults);
    else schemas.push(parsed.schema);
    if (named !== undefined && document.name !== named)
      faults.push({ loc: at, msg: 'must be the name in the path', type: 'schema_syntax' });
    if (names.has(document.name)) faults.push({ loc: at, msg: 'must not repeat a name', type: 'duplicate_items' });
    names.add(document.name);
  }
  if (faults.length > 0) throw new ValidationError(faults);
  return schemas;
}

interface Change {
  readonly schema: EntitySchema;
  readonly document: Document;
  readonly before: Row | undefined;
}

async function save(db: Db, access: AppAccess, changes: readonly Change[], now: Date): Promise<number> {
  const revision = await incrementRevision(db, access, now);
  for (const { schema, document, before } of changes) {
    const keys = keysFor(schema, revision, before?.keys ?? []).map((key) => key.name);
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
    throw limitReached(maxEntities, 'entities', `An app has at most ${maxEntities} entities.`);
  return revision;
}

async function remove(db: Db, access: AppAccess, row: Row, revision: number, now: Date): Promise<void> {
  await removeSchema(db, access, row.name);
  const target = { kind: 'entity_schema', id: row.name };
  const [before, after] = [{ revision: row.revision }, { revision }];
  await audit(db, access, { type: 'entity_schema.deleted', target, app_id: access.app.id, before, after }, now);
}

/** Also keeps records from being made until it is done. */
async function refuseInUse(db: Db, access: AppAccess, rows: readonly Row[], most = 0): Promise<void> {
  const used: string[] = [];
  for (const { name } of rows) {
    await lockSchema(db, access, name);
    if (await hasMoreThan(db, access, name, most)) used.push(name);
  }
  if (used.length === 0) return;
  throw new Problem(
    'conflict',
    'schema_in_use',
    most > 0 ? `There are more than ${most} records of this entity.` : 'There are records of this entity.',
    {
      members: { entity_names: used },
      retrySafe: false,
    },
  );
}

/** The same members with the same values; an order is no change. */
const isSameDocument = (a: unknown, b: unknown): boolean => canonicalize(a) === canonicalize(b);

const rowOperations = ['create', 'read', 'update', 'delete'] as const;

/** Rules that nobody wrote: everyone who is signed in may. */
function warningsOf(schemas: readonly EntitySchema[]): string[] {
  const open = rowOperations.filter((op) => schemas.some(({ rules }) => rules[op] === 'missing'));
  return open.length > 0 ? [`rule_missing:${open.join('+')}`] : [];
}

const conflict = (revision: number) =>
  new Problem('conflict', 'revision_conflict', 'The schema has changed since you read it.', {
    members: { revision },
    retrySafe: false,
  });
