// Owns the reading of the environment: the only place that does. Each setting says what it is for, so that
// docs/configuration.md is written from this list.
import { createSecretKey } from 'node:crypto';
import { plans } from './core/auth/plans.ts';
import type { Pepper } from './core/auth/tokens.ts';
import { parseAllowed } from './kit/outbound/address.ts';
import type { MasterKey } from './kit/secrets.ts';

interface Setting<Value> {
  readonly description: string;
  /** Shown in the documentation; undefined where there is no default. */
  readonly defaultText?: string;
  /** Without it the service does not start. */
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
      throw new Error(`must be a whole number from ${min} to ${max}`);
    return number;
  };
}

function oneOf<const V extends string>(values: readonly V[]) {
  return (value: string): V => {
    if (!values.includes(value as V)) throw new Error(`must be one of ${values.join(', ')}`);
    return value as V;
  };
}

function url(...protocols: string[]) {
  return (value: string): string => {
    if (!URL.canParse(value) || !protocols.includes(new URL(value).protocol))
      throw new Error(`must be a URL (${protocols.join(' or ')}//…)`);
    return value.replace(/\/$/, '');
  };
}

function key(value: string): Buffer {
  const bytes = Buffer.from(value, 'base64');
  if (bytes.length < 32) throw new Error('must be at least 32 bytes in base64');
  return bytes;
}

function keyList(value: string): { id: string; key: Buffer }[] {
  return value.split(',').map((entry) => {
    const [id, encoded] = entry.trim().split(':', 2);
    if (!id || !encoded || id.includes('.')) throw new Error('must be a comma list of id:base64');
    return { id, key: key(encoded) };
  });
}

const peppers = (value: string): Pepper[] => keyList(value).map(({ id, key }) => ({ id, key: createSecretKey(key) }));

function masterKeys(value: string): MasterKey[] {
  const keys = keyList(value);
  if (keys.some(({ key }) => key.length !== 32)) throw new Error('must be keys of exactly 32 bytes');
  return keys;
}

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
    'PostgreSQL 15 or newer: the one system of record.',
    'postgres://postgres@127.0.0.1:5432/plinth',
    url('postgres:', 'postgresql:'),
  ),
  DATABASE_POOL_SIZE: setting('Connections each process keeps to PostgreSQL.', '16', wholeNumber(1, 500)),
  WORKER_SLOTS: setting(
    'How many workers run at once; the same for all. Those beyond wait as spares, and take over from one that dies.',
    '32',
    wholeNumber(1, 1_000),
  ),
  WORKER_METRICS_PORT: optional(
    'Port on which a worker serves its own `GET /metrics`, under `METRICS_TOKEN`, and `GET /healthz`. Unset: none.',
    wholeNumber(0, 65_535),
  ),
  REDIS_URL: setting(
    'Redis 7 or Valkey 8: rate limits, sign-in guards and wake-ups, shared by all processes. Losing it loses nothing that must last.',
    'redis://127.0.0.1:6379',
    url('redis:', 'rediss:'),
  ),
  REDIS_PREFIX: setting('Put before every Redis key, so that installations can share a server.', 'plinth:', text),
  TOKEN_PEPPERS: required(
    'Keys under which credentials are hashed: comma list of `id:base64`, at least 32 bytes each. The first is current; older ones still verify and are replaced on use. To rotate: add the new one last, restart every process, then put it first and restart again.',
    peppers,
  ),
  SIGNING_KEY: required('Key that signs list cursors: base64, at least 32 bytes.', key),
  MASTER_KEYS: required(
    'Keys under which secrets are encrypted at rest: comma list of `id:base64`, 32 bytes each. The first is current; workers move everything to it, after which older ones can go.',
    masterKeys,
  ),
  PLINTH_SETUP_TOKEN: optional(
    'Allows the first set-up, instead of the token printed to the log of the first start.',
    text,
  ),
  SMTP_URL: optional(
    'SMTP server for outgoing mail, `smtp://user:password@host:port`. Unset: no mail is sent, links are shown or printed instead.',
    url('smtp:', 'smtps:'),
  ),
  MAIL_FROM: setting('Sender of outgoing mail.', 'Plinth <plinth@localhost>', text),
  MODEL_URL: optional(
    'Language model that agents answer with: base address of any server that speaks the OpenAI chat completions protocol, such as `https://api.openai.com/v1`. Unset: agents answer 503 `model_unavailable`.',
    url('http:', 'https:'),
  ),
  MODEL_API_KEY: optional('Bearer key for `MODEL_URL`, where it asks for one.', text),
  MODEL_NAME: setting('Model of agents that name none of their own.', 'default', text),
  OUTBOUND_ALLOW: setting(
    'Private addresses that requests to addresses of callers (webhooks) may go to: comma list of ranges (`10.1.0.0/16`) and `host:port`, each with `http://` before it where plain HTTP is allowed. Empty: none.',
    '',
    parseAllowed,
  ),
  ALLOW_WORKSPACE_CREATION: setting('Who may create workspaces.', 'anyone', oneOf(['anyone', 'operator'])),
  STAFF_EMAIL_DOMAINS: setting(
    'Comma list of e-mail domains of the operator’s own people: as active guests of a workspace they are not listed among its members. Empty: nobody’s.',
    '',
    (value) => commaList(value.toLowerCase()),
  ),
  STORAGE_FOLDER: setting('Folder for archives and other large things.', '.data', text),
  HOST: setting('Address the API listens on.', '127.0.0.1', text),
  PORT: setting('Port the API listens on.', '8080', wholeNumber(0, 65_535)),
  BASE_URL: setting(
    'Where callers reach the API; the origin that browser sessions are good for.',
    'http://127.0.0.1:8080',
    url('http:', 'https:'),
  ),
  TRUSTED_PROXIES: setting(
    'Comma list of addresses or ranges whose `X-Forwarded-For` is believed. Empty: nobody’s.',
    '',
    commaList,
  ),
  CELL_CODE: setting('Two letters or digits in the text of every token: the cell this installation is.', '00', cell),
  DEFAULT_PLAN: setting('Plan of a new workspace.', 'enterprise', oneOf(plans)),
  PERSONAL_API_KEYS_UNTIL: optional(
    'Date from which personal API keys are refused; announced before in the `Sunset` header.',
    time,
  ),
  METRICS_TOKEN: optional('Bearer token for `GET /metrics`. Unset: the operation answers 404.', text),
  LOG_LEVEL: setting('How much is logged.', 'info', oneOf(['silent', 'error', 'warn', 'info', 'debug'])),
  STRICT_ANSWERS: setting(
    'Check every answer against its declared shape before sending it: for development and tests.',
    'false',
    (value) => value === 'true',
  ),
};

type Settings = typeof settings;
export type Config = { readonly [Name in keyof Settings]: Settings[Name] extends Setting<infer Value> ? Value : never };

export class ConfigError extends Error {}

/** Reads every setting, or says by name everything that is missing or wrong. */
export function readConfig(environment: Readonly<Record<string, string | undefined>> = process.env): Config {
  const faults: string[] = [];
  const config: Record<string, unknown> = {};
  for (const [name, setting] of Object.entries(settings) as [string, Setting<unknown>][]) {
    const sent = environment[name] || setting.defaultText;
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
  if (faults.length > 0) {
    throw new ConfigError(
      `The configuration is not complete:\n  ${faults.join('\n  ')}\nNew keys are made by: plinth keys new`,
    );
  }
  return config as Config;
}

/** What docs/configuration.md is written from. */
export const listSettings = (): {
  name: string;
  about: string;
  fallback: string | undefined;
  required: boolean;
}[] =>
  (Object.entries(settings) as [string, Setting<unknown>][]).map(
    ([name, { description: about, defaultText: fallback, required }]) => ({
      name,
      about,
      fallback,
      required: required ?? false,
    }),
  );
