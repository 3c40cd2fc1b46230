// Finds access that an app's entity rules open to people unrelated to the records, with evidence: the number of
// records they can reach, and the fields they can see or write.
import { isStatementTimeout } from '../../../kit/db/failures.ts';
import { hold } from '../../../kit/process-time.ts';
import type { Db } from '../../../tables.ts';
import { decideRule } from '../rules/decision/decide.ts';
import { findGoverningRules } from '../rules/field-rules.ts';
import { anonymousCaller, anyUser } from '../rules/openings/callers.ts';
import { listOpenOperations, type OpenOperation, type Stranger } from '../rules/openings/open-rules.ts';
import { parseSchema } from './document.ts';
import type { EntitySchema } from './field.ts';
import { describeFields } from './field-shapes.ts';
import { type AppScope, countAllowedRecords } from './store.ts';
import { newValidation } from './values.ts';

export interface OpenRules {
  readonly entity_name: string;
  /** Never empty. The worst operation comes first. */
  readonly operations: readonly OpenOperation[];
  /**
   * How many of the newest 10,000 records the first operation reaches. 0 for create. Null if the records could not be
   * counted in time.
   */
  readonly reachable_records: number | null;
  /** The names of fields that the first operation shows or sets. */
  readonly sample_fields: readonly string[];
}

export interface SchemaToScan {
  readonly name: string;
  readonly document: Readonly<Record<string, unknown>>;
}

/**
 * `isComplete` is false if deciding an entity's rules took too many steps, or if counting its records took too long.
 * Once a count has taken too long, no other entities are counted, because each count could take as long.
 */
export async function findOpenRules(
  db: Db,
  access: AppScope,
  schemas: readonly SchemaToScan[],
  now: Date,
): Promise<{ readonly entities: OpenRules[]; readonly isComplete: boolean }> {
  const entities: OpenRules[] = [];
  let isComplete = true;
  let isCounting = true;
  for (const { name, document } of schemas) {
    const parsed = parseSchema(document, [], 'stored');
    if ('faults' in parsed) {
      isComplete = false;
      continue;
    }
    const found = await afterOthers(() => listOpen(parsed.schema, document, now));
    if (!found.isComplete) isComplete = false;
    const operations = found.open.toSorted((a, b) => rank(a) - rank(b));
    const [worst] = operations;
    if (worst === undefined) continue;
    let reachable_records: number | null = worst.operation === 'create' ? 0 : null;
    if (reachable_records === null && isCounting) {
      reachable_records = await countInTime(() => countReachable(db, access, parsed.schema, worst));
    }
    if (reachable_records === null) isComplete = isCounting = false;
    entities.push({
      entity_name: name,
      operations,
      reachable_records,
      sample_fields: listFields(parsed.schema, worst),
    });
  }
  return { entities, isComplete };
}

/** Lets other requests run between two entities. */
async function afterOthers<Result>(work: () => Result): Promise<Result> {
  await new Promise((resolve) => setImmediate(resolve));
  return hold(work);
}

const listOpen = (schema: EntitySchema, { rls }: SchemaToScan['document'], now: Date) =>
  listOpenOperations({ ...schema, rls, shape: describeFields(schema, newValidation()) }, now);

/** Anonymous callers come before users, and changes before reads. Creating a record harms no existing record. */
const order: readonly (readonly [Stranger, string])[] = [
  ['anonymous', 'delete'],
  ['anonymous', 'update'],
  ['anonymous', 'read'],
  ['any_user', 'delete'],
  ['any_user', 'update'],
  ['anonymous', 'create'],
  ['any_user', 'read'],
];
const rank = ({ principal, operation }: OpenOperation): number =>
  order.findIndex(([caller, what]) => caller === principal && what === operation);

const findPrincipal = (principal: Stranger) => (principal === 'anonymous' ? anonymousCaller : anyUser);

const countReachable = (db: Db, access: AppScope, { name, rules }: EntitySchema, worst: OpenOperation) =>
  countAllowedRecords(db, access, name, decideRule(rules[worst.operation], findPrincipal(worst.principal)));

/** Returns null if the statement exceeds its time limit. */
const countInTime = (count: () => Promise<number>): Promise<number | null> =>
  count().catch((error: unknown) => {
    if (isStatementTimeout(error)) return null;
    throw error;
  });

const maxFields = 10;

function listFields({ fields, fieldRules }: EntitySchema, { operation, principal }: OpenOperation): string[] {
  // Deleting a record removes every field.
  const asked = operation === 'delete' ? undefined : operation;
  const mayUse = (name: string) =>
    asked === undefined ||
    findGoverningRules(fieldRules, [name], asked).every((rule) => decideRule(rule, findPrincipal(principal)) !== false);
  return [...fields.keys()].filter(mayUse).slice(0, maxFields);
}
