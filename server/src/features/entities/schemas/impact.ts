// Owns what a new schema would mean for the records that are there: which break it, and which it opens to strangers.

import type { Principal } from '../../../core/auth/principal.ts';
import type { AppAccess } from '../../../core/auth/proofs.ts';
import type { Db } from '../../../tables.ts';
import { evaluate } from '../rules/evaluate.ts';
import type { Subject } from '../rules/rule.ts';
import { removedFields } from './declared.ts';
import type { EntitySchema } from './field.ts';
import { newestRecords } from './store.ts';
import { checkedValue, type Findings, nothingFound } from './values.ts';

const sampled = 1_000;

export interface Impact {
  readonly records: number;
  readonly violating_records: number;
  readonly fields_removed: string[];
  readonly newly_open: { operation: string; example: { id: string; principal: string } }[];
}

const operations = ['create', 'read', 'update', 'delete'] as const;

/** Nobody known, and somebody who is signed in and nothing more. */
const strangers: readonly [kind: string, who: Principal][] = [
  ['anonymous', { kind: 'anonymous' }],
  ['any_user', { kind: 'signed_in', id: '', email: '', full_name: '', role: 'user', data: {} }],
];

/** Also says whether every record was looked at, or only the newest. */
export async function impactOf(
  db: Db,
  access: AppAccess,
  before: EntitySchema | undefined,
  after: EntitySchema,
  records: number,
): Promise<{ impact: Impact; isWhole: boolean }> {
  const fields_removed = before === undefined ? [] : removedFields(before.fields, after.fields);
  const opened = new Map<string, Impact['newly_open'][number]>();
  const found = nothingFound(); // one bound on the matching of patterns for all of them
  let violating_records = 0;
  for await (const record of newestRecords(db, access, after.name, sampled)) {
    const isBroken = breaks(after, record, found);
    if (found.steps < 0) break;
    if (isBroken) violating_records += 1;
    for (const operation of before === undefined ? [] : operations) {
      const kind = opened.has(operation) ? undefined : openedTo(before as EntitySchema, after, operation, record);
      if (kind !== undefined) opened.set(operation, { operation, example: { id: record.id, principal: kind } });
    }
  }
  const newly_open = operations.flatMap((operation) => opened.get(operation) ?? []);
  const isWhole = records <= sampled && found.steps >= 0;
  return { impact: { records, violating_records, fields_removed, newly_open }, isWhole };
}

function breaks({ fields, required }: EntitySchema, { data }: Subject, found: Findings): boolean {
  found.faults.length = 0;
  for (const [name, field] of fields) {
    const value = Object.hasOwn(data, name) ? data[name] : undefined;
    if (value === undefined || value === null) {
      if (required.has(name)) return true;
    } else checkedValue(field, value, [], found);
    if (found.faults.length > 0) return true;
  }
  return false;
}

function openedTo(
  before: EntitySchema,
  after: EntitySchema,
  operation: (typeof operations)[number],
  record: Subject,
): string | undefined {
  const allows = ({ rules }: EntitySchema, who: Principal) => evaluate(rules[operation], who, record) === true;
  return strangers.find(([, who]) => !allows(before, who) && allows(after, who))?.[0];
}
