// Owns what may become of a record: values checked, defaults filled, rules asked, in the order of docs/contract.md §5.5.
// Decides, and stores nothing.
import type { Fault } from '../../../kit/http/faults.ts';
import { ValidationError } from '../../../kit/http/faults.ts';
import { newId } from '../../../kit/ids.ts';
import { notFound, Problem } from '../../../kit/problem.ts';
import { decideRule } from '../rules/decide.ts';
import { evaluate } from '../rules/evaluate.ts';
import { findGoverningRules } from '../rules/field-rules.ts';
import type { DataRecord } from '../rules/rule.ts';
import { isEqual } from '../rules/values.ts';
import type { Entity } from '../schemas/schema-cache.ts';
import { newValidation, type Validation, validateValue } from '../schemas/values.ts';
import { mayRead, type RecordAccess } from './record.ts';

export type RecordInput = Readonly<Record<string, unknown>>;
type Loc = Fault['loc'];

const maxBytes = 256 * 1024;

/** Refuses whom the rule lets create nothing at all, before anything is read of what they sent. */
export function refuseIfNeverAllowed({ entity, principal }: RecordAccess, operation: 'create' | 'delete'): void {
  if (decideRule(entity.schema.rules[operation], principal) === false) throw ruleDenied();
}

/** The data of a new record: what was sent and is declared, and defaults. */
export function buildNewData(
  { entity }: RecordAccess,
  sent: RecordInput,
  loc: Loc,
  found: Validation,
): Record<string, unknown> {
  const { fields, required } = entity.schema;
  addIgnored(entity.schema.fields, sent, loc, found);
  const data: Record<string, unknown> = {};
  for (const [name, field] of fields) {
    const value = Object.hasOwn(sent, name) ? sent[name] : null;
    if (value !== null) data[name] = validateValue(field, value, [...loc, name], found);
    else if (field.default !== undefined) data[name] = field.default;
    else if (required.has(name)) found.faults.push({ loc: [...loc, name], msg: 'is required', type: 'missing' });
  }
  checkSize(data, loc, found);
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

/** The create rule sees the record as it would be stored; field rules, what was sent. */
export function refuseCreate(access: RecordAccess, record: DataRecord, sent: RecordInput): void {
  if (evaluate(access.entity.schema.rules.create, access.principal, record) !== true) throw ruleDenied();
  refuseFields(access, 'create', record, sent);
}

type RowOperation = 'update' | 'delete';
const isAllowed = ({ entity, principal }: RecordAccess, record: DataRecord, operation: RowOperation): boolean =>
  evaluate(entity.schema.rules[operation], principal, record) === true;

/** Whether the caller may know of a record: a hidden one is as good as none. */
export const mayKnowOf = (access: RecordAccess, record: DataRecord | undefined, operation: RowOperation): boolean =>
  record !== undefined && (isAllowed(access, record, operation) || mayRead(access, record));

/** Whom the rule does not let: 403 who may read the record, 404 who may not, so that it stays hidden. */
export function refuseIfNotAllowed(access: RecordAccess, record: DataRecord, operation: RowOperation): void {
  if (isAllowed(access, record, operation)) return;
  throw mayRead(access, record) ? ruleDenied() : recordNotFound();
}

/** The data as it would be after the change; null clears, what is left out stays. */
export function mergeData(
  { entity }: RecordAccess,
  record: DataRecord,
  sent: RecordInput,
  loc: Loc,
  found: Validation,
) {
  const { fields, required } = entity.schema;
  addIgnored(fields, sent, loc, found);
  const data: Record<string, unknown> = { ...record.data };
  for (const [name, value] of Object.entries(sent)) {
    const field = fields.get(name);
    if (field === undefined) continue;
    if (value !== null) data[name] = validateValue(field, value, [...loc, name], found);
    else if (required.has(name))
      found.faults.push({ loc: [...loc, name], msg: 'must have a value', type: 'none_not_allowed' });
    else delete data[name];
  }
  checkSize(data, loc, found);
  return data;
}

/** Field rules are asked of the record as it is stored, `update_check` of the record as it would be. */
export function refuseUpdate(access: RecordAccess, before: DataRecord, after: DataRecord, sent: RecordInput): void {
  refuseFields(access, 'update', before, sent);
  const { update_check } = access.entity.schema.rules;
  if (update_check !== 'missing' && evaluate(update_check, access.principal, after) !== true) throw ruleDenied();
}

/** Every sent field that is declared, changed or not: one refusal refuses all. */
function refuseFields(
  access: RecordAccess,
  operation: 'create' | 'update',
  record: DataRecord,
  sent: RecordInput,
): void {
  const { schema } = access.entity;
  if (schema.fieldRules.length === 0) return;
  const refused = Object.keys(sent).filter(
    (name) =>
      schema.fields.has(name) &&
      findGoverningRules(schema.fieldRules, [name], operation).some(
        (rule) => evaluate(rule, access.principal, record) !== true,
      ),
  );
  if (refused.length === 0) return;
  throw new Problem('forbidden', 'field_rule_denied', 'A rule of this entity does not let you write these fields.', {
    members: { fields: refused.map((name) => `data.${name}`) },
  });
}

/** In the order of the schema. */
export const listChangedFields = ({ schema }: Entity, before: DataRecord, after: DataRecord): string[] =>
  [...schema.fields.keys()].filter((name) => !isEqual(readField(before, name), readField(after, name)));

const readField = ({ data }: DataRecord, name: string): unknown => (Object.hasOwn(data, name) ? data[name] : undefined);

/** Throws what was found wrong; gives the names that had no effect. */
export function collectFaults<T>(work: (found: Validation) => T): { result: T; ignored: string[] } {
  const found = newValidation();
  const result = work(found);
  if (found.faults.length > 0) throw new ValidationError(found.faults);
  return { result, ignored: found.ignored };
}

function addIgnored(fields: ReadonlyMap<string, unknown>, sent: RecordInput, loc: Loc, found: Validation): void {
  for (const name of Object.keys(sent)) if (!fields.has(name)) found.ignored.push([...loc.slice(1), name].join('.'));
}

function checkSize(data: RecordInput, loc: Loc, found: Validation): void {
  const text = JSON.stringify(data);
  if (text.length * 3 <= maxBytes || Buffer.byteLength(text) <= maxBytes) return;
  found.faults.push({ loc, msg: `must be at most ${maxBytes} bytes as JSON`, type: 'value_error' });
}

export const ruleDenied = () =>
  new Problem('forbidden', 'rule_denied', 'The rules of this entity do not let you do this.');

export const recordNotFound = () => notFound('record_not_found');
