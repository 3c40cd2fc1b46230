// What features use to change schemas without opening anything that nobody has agreed to: finding what would open, holding
// it back, and applying it once a person has agreed.
import type { AppAccess } from '../../../core/auth/proofs.ts';
import { isStatementTimeout } from '../../../kit/db/failures.ts';
import type { Db } from '../../../tables.ts';
import { isObject } from '../rules/values.ts';
import {
  type HeldOperation,
  type HeldRule,
  listOpenings,
  type SeparationInput,
  separateOpenings,
  withHeldRule,
} from './openings-apart.ts';
import { applySchemas, type SchemaSpace } from './schema.ts';
import { findSchema, hasStoredRecords, listSchemas, listStoredFields, lockSchema } from './store.ts';

type Document = Readonly<Record<string, unknown>>;

interface FoundOpenings {
  readonly held: readonly (HeldRule & { readonly entity: string })[];
  /** The entities without records. If one gets its first record meanwhile, more may open. */
  readonly withoutRecords: readonly string[];
}

export interface HeldChanges extends FoundOpenings {
  /** The documents to save instead of those that were given. */
  readonly documents: readonly Document[];
}

/** Throws a ValidationError if a document is not valid, or if the present rules of an entity can't stay. */
export async function separateChanges(
  db: Db,
  access: AppAccess,
  documents: readonly Document[],
  now: Date,
): Promise<HeldChanges> {
  const kept: Document[] = [];
  const found = await findInDocuments(db, access, documents, (input) => {
    const { document, held } = separateOpenings(input, now);
    kept.push(document);
    return held;
  });
  return { ...found, documents: kept };
}

/** Finds what saving the documents as they are would open. Throws a ValidationError if one is not valid. */
export const findNewlyOpened = (
  db: Db,
  access: AppAccess,
  documents: readonly Document[],
  now: Date,
): Promise<FoundOpenings> => findInDocuments(db, access, documents, (input) => listOpenings(input, now));

async function findInDocuments(
  db: Db,
  access: AppAccess,
  documents: readonly Document[],
  find: (input: SeparationInput) => readonly HeldRule[],
): Promise<FoundOpenings> {
  const stored = new Map((await listSchemas(db, access)).map((row) => [row.name, row.document as Document]));
  const held: (HeldRule & { entity: string })[] = [];
  const withoutRecords: string[] = [];
  for (const after of documents) {
    const entity = String(after.name);
    const before = stored.get(entity);
    const hasRecords = await hasStoredRecords(db, access, entity);
    if (!hasRecords) withoutRecords.push(entity);
    const storedFields = hasRecords ? await findStoredFields(db, access, before, after) : [];
    held.push(...find({ before, after, hasRecords, storedFields }).map((rule) => ({ ...rule, entity })));
  }
  return { held, withoutRecords };
}

/** Finds new fields of an entity for which stored records have values from before a field of that name was removed. */
async function findStoredFields(db: Db, access: AppAccess, before: Document | undefined, after: Document) {
  const known = isObject(before?.properties) ? before.properties : {};
  const added = Object.keys(isObject(after.properties) ? after.properties : {}).filter(
    (name) => !Object.hasOwn(known, name),
  );
  if (before === undefined || added.length === 0) return [];
  try {
    return await listStoredFields(db, access, String(after.name), added);
  } catch (error) {
    if (isStatementTimeout(error)) return added; // there may be values
    throw error;
  }
}

/** Lists those of the entities that have records. Until the transaction ends, the others can't get any. */
export async function listWithRecords(db: Db, access: AppAccess, names: readonly string[]): Promise<string[]> {
  const used: string[] = [];
  for (const name of names) {
    await lockSchema(db, access, name);
    if (await hasStoredRecords(db, access, name)) used.push(name);
  }
  return used;
}

export interface RuleToApply {
  readonly entity: string;
  readonly operation: HeldOperation;
  readonly rule: unknown;
}

/** Applies a rule that was held, as part of `revision`, which the caller has started (`applySchemas`). */
export async function applyHeldRule(
  db: Db,
  storage: SchemaSpace,
  access: AppAccess,
  { entity, operation, rule, revision }: RuleToApply & { readonly revision: number },
  now: Date,
): Promise<void> {
  const row = await findSchema(db, access, entity);
  if (row === undefined) throw new Error('the entity of the held rule does not exist'); // its revision was checked
  const documents = [withHeldRule(row.document as Document, operation, rule)];
  await applySchemas(db, storage, access, { documents, revision }, now);
}
