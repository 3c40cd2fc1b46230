// Owns what a new schema would mean for the records that are there: which break it, and which it opens to strangers.

import type { Principal } from '../../../core/auth/principal.ts';
import type { AppAccess } from '../../../core/auth/proofs.ts';
import type { Db } from '../../../tables.ts';
import { evaluate } from '../rules/evaluate.ts';
import type { DataRecord } from '../rules/rule.ts';
import { listRemovedFields } from './declared-fields.ts';
import type { EntitySchema } from './field.ts';
import { iterateNewestRecords } from './store.ts';
import { newValidation, type Validation, validateValue } from './values.ts';

const sampleSize = 1_000;

export interface Impact {
  readonly records: number;
  readonly violating_records: number;
  readonly fields_removed: string[];
  readonly newly_open: { operation: string; example: { id: string; principal: string } }[];
}

const operations = ['create', 'read', 'update', 'delete'] as const;

/** Nobody known, and somebody who is signed in and nothing more. */
const samplePrincipals: readonly [kind: string, principal: Principal][] = [
  ['anonymous', { kind: 'anonymous' }],
  ['any_user', { kind: 'signed_in', id: '', email: '', full_name: '', role: 'user', data: {} }],
];

/** Also says whether every record was looked at, or only the newest. */
export async function measureImpact(
  db: Db,
  access: AppAccess,
  before: EntitySchema | undefined,
  after: EntitySchema,
  records: number,
): Promise<{ impact: Impact; isWhole: boolean }> {
  const fields_removed = before === undefined ? [] : listRemovedFields(before.fields, after.fields);
  const newlyOpen = new Map<string, Impact['newly_open'][number]>();
  const found = newValidation(); // one bound on the matching of patterns for all of them
  let violating_records = 0;
  for await (const record of iterateNewestRecords(db, access, after.name, sampleSize)) {
    const isBroken = checkForViolation(after, record, found);
    if (found.steps < 0) break;
    if (isBroken) violating_records += 1;
    for (const operation of before === undefined ? [] : operations) {
      const kind = newlyOpen.has(operation)
        ? undefined
        : findNewlyAllowed(before as EntitySchema, after, operation, record);
      if (kind !== undefined) newlyOpen.set(operation, { operation, example: { id: record.id, principal: kind } });
    }
  }
  const newly_open = operations.flatMap((operation) => newlyOpen.get(operation) ?? []);
  const isWhole = records <= sampleSize && found.steps >= 0;
  return { impact: { records, violating_records, fields_removed, newly_open }, isWhole };
}

function checkForViolation({ fields, required }: EntitySchema, { data }: DataRecord, found: Validation): boolean {
  found.faults.length = 0;
  for (const [name, field] of fields) {
    const value = Object.hasOwn(data, name) ? data[name] : undefined;
    if (value === undefined || value === null) {
      if (required.has(name)) return true;
    } else validateValue(field, value, [], found);
    if (found.faults.length > 0) return true;
  }
  return false;
}

function findNewlyAllowed(
  before: EntitySchema,
  after: EntitySchema,
  operation: (typeof operations)[number],
  record: DataRecord,
): string | undefined {
  const allows = ({ rules }: EntitySchema, principal: Principal) =>
    evaluate(rules[operation], principal, record) === true;
  return samplePrincipals.find(([, principal]) => !allows(before, principal) && allows(after, principal))?.[0];
}
