// The request and response schemas for automations (docs/api/automations.md).
import { validateHeaderName } from 'node:http';
import { z } from 'zod';
import {
  answer,
  clearable,
  count,
  described,
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

/** A header's value may contain any number of these references. */
const secretReference = /\{\{\s*secrets\.([A-Z][A-Z0-9_]{0,63})\s*\}\}/g;

/** Returns the names of the secrets that a header's value refers to. */
export const listSecretNames = (value: string): string[] =>
  [...value.matchAll(secretReference)].flatMap(([, secret]) => secret ?? []);

export const insertSecrets = (value: string, secrets: ReadonlyMap<string, string>): string =>
  value.replaceAll(secretReference, (reference, secret: string) => secrets.get(secret) ?? reference);

/** Headers that are set on every request. */
const ownHeaders = ['content-type', 'user-agent', 'idempotency-key'];
const maxHeaders = 20;

const headerValue = text(0, 2_000).superRefine((value, context) => {
  const refuse = (message: string) =>
    context.addIssue({ code: 'custom', params: { type: 'string_pattern_mismatch' }, message });
  if (!/^[\t\x20-\x7e]*$/.test(value)) refuse('must contain only printable ASCII characters, spaces and tabs');
  else if (value.replaceAll(secretReference, '').includes('{{'))
    refuse(
      'must not contain {{ except in {{secrets.NAME}}, where NAME consists of capital letters, digits and underscores',
    );
});

const Headers = z.record(z.string(), headerValue).superRefine((headers, context) => {
  const refuse = (message: string, path: string[], type = 'value_error') =>
    context.addIssue({ code: 'custom', params: { type }, message, path });
  const names = Object.keys(headers);
  if (names.length > maxHeaders) refuse(`must contain at most ${maxHeaders} headers`, [], 'too_long');
  const lowerCased = new Set<string>();
  for (const header of names.slice(0, maxHeaders)) {
    if (!isHeaderName(header)) refuse('is not a valid HTTP header name', [header]);
    else if (isReservedHeader(header) || ownHeaders.includes(header.toLowerCase()))
      refuse('is set automatically on every request; leave it out', [header]);
    else if (lowerCased.has(header.toLowerCase()))
      refuse('must not repeat another header; header names are case-insensitive', [header], 'duplicate_items');
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

/** Each action type's fields. */
const fieldsOfAction = { run_workflow: ['workflow_id'], http_request: ['url', 'headers', 'body'] } as const;
const requiredFields: readonly string[] = ['workflow_id', 'url'];

const actionFields = {
  type: oneOf(...actionTypes),
  workflow_id: optional(text(1, 100)),
  url: optional(urlText),
  headers: optional(Headers),
  body: optional(expression),
};

/** A single schema for both types, so errors name the field. */
export const Action = strictBody(actionFields)
  .superRefine((action, context) => {
    const refuse = (field: string, message: string, type: string) =>
      context.addIssue({ code: 'custom', params: { type }, message, path: [field] });
    for (const [type, names] of Object.entries(fieldsOfAction))
      for (const field of names) {
        const isSent = action[field] !== undefined;
        if (type !== action.type && isSent) refuse(field, `is only allowed if \`type\` is \`${type}\``, 'value_error');
        if (type === action.type && !isSent && requiredFields.includes(field)) refuse(field, 'is required', 'missing');
      }
  })
  .meta({ json: { type: 'object', $ref: '#/components/schemas/AutomationAction' } });
export type Action = z.output<typeof Action>;

const AutomationSchedule = Schedule.meta({ id: 'AutomationSchedule' });

const optionalFields = {
  entity_name: described(clearable(text(1, 64)), 'The entity whose record changes trigger the automation.', 'Order'),
  event_types: described(
    clearable(
      list(oneOf(...eventTypes), 1, 20).transform((types) => eventTypes.filter((type) => types.includes(type))),
    ),
    'The kinds of record changes that trigger the automation.',
    ['create'],
  ),
  condition: described(
    clearable(expression),
    'A jq expression; the action is skipped if the result is false or null.',
    '.data.total > 100',
  ),
  schedule: described(clearable(AutomationSchedule), 'The schedule of the automation.', null),
  description: described(clearable(text(0, 500)), 'A note about the automation.', 'Tells sales.'),
  is_active: described(optional(z.boolean()), 'Whether the automation is active; true by default.', true),
};

const nameText = ['The name of the automation.', 'Large orders'] as const;
const typeText = 'Whether record changes or a schedule trigger the automation.';

export const NewAutomation = strictBody({
  name: described(name(1, 100), ...nameText),
  type: described(oneOf(...automationTypes), typeText),
  action: described(Action, 'The action that the automation performs.'),
  ...optionalFields,
});
export type NewAutomation = z.output<typeof NewAutomation>;

export const AutomationChange = strictBody({
  name: described(optional(name(1, 100)), ...nameText),
  type: described(optional(oneOf(...automationTypes)), typeText),
  action: described(optional(Action), 'The action that the automation performs.'),
  ...optionalFields,
});
export type AutomationChange = z.output<typeof AutomationChange>;

export const AutomationQuery = query({ ...pageQuery });

const AutomationAction = described(
  answer('AutomationAction', {
    type: described(oneOf(...actionTypes), 'Whether to start a workflow or to send an HTTP request.', 'http_request'),
    workflow_id: described(id.optional(), 'The id of the workflow to start.', '0198c20e-91f4-7b36-8c05-d27e4a6b13f8'),
    url: described(
      z.string().optional(),
      'The URL to which the request is sent.',
      'https://sales.example.com/large-orders',
    ),
    headers: described(
      z.record(z.string(), z.string()).optional(),
      'Headers of the request; `{{secrets.NAME}}` stands for a secret of the app.',
      { 'X-Api-Key': '{{secrets.SALES_KEY}}' },
    ),
    body: described(
      z.string().optional(),
      'A jq expression for the JSON body of the request; by default, the whole event is sent.',
      '{order: .entity_id}',
    ),
  }),
  'The action that the automation performs.',
);

export const Automation = answer('Automation', {
  id: described(id, 'The id of the automation.', '0198c20d-6a1b-7c58-9e42-3f7ab05d91c6'),
  name: described(z.string(), ...nameText),
  description: described(z.string().nullable(), 'A note about the automation.', 'Tells sales.'),
  type: described(oneOf(...automationTypes), typeText),
  entity_name: described(z.string().nullable(), 'The entity whose record changes trigger the automation.', 'Order'),
  event_types: described(
    z.array(oneOf(...eventTypes)).nullable(),
    'The kinds of record changes that trigger the automation.',
    ['create'],
  ),
  condition: described(
    z.string().nullable(),
    'A jq expression; the action is skipped if the result is false or null.',
    '.data.total > 100',
  ),
  schedule: described(AutomationSchedule.nullable(), 'The schedule of the automation.', null),
  action: AutomationAction,
  is_active: described(z.boolean(), 'Whether the automation is active; true by default.', true),
  last_run_at: described(
    timestamp.nullable(),
    'When the action was last attempted; null if never.',
    '2026-11-15T09:30:00.000Z',
  ),
  last_error: described(
    z.string().nullable(),
    'Why the last attempt failed; null after a success.',
    'The endpoint responded with status 503.',
  ),
  consecutive_failures: described(
    count,
    'How many runs have failed since the last success; at 20 the automation is turned off.',
    0,
  ),
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
  /** The user who created the automation. Not shown to callers. */
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
