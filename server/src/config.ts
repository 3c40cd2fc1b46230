// Owns the settings: the only file that reads process.env. The description of each setting is also the text of
// docs/generated/configuration.md and .env.example.
import { createSecretKey } from 'node:crypto';
import { plans } from './core/auth/plans.ts';
import type { Pepper } from './core/auth/tokens.ts';
import { parseAllowList } from './kit/outbound/address.ts';
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

function oneOf<const V extends string>(values: readonly V[]) {
  return (value: string): V => {
    const found = values.find((each) => each === value);
    if (found === undefined) throw new Error(`must be one of ${values.join(', ')}`);
    return found;
  };
}

function url(...protocols: string[]) {
  return (value: string): string => {
    if (!URL.canParse(value) || !protocols.includes(new URL(value).protocol))
      throw new Error(`must be a URL (${protocols.join(' or ')}//…)`);
    return value.replace(/\/$/, '');
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
    'Maximum number of PostgreSQL connections per process. An API process opens two more, for sign-in and health checks; a worker eleven.',
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
  MODEL_URL: optional(
    'Base URL of the language model for agents, the builder chat and explanations of failed runs: any server with the OpenAI chat completions protocol, such as `https://api.openai.com/v1`. If unset, agents answer 503 `model_not_configured`, turns of the builder chat fail, and failed runs are not explained.',
    url('http:', 'https:'),
  ),
  MODEL_API_KEY: optional('API key for `MODEL_URL`, sent as a bearer token. If unset, none is sent.', text),
  MODEL_NAME: setting(
    'Model for the builder chat, explanations of failed runs, and agents that do not choose one.',
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
    'Path of Chromium or Chrome, such as `/usr/bin/chromium`, with which workers look at the errors of pages. If unset, pages are not looked at: docs/operate/configure.md#browser.',
    text,
  ),
  BROWSER_NO_SANDBOX: setting(
    "If `true`, the browser runs without Chromium's own sandbox. Only for machines that do not allow it, such as some containers.",
    'false',
    flag,
  ),
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

const isAtOrUnder = (host: string, domain: string): boolean => host === domain || host.endsWith(`.${domain}`);

/** The text of a setting in the environment. Undefined if it is not set there. */
export const settingText = (name: keyof Settings): string | undefined => process.env[name] || undefined;

/** Changes the environment of this process, which the processes it starts inherit. For `plinth dev`. */
export function setSettings(texts: Partial<Record<keyof Settings, string>>): void {
  Object.assign(process.env, texts);
}

/** In development, links and browser sessions work at whatever `PORT` is. A port of 0 is known only once it is open. */
const defaultFor = (name: string, { defaultText }: Setting<unknown>, { PORT }: Environment): string | undefined =>
  name === 'BASE_URL' && Number(PORT) > 0 ? `http://127.0.0.1:${PORT}` : defaultText;

/** Variables that have no effect and whose names are nearly those of settings: `DATABSE_POOL_SIZE`. */
export function listMisspelledSettings(environment: Environment = process.env): { name: string; known: string }[] {
  const known = settingEntries.map(([name]) => name);
  return Object.keys(environment).flatMap((name) => {
    if (known.includes(name)) return [];
    const similar = known.find((each) => countEdits(name.toUpperCase(), each) <= (each.length < 8 ? 1 : 2));
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
