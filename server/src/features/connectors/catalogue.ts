// The connector catalogue: data with one entry per service, sorted by type. A `{name}` in an endpoint is a
// placeholder for a value from `connection_config`. It always appears within a path, or within a host name that ends in
// the service's own domain. Compare a connector's endpoints with the service's documentation before enabling it
// (docs/operate/connectors.md).

/** A field that a user fills in before connecting. */
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
  /** Identifies the authorization server. If the service sends `iss` to the callback, it must match (RFC 9207). */
  readonly issuer: string;
  /** Set if the service sends a different path in `iss`, such as the tenant's id instead of `common`. */
  readonly issuerPathVaries?: true;
  readonly authorize: string;
  readonly token: string;
  /** Absent if the service documents no RFC 7009 endpoint. */
  readonly revoke?: string;
  /** PKCE is sent to every service. False if the service's documentation does not say that it verifies PKCE. */
  readonly checksPkce: boolean;
  readonly clientAuth: 'basic' | 'post';
  readonly scopeSeparator: ' ' | ',';
  /** Extra parameters that the service needs, for example to issue a refresh token. */
  readonly authorizeParams?: Readonly<Record<string, string>>;
  /**
   * Set if the service may report different scopes although it granted all requested ones, for example only `write_x`
   * because that includes `read_x`.
   */
  readonly rewordsScopes?: true;
  /** Maps a scope to the narrower scopes that it includes. The service reports only the wider scope. */
  readonly includedScopes?: Readonly<Record<string, readonly string[]>>;
  /** Scopes that the service may omit from its response even though it granted them. */
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
  /** Secrets that a user sends. Only used by services without OAuth. */
  readonly credential_fields: readonly ConnectorField[];
  /** Defaults for optional values in `connection_config`. */
  readonly configDefaults?: Readonly<Record<string, string>>;
  /** Null if the service uses API keys. */
  readonly oauth: OAuthService | null;
  /** The base URL for API requests. Paths are relative to it. */
  readonly apiBase: string;
  /**
   * How requests are authenticated. `bearer` sends the access token or the named credential field. `header` sends the
   * access token in a custom header. `basic` sends a value from `connection_config` and a credential.
   */
  readonly apiAuth:
    | { readonly kind: 'bearer'; readonly credential?: string }
    | { readonly kind: 'header'; readonly header: string }
    | { readonly kind: 'basic'; readonly user: string; readonly password: string };
  /** Headers that the API requires with every request. */
  readonly apiHeaders?: Readonly<Record<string, string>>;
  /** Set if the API accepts only forms, so JSON bodies are converted to forms. */
  readonly bodyFormat?: 'form';
  /** For API keys, a read-only path below `apiBase` that succeeds only with valid credentials. */
  readonly checkPath?: string;
}

/** A host name label, in lower case. */
const hostLabel = '^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$';

const label = (name: string, display_name: string, placeholder: string, address: string): ConnectorField => ({
  name,
  display_name,
  description: `The first part of your address, such as ${placeholder} in ${placeholder}.${address}.`,
  placeholder,
  required: true,
  validation_pattern: hostLabel,
  validation_error: `must be only the first part of your address, such as ${placeholder}`,
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
  // Without these parameters, Google issues a refresh token only at the first consent.
  authorizeParams: { access_type: 'offline', prompt: 'consent' },
  includedScopes: {
    'https://www.googleapis.com/auth/userinfo.email': ['email'],
    'https://www.googleapis.com/auth/userinfo.profile': ['profile'],
  },
} as const;

/** GitHub reports only the widest scope, for example `repo` for `repo` and `public_repo`. */
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
    description: 'Read and change records in Airtable bases.',
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
    notes: 'ClickUp has no scopes. Instead, the person chooses which workspaces to share.',
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
    notes: 'The operator chooses which GitLab server this installation uses.',
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
    description: "Send e-mail from a person's Gmail account.",
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
      "Call `GET /oauth/token/accessible-resources` to get your site's `id`. Paths then start with `/ex/jira/{id}/rest/api/3`.",
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
    notes: 'Notion has no scopes. Instead, the person chooses which pages to share.',
    usage_guide:
      'Requests are sent with the header `Notion-Version: 2022-06-28`. Follow the documentation for that API version.',
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
    description: "Read a person's Outlook mail and calendar, and send e-mail.",
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
          'The id or domain of your Microsoft Entra tenant. Leave it out to choose an account when you sign in.',
        placeholder: 'common',
        required: false,
        validation_pattern: '^[A-Za-z0-9.-]{1,100}$',
        validation_error: "must be your tenant's id or domain, such as acme.onmicrosoft.com",
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
    description: 'Send e-mail with SendGrid.',
    default_scopes: [],
    credential_fields: [
      {
        name: 'api_key',
        display_name: 'API key',
        description: 'An API key from your SendGrid account. It is stored encrypted and never shown again.',
        placeholder: 'SG.…',
        required: true,
        validation_pattern: '^SG\\.[\\w-]{16,32}\\.[\\w-]{16,64}$',
        validation_error: 'must be a SendGrid API key, which starts with SG. and contains two dots',
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
    description: 'Read products from a Shopify shop.',
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
    usage_guide: 'Write request bodies as objects. They are sent form-encoded, as Twilio requires.',
    default_scopes: [],
    connection_config_fields: [
      {
        name: 'account_sid',
        display_name: 'Account SID',
        description: 'The SID of your account, from the Twilio console.',
        placeholder: 'AC…',
        required: true,
        validation_pattern: '^AC[0-9a-f]{32}$',
        validation_error: 'must be an account SID: AC followed by 32 lower-case hexadecimal digits',
      },
    ],
    credential_fields: [
      {
        name: 'auth_token',
        display_name: 'Auth token',
        description: 'The auth token for this account. It is stored encrypted and never shown again.',
        placeholder: '32 characters',
        required: true,
        validation_pattern: '^[0-9A-Za-z]{32}$',
        validation_error: 'must be an auth token: 32 letters and digits',
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
    notes: 'The scopes are those set for the client that the operator registered.',
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

/** The entries, sorted by type. */
export const catalogue = entries;

/** Looks up a connector by type, ignoring case. */
export const findConnector = (integration_type: string): Connector | undefined =>
  byType.get(integration_type.toLowerCase());
