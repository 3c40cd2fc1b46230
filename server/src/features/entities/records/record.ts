// Presents records to callers without the fields they may not read, and builds change events.
import type { AppAccess, AppRow, DataAccess } from '../../../core/auth/proofs.ts';
import type { EventWriter, RecordEvent } from '../../../events.ts';
import type { EventRow } from '../../../kit/background/events/event-bus.ts';
import { newRuleChecks, type RuleChecks } from '../rules/decision/checks.ts';
import { type FieldRuleTree, findGoverningRules } from '../rules/field-rules.ts';
import type { DataRecord } from '../rules/rule.ts';
import { pickDeclaredFields } from '../schemas/declared-fields.ts';
import type { Entity } from '../schemas/schema-cache.ts';

/** Access to an entity's records, restricted by its rules for the principal. Created for each request. */
export type RecordAccess = DataAccess & {
  readonly entity: Entity;
  readonly checks: RuleChecks;
  /** The number of workflows and automations between a person's change and this one. If absent, there are none. */
  readonly depth?: number;
};
/** Access to an entity's records for the app's builders, to whom its rules do not apply. */
export type BuilderAccess = AppAccess & { readonly entity: Entity };

/** Starts the rule checks for a request, or for one of its attempts, with a new step budget and no cached decisions. */
export const withRuleChecks = <Access extends DataAccess & { readonly entity: Entity }>(
  access: Access,
): Access & RecordAccess => ({ ...access, checks: newRuleChecks(access.entity.name, access.principal) });

/** A record as read from the database. */
export interface StoredRecord extends DataRecord {
  readonly version: number;
  /** The JSON size of the data. */
  readonly size_bytes: number;
}

export type PresentedRecord = Record<string, unknown> & { id: string };

const presentAutomaticFields = (app: AppRow, { data: _, ...record }: DataRecord) => {
  const { id, created_date, updated_date, created_by, created_by_id, is_sample } = record;
  return app.hide_authorship
    ? { id, created_date, updated_date, created_by_id, is_sample }
    : { id, created_date, updated_date, created_by, created_by_id, is_sample };
};

/** Presents the whole record: its automatic fields and the fields that its schema declares. */
export const presentWholeRecord = (
  { app, entity }: RecordAccess | BuilderAccess,
  record: DataRecord,
): PresentedRecord => ({
  ...presentAutomaticFields(app, record),
  ...presentDeclaredFields(entity, record),
});

/** Presents a record that the caller may read, without the fields that they may not read. */
export function presentRecord(access: RecordAccess, record: DataRecord): PresentedRecord {
  const whole = presentWholeRecord(access, record);
  for (const [name, rules] of access.entity.schema.fieldRules.read.inner) {
    if (!Object.hasOwn(whole, name)) continue;
    const redacted = redactValue(whole[name], rules, true, access.checks, record);
    if (redacted === undefined) delete whole[name];
    else whole[name] = redacted;
  }
  return whole;
}

/**
 * Presents a record after a write. A caller who may not read it gets the automatic fields and the fields that they
 * sent.
 */
export function presentWrittenRecord(
  access: RecordAccess,
  record: DataRecord,
  input: Readonly<Record<string, unknown>>,
): PresentedRecord {
  if (mayRead(access, record)) return presentRecord(access, record);
  const declared = Object.entries(presentDeclaredFields(access.entity, record));
  const sent = declared.filter(([name]) => Object.hasOwn(input, name));
  return { ...presentAutomaticFields(access.app, record), ...Object.fromEntries(sent) };
}

const mayRead = ({ entity, checks }: RecordAccess, record: DataRecord): boolean =>
  checks.allows(entity.schema.rules.read, 'read', record);

/** Whether the caller may read the record and all of the named fields. */
export function mayReadFields(access: RecordAccess, record: DataRecord, names: readonly string[]): boolean {
  const { checks, entity } = access;
  const rulesOf = (name: string) => findGoverningRules(entity.schema.fieldRules, [name], 'read');
  return mayRead(access, record) && names.flatMap(rulesOf).every((rule) => checks.allows(rule, 'read', record));
}

const presentDeclaredFields = ({ schema }: Entity, { data }: DataRecord): Record<string, unknown> =>
  pickDeclaredFields(schema.fields, data);

/** Returns the value without the parts that the principal may not read, or undefined if nothing remains. */
function redactValue(
  value: unknown,
  tree: FieldRuleTree,
  inherited: boolean,
  checks: RuleChecks,
  record: DataRecord,
): unknown {
  const isReadable =
    tree.rules.length === 0 ? inherited : tree.rules.every((rule) => checks.allows(rule, 'read', record));
  if (tree.inner.size === 0 || typeof value !== 'object' || value === null) return isReadable ? value : undefined;
  const redacted = redactInside(value, tree, isReadable, checks, record);
  return isReadable || Array.isArray(redacted) || Object.keys(redacted).length > 0 ? redacted : undefined;
}

/** Redacts each item of an array or each field of an object. An array's rules apply to its items. */
function redactInside(
  value: object,
  tree: FieldRuleTree,
  isReadable: boolean,
  checks: RuleChecks,
  record: DataRecord,
): object {
  if (Array.isArray(value))
    return value.flatMap((item) => {
      if (typeof item === 'object' && item !== null) return [redactInside(item, tree, isReadable, checks, record)];
      return isReadable ? [item] : [];
    });
  const redactField = (name: string, inner: unknown): unknown => {
    const rules = tree.inner.get(name);
    if (rules === undefined) return isReadable ? inner : undefined;
    return redactValue(inner, rules, isReadable, checks, record);
  };
  return Object.fromEntries(
    Object.entries(value)
      .map(([name, inner]) => [name, redactField(name, inner)] as const)
      .filter(([, inner]) => inner !== undefined),
  );
}

const maxEventBytes = 200 * 1024;

export type RecordEventName = 'entity.created' | 'entity.updated' | 'entity.deleted';

/**
 * The event contains whole records, regardless of read rules, because it is sent to the app's own back end. If the
 * event would exceed 200 KiB, the records are left out.
 */
export function buildRecordEvent(
  { newRow }: EventWriter,
  access: RecordAccess | BuilderAccess,
  name: RecordEventName,
  change: { before: DataRecord | null; after: DataRecord | null; changed: readonly string[] },
  now: Date,
): EventRow {
  const { app, entity, workspace_id } = access;
  const payload: RecordEvent = {
    workspace_id,
    app_id: app.id,
    entity_name: entity.name,
    entity_id: (change.after ?? change.before)?.id ?? '',
    data: change.after && presentWholeRecord(access, change.after),
    old_data: change.before && presentWholeRecord(access, change.before),
    changed_fields: change.changed,
    actor: presentActor(access),
    credential_id: 'principal' in access && !access.principal.isManager ? null : access.caller.credential_id,
    depth: 'depth' in access ? (access.depth ?? 0) : 0,
    payload_too_large: false,
  };
  const event = newRow(name, payload, now);
  if (event.payload.length * 3 <= maxEventBytes || Buffer.byteLength(event.payload) <= maxEventBytes) return event;
  return newRow(name, { ...payload, data: null, old_data: null, payload_too_large: true }, now);
}

function presentActor(access: RecordAccess | BuilderAccess): RecordEvent['actor'] {
  if ('principal' in access)
    return access.principal.kind === 'signed_in' ? { id: access.principal.id, email: access.principal.email } : null;
  const { user_id, email } = access.caller;
  return user_id === null ? null : { id: user_id, email: email ?? '' };
}
