// Owns presenting a record to a caller, without what they may not read, and building the event of a change.
import type { Principal } from '../../../core/auth/principal.ts';
import type { AppAccess, AppRow, DataAccess } from '../../../core/auth/proofs.ts';
import type { EventWriter, RecordEvent } from '../../../events.ts';
import type { EventRow } from '../../../kit/background/events/event-bus.ts';
import { evaluate } from '../rules/evaluate.ts';
import type { FieldRules } from '../rules/field-rules.ts';
import type { DataRecord } from '../rules/rule.ts';
import { pickDeclaredFields } from '../schemas/declared-fields.ts';
import type { Entity } from '../schemas/schema-cache.ts';

/** Access to the records of an entity, within what its rules allow the principal. */
export type RecordAccess = DataAccess & { readonly entity: Entity };
/** Access to the records of an entity as a builder of the app. Rules do not apply. */
export type BuilderAccess = AppAccess & { readonly entity: Entity };

/** A record as it was read from the database. */
export interface StoredRecord extends DataRecord {
  readonly version: number;
}

export type PresentedRecord = Record<string, unknown> & { id: string };

const presentAutomaticFields = (app: AppRow, { data: _, ...record }: DataRecord) => {
  const { id, created_date, updated_date, created_by, created_by_id, is_sample } = record;
  return app.hide_authorship
    ? { id, created_date, updated_date, created_by_id, is_sample }
    : { id, created_date, updated_date, created_by, created_by_id, is_sample };
};

/** The whole record: its automatic fields and those that its schema declares. */
export const presentWholeRecord = (
  { app, entity }: RecordAccess | BuilderAccess,
  record: DataRecord,
): PresentedRecord => ({
  ...presentAutomaticFields(app, record),
  ...presentDeclaredFields(entity, record),
});

/** A record that the caller may read, without the fields that they may not read. */
export function presentRecord(access: RecordAccess, record: DataRecord): PresentedRecord {
  const { fieldRules } = access.entity.schema;
  const whole = presentWholeRecord(access, record);
  if (fieldRules.length === 0) return whole;
  const context: RedactionContext = { fieldRules, principal: access.principal, record };
  for (const name of new Set(fieldRules.map(({ names }) => names[0] as string))) {
    if (!Object.hasOwn(whole, name)) continue;
    const redacted = redactValue(whole[name], [name], true, context);
    if (redacted === undefined) delete whole[name];
    else whole[name] = redacted;
  }
  return whole;
}

/** A record after a write. A caller who may not read it gets the automatic fields and the fields that they sent. */
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

export const mayRead = ({ entity, principal }: RecordAccess, record: DataRecord): boolean =>
  evaluate(entity.schema.rules.read, principal, record) === true;

const presentDeclaredFields = ({ schema }: Entity, { data }: DataRecord): Record<string, unknown> =>
  pickDeclaredFields(schema.fields, data);

interface RedactionContext {
  readonly fieldRules: FieldRules;
  readonly principal: Principal;
  readonly record: DataRecord;
}

/** The value without the parts that the principal may not read; undefined if nothing remains. */
function redactValue(value: unknown, names: readonly string[], inherited: boolean, context: RedactionContext): unknown {
  const { fieldRules, principal, record } = context;
  const governing = fieldRules.filter(({ names: of, rules }) => rules.read !== 'missing' && startsWith(of, names));
  const own = governing.filter((each) => each.names.length === names.length);
  const isReadable =
    own.length === 0 ? inherited : own.every(({ rules }) => evaluate(rules.read, principal, record) === true);
  const hasInnerRules = own.length < governing.length;
  if (!hasInnerRules || typeof value !== 'object' || value === null) return isReadable ? value : undefined;
  const redacted = redactInside(value, names, isReadable, context);
  return isReadable || Array.isArray(redacted) || Object.keys(redacted).length > 0 ? redacted : undefined;
}

/** Redacts each item of an array, or each field of an object. Arrays add nothing to the path. */
function redactInside(value: object, names: readonly string[], isReadable: boolean, context: RedactionContext): object {
  if (Array.isArray(value))
    return value.flatMap((item) => {
      if (typeof item === 'object' && item !== null) return [redactInside(item, names, isReadable, context)];
      return isReadable ? [item] : [];
    });
  return Object.fromEntries(
    Object.entries(value)
      .map(([name, inner]) => [name, redactValue(inner, [...names, name], isReadable, context)] as const)
      .filter(([, inner]) => inner !== undefined),
  );
}

const startsWith = (names: readonly string[], start: readonly string[]): boolean =>
  names.length >= start.length && start.every((name, at) => names[at] === name);

const maxEventBytes = 200 * 1024;

export type RecordEventName = 'entity.created' | 'entity.updated' | 'entity.deleted';

/**
 * The event contains whole records, not filtered by read rules, because its receiver is the app's own back end. If it
 * would exceed 200 KiB, it is sent without the records.
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
    depth: 0,
    payload_too_large: false,
  };
  const event = newRow(name, payload, now);
  if (event.payload.length * 3 <= maxEventBytes || Buffer.byteLength(event.payload) <= maxEventBytes) return event;
  return newRow(name, { ...payload, data: null, old_data: null, payload_too_large: true }, now);
}

function presentActor(access: RecordAccess | BuilderAccess): RecordEvent['actor'] {
  if ('principal' in access)
    return access.principal.kind === 'anonymous' ? null : { id: access.principal.id, email: access.principal.email };
  const { user_id, email } = access.caller;
  return user_id === null ? null : { id: user_id, email: email ?? '' };
}
