// Owns the shapes of automations that a caller sends and receives (docs/api/automations.md).
import { validateHeaderName } from 'node:http';
import { z } from 'zod';
import {
  answer,
  clearable,
  count,
  id,
  list,
  name,
  oneOf,
  optional,
  pageQuery,
  query,
  strictBody,
  text,
  timestamp,
  urlText,
} from '../../kit/http/shapes.ts';
import { isReservedHeader } from '../../kit/outbound/outbound.ts';
import { Schedule } from '../../kit/schedule/index.ts';

export const automationTypes = ['entity', 'scheduled'] as const;
export const eventTypes = ['create', 'update', 'delete'] as const;
export type EventType = (typeof eventTypes)[number];
const actionTypes = ['run_workflow', 'http_request'] as const;

/** A header may hold any number of these. */
const secretReference = /\{\{\s*secrets\.([A-Z][A-Z0-9_]{0,63})\s*\}\}/g;

/** The names of the secrets that a header's value refers to. */
export const listSecretNames = (value: string): string[] =>
  [...value.matchAll(secretReference)].flatMap(([, secret]) => secret ?? []);

export const insertSecrets = (value: string, secrets: ReadonlyMap<string, string>): string =>
  value.replaceAll(secretReference, (reference, secret: string) => secrets.get(secret) ?? reference);

/** What each request has by itself. */
const ownHeaders = ['content-type', 'user-agent', 'idempotency-key'];
const maxHeaders = 20;

const headerValue = text(0, 2_000).superRefine((value, context) => {
  const refuse = (message: string) =>
    context.addIssue({ code: 'custom', params: { type: 'string_pattern_mismatch' }, message });
  if (!/^[\t\x20-\x7e]*$/.test(value)) refuse('must have only printable ASCII characters, spaces and tabs');
  else if (value.replaceAll(secretReference, '').includes('{{'))
    refuse(
      'must not contain {{ except to name a secret as {{secrets.NAME}}, in capital letters, digits and underscores',
    );
});

const Headers = z.record(z.string(), headerValue).superRefine((headers, context) => {
  const refuse = (message: string, path: string[], type = 'value_error') =>
    context.addIssue({ code: 'custom', params: { type }, message, path });
  const names = Object.keys(headers);
  if (names.length > maxHeaders) refuse(`must have at most ${maxHeaders} headers`, [], 'too_long');
  const lowerCased = new Set<string>();
  for (const header of names.slice(0, maxHeaders)) {
    if (!isHeaderName(header)) refuse('is not the name of an HTTP header', [header]);
    else if (isReservedHeader(header) || ownHeaders.includes(header.toLowerCase()))
      refuse('is a header that each request has by itself; leave it out', [header]);
    else if (lowerCased.has(header.toLowerCase()))
      refuse('is the same header as another one', [header], 'duplicate_items');
    lowerCased.add(header.toLowerCase());
  }
});

function isHeaderName(header: string): boolean {
  try {
    validateHeaderName(header);
    return header.length <= 100;
  } catch {
    return false;
  }
}

const expression = text(1, 4_000);

/** Which fields belong to which type of action. */
const fieldsOfAction = { run_workflow: ['workflow_id'], http_request: ['url', 'headers', 'body'] } as const;
const requiredFields: readonly string[] = ['workflow_id', 'url'];

const actionFields = {
  type: oneOf(...actionTypes),
  workflow_id: optional(text(1, 100)),
  url: optional(urlText),
  headers: optional(Headers),
  body: optional(expression),
};

/** One object for both types, so that a fault names the field. */
export const Action = strictBody(actionFields)
  .superRefine((action, context) => {
    const refuse = (field: string, message: string, type: string) =>
      context.addIssue({ code: 'custom', params: { type }, message, path: [field] });
    for (const [type, names] of Object.entries(fieldsOfAction))
      for (const field of names) {
        const isSent = action[field] !== undefined;
        if (type !== action.type && isSent) refuse(field, `is only for the type ${type}`, 'value_error');
        if (type === action.type && !isSent && requiredFields.includes(field)) refuse(field, 'is required', 'missing');
      }
  })
  .meta({ json: { type: 'object', $ref: '#/components/schemas/AutomationAction' } });
export type Action = z.output<typeof Action>;

const AutomationSchedule = Schedule.meta({ id: 'AutomationSchedule' });

const optionalFields = {
  entity_name: clearable(text(1, 64)),
  event_types: clearable(
    list(oneOf(...eventTypes), 1, 20).transform((types) => eventTypes.filter((type) => types.includes(type))),
  ),
  condition: clearable(expression),
  schedule: clearable(AutomationSchedule),
  description: clearable(text(0, 500)),
  is_active: optional(z.boolean()),
};

export const NewAutomation = strictBody({
  name: name(1, 100),
  type: oneOf(...automationTypes),
  action: Action,
  ...optionalFields,
});
export type NewAutomation = z.output<typeof NewAutomation>;

export const AutomationChange = strictBody({
  name: optional(name(1, 100)),
  type: optional(oneOf(...automationTypes)),
  action: optional(Action),
  ...optionalFields,
});
export type AutomationChange = z.output<typeof AutomationChange>;

export const AutomationQuery = query({ ...pageQuery });

const AutomationAction = answer('AutomationAction', {
  type: oneOf(...actionTypes),
  workflow_id: id.optional(),
  url: z.string().optional(),
  headers: z.record(z.string(), z.string()).optional(),
  body: z.string().optional(),
});

export const Automation = answer('Automation', {
  id,
  name: z.string(),
  description: z.string().nullable(),
  type: oneOf(...automationTypes),
  entity_name: z.string().nullable(),
  event_types: z.array(oneOf(...eventTypes)).nullable(),
  condition: z.string().nullable(),
  schedule: AutomationSchedule.nullable(),
  action: AutomationAction,
  is_active: z.boolean(),
  last_run_at: timestamp.nullable(),
  last_error: z.string().nullable(),
  consecutive_failures: count,
});

export interface AutomationRow {
  readonly id: string;
  readonly workspace_id: string;
  readonly app_id: string;
  readonly name: string;
  readonly description: string | null;
  readonly type: (typeof automationTypes)[number];
  readonly entity_name: string | null;
  readonly event_types: EventType[] | null;
  readonly condition: string | null;
  readonly schedule: Schedule | null;
  readonly action: Action;
  readonly is_active: boolean;
  readonly next_tick_at: Date | null;
  readonly ticks: number;
  readonly last_run_at: Date | null;
  readonly last_error: string | null;
  readonly consecutive_failures: number;
  /** The person who created it. Not part of what callers see. */
  readonly created_by: string | null;
  readonly created_date: Date;
  readonly updated_date: Date;
}

export const presentAutomation = (row: AutomationRow): z.input<typeof Automation> => ({
  id: row.id,
  name: row.name,
  description: row.description,
  type: row.type,
  entity_name: row.entity_name,
  event_types: row.event_types,
  condition: row.condition,
  schedule: row.schedule,
  action: row.action,
  is_active: row.is_active,
  last_run_at: row.last_run_at?.toISOString() ?? null,
  last_error: row.last_error,
  consecutive_failures: row.consecutive_failures,
});
