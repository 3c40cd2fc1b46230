// Owns the settings: the only file that reads process.env. The description of each setting is also the text of
// docs/generated/configuration.md and .env.example.
import { createSecretKey } from 'node:crypto';
import { plans } from './core/auth/plans.ts';
import type { Pepper } from './core/auth/tokens.ts';
import { parseCredentials } from './gateways/ad-platform/index.ts';
import { parsePrivateKey } from './gateways/git-host/private-key.ts';
import { isUuid } from './kit/ids.ts';
import { isLoopback, parseAllowList } from './kit/outbound/address.ts';
import type { MasterKey } from './kit/secrets.ts';

interface Setting<Value> {
  readonly description: string;
  /** The default, as it would be written in the environment; undefined if the setting has none. */
  readonly defaultText?: string;
  /** The service does not start without this setting. */
  readonly required?: true;
  parse(text: string): Value;
}

const setting = <Value>(about: string, fallback: string, parse: (text: string) => Value): Setting<Value> => ({
  description: about,
  defaultText: fallback,
  parse,
});
const required = <Value>(about: string, parse: (text: string) => Value): Setting<Value> => ({
  description: about,
  required: true,
  parse,
});
const optional = <Value>(about: string, parse: (text: string) => Value): Setting<Value | undefined> => ({
  description: about,
  parse,
});

const text = (value: string) => value;

function wholeNumber(min: number, max: number) {
  return (value: string): number => {
    const number = Number(value);
    if (!Number.isInteger(number) || number < min || number > max)
      throw new Error(`must be an integer from ${min} to ${max}`);
    return number;
  };
}

/** `Name <address>`, as git writes it. */
function parseAuthor(value: string): { name: string; email: string } {
  const [, name = '', email = ''] = /^([^<>\n]{1,100}) <([^<>\s]{1,200}@[^<>\s]{1,200})>$/.exec(value) ?? [];
  if (name.trim() === '') throw new Error('must be a name and an address, such as Plinth <plinth@example.com>');
  return { name: name.trim(), email };
}

/** Parses `acme=WORKSPACE_ID,acme/shop=WORKSPACE_ID`. Git hosts compare names without regard to case. */
function parseAppOwners(value: string): readonly { name: string; workspace_id: string }[] {
  return value.split(',').map((entry) => {
    const [, name = '', workspace_id = ''] = /^([\w.-]+(?:\/[\w.-]+)?)=(\S+)$/.exec(entry.trim()) ?? [];
    if (!isUuid(workspace_id)) throw new Error('must be a comma-separated list such as acme=WORKSPACE_ID');
    return { name: name.toLowerCase(), workspace_id: workspace_id.toLowerCase() };
  });
}

function oneOf<const V extends string>(values: readonly V[]) {
  return (value: string): V => {
    const found = values.find((each) => each === value);
    if (found === undefined) throw new Error(`must be one of ${values.join(', ')}`);
    return found;
  };
}

function listOf<const V extends string>(values: readonly V[]) {
  const parse = oneOf(values);
  return (value: string): V[] => [...new Set(commaList(value).map(parse))];
}

function url(...protocols: string[]) {
  return (value: string): string => {
    if (!URL.canParse(value) || !protocols.includes(new URL(value).protocol))
      throw new Error(`must be a URL (${protocols.join(' or ')}//…)`);
    return value.replace(/\/$/, '');
  };
}

function matching(form: RegExp, hint: string) {
  return (value: string): string => {
    if (!form.test(value)) throw new Error(`must be ${hint}`);
    return value;
  };
}

function flag(value: string): boolean {
  if (value !== 'true' && value !== 'false') throw new Error('must be true or false');
  return value === 'true';
}

/** Labels of letters, digits and hyphens; short enough for a slug of 63 characters in front. */
function domain(value: string): string {
  const name = value.toLowerCase().replace(/\.$/, '');
  const isName = name.split('.').every((label) => /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/.test(label));
  if (!isName || name.length > 189 || /(^|\.)\d+$/.test(name))
    throw new Error('must be a domain name, such as apps.example, without scheme and port');
  return name;
}

function key(value: string): Buffer {
  const bytes = Buffer.from(value, 'base64');
  if (bytes.length < 32) throw new Error('must be at least 32 bytes in base64');
  return bytes;
}

/** At least one; the first is the current one. */
type KeyList<Key> = readonly [Key, ...Key[]];

/** Parses `20260101:BASE64,20250101:BASE64` into keys with their ids. */
function keyList<Key>(toKey: (id: string, key: Buffer) => Key) {
  return (value: string): KeyList<Key> => {
    const parseEntry = (entry: string): Key => {
      const [id, encoded] = entry.trim().split(':', 2);
      if (!id || !encoded || id.includes('.')) throw new Error('must be a comma-separated list of id:base64');
      return toKey(id, key(encoded));
    };
    const [first = '', ...others] = value.split(',');
    return [parseEntry(first), ...others.map(parseEntry)];
  };
}

const peppers = keyList((id, key): Pepper => ({ id, key: createSecretKey(key) }));

const masterKeys = keyList((id, key): MasterKey => {
  if (key.length !== 32) throw new Error('must be keys of exactly 32 bytes');
  return { id, key };
});

function cell(value: string): string {
  if (!/^[0-9A-Za-z]{2}$/.test(value)) throw new Error('must be two letters or digits');
  return value;
}

/** The types of the catalogue that need a client which the operator registers (features/connectors/catalogue.ts). */
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

/** Two settings per connector. Asserted, because TypeScript does not follow the computed names. */
const clientSettings = Object.fromEntries(
  connectorsWithClient.flatMap((type) => {
    const { id, secret } = clientSettingsOf(type);
    return [
      [id, optional(`OAuth client for the connector \`${type}\`: docs/operate/connectors.md.`, text)],
      [secret, optional(`Secret of the OAuth client for the connector \`${type}\`.`, text)],
    ];
  }),
) as ClientSettings;

const campaignTypes = ['SMART', 'PERFORMANCE_MAX'] as const;
/** It creates no Smart campaigns any more. */
const liveAdPlatformHost = 'googleads.googleapis.com';

export const isLiveAdPlatform = (url: string | undefined): boolean =>
  url !== undefined && URL.parse(url)?.hostname === liveAdPlatformHost;

/** The currencies in which campaigns can have a budget (features/ads/budgets/table.ts). */
const adCurrencies = [
  'USD',
  'EUR',
  'GBP',
  'CHF',
  'CAD',
  'AUD',
  'NZD',
  'SEK',
  'NOK',
  'DKK',
  'PLN',
  'CZK',
  'JPY',
  'INR',
  'BRL',
  'MXN',
  'ZAR',
  'ILS',
  'SGD',
  'HKD',
  'AED',
  'KRW',
] as const;

function time(value: string): Date {
  const date = new Date(value);
  if (Number.isNaN(date.getTime())) throw new Error('must be a date, such as 2027-03-01');
  return date;
}

const commaList = (value: string): string[] =>
  value
    .split(',')
    .map((part) => part.trim())
    .filter(Boolean);

const settings = {
  DATABASE_URL: setting(
    'PostgreSQL 15 or newer. The only system of record.',
    'postgres://postgres@127.0.0.1:5432/plinth',
    url('postgres:', 'postgresql:'),
  ),
  MIGRATE_DATABASE_URL: optional(
    'The same database with the role that owns its tables, for `plinth migrate` only. The role of `DATABASE_URL` is then granted what it needs and no more: docs/operate/install.md#two-database-roles. If unset, `plinth migrate` uses `DATABASE_URL`.',
    url('postgres:', 'postgresql:'),
  ),
  DATABASE_POOL_SIZE: setting(
    'Maximum number of PostgreSQL connections per process. An API process opens four more: two for lookups, and two for sign-in and health checks. A worker opens thirteen more.',
    '16',
    wholeNumber(1, 500),
  ),
  WORKER_SLOTS: setting(
    'How many workers run at the same time; must be the same for all. Additional workers wait and take over when one exits.',
    '32',
    wholeNumber(1, 1_000),
  ),
  WORKER_METRICS_PORT: optional(
    'Port on which a worker serves `GET /metrics` (requires `METRICS_TOKEN`) and `GET /healthz`. If unset, it listens on no port.',
    wholeNumber(0, 65_535),
  ),
  REDIS_URL: setting(
    'Redis 7 or Valkey 8, for rate limits, sign-in throttling and wake-ups. It holds no data that must survive a restart.',
    'redis://127.0.0.1:6379',
    url('redis:', 'rediss:'),
  ),
  REDIS_PREFIX: setting('Prefix of every Redis key, so that installations can share a server.', 'plinth:', text),
  TOKEN_PEPPERS: required(
    'Keys for hashing credentials: a comma-separated list of `id:base64`, at least 32 bytes each. New credentials use the first key; the others still verify. To rotate keys, see docs/operate/configure.md#rotate-keys.',
    peppers,
  ),
  SIGNING_KEY: required('Key that signs list cursors: base64, at least 32 bytes.', key),
  MASTER_KEYS: required(
    'Keys for encrypting secrets at rest: a comma-separated list of `id:base64`, exactly 32 bytes each. New secrets use the first key; workers re-encrypt the others with it. To rotate keys, see docs/operate/configure.md#rotate-keys.',
    masterKeys,
  ),
  PLINTH_SETUP_TOKEN: optional(
    'Token for the first set-up. If unset, the API prints one to its log until the first user exists.',
    text,
  ),
  SMTP_URL: optional(
    'SMTP server for outgoing mail, such as `smtp://user:password@host:587`. If unset, no mail is sent.',
    url('smtp:', 'smtps:'),
  ),
  MAIL_FROM: setting('Sender address of outgoing mail.', 'Plinth <plinth@localhost>', text),
  PRODUCT_NAME: optional(
    'The name under which you offer this installation, if it is not Plinth. Search themes that contain it are not suggested.',
    text,
  ),
  MODEL_URL: optional(
    'Base URL of the language model for agents, the builder chat, texts of ads and explanations of failed runs: any server with the OpenAI chat completions protocol, such as `https://api.openai.com/v1`. If unset, agents and `generateAssets` answer 503 `model_not_configured`, turns of the builder chat fail, and failed runs are not explained.',
    url('http:', 'https:'),
  ),
  MODEL_API_KEY: optional('API key for `MODEL_URL`, sent as a bearer token. If unset, none is sent.', text),
  MODEL_NAME: setting(
    'Model for the builder chat, texts of ads, explanations of failed runs, and agents that do not choose one.',
    'default',
    text,
  ),
  RUN_ANALYSIS: setting(
    'Whether failed runs of workflows are explained by the model: `on` or `off`. It is sent the definition, the error and the last steps of the run, without secrets.',
    'on',
    oneOf(['on', 'off']),
  ),
  OUTBOUND_ALLOW: setting(
    'Private addresses that webhooks may be sent to: a comma-separated list of ranges (`10.1.0.0/16`) and `host:port`, each prefixed with `http://` if plain HTTP is allowed. If empty, none. `npm run dev` adds loopback: docs/guides/receiving-webhooks.md#testing-locally.',
    '',
    parseAllowList,
  ),
  ALLOW_WORKSPACE_CREATION: setting(
    'Who may create workspaces: `operator` or `anyone`. Workspaces that others than operators create have the plan `free` and no monthly credits, until an operator sets a plan.',
    'operator',
    oneOf(['operator', 'anyone']),
  ),
  STAFF_EMAIL_DOMAINS: setting(
    "Comma-separated list of e-mail domains of your own staff. Active guests with such an address are not listed among a workspace's members.",
    '',
    (value) => commaList(value.toLowerCase()),
  ),
  STORAGE_FOLDER: setting(
    'Folder for files, such as the archives of exports. Must be shared by all API and worker processes. Not used with `STORAGE_S3_BUCKET`.',
    '.data',
    text,
  ),
  STORAGE_S3_BUCKET: optional(
    'Bucket for files, on any server with the S3 protocol, instead of `STORAGE_FOLDER`. Needs `STORAGE_S3_ACCESS_KEY_ID` and `STORAGE_S3_SECRET_ACCESS_KEY`: docs/operate/configure.md#object-storage.',
    text,
  ),
  STORAGE_S3_ENDPOINT: optional(
    "URL of the S3 server, such as `https://s3.example.com`. If unset, Amazon's own for `STORAGE_S3_REGION`.",
    url('http:', 'https:'),
  ),
  STORAGE_S3_REGION: setting('Region of the bucket. Many servers accept any.', 'us-east-1', text),
  STORAGE_S3_ACCESS_KEY_ID: optional('Access key id for the bucket.', text),
  STORAGE_S3_SECRET_ACCESS_KEY: optional('Secret access key for the bucket.', text),
  STORAGE_S3_CHECKSUMS: setting(
    "Which requests carry a checksum beside the signature: `when_required` or `when_supported`. Servers other than Amazon's may refuse the latter.",
    'when_required',
    oneOf(['when_required', 'when_supported']),
  ),
  STORAGE_S3_PATH_STYLE: setting(
    'If `true`, the bucket is part of the path (`https://s3.example.com/bucket`) instead of the host name. Most servers that you run yourself need it.',
    'false',
    flag,
  ),
  BROWSER_EXECUTABLE: optional(
    'Path of Chromium or Chrome, such as `/usr/bin/chromium`, with which workers look at the errors of pages and run browser tests. If unset, they do neither: docs/operate/configure.md#browser.',
    text,
  ),
  BROWSER_NO_SANDBOX: setting(
    "If `true`, the browser runs without Chromium's own sandbox. Only for machines that do not allow it, such as some containers.",
    'false',
    flag,
  ),
  COMMAND_SANDBOX_BWRAP: setting(
    'Path of bubblewrap, in which workers run the commands of coding agents, or `off`. If it is not there, or the machine does not allow what it needs, commands are refused and everything else works: docs/operate/command-sandbox.md.',
    '/usr/bin/bwrap',
    matching(/^(\/.+|off)$/, 'an absolute path, or off'),
  ),
  COMMAND_SANDBOX_UID: setting(
    'If workers run as root: the first of 256 user ids as which commands run. Nothing else may use them.',
    '60600',
    wholeNumber(1_000, 4_000_000_000),
  ),
  COMMAND_SANDBOX_CGROUP: optional(
    'Control group below which workers make one per command. With version 2 an absolute folder, such as `/sys/fs/cgroup/plinth`; with version 1 a name below the folder of each controller, by default `plinth`.',
    text,
  ),
  COMMAND_SANDBOX_MEMORY_MB: setting(
    'How much memory a command may use, with all its processes.',
    '1024',
    wholeNumber(64, 1_000_000),
  ),
  COMMAND_SANDBOX_PROCESSES: setting(
    'How many processes and threads a command may have at a time.',
    '256',
    wholeNumber(16, 100_000),
  ),
  COMMAND_SANDBOX_PROCESSORS: setting(
    'How many processors a command may use at a time, with all its processes. Without effect where the control group of the worker has no controller `cpu`.',
    '2',
    wholeNumber(1, 1_024),
  ),
  SESSION_FOLDER: optional(
    'Folder on the disk of each worker for the repositories of coding sessions that it runs. They are removed when the session leaves the worker. If unset, `plinth-sessions-` with an id of the database, in the folder for temporary files.',
    text,
  ),
  SESSION_MAX_CREDITS: setting(
    'How many credits a coding session may cost, with all its turns.',
    '50',
    wholeNumber(2, 1_000_000),
  ),
  SESSION_AUTHOR: setting(
    'Who is the author of the commits of coding sessions.',
    'Plinth <plinth@noreply.invalid>',
    parseAuthor,
  ),
  ADS_PLATFORM_URL: optional(
    'URL of the ad platform, a server with the REST protocol of the Google Ads API: `https://googleads.googleapis.com`. Needs the two settings below: docs/operate/ads.md. If unset, operations that need it answer 503 `ad_platform_unavailable`.',
    url('http:', 'https:'),
  ),
  ADS_PLATFORM_VERSION: setting(
    'Version of the protocol that is spoken.',
    'v25',
    matching(/^v\d{1,3}$/, 'such as v25'),
  ),
  ADS_PLATFORM_MANAGER_ID: optional(
    'Id of your manager account at the ad platform, ten digits. Accounts of apps are created below it.',
    matching(/^\d{1,20}$/, 'of digits only, without hyphens'),
  ),
  ADS_PLATFORM_CREDENTIALS: optional(
    'Credential file of a service account or an authorized user with access to the manager account: its JSON, or that in base64.',
    parseCredentials,
  ),
  ADS_DEFAULT_CURRENCY: setting(
    'Currency of new advertising accounts of workspaces in a country whose currency campaigns can not have.',
    'USD',
    oneOf(adCurrencies),
  ),
  ADS_CAN_CREATE: setting(
    'Comma-separated list of the types of campaigns that can be created. If unset, and `ADS_PLATFORM_URL` is the live platform, which creates no Smart campaigns any more: `PERFORMANCE_MAX`.',
    campaignTypes.join(','),
    listOf(campaignTypes),
  ),
  PAYMENTS_SECRET_KEY: optional(
    'Secret key of your account at the payment provider, Stripe. If unset, you arrange billing with the ad platform yourself, and workspaces need no card: docs/operate/ads.md#payments.',
    text,
  ),
  PAYMENTS_URL: setting('URL of the payment provider.', 'https://api.stripe.com', url('http:', 'https:')),
  ADVISORIES_URL: optional(
    'URL of a database of known vulnerabilities with the protocol of OSV: `https://api.osv.dev`. Security scans send it the names and versions of the packages of apps. If unset, scans leave packages out: docs/operate/configure.md#advisories.',
    url('http:', 'https:'),
  ),
  GIT_HOST_URL: optional(
    "URL of the REST API of the git host for coding sessions, with GitHub's protocol: `https://api.github.com`, or `https://git.example.com/api/v3` for GitHub Enterprise Server. If unset, no repository can be connected: docs/operate/configure.md#git-host.",
    url('http:', 'https:'),
  ),
  GIT_HOST_CLONE_URL: optional(
    'URL under which the git host serves repositories to git: `https://github.com`. `GIT_HOST_URL` needs it.',
    url('http:', 'https:'),
  ),
  GIT_HOST_APP_ID: optional(
    'Id of a GitHub App of yours. It reaches every repository on which it is installed, so that a workspace can connect only those that `GIT_HOST_APP_OWNERS` gives it without a token.',
    text,
  ),
  GIT_HOST_APP_PRIVATE_KEY: optional(
    "The App's private key: its PEM file with `\\n` instead of line ends, or that in base64.",
    parsePrivateKey,
  ),
  GIT_HOST_APP_OWNERS: optional(
    'Which repositories each workspace may connect through the App, without a token: `owner=workspace_id` or `owner/repository=workspace_id`, separated by commas. Every editor of the workspace can then read and change them. If unset, a token is always needed.',
    parseAppOwners,
  ),
  GIT_HOST_MAX_REPOSITORY_MB: setting(
    'How much a worker fetches of a repository, in megabytes. Sessions on a larger one fail with `checkout_failed`.',
    '500',
    wholeNumber(1, 10_000),
  ),
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
  HOST: setting('IP address the API listens on.', '127.0.0.1', text),
  PORT: setting('Port the API listens on.', '8080', wholeNumber(0, 65_535)),
  BASE_URL: setting(
    'Public URL of the API, used in links and as the origin of browser sessions. With `https:`, session cookies are `Secure`, and browsers are told to use only https. If unset, it is `http://127.0.0.1` with the port of `PORT`.',
    'http://127.0.0.1:8080',
    url('http:', 'https:'),
  ),
  APPS_DOMAIN: optional(
    'Domain of published apps: each is served at `{slug}.{APPS_DOMAIN}`, with the scheme and port of `BASE_URL`. Use a domain that is registered apart from that of `BASE_URL`, with a wildcard DNS record and certificate: docs/operate/install.md#a-domain-for-published-apps. If unset, apps are served below `{BASE_URL}/p/`, where browsers run them without modules, storage and data calls.',
    domain,
  ),
  TRUSTED_PROXIES: setting(
    'Comma-separated list of proxy addresses or ranges whose `X-Forwarded-For` is trusted. If empty, none.',
    '',
    commaList,
  ),
  COUNTRY_HEADER: optional(
    'Header in which a trusted proxy sends the country of the client, as two letters, such as `CF-IPCountry`. It becomes the country of analytics events. Needs `TRUSTED_PROXIES`. If unset, events have no country.',
    (value) => value.toLowerCase(),
  ),
  MAX_CONNECTIONS_PER_ADDRESS: setting(
    'How many connections one client address may have open to an API process. Trusted proxies are exempt.',
    '512',
    wholeNumber(1, 100_000),
  ),
  CELL_CODE: setting('Code of this installation, two letters or digits. It is part of every token.', '00', cell),
  DEFAULT_PLAN: setting(
    'Plan of the first workspace, of workspaces that operators create, and of imported ones.',
    'enterprise',
    oneOf(plans),
  ),
  PERSONAL_API_KEYS_UNTIL: optional(
    'Date from which personal API keys are refused, such as `2027-03-01`. Until then the `Sunset` header announces it.',
    time,
  ),
  METRICS_TOKEN: optional('Bearer token for `GET /metrics`. If unset, the path answers 404.', text),
  LOG_LEVEL: setting(
    'Minimum level of log messages: `silent`, `error`, `warn`, `info` or `debug`.',
    'info',
    oneOf(['silent', 'error', 'warn', 'info', 'debug']),
  ),
  STRICT_ANSWERS: setting(
    'If `true`, every answer is checked against its declared schema before it is sent. For development and tests.',
    'false',
    (value) => value === 'true',
  ),
};

const settingEntries: [string, Setting<unknown>][] = Object.entries(settings);

type Settings = typeof settings;
export type Config = { readonly [Name in keyof Settings]: Settings[Name] extends Setting<infer Value> ? Value : never };

export class ConfigError extends Error {}

type Environment = Readonly<Record<string, string | undefined>>;

/** Reads every setting. Throws a ConfigError that lists all settings that are missing or invalid. */
export function readConfig(environment: Environment = process.env): Config {
  const faults: string[] = [];
  const config: Record<string, unknown> = {};
  for (const [name, setting] of settingEntries) {
    const sent = environment[name] || defaultFor(name, setting, environment);
    if (sent === undefined) {
      if (setting.required) faults.push(`${name} is missing: ${setting.description}`);
      continue;
    }
    try {
      config[name] = setting.parse(sent);
    } catch (error) {
      faults.push(`${name} ${(error as Error).message}`);
    }
  }
  faults.push(...listStorageFaults(environment));
  faults.push(...listDomainFaults(config as Partial<Config>));
  faults.push(...listConnectorFaults(config as Partial<Config>));
  faults.push(...listAdPlatformFaults(environment));
  faults.push(...listGitHostFaults(environment));
  faults.push(...listPlainFaults(config as Partial<Config>));
  if (faults.length > 0) {
    throw new ConfigError(
      `The configuration is incomplete or invalid:\n  ${faults.join('\n  ')}\nRun "plinth keys new" to create new keys.`,
    );
  }
  return config as Config;
}

/** Files are in a bucket or in a folder. Settings that leave open which, or that have no effect, are refused. */
function listStorageFaults(environment: Environment): string[] {
  const isSet = (name: keyof Settings) => Boolean(environment[name]);
  if (isSet('STORAGE_S3_BUCKET')) {
    const missing = (['STORAGE_S3_ACCESS_KEY_ID', 'STORAGE_S3_SECRET_ACCESS_KEY'] as const).filter(
      (name) => !isSet(name),
    );
    return [
      ...missing.map((name) => `${name} is missing: STORAGE_S3_BUCKET needs it.`),
      ...(isSet('STORAGE_FOLDER')
        ? ['STORAGE_FOLDER and STORAGE_S3_BUCKET are both set. Files are kept in one of them: remove the other.']
        : []),
    ];
  }
  return settingEntries
    .map(([name]) => name as keyof Settings)
    .filter((name) => name.startsWith('STORAGE_S3_') && isSet(name))
    .map((name) => `${name} has no effect without STORAGE_S3_BUCKET. Set the bucket, or remove it.`);
}

/**
 * Whoever builds an app decides what its pages do. On a host that is part of the other's domain, they could set cookies that
 * the API receives. Browsers refuse cookies for a name without a dot, such as `localhost`.
 */
function listDomainFaults({ BASE_URL, APPS_DOMAIN }: Partial<Config>): string[] {
  if (BASE_URL === undefined || APPS_DOMAIN === undefined) return [];
  const host = new URL(BASE_URL).hostname.replace(/\.$/, '');
  if (isAtOrUnder(host, APPS_DOMAIN))
    return ['APPS_DOMAIN must not contain the host of BASE_URL: an app could take its place'];
  if (host.includes('.') && isAtOrUnder(APPS_DOMAIN, host))
    return ['APPS_DOMAIN must not be a part of the host of BASE_URL: apps could set cookies for it'];
  return [];
}

/** The ad platform has an address, a manager account and credentials, or none of them. */
function listAdPlatformFaults(environment: Environment): string[] {
  const names = ['ADS_PLATFORM_URL', 'ADS_PLATFORM_MANAGER_ID', 'ADS_PLATFORM_CREDENTIALS'] as const;
  const missing = names.filter((name) => !environment[name]);
  return missing.length === 0 || missing.length === names.length
    ? []
    : missing.map((name) => `${name} is missing: the ad platform needs ${names.join(', ')}.`);
}

/** The git host has two addresses, or none; its App has an id and a key, or neither. */
function listGitHostFaults(environment: Environment): string[] {
  const pairs = [
    ['GIT_HOST_URL', 'GIT_HOST_CLONE_URL'],
    ['GIT_HOST_APP_ID', 'GIT_HOST_APP_PRIVATE_KEY'],
  ] as const;
  const isSet = (name: keyof Settings) => Boolean(environment[name]);
  const halves = pairs.filter(([one, other]) => isSet(one) !== isSet(other));
  const hasNoApp = isSet('GIT_HOST_APP_OWNERS') && !isSet('GIT_HOST_APP_ID');
  const hasNoHost = isSet('GIT_HOST_APP_ID') && !isSet('GIT_HOST_URL');
  return [
    ...halves.map(([one, other]) => `${one} and ${other} must both be set, or neither`),
    ...(hasNoApp
      ? ['GIT_HOST_APP_OWNERS has no effect without GIT_HOST_APP_ID. Set the App, or remove the list.']
      : []),
    ...(hasNoHost ? ['GIT_HOST_APP_ID has no effect without GIT_HOST_URL. Set the URL, or remove the App.'] : []),
  ];
}

/** These receive secrets. */
function listPlainFaults(config: Partial<Config>): string[] {
  const { ADS_PLATFORM_URL, PAYMENTS_URL, ADS_PLATFORM_CREDENTIALS, GIT_HOST_URL, GIT_HOST_CLONE_URL } = config;
  const urls = {
    ADS_PLATFORM_URL,
    PAYMENTS_URL,
    GIT_HOST_URL,
    GIT_HOST_CLONE_URL,
    'The token_uri of ADS_PLATFORM_CREDENTIALS': ADS_PLATFORM_CREDENTIALS?.token_uri,
  };
  return Object.entries(urls).flatMap(([name, text]) => {
    const url = text === undefined ? undefined : new URL(text);
    return url === undefined || url.protocol === 'https:' || isLoopback(url)
      ? []
      : [`${name} must begin with https:, except on this machine: secrets are sent there`];
  });
}

/** A client has an id and a secret. People's codes and tokens go to the sandbox only where it can be nobody else's. */
function listConnectorFaults(config: Partial<Config>): string[] {
  const incomplete = connectorsWithClient.flatMap((type) => {
    const { id, secret } = clientSettingsOf(type);
    const isHalf = (config[id] === undefined) !== (config[secret] === undefined);
    return isHalf ? [`${id} and ${secret} must both be set, or neither`] : [];
  });
  const { BASE_URL, CONNECTOR_SANDBOX_URL } = config;
  const isMisplaced = CONNECTOR_SANDBOX_URL !== undefined && BASE_URL !== undefined && !isLoopback(new URL(BASE_URL));
  return isMisplaced
    ? [...incomplete, 'CONNECTOR_SANDBOX_URL is for development: BASE_URL must be on this machine']
    : incomplete;
}

const isAtOrUnder = (host: string, domain: string): boolean => host === domain || host.endsWith(`.${domain}`);

/** The text of a setting in the environment. Undefined if it is not set there. */
export const settingText = (name: keyof Settings): string | undefined => process.env[name] || undefined;

/** Changes the environment of this process, which the processes it starts inherit. For `plinth dev`. */
export function setSettings(texts: Partial<Record<keyof Settings, string>>): void {
  Object.assign(process.env, texts);
}

/**
 * In development, links and browser sessions work at whatever `PORT` is. A port of 0 is known only once it is open. The live ad
 * platform does not create all types of campaigns.
 */
function defaultFor(
  name: string,
  { defaultText }: Setting<unknown>,
  { PORT, ADS_PLATFORM_URL = '' }: Environment,
): string | undefined {
  if (name === 'BASE_URL' && Number(PORT) > 0) return `http://127.0.0.1:${PORT}`;
  if (name === 'ADS_CAN_CREATE' && isLiveAdPlatform(ADS_PLATFORM_URL)) return 'PERFORMANCE_MAX';
  return defaultText;
}

/** Variables that have no effect and whose names are nearly those of settings: `DATABSE_POOL_SIZE`. */
export function listMisspelledSettings(environment: Environment = process.env): { name: string; known: string }[] {
  const known = settingEntries.map(([name]) => name);
  return Object.keys(environment).flatMap((name) => {
    if (known.includes(name)) return [];
    const similar = known.find((each) => {
      const maxEdits = each.length < 8 ? 1 : 2;
      if (Math.abs(name.length - each.length) > maxEdits) return false; // most pairs: counting takes 200 ms for all
      return countEdits(name.toUpperCase(), each) <= maxEdits;
    });
    return similar === undefined ? [] : [{ name, known: similar }];
  });
}

/** How many letters must be added, removed, replaced or swapped to get from one word to the other. */
function countEdits(a: string, b: string): number {
  const rows = [Array.from({ length: b.length + 1 }, (_, column) => column)];
  const at = (row: number, column: number) => rows[row]?.[column] ?? Number.POSITIVE_INFINITY;
  for (let i = 1; i <= a.length; i += 1) {
    const row = [i];
    rows.push(row);
    for (let j = 1; j <= b.length; j += 1) {
      const isSwap = a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      row.push(
        Math.min(
          at(i - 1, j) + 1,
          at(i, j - 1) + 1,
          at(i - 1, j - 1) + (a[i - 1] === b[j - 1] ? 0 : 1),
          isSwap ? at(i - 2, j - 2) + 1 : Number.POSITIVE_INFINITY,
        ),
      );
    }
  }
  return at(a.length, b.length);
}

/** The settings as documentation: docs/generated/configuration.md and .env.example are written from them. */
export const listSettings = (): {
  name: string;
  description: string;
  defaultText: string | undefined;
  required: boolean;
}[] =>
  settingEntries.map(([name, { description, defaultText, required }]) => ({
    name,
    description,
    defaultText,
    required: required ?? false,
  }));
