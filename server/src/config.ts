// The configuration. This is the only file that reads process.env. The settings are declared by subject in
// config/. docs/generated/configuration.md and .env.example are generated from their descriptions.
import { advertisingSettings, isLiveAdPlatform, listAdPlatformFaults } from './config/advertising.ts';
import { apiSettings, listDomainFaults } from './config/api.ts';
import { codeSettings, listGitHostFaults } from './config/code.ts';
import { connectorSettings, listConnectorFaults } from './config/connectors.ts';
import { databaseSettings } from './config/database.ts';
import { fileSuffix, readFiles } from './config/files.ts';
import { installationSettings } from './config/installation.ts';
import { keySettings } from './config/keys.ts';
import { findSecrets } from './config/secrets.ts';
import type { Environment, Setting, Values } from './config/setting.ts';
import { findMisspelled, findUnknown } from './config/spelling.ts';
import { listStorageFaults, storageSettings } from './config/storage.ts';
import { toolSettings } from './config/tools.ts';
import { isLoopback } from './kit/outbound/address.ts';

/** In the order of the documentation. */
const settings = {
  ...databaseSettings,
  ...keySettings,
  ...installationSettings,
  ...storageSettings,
  ...toolSettings,
  ...advertisingSettings,
  ...codeSettings,
  ...connectorSettings,
  ...apiSettings,
};

type Settings = typeof settings;
export type Config = Values<Settings>;

const settingEntries: [string, Setting<unknown>][] = Object.entries(settings);
const settingNames = settingEntries.map(([name]) => name);
/** Names the file that settings are read from. */
const settingsFileVariable = 'PLINTH_ENV_FILE';
const variableNames = [settingsFileVariable, ...settingNames, ...settingNames.map((name) => name + fileSuffix)];

export class ConfigError extends Error {}

export const keyNames = ['TOKEN_PEPPERS', 'SIGNING_KEY', 'MASTER_KEYS'] as const satisfies readonly (keyof Settings)[];
/** Without npm's own output, which must not be added to `.env`. */
const newKeysCommand = 'npm run -s plinth -- keys new';

/** A setting that keeps processes from starting. The message never contains its value. */
export interface SettingFault {
  /** The setting's name. Undefined if several settings contradict each other. */
  readonly name: string | undefined;
  readonly kind: 'missing' | 'invalid';
  readonly message: string;
}

/** Reads all settings. Throws a ConfigError that lists every missing or invalid setting. */
export function readConfig(environment: Environment = process.env): Config {
  const { config, faults } = inspectConfig(environment);
  if (faults.length > 0) {
    const list = faults.map(({ message }) => message).join('\n  ');
    throw new ConfigError(`The configuration is incomplete or invalid:\n  ${list}${adviseOnKeys(faults)}`);
  }
  return config as Config;
}

/** Reads all valid settings, and lists every missing or invalid one. */
export function inspectConfig(variables: Environment = process.env): {
  readonly config: Partial<Config>;
  readonly faults: readonly SettingFault[];
} {
  const { environment, faults: fileFaults } = readFiles(variables, settingNames);
  const faults: SettingFault[] = fileFaults.map((fault) => ({ ...fault, kind: 'invalid' }));
  const config: Record<string, unknown> = {};
  for (const [name, setting] of settingEntries) {
    if (fileFaults.some((fault) => fault.name === name)) continue;
    const sent = environment[name] || defaultFor(name, setting, environment);
    if (sent === undefined) {
      if (setting.required)
        faults.push({ name, kind: 'missing', message: `${name} is missing: ${setting.description}` });
      continue;
    }
    try {
      config[name] = setting.parse(sent);
    } catch (error) {
      faults.push({ name, kind: 'invalid', message: `${name} ${(error as Error).message}` });
    }
  }
  const contradictions = [
    ...listStorageFaults(environment),
    ...listDomainFaults(config as Partial<Config>),
    ...listConnectorFaults(config as Partial<Config>),
    ...listAdPlatformFaults(environment),
    ...listGitHostFaults(environment),
    ...listPlainFaults(config as Partial<Config>),
  ];
  faults.push(...contradictions.map((message) => ({ name: undefined, kind: 'invalid' as const, message })));
  return { config: config as Partial<Config>, faults };
}

/**
 * Suggests new keys only if keys are missing, because data encrypted with existing keys becomes unreadable if they are
 * replaced.
 */
function adviseOnKeys(faults: readonly SettingFault[]): string {
  const missing = keyNames.filter((key) => faults.some(({ name, kind }) => name === key && kind === 'missing'));
  if (missing.length === 0) return '';
  return missing.length === keyNames.length
    ? `\nTo create the keys, run: ${newKeysCommand} >> .env`
    : `\nTo print new keys, run: ${newKeysCommand}\nAdd only ${missing.join(' and ')} to .env, and keep the other keys: what they protect can't be read with new ones.`;
}

/** Plain HTTP is rejected for these addresses, because secrets are sent to them. */
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
      : [`${name} must begin with https: unless it is on this machine, because secrets are sent there`];
  });
}

/** Returns a setting's text from the environment or its file. Undefined if it is not set. */
export const settingText = (name: keyof Settings): string | undefined =>
  readFiles(process.env, [name]).environment[name] || undefined;

/** The URL of a database, even if other settings are invalid. */
export const readDatabaseUrl = (name: 'DATABASE_URL' | 'MIGRATE_DATABASE_URL'): string =>
  settingText(name) ?? settings.DATABASE_URL.defaultText ?? '';

/** These make a program load code of others. */
const loaderVariable = /^(LD_|NODE_OPTIONS$|GIT_|PYTHON|PERL)/;

/** The file that settings are read from besides the environment: `.env` in the working directory, or this one. */
export const settingsFile = (): string => process.env[settingsFileVariable] || '.env';

/** The environment for a program that needs none of Plinth's settings, and with them none of its secrets. */
export const programEnvironment = (more: Readonly<Record<string, string>>): Environment => ({
  ...Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !variableNames.includes(name) && !loaderVariable.test(name)),
  ),
  ...more,
});

/** Changes the environment of this process, which its child processes inherit. For `plinth dev`. */
export function setSettings(texts: Partial<Record<keyof Settings, string>>): void {
  Object.assign(process.env, texts);
  for (const name of Object.keys(texts)) delete process.env[name + fileSuffix];
}

/**
 * `BASE_URL` follows `PORT`, so links and browser sessions work in development. With port 0, the actual port is not
 * known yet. The live ad platform does not create every type of campaign.
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

/** Lists variables that have no effect but whose names nearly match a setting. */
export const listMisspelledSettings = (environment: Environment = process.env) =>
  findMisspelled(Object.keys(environment), variableNames);

/** Lists the variables that are named like settings but are none, such as `CONNECTOR_GITHUB_ID`. */
export const listUnknownSettings = (fileNames: readonly string[], environment: Environment = process.env): string[] =>
  findUnknown(Object.keys(environment), fileNames, variableNames);

/** Lists the texts that must never be printed: values of secret settings, and passwords in URLs. */
export const listSecretTexts = (variables: Environment = process.env): string[] => {
  const { environment } = readFiles(variables, settingNames);
  return settingNames.flatMap((name) => findSecrets(name, environment[name] ?? ''));
};

/** Lists the settings for docs/generated/configuration.md and .env.example. */
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
