// The settings for connectors: the clients that the operator registers with services, and the sandbox.
import { isLoopback } from '../kit/outbound/address.ts';
import { domain, optional, type Setting, setting, text, url, type Values } from './setting.ts';

/** The types in the catalogue that need a client registered by the operator (features/connectors/catalogue.ts). */
export const connectorsWithClient = [
  'airtable',
  'asana',
  'bamboohr',
  'box',
  'calendly',
  'clickup',
  'discord',
  'dropbox',
  'github',
  'gitlab',
  'gmail',
  'googlecalendar',
  'googledrive',
  'googlesheets',
  'hubspot',
  'jira',
  'linear',
  'linkedin',
  'notion',
  'outlook',
  'salesforce',
  'shopify',
  'slack',
  'zendesk',
  'zoom',
] as const;
type ConnectorWithClient = (typeof connectorsWithClient)[number];

export const clientSettingsOf = <Type extends ConnectorWithClient>(type: Type) => {
  const name = type.toUpperCase() as Uppercase<Type>;
  return { id: `CONNECTOR_${name}_CLIENT_ID`, secret: `CONNECTOR_${name}_CLIENT_SECRET` } as const;
};

type ClientSettings = Record<
  `CONNECTOR_${Uppercase<ConnectorWithClient>}_CLIENT_${'ID' | 'SECRET'}`,
  Setting<string | undefined>
>;

/** Declares two settings per connector. Needs an assertion, because TypeScript does not track computed names. */
const clientSettings = Object.fromEntries(
  connectorsWithClient.flatMap((type) => {
    const { id, secret } = clientSettingsOf(type);
    return [
      [id, optional(`OAuth client for the connector \`${type}\`: docs/operate/connectors.md.`, text)],
      [secret, optional(`Secret of the OAuth client for the connector \`${type}\`.`, text)],
    ];
  }),
) as ClientSettings;

export const connectorSettings = {
  CONNECTOR_GITLAB_HOST: setting(
    'Host name of the GitLab server that the connector `gitlab` uses.',
    'gitlab.com',
    domain,
  ),
  CONNECTOR_SANDBOX_URL: optional(
    'URL of the sandbox, which then takes the place of the services of all connectors. For development: only if `BASE_URL` is on this machine.',
    url('http:', 'https:'),
  ),
  ...clientSettings,
};

/**
 * A client needs both an id and a secret. The sandbox is allowed only on a development machine, because people's codes
 * and tokens are sent to it.
 */
export function listConnectorFaults(
  config: Partial<Values<typeof connectorSettings>> & { BASE_URL?: string },
): string[] {
  const incomplete = connectorsWithClient.flatMap((type) => {
    const { id, secret } = clientSettingsOf(type);
    const isHalf = (config[id] === undefined) !== (config[secret] === undefined);
    return isHalf ? [`${id} and ${secret} must both be set, or neither`] : [];
  });
  const { BASE_URL, CONNECTOR_SANDBOX_URL } = config;
  const isMisplaced = CONNECTOR_SANDBOX_URL !== undefined && BASE_URL !== undefined && !isLoopback(new URL(BASE_URL));
  return isMisplaced
    ? [...incomplete, 'CONNECTOR_SANDBOX_URL is only for development, so BASE_URL must be on this machine']
    : incomplete;
}
