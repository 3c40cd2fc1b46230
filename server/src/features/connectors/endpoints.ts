// A connection's endpoints and OAuth client: the catalogue's templates, filled in with values from
// `connection_config` and the operator's settings. In development, all endpoints may point to the sandbox.
import type { ApiAuthorization } from '../../gateways/oauth/api-key-check.ts';
import type { OAuthClient } from '../../gateways/oauth/index.ts';
import { type Connector, catalogue } from './catalogue.ts';
import type { ConnectionConfig } from './store/connections.ts';

/** The client that the operator has registered with a service. */
export interface RegisteredClient {
  readonly clientId: string;
  readonly clientSecret: string;
}

export interface ConnectorSettings {
  /** Clients, keyed by integration type. */
  readonly clients: ReadonlyMap<string, RegisteredClient>;
  readonly gitlabHost: string;
  /** Replaces all services' hosts. Used only in development. */
  readonly sandboxUrl?: string | undefined;
}

export interface Endpoints {
  /** Whether users can connect: either the operator has registered a client, or the service needs none. */
  isConfigured(connector: Connector): boolean;
  /** Undefined if the service uses API keys or no client is registered. */
  clientFor(connector: Connector, config: ConnectionConfig, workspaceId: string): OAuthClient | undefined;
  /** The base URL for API requests. Paths are appended to it. */
  apiBaseFor(connector: Connector, config: ConnectionConfig): string;
  /** Whether `iss` identifies the connector's authorization server. */
  isIssuer(connector: Connector, config: ConnectionConfig, iss: string): boolean;
}

export function createEndpoints({ clients, gitlabHost, sandboxUrl }: ConnectorSettings): Endpoints {
  const fill = (template: string, { configDefaults }: Connector, config: ConnectionConfig): string => {
    const values: ConnectionConfig = { ...configDefaults, ...config, gitlab_host: gitlabHost };
    return template.replaceAll(/\{(\w+)\}/g, (_placeholder, name: string) => {
      const value = values[name];
      if (value === undefined) throw new Error(`the connection has no value for ${name}`);
      return value;
    });
  };
  const inSandbox = ({ integration_type }: Connector) => `${sandboxUrl}/${integration_type}`;

  return {
    isConfigured: ({ oauth, integration_type }) => oauth === null || clients.has(integration_type),
    clientFor(connector, config, workspaceId) {
      const { oauth, integration_type } = connector;
      const client = clients.get(integration_type);
      if (oauth === null || client === undefined) return undefined;
      const at = (template: string) => fill(template, connector, config);
      const shared = {
        ...client,
        owner: workspaceId,
        clientAuth: oauth.clientAuth,
        scopeSeparator: oauth.scopeSeparator,
        extraAuthorizeParams: oauth.authorizeParams ?? {},
      };
      if (sandboxUrl !== undefined)
        return {
          ...shared,
          issuer: inSandbox(connector),
          authorizationEndpoint: `${inSandbox(connector)}/authorize`,
          tokenEndpoint: `${inSandbox(connector)}/token`,
          ...(oauth.revoke !== undefined && { revocationEndpoint: `${inSandbox(connector)}/revoke` }),
        };
      return {
        ...shared,
        issuer: at(oauth.issuer),
        authorizationEndpoint: at(oauth.authorize),
        tokenEndpoint: at(oauth.token),
        ...(oauth.revoke !== undefined && { revocationEndpoint: at(oauth.revoke) }),
      };
    },
    apiBaseFor: (connector, config) =>
      sandboxUrl === undefined ? fill(connector.apiBase, connector, config) : `${inSandbox(connector)}/api`,
    isIssuer(connector, config, iss) {
      if (sandboxUrl !== undefined) return iss === inSandbox(connector);
      if (connector.oauth === null) return false;
      const issuer = fill(connector.oauth.issuer, connector, config);
      if (!connector.oauth.issuerPathVaries) return iss === issuer;
      return URL.canParse(iss) && new URL(iss).origin === new URL(issuer).origin;
    },
  };
}

/**
 * Lists the token endpoints of all services with a registered client. Leaves out services whose host depends on the
 * connection, such as that of a shop.
 */
export function listTokenEndpoints(settings: ConnectorSettings): string[] {
  const endpoints = createEndpoints(settings);
  return catalogue.flatMap((connector) => {
    const isFixed =
      settings.sandboxUrl !== undefined || !/\/\/[^/]*\{(?!gitlab_host)/.test(connector.oauth?.token ?? '');
    const config = Object.fromEntries(connector.connection_config_fields.map(({ name }) => [name, name]));
    const client = isFixed ? endpoints.clientFor(connector, config, '') : undefined;
    return client === undefined ? [] : [client.tokenEndpoint];
  });
}

/** The request that checks whether API keys are valid. Undefined for OAuth services. */
export function describeCheck(
  { checkPath, apiAuth }: Connector,
  apiBase: string,
  config: ConnectionConfig,
  credentials: Readonly<Record<string, string>>,
): { url: string; authorization: ApiAuthorization } | undefined {
  const authorization = describeCredentials(apiAuth, config, credentials);
  if (checkPath === undefined || authorization === undefined) return undefined;
  return {
    url: apiBase + checkPath.replaceAll(/\{(\w+)\}/g, (_all, name: string) => config[name] ?? ''),
    authorization,
  };
}

/** The authorization for requests with these API keys. Undefined for OAuth services. */
export function describeCredentials(
  apiAuth: Connector['apiAuth'],
  config: ConnectionConfig,
  credentials: Readonly<Record<string, string>>,
): ApiAuthorization | undefined {
  if (apiAuth.kind === 'basic')
    return { kind: 'basic', user: config[apiAuth.user] ?? '', password: credentials[apiAuth.password] ?? '' };
  if (apiAuth.kind === 'bearer' && apiAuth.credential !== undefined)
    return { kind: 'bearer', token: credentials[apiAuth.credential] ?? '' };
  return undefined;
}
