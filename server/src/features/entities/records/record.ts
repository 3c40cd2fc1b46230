// Owns a record as a caller sees it, and as the world outside is told of it.
import type { Principal } from '../../../core/auth/principal.ts';
import type { AppAccess, AppRow, DataAccess } from '../../../core/auth/proofs.ts';
import type { EventWriter, RecordEvent } from '../../../events.ts';
import type { EventRow } from '../../../kit/background/events/event-bus.ts';
import { evaluate } from '../rules/evaluate.ts';
import type { FieldRules } from '../rules/field-rules.ts';
import type { Subject } from '../rules/rule.ts';
import { declaredIn } from '../schemas/declared.ts';
import type { Entity } from '../schemas/schema-cache.ts';

/** To the records of an entity, as far as its rules let the principal. */
export type RecordAccess = DataAccess & { readonly entity: Entity };
/** To the records of an entity as one of those who build the app: rules do not apply. */
export type BuilderAccess = AppAccess & { readonly entity: Entity };

export interface Stored extends Subject {
  readonly version: number;
}

export type Shown = Record<string, unknown> & { id: string };

const automatic = (app: AppRow, { data: _, ...record }: Subject) => {
  const { id, created_date, updated_date, created_by, created_by_id, is_sample } = record;
  return app.hide_authorship
    ? { id, created_date, updated_date, created_by_id, is_sample }
    : { id, created_date, updated_date, created_by, created_by_id, is_sample };
};

/** The whole record: what its schema declares, and what every record has. */
export const wholeRecord = ({ app, entity }: RecordAccess | BuilderAccess, record: Subject): Shown => ({
  ...automatic(app, record),
  ...declared(entity, record),
});

/** What the caller may read of a record that they may read. */
export function presentRecord(access: RecordAccess, record: Subject): Shown {
  const { fieldRules } = access.entity.schema;
  const whole = wholeRecord(access, record);
  if (fieldRules.length === 0) return whole;
  const reading: Reading = { fieldRules, who: access.principal, record };
  for (const name of new Set(fieldRules.map(({ names }) => names[0] as string))) {
    if (!Object.hasOwn(whole, name)) continue;
    const seen = visible(whole[name], [name], true, reading);
    if (seen === undefined) delete whole[name];
    else whole[name] = seen;
  }
  return whole;
}

/** After a change: who may not read the record sees what they sent, and what every record has. */
export function presentChanged(access: RecordAccess, record: Subject, sent: Readonly<Record<string, unknown>>): Shown {
  if (mayRead(access, record)) return presentRecord(access, record);
  const own = Object.entries(declared(access.entity, record)).filter(([name]) => Object.hasOwn(sent, name));
  return { ...automatic(access.app, record), ...Object.fromEntries(own) };
}

export const mayRead = ({ entity, principal }: RecordAccess, record: Subject): boolean =>
  evaluate(entity.schema.rules.read, principal, record) === true;

const declared = ({ schema }: Entity, { data }: Subject): Record<string, unknown> => declaredIn(schema.fields, data);

interface Reading {
  readonly fieldRules: FieldRules;
  readonly who: Principal;
  readonly record: Subject;
}

/** The value without what may not be read; undefined when nothing of it may. Lists on the way are passed through. */
function visible(value: unknown, names: readonly string[], inherited: boolean, reading: Reading): unknown {
  const { fieldRules, who, record } = reading;
  const ruled = fieldRules.filter(({ names: of, rules }) => rules.read !== 'missing' && startsWith(of, names));
  const own = ruled.filter((each) => each.names.length === names.length);
  const seen = own.length === 0 ? inherited : own.every(({ rules }) => evaluate(rules.read, who, record) === true);
  if (own.length === ruled.length || typeof value !== 'object' || value === null) return seen ? value : undefined;
  const left = inside(value, names, seen, reading);
  return seen || Array.isArray(left) || Object.keys(left).length > 0 ? left : undefined;
}

/** What is left of a list, also one in a list, or of an object. */
function inside(value: object, names: readonly string[], seen: boolean, reading: Reading): object {
  if (Array.isArray(value))
    return value.flatMap((item) =>
      typeof item === 'object' && item !== null ? [inside(item, names, seen, reading)] : seen ? [item] : [],
    );
  return Object.fromEntries(
    Object.entries(value)
      .map(([name, inner]) => [name, visible(inner, [...names, name], seen, reading)] as const)
      .filter(([, inner]) => inner !== undefined),
  );
}

const startsWith = (names: readonly string[], start: readonly string[]): boolean =>
  names.length >= start.length && start.every((name, at) => names[at] === name);

const maxToldBytes = 200 * 1024;

export type EntityEvent = 'entity.created' | 'entity.updated' | 'entity.deleted';

/** What is told of a change: whole records, unfiltered, because the receiver is the app's own back end. */
export function eventOf(
  { newRow: row }: EventWriter,
  access: RecordAccess | BuilderAccess,
  name: EntityEvent,
  change: { before: Subject | null; after: Subject | null; changed: readonly string[] },
  now: Date,
): EventRow {
  const { app, entity, workspace_id } = access;
  const told: RecordEvent = {
    workspace_id,
    app_id: app.id,
    entity_name: entity.name,
    entity_id: (change.after ?? change.before)?.id ?? '',
    data: change.after && wholeRecord(access, change.after),
    old_data: change.before && wholeRecord(access, change.before),
    changed_fields: change.changed,
    actor: actorOf(access),
    depth: 0,
    payload_too_large: false,
  };
  const event = row(name, told, now);
  if (event.payload.length * 3 <= maxToldBytes || Buffer.byteLength(event.payload) <= maxToldBytes) return event;
  return row(name, { ...told, data: null, old_data: null, payload_too_large: true }, now);
}

function actorOf(access: RecordAccess | BuilderAccess): RecordEvent['actor'] {
  if ('principal' in access)
    return access.principal.kind === 'anonymous' ? null : { id: access.principal.id, email: access.principal.email };
  const { user_id, email } = access.caller;
  return user_id === null ? null : { id: user_id, email: email ?? '' };
}
