// The checks that run before a record is written: values, defaults, row rules and field rules, in the order
// documented in docs/api/entities.md#update-a-record. Stores nothing.
import type { Fault } from '../../../kit/http/faults.ts';
import { ValidationError } from '../../../kit/http/faults.ts';
import { newId } from '../../../kit/ids.ts';
import { notFound, Problem } from '../../../kit/problem.ts';
import { mapInSlices } from '../../../kit/process-time.ts';
import type { Db } from '../../../tables.ts';
import { isRuleTooExpensive } from '../rules/decision/checks.ts';
import { findGoverningRules } from '../rules/field-rules.ts';
import type { DataRecord } from '../rules/rule.ts';
import { isEqual } from '../rules/values.ts';
import type { Entity } from '../schemas/schema-cache.ts';
import { addIgnored, newValidation, type Validation, validateValue } from '../schemas/values.ts';
import { type RecordAccess, withRuleChecks } from './record.ts';
import { isAllowedInDatabase } from './store/list.ts';

export type RecordInput = Readonly<Record<string, unknown>>;
type Loc = Fault['loc'];

export const maxRecordBytes = 256 * 1024;

/** Rejects a principal for whom the rule allows no record at all, before their input is validated. */
export function refuseIfNeverAllowed({ entity, checks }: RecordAccess, operation: 'create' | 'delete'): void {
  if (checks.decide(entity.schema.rules[operation], operation) === false) throw ruleDenied(entity, operation);
}

/** Builds a new record's data from the defaults and the declared fields that were sent. */
export function buildNewData(
  { entity }: RecordAccess,
  input: RecordInput,
  loc: Loc,
  validation: Validation,
): Record<string, unknown> {
  const { fields, required } = entity.schema;
  noteIgnored(entity.schema.fields, input, loc, validation);
  const data: Record<string, unknown> = {};
  const isSent = (name: string) => Object.hasOwn(input, name) && input[name] !== null;
  for (const name of required)
    if (!isSent(name) && fields.get(name)?.default === undefined)
      validation.faults.push({ loc: [...loc, name], msg: 'is required', type: 'missing' });
  for (const [name, field] of fields) {
    if (isSent(name)) data[name] = validateValue(field, input[name], [...loc, name], validation);
    else if (field.default !== undefined) data[name] = field.default;
  }
  checkSize(data, loc, validation);
  return data;
}

export function buildNewRecord({ principal }: RecordAccess, data: DataRecord['data'], now: Date): DataRecord {
  const isKnown = principal.kind === 'signed_in';
  return {
    id: newId(),
    data,
    created_by: isKnown ? principal.email : 'anonymous',
    created_by_id: isKnown ? principal.id : 'anonymous',
    created_date: now.toISOString(),
    updated_date: now.toISOString(),
    is_sample: false,
  };
}

/** Evaluates the create rule on the record as it would be stored, and the rules for the fields that were sent. */
export function refuseCreate(access: RecordAccess, record: DataRecord, input: RecordInput): void {
  const { entity, checks } = access;
  if (!checks.allows(entity.schema.rules.create, 'create', record)) throw ruleDenied(entity, 'create');
  refuseFields(access, 'create', record, input);
}

type RowOperation = 'read' | 'update' | 'delete';
export const isAllowed = ({ entity, checks }: RecordAccess, record: DataRecord, operation: RowOperation): boolean =>
  checks.allows(entity.schema.rules[operation], operation, record);

/**
 * Whether the caller may know that the record exists: either they may read it, or they may perform the operation on it.
 * If the rules take too many steps, the database decides, as it does for lists, because the error must not reveal a
 * hidden record.
 */
export async function mayKnowOf(
  db: Db,
  access: RecordAccess,
  record: DataRecord,
  operation: RowOperation,
): Promise<boolean> {
  try {
    return isAllowed(access, record, operation) || isAllowed(access, record, 'read');
  } catch (error) {
    const mayKnow = () => isAllowedInDatabase(db, withRuleChecks(access), ['read', operation], record.id);
    if (isRuleTooExpensive(error) && !(await mayKnow())) return false;
    throw error;
  }
}

/**
 * Throws if the rule does not allow the operation: 403 if the caller may read the record, and otherwise 404 to keep the
 * record hidden.
 */
export async function refuseIfNotAllowed(
  db: Db,
  access: RecordAccess,
  record: DataRecord,
  operation: RowOperation,
): Promise<void> {
  if (!(await mayKnowOf(db, access, record, operation))) throw recordNotFound();
  if (!isAllowed(access, record, operation)) throw ruleDenied(access.entity, operation);
}

/** Builds the updated data. A null removes a field, and fields that were not sent keep their values. */
export function mergeData(
  { entity }: RecordAccess,
  record: DataRecord,
  input: RecordInput,
  loc: Loc,
  validation: Validation,
) {
  const { fields, required } = entity.schema;
  noteIgnored(fields, input, loc, validation);
  const data: Record<string, unknown> = { ...record.data };
  for (const [name, value] of Object.entries(input)) {
    const field = fields.get(name);
    if (field === undefined) continue;
    if (value !== null) data[name] = validateValue(field, value, [...loc, name], validation);
    else if (required.has(name))
      validation.faults.push({ loc: [...loc, name], msg: 'must not be null', type: 'none_not_allowed' });
    else delete data[name];
  }
  checkSize(data, loc, validation);
  return data;
}

/** Evaluates field rules on the stored record, and `update_check` on the record as it would be stored. */
export function refuseUpdate(access: RecordAccess, before: DataRecord, after: DataRecord, input: RecordInput): void {
  refuseFields(access, 'update', before, input);
  const { entity, checks } = access;
  const { update_check } = entity.schema.rules;
  if (update_check !== 'missing' && !checks.allows(update_check, 'update_check', after))
    throw ruleDenied(entity, 'update_check');
}

/**
 * Checks every declared field that was sent, even if its value is unchanged. If one field is denied, the whole write is
 * denied.
 */
function refuseFields(
  access: RecordAccess,
  operation: 'create' | 'update',
  record: DataRecord,
  input: RecordInput,
): void {
  const { schema, name: entityName } = access.entity;
  if (schema.fieldRules[operation].inner.size === 0) return;
  const refused = Object.keys(input).filter(
    (name) =>
      schema.fields.has(name) &&
      findGoverningRules(schema.fieldRules, [name], operation).some(
        (rule) => !access.checks.allows(rule, operation, record),
      ),
  );
  if (refused.length === 0) return;
  throw new Problem(
    'forbidden',
    'field_rule_denied',
    `The field rules of the entity ${entityName} don't allow you to ${operation} a record with the fields listed in \`fields\`. Send the record without them.`,
    {
      members: { fields: refused.map((name) => `data.${name}`) },
    },
  );
}

/** The fields whose values differ, in schema order. */
export const listChangedFields = ({ schema }: Entity, before: DataRecord, after: DataRecord): string[] =>
  [...schema.fields.keys()].filter((name) => !isEqual(readField(before, name), readField(after, name)));

const readField = ({ data }: DataRecord, name: string): unknown => (Object.hasOwn(data, name) ? data[name] : undefined);

/** Runs the validation and throws one error with all faults, or returns the result and the ignored names. */
export function collectFaults<T>(work: (validation: Validation) => T): { result: T; ignored: string[] } {
  const validation = newValidation();
  const result = work(validation);
  refuseFaults(validation);
  return { result, ignored: validation.ignored };
}

/** Like `collectFaults`, but for each item in a list, which may be long. */
export async function collectFaultsOfEach<Item, T>(
  items: readonly Item[],
  work: (item: Item, validation: Validation) => T,
): Promise<{ results: T[]; ignored: string[] }> {
  const validation = newValidation();
  const results = await mapInSlices(items, (item) => work(item, validation));
  refuseFaults(validation);
  return { results, ignored: validation.ignored };
}

function refuseFaults({ faults, ignored }: Validation): void {
  if (faults.length > 0) throw new ValidationError(faults, ignored);
}

function noteIgnored(fields: ReadonlyMap<string, unknown>, input: RecordInput, loc: Loc, validation: Validation): void {
  for (const name of Object.keys(input)) if (!fields.has(name)) addIgnored(validation, loc, name);
}

function checkSize(data: RecordInput, loc: Loc, validation: Validation): void {
  const text = JSON.stringify(data);
  if (text.length * 3 <= maxRecordBytes || Buffer.byteLength(text) <= maxRecordBytes) return;
  validation.faults.push({ loc, msg: `must be at most ${maxRecordBytes} bytes as JSON`, type: 'value_error' });
}

/** Names the rule to help the schema's maintainer find it. */
export const ruleDenied = ({ name }: Entity, rule: 'create' | 'read' | 'update' | 'update_check' | 'delete') =>
  new Problem(
    'forbidden',
    'rule_denied',
    `The \`${rule}\` rule of the entity ${name} doesn't allow this. Ask the person who maintains the app's rules.`,
  );

export const recordNotFound = () => notFound('record_not_found');
