// The API schemas for connectors and connections (docs/api/connectors.md).
import { z } from 'zod';
import {
  answer,
  body,
  described,
  distinct,
  id,
  items,
  list,
  oneOf,
  optional,
  pageQuery,
  parameter,
  query,
  text,
  timestamp,
  unstoredText,
  urlText,
} from '../../kit/http/shapes.ts';
import type { Connector } from './catalogue.ts';
import type { Endpoints } from './endpoints.ts';
import type { AttemptRow } from './store/attempts.ts';
import type { ConnectionRow, ListedConnection } from './store/connections.ts';

const integrationType = described(text(1, 64), 'The type of the connector; not case-sensitive.', 'zendesk');
const maxScopes = 100;
/** The scope syntax in RFC 6749 without the comma, which some services use as a separator. */
const scopeForm = /^[\x21\x23-\x2b\x2d-\x5b\x5d-\x7e]+$/;

const scope = text(1, 200).refine((value) => scopeForm.test(value), {
  params: { type: 'string_pattern_mismatch' },
  error: 'must be a scope without spaces, commas, quotation marks or backslashes',
});
const scopes = distinct(list(scope, 0, maxScopes), (each) => each);

/** Checked against the connector's fields once its type is known (field-check.ts). */
const fieldValues = (maxLength: number) =>
  z
    .record(z.string(), text(0, maxLength).nullable())
    .refine((values) => Object.keys(values).length <= 20, {
      params: { type: 'too_long' },
      error: 'must contain at most 20 fields',
    })
    .meta({ json: { type: 'object', additionalProperties: { type: ['string', 'null'], maxLength } } });
const connectionConfig = fieldValues(200);

export const NewConnection = body({
  integration_type: integrationType,
  connection_config: described(
    optional(connectionConfig),
    "Values of the connector's fields, by name. Don't send secrets here.",
    { subdomain: 'acme-prod' },
  ),
  credentials: described(
    optional(fieldValues(500)),
    'Secrets for a service with API keys, by field name. They are never returned.',
    { api_key: 'EXAMPLE' },
  ),
  scopes: described(optional(scopes), "The scopes to request; the connector's defaults if not sent.", ['read']),
  force_reconnect: described(
    optional(z.boolean()),
    "Whether to connect again even if a connection exists. An owner of the app can also replace another person's connection.",
  ),
  return_url: described(
    optional(urlText),
    'The address that the browser returns to at the end, on this installation or the published app.',
    'https://plinth.example.com/settings',
  ),
});
export type NewConnection = z.output<typeof NewConnection>;

export const ScopeChange = body({
  scopes: described(scopes, 'The new scopes, which replace the current ones.', ['read']),
  connection_config: described(
    optional(connectionConfig),
    "Values of the connector's fields, by name. Don't send secrets here.",
    { subdomain: 'acme-prod' },
  ),
});
export type ScopeChange = z.output<typeof ScopeChange>;

const integrationTypeText = ['The type of the connector; not case-sensitive.', 'zendesk'] as const;

export const StatusQuery = query({
  integration_type: described(unstoredText(1, 64), ...integrationTypeText),
  connection_id: parameter(
    optional(z.string()),
    'The id of the connection to read.',
    '0198c20d-04f7-7b5e-9c31-6a2f8d10b7e4',
  ),
});
export const ConnectorQuery = query({ ...pageQuery });
export const ConnectionQuery = query({ ...pageQuery });

/** The parameters that a service sends to the callback. All others are ignored. */
export const CallbackQuery = query({
  state: described(optional(unstoredText(0, 200)), 'The `state` that Plinth sent to the service.', 'EXAMPLE'),
  code: parameter(optional(unstoredText(0, 4_096)), 'The authorization code to exchange for tokens.', 'EXAMPLE'),
  error: described(optional(unstoredText(0, 200)), 'Why the service issued no code.', 'access_denied'),
  iss: parameter(
    optional(unstoredText(0, 2_048)),
    'The authorization server that sent the response (RFC 9207).',
    'https://accounts.google.com',
  ),
});
export type CallbackQuery = z.output<typeof CallbackQuery>;

const Field = answer('ConnectorField', {
  name: described(z.string(), 'The key of the value in `connection_config` or `credentials`.', 'subdomain'),
  display_name: described(z.string(), "The field's display name.", 'Subdomain'),
  description: described(
    z.string(),
    'Help for the person who fills in the field.',
    'The first part of your address, such as acme-prod in acme-prod.zendesk.com.',
  ),
  placeholder: described(z.string(), 'An example value.', 'acme-prod'),
  required: described(z.boolean(), 'Whether the field is required.'),
  validation_pattern: described(z.string(), 'The regular expression that values must match.', '^[a-z0-9-]{1,63}$'),
  validation_error: described(
    z.string(),
    "The error message for a value that doesn't match.",
    'must be only the first part of your address, such as acme-prod',
  ),
});

const ConnectorItem = answer('Connector', {
  integration_type: described(z.string(), ...integrationTypeText),
  display_name: described(z.string(), "The service's display name.", 'Zendesk'),
  description: described(z.string(), 'What the connector is for.', 'Read and change tickets in Zendesk.'),
  auth: described(
    oneOf('oauth2', 'api_key'),
    'How the service is connected: by consent at the service (`oauth2`), or with API keys (`api_key`).',
  ),
  default_scopes: described(z.array(z.string()), 'The scopes that are requested if none are sent.', ['read', 'write']),
  connection_config_fields: described(z.array(Field), 'The fields of `connection_config`.'),
  credential_fields: described(z.array(Field), 'The fields of `credentials`; empty for services with OAuth.'),
  configured: described(
    z.boolean(),
    'Whether the operator has registered a client with the service; true if the service needs none.',
  ),
  notes: described(z.string().nullable(), 'Notes about the service; null if there are none.'),
  usage_guide: described(
    z.string().nullable(),
    'How to send requests to the service; null if nothing special is needed.',
  ),
});
export const ConnectorPage = items(ConnectorItem);

export const presentConnector = (connector: Connector, endpoints: Endpoints): z.input<typeof ConnectorItem> => ({
  integration_type: connector.integration_type,
  display_name: connector.display_name,
  description: connector.description,
  auth: connector.oauth === null ? 'api_key' : 'oauth2',
  default_scopes: [...connector.default_scopes],
  connection_config_fields: [...connector.connection_config_fields],
  credential_fields: [...connector.credential_fields],
  configured: endpoints.isConfigured(connector),
  notes: connector.notes,
  usage_guide: connector.usage_guide,
});

export const ConnectionFields = answer('ConnectionFields', {
  fields: described(z.array(Field), 'The fields that the service needs; empty if it needs none.'),
  connection_config: described(
    z.record(z.string(), z.string()),
    'The saved values of the connection; empty if there is no connection.',
    { subdomain: 'acme-prod' },
  ),
});

/** Values are shown as saved. They never include secrets. */
export const presentFields = (
  connector: Connector,
  connection: ConnectionRow | undefined,
): z.input<typeof ConnectionFields> => ({
  fields: [...connector.connection_config_fields],
  connection_config:
    connection?.status === 'active' || connection?.status === 'expired' ? connection.connection_config : {},
});

export const StartResult = answer('ConnectionStart', {
  redirect_url: described(
    z.string().nullable(),
    "The address to open in the person's browser within ten minutes; null if there is nothing to open.",
    'https://plinth.example.com/connect/EXAMPLE',
  ),
  connection_id: described(
    id.nullable(),
    'The id of the connection; null if there is none.',
    '0198c20d-04f7-7b5e-9c31-6a2f8d10b7e4',
  ),
  already_authorized: described(z.boolean(), 'Whether the connection is already active with these scopes.'),
  error: described(
    oneOf('different_user', 'credentials_rejected').nullable(),
    'Why no connection was started; null if there was no error.',
  ),
  error_message: described(z.string().nullable(), 'A message that explains `error`; null if there was no error.'),
  other_user_email: described(
    z.string().nullable(),
    'The e-mail address of the other person, if `error` is `different_user`.',
    'grace@example.com',
  ),
});
export type StartResult = z.input<typeof StartResult>;

export const noStart: StartResult = {
  redirect_url: null,
  connection_id: null,
  already_authorized: false,
  error: null,
  error_message: null,
  other_user_email: null,
};

export const ConnectionStatus = answer('ConnectionStatus', {
  status: described(oneOf('PENDING', 'ACTIVE', 'FAILED'), 'The status of the latest attempt to connect.'),
  error: described(
    oneOf(
      'access_denied',
      'exchange_failed',
      'scope_missing',
      'expired',
      'connection_expired',
      'disconnected',
    ).nullable(),
    'Why the attempt failed, or why there is no active connection; otherwise null.',
  ),
});

/** The latest attempt determines the status while it is pending and after it has failed. */
export function presentStatus(
  { status }: ConnectionRow,
  attempt: AttemptRow | undefined,
  now: Date,
): z.input<typeof ConnectionStatus> {
  if (attempt?.error) return { status: 'FAILED', error: attempt.error };
  if (attempt) return attempt.expires_at > now ? { status: 'PENDING', error: null } : failed('expired');
  if (status === 'active') return { status: 'ACTIVE', error: null };
  return failed(status === 'expired' ? 'connection_expired' : 'disconnected');
}

const failed = (error: 'expired' | 'connection_expired' | 'disconnected') => ({ status: 'FAILED', error }) as const;

const Connection = answer('Connection', {
  integration_type: described(z.string(), ...integrationTypeText),
  connection_id: described(id, 'The id of the connection.', '0198c20d-04f7-7b5e-9c31-6a2f8d10b7e4'),
  status: described(
    oneOf('active', 'disconnected', 'expired'),
    'Whether the connection can be used. An `expired` connection must be connected again.',
  ),
  scopes: described(z.array(z.string()), 'The scopes that the service has granted.', ['read', 'write']),
  user_email: described(
    z.string().nullable(),
    'The e-mail address of the person who connected the service; null if their Plinth account was removed.',
    'grace@example.com',
  ),
  connected_at: described(timestamp, 'When the service was last connected.', '2026-11-15T09:30:00.000Z'),
  expires_at: described(
    timestamp.nullable(),
    "When the access token expires; null if it doesn't. Plinth refreshes the token before then.",
    '2026-11-15T10:30:00.000Z',
  ),
  last_error: described(
    z.string().nullable(),
    "Why the last token refresh failed; null if it didn't fail.",
    'invalid_grant',
  ),
});
export const ConnectionPage = items(Connection);

export const presentConnection = (row: ListedConnection): z.input<typeof Connection> => ({
  integration_type: row.integration_type,
  connection_id: row.id,
  status: row.status,
  scopes: row.scopes,
  user_email: row.user_email,
  connected_at: row.connected_at.toISOString(),
  expires_at: row.expires_at?.toISOString() ?? null,
  last_error: row.last_error,
});

export const Disconnected = answer('Disconnected', {
  status: described(z.literal('disconnected'), 'Always `disconnected`.'),
  integration_type: described(z.string(), ...integrationTypeText),
});
export const Removed = answer('ConnectorRemoved', {
  status: described(z.literal('removed'), 'Always `removed`.'),
  integration_type: described(z.string(), ...integrationTypeText),
});
