// Converts the configuration into settings for gateways and features, under the names that they use.
import { createHash } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isLiveAdPlatform } from '../config/advertising.ts';
import { clientSettingsOf, connectorsWithClient } from '../config/connectors.ts';
import type { Config } from '../config.ts';
import { createAppAddresses } from '../core/identity/app-addresses.ts';
import { nameHost } from '../gateways/browser/session/host.ts';
import type { StorageSettings } from '../gateways/storage/index.ts';
import { isLoopback, isOnThisMachine } from '../kit/outbound/address.ts';
import type { AppDeps } from './deps.ts';

/** The settings that several features share. */
export function toSharedSettings(config: Config) {
  const isHttps = config.BASE_URL.startsWith('https:');
  return {
    baseUrl: config.BASE_URL,
    isHttps,
    secureCookie: isHttps,
    isDevelopment: isLoopback(new URL(config.BASE_URL)),
    addresses: createAppAddresses(config.BASE_URL, config.APPS_DOMAIN),
    trustedProxies: config.TRUSTED_PROXIES,
    cellCode: config.CELL_CODE,
    tokenKeys: { peppers: config.TOKEN_PEPPERS, cellCode: config.CELL_CODE },
    signingKey: config.SIGNING_KEY,
    defaultPlan: config.DEFAULT_PLAN,
  };
}

export type FeatureSettings = ReturnType<typeof toFeatureSettings>;

/** The settings for individual features. */
export const toFeatureSettings = (config: Config, deps: AppDeps) => ({
  accounts: { pepper: config.TOKEN_PEPPERS[0], setupToken: config.PLINTH_SETUP_TOKEN },
  ads: {
    defaultCurrency: config.ADS_DEFAULT_CURRENCY,
    canCreate: config.ADS_CAN_CREATE,
    isLivePlatform: isLiveAdPlatform(config.ADS_PLATFORM_URL),
    productName: config.PRODUCT_NAME,
    tagPauseMs: deps.tagPauseMs,
    assetWaitMs: deps.assetWaitMs,
    times: deps.adsTimes,
  },
  analytics: { countryHeader: config.COUNTRY_HEADER },
  browserTests: { host: nameHost(), times: deps.testTimes },
  codingSessions: {
    sessionFolder: toSessionFolder(config),
    appOwners: config.GIT_HOST_APP_OWNERS ?? [],
    maxCredits: config.SESSION_MAX_CREDITS,
    author: config.SESSION_AUTHOR,
    limits: deps.sessionLimits,
    onBoundary: deps.onSessionBoundary,
  },
  connectors: { settings: toConnectorSettings(config) },
  console: { consoleFolder: deps.consoleFolder },
  installation: { metricsToken: config.METRICS_TOKEN, standInRequests: config.MODEL_STAND_IN },
  members: { staffEmailDomains: config.STAFF_EMAIL_DOMAINS },
  publishing: { appsDomain: config.APPS_DOMAIN, mayPublish: mayPublish(config) },
  workflows: { isAnalysisOn: config.RUN_ANALYSIS === 'on' },
  workspaces: { onlyOperatorsCreate: config.ALLOW_WORKSPACE_CREATION === 'operator' },
});

/** Without a domain for apps, their pages are on the host of the API, where a form of a stranger looks genuine. */
const mayPublish = ({ APPS_DOMAIN, APPS_BELOW_BASE_URL, BASE_URL }: Config): boolean =>
  APPS_DOMAIN !== undefined || APPS_BELOW_BASE_URL || isOnThisMachine(new URL(BASE_URL));

/** The clients that the operator has registered, by connector type. */
export function toConnectorSettings(config: Config) {
  const clients = connectorsWithClient.flatMap((type) => {
    const { id, secret } = clientSettingsOf(type);
    const [clientId, clientSecret] = [config[id], config[secret]];
    return clientId === undefined || clientSecret === undefined ? [] : [[type, { clientId, clientSecret }] as const];
  });
  return {
    clients: new Map<string, { clientId: string; clientSecret: string }>(clients),
    gitlabHost: config.CONNECTOR_GITLAB_HOST,
    sandboxUrl: config.CONNECTOR_SANDBOX_URL,
  };
}

/** The folder for the repositories of coding sessions. */
export const toSessionFolder = (config: Config): string => config.SESSION_FOLDER ?? nameSessionFolder(config);

/**
 * The folder is specific to this installation, because another installation on the same machine would treat its
 * contents as leftovers from lost workers.
 */
function nameSessionFolder({ DATABASE_URL, CELL_CODE }: Config): string {
  const { host, pathname } = new URL(DATABASE_URL);
  const id = createHash('sha256')
    .update(JSON.stringify([host, pathname, CELL_CODE]))
    .digest('hex')
    .slice(0, 12);
  return join(tmpdir(), `plinth-sessions-${id}`);
}

/** `readConfig` rejects a bucket without its keys. */
export const toStorageSettings = (config: Config): StorageSettings =>
  config.STORAGE_S3_BUCKET === undefined
    ? { folder: config.STORAGE_FOLDER }
    : {
        s3: {
          bucket: config.STORAGE_S3_BUCKET,
          endpoint: config.STORAGE_S3_ENDPOINT,
          region: config.STORAGE_S3_REGION,
          accessKeyId: config.STORAGE_S3_ACCESS_KEY_ID ?? '',
          secretAccessKey: config.STORAGE_S3_SECRET_ACCESS_KEY ?? '',
          checksums: config.STORAGE_S3_CHECKSUMS,
          pathStyle: config.STORAGE_S3_PATH_STYLE,
        },
      };

export const toAdPlatformSettings = (config: Config) => ({
  url: config.ADS_PLATFORM_URL,
  version: config.ADS_PLATFORM_VERSION,
  managerId: config.ADS_PLATFORM_MANAGER_ID,
  credentials: config.ADS_PLATFORM_CREDENTIALS,
});

export const toGitHostSettings = (config: Config) => ({
  url: config.GIT_HOST_URL,
  cloneUrl: config.GIT_HOST_CLONE_URL,
  app:
    config.GIT_HOST_APP_ID === undefined || config.GIT_HOST_APP_PRIVATE_KEY === undefined
      ? undefined
      : { id: config.GIT_HOST_APP_ID, privateKey: config.GIT_HOST_APP_PRIVATE_KEY },
  maxRepositoryBytes: config.GIT_HOST_MAX_REPOSITORY_MB * 1_000_000,
});

export const toSandboxSettings = (config: Config) => ({
  bwrap: config.COMMAND_SANDBOX_BWRAP === 'off' ? undefined : config.COMMAND_SANDBOX_BWRAP,
  firstUid: config.COMMAND_SANDBOX_UID,
  cgroup: config.COMMAND_SANDBOX_CGROUP,
  memoryMb: config.COMMAND_SANDBOX_MEMORY_MB,
  processes: config.COMMAND_SANDBOX_PROCESSES,
  processors: config.COMMAND_SANDBOX_PROCESSORS,
});
