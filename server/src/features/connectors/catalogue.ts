// Owns the catalogue of connectors: data, one entry per service, by type. A `{name}` in an endpoint stands for a value of the
// connection's `connection_config`, and is always within a host name that ends with the service's own, or within a path.
// Before you enable a connector, compare its endpoints with the service's documentation (docs/operate/connectors.md).

/** A field that a person fills in before they connect. */
export interface ConnectorField {
  readonly name: string;
  readonly display_name: string;
  readonly description: string;
  readonly placeholder: string;
  readonly required: boolean;
  readonly validation_pattern: string;
  readonly validation_error: string;
}

export interface OAuthService {
  /** Names the authorization server. A service that sends `iss` to the callback must send this (RFC 9207). */
  readonly issuer: string;
  /** The service sends another path as `iss`, such as the tenant's id instead of `common`. */
  readonly issuerPathVaries?: true;
  readonly authorize: string;
  readonly token: string;
  /** Absent: the service documents no endpoint of RFC 7009. */
  readonly revoke?: string;
  /** PKCE is sent to every service. False: the service does not document that it checks it. */
  readonly checksPkce: boolean;
  readonly clientAuth: 'basic' | 'post';
  readonly scopeSeparator: ' ' | ',';
  /** Parameters that the service needs, such as to issue a refresh token. */
  readonly authorizeParams?: Readonly<Record<string, string>>;
  /** The service answers with scopes that are not those asked for, although it granted all: `write_x` includes `read_x`. */
  readonly rewordsScopes?: true;
  /** What a scope that was granted includes. The service reports only the wider one. */
  readonly includedScopes?: Readonly<Record<string, readonly string[]>>;
  /** Scopes that the service may leave out of its answer although it granted them. */
  readonly unreportedScopes?: readonly string[];
}

export interface Connector {
  readonly integration_type: string;
  readonly display_name: string;
  readonly description: string;
  readonly notes: string | null;
  readonly usage_guide: string | null;
  readonly default_scopes: readonly string[];
  readonly connection_config_fields: readonly ConnectorField[];
  /** Secrets that a person sends. Only services without OAuth have any. */
  readonly credential_fields: readonly ConnectorField[];
  /** Values of `connection_config` that may be left out. */
  readonly configDefaults?: Readonly<Record<string, string>>;
  /** Null: API keys instead. */
  readonly oauth: OAuthService | null;
  /** Where requests go. Paths are relative to it. */
  readonly apiBase: string;
  /**
   * How requests are authenticated. `bearer`: the access token, or the credential field that is named. `header`: the access
   * token in a header of its own. `basic`: a value of `connection_config` and a credential.
   */
  readonly apiAuth:
    | { readonly kind: 'bearer'; readonly credential?: string }
    | { readonly kind: 'header'; readonly header: string }
    | { readonly kind: 'basic'; readonly user: string; readonly password: string };
  /** Headers that the API needs with every request. */
  readonly apiHeaders?: Readonly<Record<string, string>>;
  /** The API takes forms: bodies that are written as JSON are sent as a form. */
  readonly bodyFormat?: 'form';
  /** A path below `apiBase` that answers only with valid credentials and changes nothing. For API keys. */
  readonly checkPath?: string;
}

/** A label of a host name, in lower case. */
const hostLabel = '^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$';

const label = (name: string, display_name: string, placeholder: string, address: string): ConnectorField => ({
  name,
  display_name,
  description: `The first part of your address: ${placeholder}, if it is ${placeholder}.${address}.`,
  placeholder,
  required: true,
  validation_pattern: hostLabel,
  validation_error: `must be only the first part of your address, e.g. ${placeholder}`,
});

const bearer = { kind: 'bearer' } as const;
const none = { connection_config_fields: [], credential_fields: [], notes: null, usage_guide: null } as const;
const standard = { checksPkce: true, clientAuth: 'post', scopeSeparator: ' ' } as const;
const withoutPkce = { ...standard, checksPkce: false } as const;

const google = {
  ...standard,
  issuer: 'https://accounts.google.com',
  authorize: 'https://accounts.google.com/o/oauth2/v2/auth',
  token: 'https://oauth2.googleapis.com/token',
  revoke: 'https://oauth2.googleapis.com/revoke',
  // Without these, Google issues a refresh token only at the first consent.
  authorizeParams: { access_type: 'offline', prompt: 'consent' },
  includedScopes: {
    'https://www.googleapis.com/auth/userinfo.email': ['email'],
    'https://www.googleapis.com/auth/userinfo.profile': ['profile'],
  },
} as const;

/** GitHub reports `repo` for `repo` and `public_repo`, for example. */
const githubScopes = {
  repo: ['repo:status', 'repo_deployment', 'public_repo', 'repo:invite', 'security_events'],
  user: ['read:user', 'user:email', 'user:follow'],
  project: ['read:project'],
  'admin:org': ['write:org', 'read:org'],
  'write:org': ['read:org'],
  'admin:repo_hook': ['write:repo_hook', 'read:repo_hook'],
  'write:repo_hook': ['read:repo_hook'],
  'admin:public_key': ['write:public_key', 'read:public_key'],
  'write:public_key': ['read:public_key'],
  'admin:gpg_key': ['write:gpg_key', 'read:gpg_key'],
  'write:gpg_key': ['read:gpg_key'],
  'write:packages': ['read:packages'],
  'write:discussion': ['read:discussion'],
} as const;

const entries: readonly Connector[] = [
  {
    ...none,
    integration_type: 'airtable',
    display_name: 'Airtable',
    description: 'Read and change records of Airtable bases.',
    default_scopes: ['data.records:read', 'data.records:write', 'schema.bases:read'],
    oauth: {
      ...standard,
      issuer: 'https://airtable.com',
      authorize: 'https://airtable.com/oauth2/v1/authorize',
      token: 'https://airtable.com/oauth2/v1/token',
      clientAuth: 'basic',
    },
    apiBase: 'https://api.airtable.com',
    apiAuth: bearer,
  },
  {
    ...none,
    integration_type: 'asana',
    display_name: 'Asana',
    description: 'Read and change tasks and projects in Asana.',
    default_scopes: ['default'],
    oauth: {
      ...standard,
      issuer: 'https://app.asana.com',
      authorize: 'https://app.asana.com/-/oauth_authorize',
      token: 'https://app.asana.com/-/oauth_token',
      revoke: 'https://app.asana.com/-/oauth_revoke',
    },
    apiBase: 'https://app.asana.com/api/1.0',
    apiAuth: bearer,
  },
  {
    ...none,
    integration_type: 'bamboohr',
    display_name: 'BambooHR',
    description: 'Read employees and time off from BambooHR.',
    default_scopes: ['openid', 'email', 'employee', 'offline_access'],
    connection_config_fields: [label('company', 'Company domain', 'acme', 'bamboohr.com')],
    oauth: {
      ...withoutPkce,
      issuer: 'https://{company}.bamboohr.com',
      authorize: 'https://{company}.bamboohr.com/authorize.php',
      token: 'https://{company}.bamboohr.com/token.php?request=token',
      authorizeParams: { request: 'authorize' },
      unreportedScopes: ['openid', 'email'],
    },
    apiBase: 'https://{company}.bamboohr.com/api/v1',
    apiAuth: bearer,
  },
  {
    ...none,
    integration_type: 'box',
    display_name: 'Box',
    description: 'Read and change files in Box.',
    default_scopes: ['root_readwrite'],
    oauth: {
      ...withoutPkce,
      issuer: 'https://account.box.com',
      authorize: 'https://account.box.com/api/oauth2/authorize',
      token: 'https://api.box.com/oauth2/token',
      revoke: 'https://api.box.com/oauth2/revoke',
    },
    apiBase: 'https://api.box.com/2.0',
    apiAuth: bearer,
  },
  {
    ...none,
    integration_type: 'calendly',
    display_name: 'Calendly',
    description: 'Read event types and scheduled events from Calendly.',
    default_scopes: [],
    oauth: {
      ...standard,
      issuer: 'https://auth.calendly.com',
      authorize: 'https://auth.calendly.com/oauth/authorize',
      token: 'https://auth.calendly.com/oauth/token',
      revoke: 'https://auth.calendly.com/oauth/revoke',
    },
    apiBase: 'https://api.calendly.com',
    apiAuth: bearer,
  },
  {
    ...none,
    integration_type: 'clickup',
    display_name: 'ClickUp',
    description: 'Read and change tasks in ClickUp.',
    notes: 'ClickUp has no scopes: the person chooses workspaces.',
    default_scopes: [],
    oauth: {
      ...withoutPkce,
      issuer: 'https://app.clickup.com',
      authorize: 'https://app.clickup.com/api',
      token: 'https://api.clickup.com/api/v2/oauth/token',
    },
    apiBase: 'https://api.clickup.com/api/v2',
    apiAuth: bearer,
  },
  {
    ...none,
    integration_type: 'discord',
    display_name: 'Discord',
    description: "Read a person's Discord profile and servers.",
    default_scopes: ['identify'],
    oauth: {
      ...standard,
      issuer: 'https://discord.com',
      authorize: 'https://discord.com/oauth2/authorize',
      token: 'https://discord.com/api/oauth2/token',
      revoke: 'https://discord.com/api/oauth2/token/revoke',
    },
    apiBase: 'https://discord.com/api/v10',
    apiAuth: bearer,
  },
  {
    ...none,
    integration_type: 'dropbox',
    display_name: 'Dropbox',
    description: 'Read and change files in Dropbox.',
    default_scopes: ['files.metadata.read', 'files.content.read', 'files.content.write'],
    oauth: {
      ...standard,
      issuer: 'https://www.dropbox.com',
      authorize: 'https://www.dropbox.com/oauth2/authorize',
      token: 'https://api.dropboxapi.com/oauth2/token',
      authorizeParams: { token_access_type: 'offline' },
    },
    apiBase: 'https://api.dropboxapi.com/2',
    apiAuth: bearer,
  },
  {
    ...none,
    integration_type: 'github',
    display_name: 'GitHub',
    description: 'Read and change repositories and issues on GitHub.',
    default_scopes: ['read:user', 'repo'],
    oauth: {
      ...standard,
      issuer: 'https://github.com/login/oauth',
      authorize: 'https://github.com/login/oauth/authorize',
      token: 'https://github.com/login/oauth/access_token',
      includedScopes: githubScopes,
    },
    apiBase: 'https://api.github.com',
    apiAuth: bearer,
  },
  {
    ...none,
    integration_type: 'gitlab',
    display_name: 'GitLab',
    description: 'Read and change projects and issues on GitLab.',
    notes: 'The operator chooses the GitLab server of the installation.',
    default_scopes: ['read_user', 'api'],
    oauth: {
      ...standard,
      issuer: 'https://{gitlab_host}',
      authorize: 'https://{gitlab_host}/oauth/authorize',
      token: 'https://{gitlab_host}/oauth/token',
      revoke: 'https://{gitlab_host}/oauth/revoke',
    },
    apiBase: 'https://{gitlab_host}/api/v4',
    apiAuth: bearer,
  },
  {
    ...none,
    integration_type: 'gmail',
    display_name: 'Gmail',
    description: "Send mail from a person's Gmail account.",
    default_scopes: ['https://www.googleapis.com/auth/gmail.send'],
    oauth: google,
    apiBase: 'https://gmail.googleapis.com',
    apiAuth: bearer,
  },
  {
    ...none,
    integration_type: 'googlecalendar',
    display_name: 'Google Calendar',
    description: 'Read and change events in Google Calendar.',
    default_scopes: ['https://www.googleapis.com/auth/calendar.events'],
    oauth: google,
    apiBase: 'https://www.googleapis.com/calendar/v3',
    apiAuth: bearer,
  },
  {
    ...none,
    integration_type: 'googledrive',
    display_name: 'Google Drive',
    description: 'Create files in Google Drive, and read and change these files.',
    default_scopes: ['https://www.googleapis.com/auth/drive.file'],
    oauth: google,
    apiBase: 'https://www.googleapis.com/drive/v3',
    apiAuth: bearer,
  },
  {
    ...none,
    integration_type: 'googlesheets',
    display_name: 'Google Sheets',
    description: 'Read and change spreadsheets in Google Sheets.',
    default_scopes: ['https://www.googleapis.com/auth/spreadsheets'],
    oauth: google,
    apiBase: 'https://sheets.googleapis.com/v4',
    apiAuth: bearer,
  },
  {
    ...none,
    integration_type: 'hubspot',
    display_name: 'HubSpot',
    description: 'Read contacts from HubSpot.',
    default_scopes: ['oauth', 'crm.objects.contacts.read'],
    oauth: {
      ...withoutPkce,
      issuer: 'https://app.hubspot.com',
      authorize: 'https://app.hubspot.com/oauth/authorize',
      token: 'https://api.hubapi.com/oauth/v1/token',
    },
    apiBase: 'https://api.hubapi.com',
    apiAuth: bearer,
  },
  {
    ...none,
    integration_type: 'jira',
    display_name: 'Jira',
    description: 'Read and change issues in Jira Cloud.',
    usage_guide:
      'Request `GET /oauth/token/accessible-resources` and take the `id` of your site. Paths then begin with `/ex/jira/{id}/rest/api/3`.',
    default_scopes: ['read:jira-work', 'write:jira-work', 'offline_access'],
    connection_config_fields: [label('site', 'Site', 'acme', 'atlassian.net')],
    oauth: {
      ...withoutPkce,
      issuer: 'https://auth.atlassian.com',
      authorize: 'https://auth.atlassian.com/authorize',
      token: 'https://auth.atlassian.com/oauth/token',
      authorizeParams: { audience: 'api.atlassian.com', prompt: 'consent' },
    },
    apiBase: 'https://api.atlassian.com',
    apiAuth: bearer,
  },
  {
    ...none,
    integration_type: 'linear',
    display_name: 'Linear',
    description: 'Read and change issues in Linear.',
    default_scopes: ['read', 'write'],
    oauth: {
      ...standard,
      issuer: 'https://linear.app',
      authorize: 'https://linear.app/oauth/authorize',
      token: 'https://api.linear.app/oauth/token',
      revoke: 'https://api.linear.app/oauth/revoke',
      scopeSeparator: ',',
    },
    apiBase: 'https://api.linear.app',
    apiAuth: bearer,
  },
  {
    ...none,
    integration_type: 'linkedin',
    display_name: 'LinkedIn',
    description: "Read a person's LinkedIn profile.",
    default_scopes: ['openid', 'profile', 'email'],
    oauth: {
      ...withoutPkce,
      issuer: 'https://www.linkedin.com/oauth',
      authorize: 'https://www.linkedin.com/oauth/v2/authorization',
      token: 'https://www.linkedin.com/oauth/v2/accessToken',
    },
    apiBase: 'https://api.linkedin.com',
    apiAuth: bearer,
  },
  {
    ...none,
    integration_type: 'notion',
    display_name: 'Notion',
    description: 'Read and change pages and databases in Notion.',
    notes: 'Notion has no scopes: the person chooses pages.',
    usage_guide:
      'Requests have the header `Notion-Version: 2022-06-28`. Write them as that version of the API describes.',
    default_scopes: [],
    oauth: {
      ...withoutPkce,
      issuer: 'https://api.notion.com',
      authorize: 'https://api.notion.com/v1/oauth/authorize',
      token: 'https://api.notion.com/v1/oauth/token',
      clientAuth: 'basic',
      authorizeParams: { owner: 'user' },
    },
    apiBase: 'https://api.notion.com/v1',
    apiAuth: bearer,
    apiHeaders: { 'notion-version': '2022-06-28' },
  },
  {
    ...none,
    integration_type: 'outlook',
    display_name: 'Outlook',
    description: "Read a person's Outlook mail and calendar, and send mail.",
    default_scopes: [
      'offline_access',
      'https://graph.microsoft.com/Mail.Read',
      'https://graph.microsoft.com/Mail.Send',
      'https://graph.microsoft.com/Calendars.Read',
    ],
    connection_config_fields: [
      {
        name: 'tenant',
        display_name: 'Tenant',
        description:
          'The id or domain of your Microsoft Entra tenant. Leave it out to choose the account when you sign in.',
        placeholder: 'common',
        required: false,
        validation_pattern: '^[A-Za-z0-9.-]{1,100}$',
        validation_error: 'must be the id or domain of your tenant, e.g. acme.onmicrosoft.com',
      },
    ],
    configDefaults: { tenant: 'common' },
    oauth: {
      ...standard,
      issuer: 'https://login.microsoftonline.com/{tenant}/v2.0',
      issuerPathVaries: true,
      unreportedScopes: ['openid', 'profile', 'email'],
      authorize: 'https://login.microsoftonline.com/{tenant}/oauth2/v2.0/authorize',
      token: 'https://login.microsoftonline.com/{tenant}/oauth2/v2.0/token',
    },
    apiBase: 'https://graph.microsoft.com/v1.0',
    apiAuth: bearer,
  },
  {
    ...none,
    integration_type: 'salesforce',
    display_name: 'Salesforce',
    description: 'Read and change objects in Salesforce.',
    default_scopes: ['api', 'refresh_token'],
    connection_config_fields: [label('my_domain', 'My Domain name', 'acme', 'my.salesforce.com')],
    oauth: {
      ...standard,
      issuer: 'https://{my_domain}.my.salesforce.com',
      authorize: 'https://{my_domain}.my.salesforce.com/services/oauth2/authorize',
      token: 'https://{my_domain}.my.salesforce.com/services/oauth2/token',
      revoke: 'https://{my_domain}.my.salesforce.com/services/oauth2/revoke',
    },
    apiBase: 'https://{my_domain}.my.salesforce.com',
    apiAuth: bearer,
  },
  {
    ...none,
    integration_type: 'sendgrid',
    display_name: 'SendGrid',
    description: 'Send mail with SendGrid.',
    default_scopes: [],
    credential_fields: [
      {
        name: 'api_key',
        display_name: 'API key',
        description: 'An API key of your SendGrid account. It is stored encrypted and never shown again.',
        placeholder: 'SG.…',
        required: true,
        validation_pattern: '^SG\\.[\\w-]{16,32}\\.[\\w-]{16,64}$',
        validation_error: 'must be a SendGrid API key, which begins with SG. and has two dots',
      },
    ],
    oauth: null,
    apiBase: 'https://api.sendgrid.com',
    apiAuth: { kind: 'bearer', credential: 'api_key' },
    checkPath: '/v3/scopes',
  },
  {
    ...none,
    integration_type: 'shopify',
    display_name: 'Shopify',
    description: 'Read products of a Shopify shop.',
    default_scopes: ['read_products'],
    connection_config_fields: [label('shop', 'Shop name', 'acme-store', 'myshopify.com')],
    oauth: {
      ...withoutPkce,
      issuer: 'https://{shop}.myshopify.com',
      authorize: 'https://{shop}.myshopify.com/admin/oauth/authorize',
      token: 'https://{shop}.myshopify.com/admin/oauth/access_token',
      scopeSeparator: ',',
      rewordsScopes: true,
    },
    apiBase: 'https://{shop}.myshopify.com/admin/api',
    apiAuth: { kind: 'header', header: 'x-shopify-access-token' },
  },
  {
    ...none,
    integration_type: 'slack',
    display_name: 'Slack',
    description: 'Send messages to Slack and read its channels.',
    default_scopes: ['chat:write', 'channels:read'],
    oauth: {
      ...withoutPkce,
      issuer: 'https://slack.com',
      authorize: 'https://slack.com/oauth/v2/authorize',
      token: 'https://slack.com/api/oauth.v2.access',
      scopeSeparator: ',',
    },
    apiBase: 'https://slack.com/api',
    apiAuth: bearer,
  },
  {
    ...none,
    integration_type: 'twilio',
    display_name: 'Twilio',
    description: 'Send text messages with Twilio.',
    usage_guide: 'Write bodies as an object: they are sent as a form, which is what Twilio takes.',
    default_scopes: [],
    connection_config_fields: [
      {
        name: 'account_sid',
        display_name: 'Account SID',
        description: 'The SID of your account, from the Twilio console.',
        placeholder: 'AC…',
        required: true,
        validation_pattern: '^AC[0-9a-f]{32}$',
        validation_error: 'must be an account SID: AC and 32 characters from 0 to 9 and a to f',
      },
    ],
    credential_fields: [
      {
        name: 'auth_token',
        display_name: 'Auth token',
        description: 'The auth token of this account. It is stored encrypted and never shown again.',
        placeholder: '32 characters',
        required: true,
        validation_pattern: '^[0-9A-Za-z]{32}$',
        validation_error: 'must be an auth token of 32 letters and digits',
      },
    ],
    oauth: null,
    apiBase: 'https://api.twilio.com',
    apiAuth: { kind: 'basic', user: 'account_sid', password: 'auth_token' },
    bodyFormat: 'form',
    checkPath: '/2010-04-01/Accounts/{account_sid}.json',
  },
  {
    ...none,
    integration_type: 'zendesk',
    display_name: 'Zendesk',
    description: 'Read and change tickets in Zendesk.',
    default_scopes: ['read', 'write'],
    connection_config_fields: [label('subdomain', 'Subdomain', 'acme-prod', 'zendesk.com')],
    oauth: {
      ...standard,
      issuer: 'https://{subdomain}.zendesk.com',
      authorize: 'https://{subdomain}.zendesk.com/oauth/authorizations/new',
      token: 'https://{subdomain}.zendesk.com/oauth/tokens',
    },
    apiBase: 'https://{subdomain}.zendesk.com/api/v2',
    apiAuth: bearer,
  },
  {
    ...none,
    integration_type: 'zoom',
    display_name: 'Zoom',
    description: 'Create and read Zoom meetings.',
    notes: 'The scopes are those of the client that the operator registered.',
    default_scopes: [],
    oauth: {
      ...standard,
      issuer: 'https://zoom.us',
      authorize: 'https://zoom.us/oauth/authorize',
      token: 'https://zoom.us/oauth/token',
      revoke: 'https://zoom.us/oauth/revoke',
      clientAuth: 'basic',
    },
    apiBase: 'https://api.zoom.us/v2',
    apiAuth: bearer,
  },
];

const byType: ReadonlyMap<string, Connector> = new Map(entries.map((entry) => [entry.integration_type, entry]));

/** By type. */
export const catalogue = entries;

/** The type may be written in any case. */
export const findConnector = (integration_type: string): Connector | undefined =>
  byType.get(integration_type.toLowerCase());
