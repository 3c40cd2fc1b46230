// Conversion mappings, which define the record changes that count as conversions, and their conversion types.
import { isDeepStrictEqual } from 'node:util';
import { audit } from '../../../core/audit/audit.ts';
import type { AppAccess } from '../../../core/auth/proofs.ts';
import { lockApp } from '../../../core/identity/apps.ts';
import { transaction } from '../../../kit/db/database.ts';
import { unchanged, withNotes } from '../../../kit/http/answer.ts';
import { type Fault, ValidationError } from '../../../kit/http/faults.ts';
import { newId } from '../../../kit/ids.ts';
import { limitReached, notFound } from '../../../kit/problem.ts';
import type { Db } from '../../../tables.ts';
import { getReadyAccount } from '../accounts/account.ts';
import type { MappingRow } from '../store/rows.ts';
import {
  countMappings,
  findMapping,
  insertMapping,
  removeCheck,
  removeMapping,
  saveMapping,
} from '../store/tracking.ts';
import { type ConversionMappingChange, type NewConversionMapping, presentMapping } from './contract.ts';

export type MappingAccess = AppAccess & { readonly mapping: MappingRow };

/**
 * An entity's fields, or undefined if the app has no such entity. Prevents the entity's deletion until the transaction
 * ends.
 */
export type ListFields = (db: Db, access: AppAccess, entity: string) => Promise<readonly string[] | undefined>;

/** Limited, because a scan compares each mapping with the app's calls. */
const maxMappings = 100;

export function createMapping(
  db: Db,
  access: AppAccess,
  input: NewConversionMapping,
  listFields: ListFields,
  now: Date,
) {
  const { app } = access;
  return transaction(db, async (db) => {
    await lockApp(db, access);
    const account = await getReadyAccount(db, access);
    const row: MappingRow = {
      id: newId(),
      workspace_id: app.workspace_id,
      app_id: app.id,
      account_id: account.id,
      entity_name: input.entity_name,
      trigger_action: input.trigger_action ?? 'create',
      conversion_type: input.conversion_type,
      conversion_action_id: input.conversion_action_id ?? '',
      value_field: input.value_field ?? '',
      currency_field: input.currency_field ?? '',
      is_enabled: input.is_enabled ?? true,
      created_date: now,
      updated_date: now,
    };
    await checkNames(db, access, row, fieldNames, listFields);
    if ((await countMappings(db, access)) >= maxMappings)
      throw limitReached(
        maxMappings,
        'conversion_mappings',
        `An app can have at most ${maxMappings} conversion mappings. Delete one first.`,
      );
    await insertMapping(db, row);
    await removeCheck(db, access);
    const target = { kind: 'conversion_mapping', id: row.id };
    await audit(db, access, { type: 'ads.mapping.created', target, app_id: app.id, after: auditedFields(row) }, now);
    return presentMapping(row);
  });
}

export function changeMapping(
  db: Db,
  access: MappingAccess,
  change: ConversionMappingChange,
  listFields: ListFields,
  now: Date,
) {
  return transaction(db, async (db) => {
    await lockApp(db, access); // every mapping change takes this lock
    const before = await findMapping(db, access, access.mapping.id);
    if (before === undefined) throw notFound('mapping_not_found');
    const sent = Object.fromEntries(Object.entries(change).filter(([, value]) => value !== undefined));
    const merged: MappingRow = { ...before, ...sent };
    if (isDeepStrictEqual(merged, before)) return unchanged(presentMapping(before));
    // A schema may lose a field that a mapping names. The mapping can still be disabled in that case.
    const named = 'entity_name' in sent ? fieldNames : fieldNames.filter((name) => name in sent);
    await checkNames(db, access, merged, named, listFields);
    const row = { ...merged, updated_date: now };
    await saveMapping(db, row);
    await removeCheck(db, access);
    const target = { kind: 'conversion_mapping', id: row.id };
    const [was, is] = [auditedFields(before), auditedFields(row)];
    await audit(db, access, { type: 'ads.mapping.updated', target, app_id: row.app_id, before: was, after: is }, now);
    return withNotes(presentMapping(row), {});
  });
}

/** Keeps the verification, because removing a mapping adds no requirement. */
export function deleteMapping(db: Db, access: MappingAccess, now: Date) {
  const { mapping } = access;
  return transaction(db, async (db) => {
    await lockApp(db, access);
    if (!(await removeMapping(db, mapping))) throw notFound('mapping_not_found');
    const target = { kind: 'conversion_mapping', id: mapping.id };
    const before = auditedFields(mapping);
    await audit(db, access, { type: 'ads.mapping.deleted', target, app_id: mapping.app_id, before }, now);
    return { success: true } as const;
  });
}

const fieldNames = ['value_field', 'currency_field'] as const;

/** Checks that the entity exists and has the fields. */
async function checkNames(
  db: Db,
  access: AppAccess,
  row: MappingRow,
  named: readonly (typeof fieldNames)[number][],
  listFields: ListFields,
): Promise<void> {
  const fields = await listFields(db, access, row.entity_name);
  if (fields === undefined)
    throw new ValidationError([
      { loc: ['body', 'entity_name'], msg: 'is not an entity in this app', type: 'value_error' },
    ]);
  const faults = named.flatMap((field): Fault[] =>
    row[field] === '' || fields.includes(row[field])
      ? []
      : [{ loc: ['body', field], msg: 'is not a field of this entity', type: 'unknown_field' }],
  );
  if (faults.length > 0) throw new ValidationError(faults);
}

function auditedFields(row: MappingRow) {
  const {
    entity_name,
    trigger_action,
    conversion_type,
    conversion_action_id,
    value_field,
    currency_field,
    is_enabled,
  } = row;
  return {
    entity_name,
    trigger_action,
    conversion_type,
    conversion_action_id,
    value_field,
    currency_field,
    is_enabled,
  };
}
