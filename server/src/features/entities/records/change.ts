// Owns what may become of a record: values checked, defaults filled, rules asked, in the order of docs/contract.md §5.5.
// Decides, and stores nothing.
import type { Fault } from '../../../kit/http/faults.ts';
import { ValidationError } from '../../../kit/http/faults.ts';
import { newId } from '../../../kit/ids.ts';
import { notFound, Problem } from '../../../kit/problem.ts';
import { decidedFor } from '../rules/decide.ts';
import { evaluate } from '../rules/evaluate.ts';
import { rulesOver } from '../rules/field-rules.ts';
import type { Subject } from '../rules/rule.ts';
import { isSame } from '../rules/values.ts';
import type { Entity } from '../schemas/schema-cache.ts';
import { checkedValue, type Findings, nothingFound } from '../schemas/values.ts';
import { mayRead, type RecordAccess } from './record.ts';

export type Sent = Readonly<Record<string, unknown>>;
type Loc = Fault['loc'];

const maxBytes = 256 * 1024;

/** Refuses whom the rule lets create nothing at all, before anything is read of what they sent. */
export function refuseClosed({ entity, principal }: RecordAccess, operation: 'create' | 'delete'): void {
  if (decidedFor(entity.schema.rules[operation], principal) === false) throw ruleDenied();
}

/** The data of a new record: what was sent and is declared, and defaults. */
export function newData({ entity }: RecordAccess, sent: Sent, loc: Loc, found: Findings): Record<string, unknown> {
  const { fields, required } = entity.schema;
  noteIgnored(entity.schema.fields, sent, loc, found);
  const data: Record<string, unknown> = {};
  for (const [name, field] of fields) {
    const value = Object.hasOwn(sent, name) ? sent[name] : null;
    if (value !== null) data[name] = checkedValue(field, value, [...loc, name], found);
    else if (field.default !== undefined) data[name] = field.default;
    else if (required.has(name)) found.faults.push({ loc: [...loc, name], msg: 'is required', type: 'missing' });
  }
  refuseLarge(data, loc, found);
  return data;
}

export function newRecord({ principal }: RecordAccess, data: Subject['data'], now: Date): Subject {
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
export function refuseCreation(access: RecordAccess, record: Subject, sent: Sent): void {
  if (evaluate(access.entity.schema.rules.create, access.principal, record) !== true) throw ruleDenied();
  refuseFields(access, 'create', record, sent);
}

type Ending = 'update' | 'delete';
const covers = ({ entity, principal }: RecordAccess, record: Subject, operation: Ending): boolean =>
  evaluate(entity.schema.rules[operation], principal, record) === true;

/** Whether the caller may know of a record: a hidden one is as good as none. */
export const isThere = (access: RecordAccess, record: Subject | undefined, operation: Ending): boolean =>
  record !== undefined && (covers(access, record, operation) || mayRead(access, record));

/** Whom the rule does not let: 403 who may read the record, 404 who may not, so that it stays hidden. */
export function refuseUncovered(access: RecordAccess, record: Subject, operation: Ending): void {
  if (covers(access, record, operation)) return;
  throw mayRead(access, record) ? ruleDenied() : noSuchRecord();
}

/** The data as it would be after the change; null clears, what is left out stays. */
export function changedData({ entity }: RecordAccess, record: Subject, sent: Sent, loc: Loc, found: Findings) {
  const { fields, required } = entity.schema;
  noteIgnored(fields, sent, loc, found);
  const data: Record<string, unknown> = { ...record.data };
  for (const [name, value] of Object.entries(sent)) {
    const field = fields.get(name);
    if (field === undefined) continue;
    if (value !== null) data[name] = checkedValue(field, value, [...loc, name], found);
    else if (required.has(name))
      found.faults.push({ loc: [...loc, name], msg: 'must have a value', type: 'none_not_allowed' });
    else delete data[name];
  }
  refuseLarge(data, loc, found);
  return data;
}

/** Field rules are asked of the record as it is stored, `update_check` of the record as it would be. */
export function refuseChange(access: RecordAccess, before: Subject, after: Subject, sent: Sent): void {
  refuseFields(access, 'update', before, sent);
  const { update_check } = access.entity.schema.rules;
  if (update_check !== 'missing' && evaluate(update_check, access.principal, after) !== true) throw ruleDenied();
}

/** Every sent field that is declared, changed or not: one refusal refuses all. */
function refuseFields(access: RecordAccess, operation: 'create' | 'update', record: Subject, sent: Sent): void {
  const { schema } = access.entity;
  if (schema.fieldRules.length === 0) return;
  const refused = Object.keys(sent).filter(
    (name) =>
      schema.fields.has(name) &&
      rulesOver(schema.fieldRules, [name], operation).some((rule) => evaluate(rule, access.principal, record) !== true),
  );
  if (refused.length === 0) return;
  throw new Problem('forbidden', 'field_rule_denied', 'A rule of this entity does not let you write these fields.', {
    members: { fields: refused.map((name) => `data.${name}`) },
  });
}

/** In the order of the schema. */
export const changedFields = ({ schema }: Entity, before: Subject, after: Subject): string[] =>
  [...schema.fields.keys()].filter((name) => !isSame(fieldOf(before, name), fieldOf(after, name)));

const fieldOf = ({ data }: Subject, name: string): unknown => (Object.hasOwn(data, name) ? data[name] : undefined);

/** Throws what was found wrong; gives the names that had no effect. */
export function settled<T>(work: (found: Findings) => T): { result: T; ignored: string[] } {
  const found = nothingFound();
  const result = work(found);
  if (found.faults.length > 0) throw new ValidationError(found.faults);
  return { result, ignored: found.ignored };
}

function noteIgnored(fields: ReadonlyMap<string, unknown>, sent: Sent, loc: Loc, found: Findings): void {
  for (const name of Object.keys(sent)) if (!fields.has(name)) found.ignored.push([...loc.slice(1), name].join('.'));
}

function refuseLarge(data: Sent, loc: Loc, found: Findings): void {
  const text = JSON.stringify(data);
  if (text.length * 3 <= maxBytes || Buffer.byteLength(text) <= maxBytes) return;
  found.faults.push({ loc, msg: `must be at most ${maxBytes} bytes as JSON`, type: 'value_error' });
}

export const ruleDenied = () =>
  new Problem('forbidden', 'rule_denied', 'The rules of this entity do not let you do this.');

export const noSuchRecord = () => notFound('record_not_found');
