// Owns the shapes of connectors and connections that a caller sends and receives (docs/api/connectors.md).
import { z } from 'zod';
import {
  answer,
  body,
  distinct,
  id,
  items,
  list,
  oneOf,
  optional,
  pageQuery,
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

const integrationType = text(1, 64);
const maxScopes = 100;
/** RFC 6749, without the comma, which some services put between scopes. */
const scopeForm = /^[\x21\x23-\x2b\x2d-\x5b\x5d-\x7e]+$/;

const scope = text(1, 200).refine((value) => scopeForm.test(value), {
  params: { type: 'string_pattern_mismatch' },
  error: 'must be a scope: no spaces, commas, quotation marks or backslashes',
});
const scopes = distinct(list(scope, 0, maxScopes), (each) => each);

/** The connector's fields are checked after its type is known (field-check.ts). */
const fieldValues = (maxLength: number) =>
  z
    .record(z.string(), text(0, maxLength).nullable())
    .refine((values) => Object.keys(values).length <= 20, {
      params: { type: 'too_long' },
      error: 'must have at most 20 fields',
    })
    .meta({ json: { type: 'object', additionalProperties: { type: ['string', 'null'], maxLength } } });
const connectionConfig = fieldValues(200);

export const NewConnection = body({
  integration_type: integrationType,
  connection_config: optional(connectionConfig),
  credentials: optional(fieldValues(500)),
  scopes: optional(scopes),
  force_reconnect: optional(z.boolean()),
  return_url: optional(urlText),
});
export type NewConnection = z.output<typeof NewConnection>;

export const ScopeChange = body({ scopes, connection_config: optional(connectionConfig) });
export type ScopeChange = z.output<typeof ScopeChange>;

export const StatusQuery = query({ integration_type: unstoredText(1, 64), connection_id: optional(z.string()) });
export const ConnectorQuery = query({ ...pageQuery });
export const ConnectionQuery = query({ ...pageQuery });

/** What a service sends along. Anything else about it has no effect. */
export const CallbackQuery = query({
  state: optional(unstoredText(0, 200)),
  code: optional(unstoredText(0, 4_096)),
  error: optional(unstoredText(0, 200)),
  iss: optional(unstoredText(0, 2_048)),
});
export type CallbackQuery = z.output<typeof CallbackQuery>;

const Field = answer('ConnectorField', {
  name: z.string(),
  display_name: z.string(),
  description: z.string(),
  placeholder: z.string(),
  required: z.boolean(),
  validation_pattern: z.string(),
  validation_error: z.string(),
});

const ConnectorItem = answer('Connector', {
  integration_type: z.string(),
  display_name: z.string(),
  description: z.string(),
  auth: oneOf('oauth2', 'api_key'),
  default_scopes: z.array(z.string()),
  connection_config_fields: z.array(Field),
  credential_fields: z.array(Field),
  configured: z.boolean(),
  notes: z.string().nullable(),
  usage_guide: z.string().nullable(),
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
  fields: z.array(Field),
  connection_config: z.record(z.string(), z.string()),
});

/** Values are shown as they were saved: secrets are never among them. */
export const presentFields = (
  connector: Connector,
  connection: ConnectionRow | undefined,
): z.input<typeof ConnectionFields> => ({
  fields: [...connector.connection_config_fields],
  connection_config:
    connection?.status === 'active' || connection?.status === 'expired' ? connection.connection_config : {},
});

export const StartResult = answer('ConnectionStart', {
  redirect_url: z.string().nullable(),
  connection_id: id.nullable(),
  already_authorized: z.boolean(),
  error: oneOf('different_user', 'credentials_rejected').nullable(),
  error_message: z.string().nullable(),
  other_user_email: z.string().nullable(),
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
  status: oneOf('PENDING', 'ACTIVE', 'FAILED'),
  error: oneOf(
    'access_denied',
    'exchange_failed',
    'scope_missing',
    'expired',
    'connection_expired',
    'disconnected',
  ).nullable(),
});

/** The latest attempt decides while it is pending, and after it has failed. */
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
  integration_type: z.string(),
  connection_id: id,
  status: oneOf('active', 'disconnected', 'expired'),
  scopes: z.array(z.string()),
  user_email: z.string().nullable(),
  connected_at: timestamp,
  expires_at: timestamp.nullable(),
  last_error: z.string().nullable(),
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
  status: z.literal('disconnected'),
  integration_type: z.string(),
});
export const Removed = answer('ConnectorRemoved', { status: z.literal('removed'), integration_type: z.string() });
