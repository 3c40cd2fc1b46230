// Owns a record as a caller sees it, and as the world outside is told of it.
import type { Principal } from '../../../core/auth/principal.ts';
import type { AppAccess, AppRow, DataAccess } from '../../../core/auth/proofs.ts';
import type { EventWriter, RecordEvent } from '../../../events.ts';
import type { EventRow } from '../../../kit/background/events/event-bus.ts';
import { evaluate } from '../rules/evaluate.ts';
import type { FieldRules } from '../rules/field-rules.ts';
import type { DataRecord } from '../rules/rule.ts';
import { pickDeclaredFields } from '../schemas/declared-fields.ts';
import type { Entity } from '../schemas/schema-cache.ts';

/** To the records of an entity, as far as its rules let the principal. */
export type RecordAccess = DataAccess & { readonly entity: Entity };
/** To the records of an entity as one of those who build the app: rules do not apply. */
export type BuilderAccess = AppAccess & { readonly entity: Entity };

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

/** The whole record: what its schema declares, and what every record has. */
export const presentWholeRecord = (
  { app, entity }: RecordAccess | BuilderAccess,
  record: DataRecord,
): PresentedRecord => ({
  ...presentAutomaticFields(app, record),
  ...presentDeclaredFields(entity, record),
});

/** What the caller may read of a record that they may read. */
export function presentRecord(access: RecordAccess, record: DataRecord): PresentedRecord {
  const { fieldRules } = access.entity.schema;
  const whole = presentWholeRecord(access, record);
  if (fieldRules.length === 0) return whole;
  const reading: RedactionContext = { fieldRules, principal: access.principal, record };
  for (const name of new Set(fieldRules.map(({ names }) => names[0] as string))) {
    if (!Object.hasOwn(whole, name)) continue;
    const seen = redactValue(whole[name], [name], true, reading);
    if (seen === undefined) delete whole[name];
    else whole[name] = seen;
  }
  return whole;
}

/** After a change: who may not read the record sees what they sent, and what every record has. */
export function presentWrittenRecord(
  access: RecordAccess,
  record: DataRecord,
  sent: Readonly<Record<string, unknown>>,
): PresentedRecord {
  if (mayRead(access, record)) return presentRecord(access, record);
  const own = Object.entries(presentDeclaredFields(access.entity, record)).filter(([name]) =>
    Object.hasOwn(sent, name),
  );
  return { ...presentAutomaticFields(access.app, record), ...Object.fromEntries(own) };
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

/** The value without what may not be read; undefined when nothing of it may. Lists on the way are passed through. */
function redactValue(value: unknown, names: readonly string[], inherited: boolean, reading: RedactionContext): unknown {
  const { fieldRules, principal, record } = reading;
  const ruled = fieldRules.filter(({ names: of, rules }) => rules.read !== 'missing' && startsWith(of, names));
  const own = ruled.filter((each) => each.names.length === names.length);
  const seen =
    own.length === 0 ? inherited : own.every(({ rules }) => evaluate(rules.read, principal, record) === true);
  if (own.length === ruled.length || typeof value !== 'object' || value === null) return seen ? value : undefined;
  const left = redactInside(value, names, seen, reading);
  return seen || Array.isArray(left) || Object.keys(left).length > 0 ? left : undefined;
}

/** What is left of a list, also one in a list, or of an object. */
function redactInside(value: object, names: readonly string[], seen: boolean, reading: RedactionContext): object {
  if (Array.isArray(value))
    return value.flatMap((item) =>
      typeof item === 'object' && item !== null ? [redactInside(item, names, seen, reading)] : seen ? [item] : [],
    );
  return Object.fromEntries(
    Object.entries(value)
      .map(([name, inner]) => [name, redactValue(inner, [...names, name], seen, reading)] as const)
      .filter(([, inner]) => inner !== undefined),
  );
}

const startsWith = (names: readonly string[], start: readonly string[]): boolean =>
  names.length >= start.length && start.every((name, at) => names[at] === name);

const maxEventBytes = 200 * 1024;

export type RecordEventName = 'entity.created' | 'entity.updated' | 'entity.deleted';

/** What is told of a change: whole records, unfiltered, because the receiver is the app's own back end. */
export function buildRecordEvent(
  { newRow: row }: EventWriter,
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
  const event = row(name, payload, now);
  if (event.payload.length * 3 <= maxEventBytes || Buffer.byteLength(event.payload) <= maxEventBytes) return event;
  return row(name, { ...payload, data: null, old_data: null, payload_too_large: true }, now);
}

function presentActor(access: RecordAccess | BuilderAccess): RecordEvent['actor'] {
  if ('principal' in access)
    return access.principal.kind === 'anonymous' ? null : { id: access.principal.id, email: access.principal.email };
  const { user_id, email } = access.caller;
  return user_id === null ? null : { id: user_id, email: email ?? '' };
}
