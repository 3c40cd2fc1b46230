// Owns the composition of the service: creates the gateways and features from the configuration and wires them together.
import { createHash } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { FastifyInstance } from 'fastify';
import { type Config, clientSettingsOf, connectorsWithClient, isLiveAdPlatform } from './config.ts';
import { recordRefusal } from './core/audit/refusals.ts';
import { createAppOrigins } from './core/auth/app-origins.ts';
import { countWorkspaceBytes } from './core/auth/byte-budget.ts';
import { type Counters, openCounters } from './core/auth/counters.ts';
import { open } from './core/auth/credentials.ts';
import { createFailedLookups } from './core/auth/failed-lookups.ts';
import { createGuard } from './core/auth/guard.ts';
import { exportBytes } from './core/auth/limits.ts';
import type { Route } from './core/auth/route.ts';
import { createAppAddresses } from './core/identity/app-addresses.ts';
import { createWarningQueue, warningJobs } from './core/identity/warnings.ts';
import { createStorageQuota } from './core/storage/quota.ts';
import { removeOldDeltas } from './core/turns/deltas.ts';
import type { Events, Publish } from './events.ts';
import { accounts } from './features/accounts/index.ts';
import {
  type AdsTimes,
  ads,
  compareWithPlatform,
  createCampaignStops,
  importLocations,
  listMappedEntities,
  loadBundledLocations,
  removeTrackingCheck,
} from './features/ads/index.ts';
import { agentArchiveTables, agents } from './features/agents/index.ts';
import { analytics } from './features/analytics/index.ts';
import { appUserArchiveTables, appUsers, temporaryUsers } from './features/app-users/index.ts';
import { appArchiveTables, apps, createAppFiles } from './features/apps/index.ts';
import { audit, auditArchiveTables } from './features/audit/index.ts';
import {
  automationArchiveTables,
  automations,
  listEntitiesInUse,
  turnOffAutomations,
} from './features/automations/index.ts';
import { billing } from './features/billing/index.ts';
import { browserTestArchiveTables, browserTests, type TestTimes } from './features/browser-tests/index.ts';
import { builder, builderArchiveTables } from './features/builder/index.ts';
import {
  type Boundary,
  codingSessions,
  createSessionStops,
  type WorkLimits,
} from './features/coding-sessions/index.ts';
import { connectorArchiveTables, connectors, endAttempts } from './features/connectors/index.ts';
import { creditArchiveTables, credits } from './features/credits/index.ts';
import { appSchemas, entities, entityArchiveTables } from './features/entities/index.ts';
import { folderArchiveTables, folders } from './features/folders/index.ts';
import { installation } from './features/installation/index.ts';
import { memberArchiveTables, members } from './features/members/index.ts';
import {
  createPlatformFiles,
  createPreview,
  publishing,
  publishingArchiveTables,
} from './features/publishing/index.ts';
import { security, securityArchiveTables } from './features/security/index.ts';
import { webhookArchiveTables, webhooks } from './features/webhooks/index.ts';
import { appWorkflows, workflowArchiveTables, workflows } from './features/workflows/index.ts';
import {
  type ArchiveTables,
  type ImportOptions,
  importWorkspace as importArchive,
  workspaceArchiveTables,
  workspaces,
} from './features/workspaces/index.ts';
import { type AdPlatformSettings, openAdPlatform } from './gateways/ad-platform/index.ts';
import { openAdvisories } from './gateways/advisories/index.ts';
import { openBrowser } from './gateways/browser/index.ts';
import { nameHost } from './gateways/browser/session/host.ts';
import { openBrowserSessions } from './gateways/browser/session/index.ts';
import type { SessionSettings } from './gateways/browser/session/types.ts';
import { openCommandSandbox } from './gateways/command-sandbox/index.ts';
import { openGitHost } from './gateways/git-host/index.ts';
import { openLanguageModel } from './gateways/language-model/index.ts';
import { openMail } from './gateways/mail/index.ts';
import { createApiKeyCheck } from './gateways/oauth/api-key-check.ts';
import { createOAuthGateway } from './gateways/oauth/index.ts';
import { openPayments } from './gateways/payments/index.ts';
import { openStorage, type StorageSettings } from './gateways/storage/index.ts';
import type { Listener } from './kit/background/events/dispatch.ts';
import { eventBus } from './kit/background/events/event-bus.ts';
import { isWorkerSeen, queueHealth, queueMetrics } from './kit/background/metrics.ts';
import type { Queue } from './kit/background/queues/queue.ts';
import type { Job } from './kit/background/workers/schedule.ts';
import { openWakeUps, type WakeUps } from './kit/background/workers/wake.ts';
import type { BackgroundWork } from './kit/background/workers/worker.ts';
import { type Clock, systemClock } from './kit/clock.ts';
import { type Database, openDatabase } from './kit/db/database.ts';
import { listPendingMigrations, type Migration } from './kit/db/migrate.ts';
import { createShares, type Shares } from './kit/db/shares.ts';
import { createCursors } from './kit/http/cursor.ts';
import type { Exchange } from './kit/http/exchange.ts';
import { removeExpiredKeys } from './kit/http/idempotency.ts';
import type { Operation } from './kit/http/operation.ts';
import { createServer, type RequestOutcome } from './kit/http/server.ts';
import { openJq } from './kit/jq/index.ts';
import { createLog, describeError, type Log } from './kit/log.ts';
import { createMetrics, type GaugeReading, type Metrics } from './kit/metrics.ts';
import { hostOf, isLoopback } from './kit/outbound/address.ts';
import { type OutboundOptions, openOutbound } from './kit/outbound/outbound.ts';
import { portOf } from './kit/outbound/url.ts';
import { shareRecent } from './kit/recent.ts';
import { createSecrets } from './kit/secrets.ts';
import { apiVersion, buildOpenApi } from './openapi/document.ts';
import { buildLlmsText } from './openapi/llms.ts';
import { tags } from './openapi/tags.ts';
import { placesFile, version } from './release.ts';
import type { Db, Tables } from './tables.ts';

/** For sign-in and health checks, beside the `DATABASE_POOL_SIZE` of everything else. */
const reservedConnections = 2;

/** What a feature's entry point returns. */
interface Feature {
  readonly routes: Route[];
  readonly listeners?: readonly Listener<Db>[];
  readonly queues?: readonly Queue[];
  readonly jobs?: readonly Job[];
  /** Metrics that are read from the database at every scrape. */
  readonly gauges?: readonly (Omit<GaugeReading, 'read'> & { read(db: Db): ReturnType<GaugeReading['read']> })[];
}

export interface AppDeps {
  readonly clock?: Clock;
  readonly log?: Log;
  readonly migrations: readonly Migration[];
  /** `application_name` of the connections to PostgreSQL. */
  readonly sessionName?: string;
  readonly onStatement?: (text: string) => void;
  /** DNS resolver and additional certificate authorities of outgoing requests. Set by tests. */
  readonly outbound?: Pick<OutboundOptions, 'dns' | 'extraCa'>;
  /** How long calls of the ad platform may take. Set by tests. */
  readonly adPlatform?: Pick<AdPlatformSettings, 'changeTimeoutMs' | 'readTimeoutMs'>;
  /** How long to wait before tags of conversions are read again. Set by tests. */
  readonly tagPauseMs?: number;
  /** How long generateAssets waits for images. Set by tests. */
  readonly assetWaitMs?: number;
  /** How long advertising waits, where it differs from the usual. Set by tests and drills. */
  readonly adsTimes?: Partial<AdsTimes>;
  /** How long browser tests wait, where it differs from the usual. Set by tests and drills. */
  readonly testTimes?: Partial<TestTimes>;
  /** How long coding sessions may take, where it differs from the usual. Set by tests and drills. */
  readonly sessionLimits?: Partial<WorkLimits>;
  /** Called wherever a worker may be killed while it runs a coding session. Set by tests and drills. */
  readonly onSessionBoundary?: (name: Boundary, sessionId: string) => Promise<void> | void;
  /** How long a page may take in the browser. Set by tests. */
  readonly pageMs?: number;
  /** Replaces the routes before they are served. Tests use it to run the guards without the handlers. */
  readonly routes?: (routes: Route[]) => Route[];
}

/** What an archive may contain. Made anew for each import, during which some parts remember their place. */
export const createArchiveTables = (): ArchiveTables => ({
  ...workspaceArchiveTables,
  ...memberArchiveTables,
  ...appArchiveTables,
  ...publishingArchiveTables,
  ...securityArchiveTables,
  ...browserTestArchiveTables,
  ...appUserArchiveTables,
  ...entityArchiveTables,
  ...folderArchiveTables,
  ...agentArchiveTables,
  ...builderArchiveTables,
  ...webhookArchiveTables,
  ...automationArchiveTables,
  ...workflowArchiveTables(),
  ...connectorArchiveTables,
  ...creditArchiveTables,
  ...auditArchiveTables(),
});

export const importWorkspace = (db: Db, file: string, options: ImportOptions, now: Date) =>
  importArchive(db, file, createArchiveTables(), options, now);

export const loadBundledPlaces = (db: Db, now: Date) => loadBundledLocations(db, placesFile, now);
export const importPlatformLocations = (db: Db, file: string, now: Date) => importLocations(db, file, placesFile, now);
export { LocationFileError } from './features/ads/index.ts';

const toAdPlatform = (config: Config) => ({
  url: config.ADS_PLATFORM_URL,
  version: config.ADS_PLATFORM_VERSION,
  managerId: config.ADS_PLATFORM_MANAGER_ID,
  credentials: config.ADS_PLATFORM_CREDENTIALS,
});

/** Of this installation: another one on the same machine would take what it finds there for the remains of lost workers. */
function nameSessionFolder({ DATABASE_URL, CELL_CODE }: Config): string {
  const { host, pathname } = new URL(DATABASE_URL);
  const id = createHash('sha256')
    .update(JSON.stringify([host, pathname, CELL_CODE]))
    .digest('hex')
    .slice(0, 12);
  return join(tmpdir(), `plinth-sessions-${id}`);
}

const toGitHost = (config: Config) => ({
  url: config.GIT_HOST_URL,
  cloneUrl: config.GIT_HOST_CLONE_URL,
  app:
    config.GIT_HOST_APP_ID === undefined || config.GIT_HOST_APP_PRIVATE_KEY === undefined
      ? undefined
      : { id: config.GIT_HOST_APP_ID, privateKey: config.GIT_HOST_APP_PRIVATE_KEY },
  maxRepositoryBytes: config.GIT_HOST_MAX_REPOSITORY_MB * 1_000_000,
});

/** For `plinth ads report`. */
export async function compareCampaigns(config: Config, db: Db) {
  const platform = openAdPlatform({ ...toAdPlatform(config), clock: systemClock });
  try {
    return await compareWithPlatform(db, { platform });
  } finally {
    await platform.close();
  }
}

export interface App {
  readonly server: FastifyInstance;
  readonly routes: readonly Route[];
  /** Queues and jobs that workers run. */
  readonly background: BackgroundWork;
  /** Publishes an event in the caller's transaction. */
  readonly publish: Publish;
  readonly wake: WakeUps;
  readonly metrics: Metrics;
  readonly database: Database<Tables>;
  readonly shares: Shares;
  readonly counters: Counters;
  /** Stops accepting requests, waits up to 30 s for those in progress, and closes every connection. */
  close(): Promise<void>;
}

export function createApp(config: Config, deps: AppDeps): App {
  const log = deps.log ?? createLog(config.LOG_LEVEL);
  const clock = deps.clock ?? systemClock;
  const counters = openCounters(config.REDIS_URL, config.REDIS_PREFIX, (isConnected) => {
    if (isConnected) log.info('Redis regained');
    else log.warn('Redis lost: rate limits are counted per process, and workers poll more often, until it is back');
  });
  const database = openDatabase<Tables>({
    url: config.DATABASE_URL,
    poolSize: config.DATABASE_POOL_SIZE,
    applicationName: deps.sessionName,
    onStatement: deps.onStatement,
  });
  const reserved = openDatabase<Tables>({
    url: config.DATABASE_URL,
    poolSize: reservedConnections,
    applicationName: deps.sessionName,
    onStatement: deps.onStatement,
  });
  const shares = createShares(config.DATABASE_POOL_SIZE);
  const failedLookups = createFailedLookups(counters);
  const wake = openWakeUps(config.REDIS_URL, config.REDIS_PREFIX);
  const bus = eventBus<Events, Db>(wake, (event, error) =>
    log.error({ event: event.name, event_id: event.id, error: describeError(error) }, 'event listener failed'),
  );
  const cursors = createCursors(config.SIGNING_KEY);
  const storage = createStorageQuota();
  const objectStorage = openStorage(toStorageSettings(config));
  const mail = openMail(config.SMTP_URL, config.MAIL_FROM, (error) =>
    log.error({ error: describeError(error) }, 'mail not sent'),
  );
  const metrics = createMetrics(() => queueMetrics(database.db, background.queues));
  metrics.addGauge({
    name: 'plinth_redis_connected',
    help: 'Whether this process is connected to Redis: 1 or 0',
    read: async () => (counters.isConnected() ? 1 : 0),
  });
  const model = openLanguageModel({
    url: config.MODEL_URL,
    apiKey: config.MODEL_API_KEY,
    name: config.MODEL_NAME,
    onReply: metrics.addOutcomes(
      'plinth_model_call',
      'Calls of the language model, by how they ended',
      [0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300],
    ),
  });
  const browserSettings: SessionSettings = {
    executable: config.BROWSER_EXECUTABLE,
    noSandbox: config.BROWSER_NO_SANDBOX,
    onFailure: (outcome, why) =>
      log.warn({ why }, outcome === 'crashed' ? 'browser crashed' : 'browser not started: check BROWSER_EXECUTABLE'),
  };
  const browser = openBrowser({ ...browserSettings, totalMs: deps.pageMs });
  const browserSessions = openBrowserSessions(browserSettings);
  const commandSandbox = openCommandSandbox({
    bwrap: config.COMMAND_SANDBOX_BWRAP === 'off' ? undefined : config.COMMAND_SANDBOX_BWRAP,
    firstUid: config.COMMAND_SANDBOX_UID,
    cgroup: config.COMMAND_SANDBOX_CGROUP,
    memoryMb: config.COMMAND_SANDBOX_MEMORY_MB,
    processes: config.COMMAND_SANDBOX_PROCESSES,
    processors: config.COMMAND_SANDBOX_PROCESSORS,
    onProblem: (why) => log.warn({ why }, 'command sandbox not available, or not left clean'),
  });
  const adPlatform = openAdPlatform({
    ...toAdPlatform(config),
    clock,
    ...deps.adPlatform,
    onCall: metrics.addOutcomes(
      'plinth_ad_platform_call',
      'Calls of the ad platform, by outcome',
      [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
    ),
    onFailure: (failure) => log.warn(failure, 'call of the ad platform failed'),
  });
  const baseUrl = new URL(config.BASE_URL);
  const outbound = openOutbound({
    allow: config.OUTBOUND_ALLOW,
    own: { host: hostOf(baseUrl), port: portOf(baseUrl) },
    ...deps.outbound,
  });
  const advisories = openAdvisories({
    url: config.ADVISORIES_URL,
    onFailure: (failure) => log.warn(failure, 'call of the database of advisories failed'),
  });
  const gitHost = openGitHost({ ...toGitHost(config), clock });
  const secrets = createSecrets(config.MASTER_KEYS);
  const masterKeyId = config.MASTER_KEYS[0].id;
  let draining = false;
  const shutdown = new AbortController();

  const checkWorkers = shareRecent(1_000, () => isWorkerSeen(reserved.db));
  // Everybody may ask, without a limit, so that all callers within a second share one check.
  const checkDatabase = shareRecent(1_000, async () => {
    const pending = await listPendingMigrations(reserved.pool, deps.migrations).then(
      (list) => list.length,
      () => undefined,
    );
    return {
      database: pending === undefined && !(await isReachable(reserved)) ? ('unreachable' as const) : ('ok' as const),
      migrations: pending === undefined ? ('unknown' as const) : pending === 0 ? ('ok' as const) : ('pending' as const),
      workers: await checkWorkers().then(
        (isSeen) => (isSeen ? ('ok' as const) : ('none_seen' as const)),
        () => 'unknown' as const,
      ),
      ...presentQueueHealth(await queueHealth(reserved.db, background.queues).catch(() => undefined)),
    };
  });
  const checkReadiness = async () => ({
    ...(await checkDatabase()),
    redis: counters.isConnected() ? ('ok' as const) : ('unreachable' as const),
    draining,
  });

  const tokenKeys = { peppers: config.TOKEN_PEPPERS, cellCode: config.CELL_CODE };
  const isOperation = (name: string) => allRoutes.some((route) => route.name === name);
  const auditFeature = audit({ cursors, shares, isOperation });
  const isHttps = config.BASE_URL.startsWith('https:');
  const webhookFeature = webhooks({
    cursors,
    secrets,
    masterKeyId,
    outbound,
    wake,
    mail,
    baseUrl: config.BASE_URL,
    isDevelopment: isLoopback(baseUrl),
    onAttempt: metrics.addOutcomes(
      'plinth_webhook_attempt',
      'Attempts to deliver to a webhook, by outcome',
      [0.025, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    ),
    onFirstAttempt: metrics.addHistogram(
      'plinth_webhook_first_attempt_seconds',
      'Time from an event to the end of the first attempt to deliver it',
      [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300],
    ),
  });
  const memberFeature = members({
    signingKey: config.SIGNING_KEY,
    staffEmailDomains: config.STAFF_EMAIL_DOMAINS,
    publish: bus.publish,
    pauseWebhooksOf: webhookFeature.pauseWebhooksOf,
    tokenKeys,
    counters,
    mail,
    baseUrl: config.BASE_URL,
    secureCookie: isHttps,
  });
  const addresses = createAppAddresses(config.BASE_URL, config.APPS_DOMAIN);
  const platformFiles = createPlatformFiles(config.BASE_URL);
  const builderFeature = builder({
    cursors,
    model,
    browser,
    openPreview: createPreview(platformFiles),
    files: createAppFiles(storage),
    schemas: appSchemas,
    addresses,
    wake,
    clock,
    shutdownSignal: shutdown.signal,
  });
  const campaignStops = createCampaignStops({ wake, shutdownSignal: shutdown.signal, times: deps.adsTimes });
  const sessionStops = createSessionStops({ wake, baseUrl: config.BASE_URL });
  const appFeature = apps({
    cursors,
    storage,
    secrets,
    masterKeyId,
    addresses,
    guests: memberFeature.guests,
    startChat: builderFeature.startChat,
    beforeTrash: campaignStops.stopApp,
    onTrash: [
      campaignStops.requireAppStopped,
      turnOffAutomations,
      appWorkflows.stop,
      endAttempts,
      sessionStops.stopApp,
    ],
  });
  const entityFeature = entities({
    cursors,
    events: bus,
    storage,
    listNamedEntities: [listEntitiesInUse, appWorkflows.listNamedEntities, listMappedEntities],
  });
  const publishingFeature = publishing({
    db: database.db,
    cursors,
    contents: appFeature.contents,
    listOpenEntities: entityFeature.listOpenEntities,
    onPolicyChange: removeTrackingCheck,
    objectStorage,
    storage,
    shares,
    addresses,
    publish: bus.publish,
    failedLookups,
    appsDomain: config.APPS_DOMAIN,
    isHttps,
    trustedProxies: config.TRUSTED_PROXIES,
    platformFiles,
    onServeError: (error, requestId) =>
      log.error({ request_id: requestId, error: describeError(error) }, 'published file not served'),
  });
  const agentFeature = agents({
    cursors,
    campaigns: campaignStops,
    model,
    addresses,
    publish: bus.publish,
    wake,
    clock,
    shutdownSignal: shutdown.signal,
  });
  const connectorFeature = connectors({
    cursors,
    settings: toConnectorSettings(config),
    signingKey: config.SIGNING_KEY,
    addresses,
    baseUrl: config.BASE_URL,
    secureCookie: isHttps,
    oauth: createOAuthGateway({ outbound, clock }),
    checkApiKey: createApiKeyCheck(outbound),
    outbound,
    secrets,
    masterKeyId,
    clock,
    onRefresh: metrics.addOutcomes(
      'plinth_token_refresh_attempt',
      'Attempts to refresh the tokens of connections, by outcome',
      [0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    ),
    onRevokeError: (error) => log.error({ error: describeError(error) }, 'tokens not revoked'),
  });
  const jq = openJq();
  const workflowFeature = workflows({
    cursors,
    jq,
    outbound,
    secrets,
    masterKeyId,
    records: entityFeature.records,
    hasEntity: appSchemas.has,
    shares,
    agentReplies: agentFeature.singleReplies,
    sendToConnector: connectorFeature.sendRequest,
    readSecrets: appFeature.readSecrets,
    listSecretValues: appFeature.listSecretValues,
    model,
    isAnalysisOn: config.RUN_ANALYSIS === 'on',
    publish: bus.publish,
    cellCode: config.CELL_CODE,
    baseUrl: config.BASE_URL,
    wake,
    clock,
    shutdownSignal: shutdown.signal,
  });
  const automationFeature = automations({
    cursors,
    jq,
    outbound,
    isDevelopment: isLoopback(baseUrl),
    hasEntity: appSchemas.has,
    hasWorkflow: appWorkflows.has,
    startWorkflowRun: workflowFeature.startRun,
    readSecrets: appFeature.readSecrets,
    wake,
    clock,
    baseUrl: config.BASE_URL,
  });
  const billingFeature = billing({
    payments: openPayments({
      url: config.PAYMENTS_URL,
      secretKey: config.PAYMENTS_SECRET_KEY,
      onFailure: (failure) => log.warn(failure, 'call of the payment provider failed'),
    }),
    returnUrl: config.BASE_URL,
  });
  const adsFeature = ads({
    platform: adPlatform,
    browser,
    cursors,
    openSite: publishingFeature.openSite,
    listFields: appSchemas.listFields,
    tagPauseMs: deps.tagPauseMs,
    // The platform counts reads: all apps without an account share one a minute.
    checkAccess: shareRecent(60_000, adPlatform.checkAccess, ({ outcome }) => outcome === 'read'),
    defaultCurrency: config.ADS_DEFAULT_CURRENCY,
    canCreate: config.ADS_CAN_CREATE,
    isLivePlatform: isLiveAdPlatform(config.ADS_PLATFORM_URL),
    readBilling: billingFeature.readBilling,
    reportSurplus: (surplus) => log.warn(surplus, 'more than one advertising account was created for an app'),
    reportUnlisted: (found) =>
      log.error(found, 'a campaign of a launch that had given up was found at the ad platform'),
    model,
    productName: config.PRODUCT_NAME,
    readFiles: appFeature.contents.readFiles,
    addresses,
    storage,
    objectStorage,
    outbound,
    counters,
    wake,
    clock,
    baseUrl: config.BASE_URL,
    shutdownSignal: shutdown.signal,
    assetWaitMs: deps.assetWaitMs,
    times: deps.adsTimes,
  });
  const securityFeature = security({
    files: appFeature.scannedFiles,
    schemas: appSchemas,
    readSecuritySettings: publishingFeature.readSecuritySettings,
    findOpenRules: entityFeature.findOpenRules,
    advisories,
    outbound,
    addresses,
    baseUrl: config.BASE_URL,
    wake,
    clock,
    onScan: metrics.addOutcomes(
      'plinth_security_scan',
      'Security scans, by outcome',
      [0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 900],
    ),
  });
  const browserTestFeature = browserTests({
    cursors,
    sessions: browserSessions,
    host: nameHost(),
    model,
    files: appFeature.scannedFiles,
    schemas: appSchemas,
    temporaryUsers,
    removeRecords: entityFeature.removeRecordsOf,
    addresses,
    storage,
    objectStorage,
    signingKey: config.SIGNING_KEY,
    baseUrl: config.BASE_URL,
    wake,
    clock,
    shutdownSignal: shutdown.signal,
    times: deps.testTimes,
    onRun: metrics.addOutcomes('plinth_test_run', 'Test runs, by outcome', [5, 10, 30, 60, 120, 300, 600, 900]),
  });
  const codingSessionFeature = codingSessions({
    cursors,
    gitHost,
    model,
    secrets,
    masterKeyId,
    baseUrl: config.BASE_URL,
    wake,
    shutdownSignal: shutdown.signal,
    clock,
    commandSandbox,
    objectStorage,
    storage,
    sessionFolder: config.SESSION_FOLDER ?? nameSessionFolder(config),
    appOwners: config.GIT_HOST_APP_OWNERS ?? [],
    maxCredits: config.SESSION_MAX_CREDITS,
    author: config.SESSION_AUTHOR,
    limits: deps.sessionLimits,
    onBoundary: deps.onSessionBoundary,
    onTurn: metrics.addOutcomes(
      'plinth_coding_turn',
      'Turns of coding sessions, by outcome',
      [5, 15, 30, 60, 120, 300, 600, 1_800, 3_600],
    ),
  });
  const features: Feature[] = [
    accounts({
      cursors,
      tokenKeys,
      counters,
      mail,
      wake,
      pepper: config.TOKEN_PEPPERS[0],
      setupToken: config.PLINTH_SETUP_TOKEN,
      defaultPlan: config.DEFAULT_PLAN,
      baseUrl: config.BASE_URL,
      secureCookie: isHttps,
    }),
    workspaces({
      cursors,
      defaultPlan: config.DEFAULT_PLAN,
      onlyOperatorsCreate: config.ALLOW_WORKSPACE_CREATION === 'operator',
      baseUrl: config.BASE_URL,
      objectStorage,
      storage,
      reportStorageDrift: (drift) => log.warn(drift, 'storage usage differed from what is stored and was corrected'),
      sealChain: auditFeature.sealChain,
      countExported: (workspaceId, bytes) => countWorkspaceBytes(counters, exportBytes, workspaceId, bytes),
      archiveTables: createArchiveTables(),
      campaigns: campaignStops,
      onDelete: [sessionStops.stopWorkspace],
    }),
    appFeature,
    builderFeature,
    publishingFeature,
    securityFeature,
    browserTestFeature,
    codingSessionFeature,
    appUsers({
      cursors,
      tokenKeys,
      counters,
      mail,
      wake,
      appUrl: ({ slug, live_deployment_id }) =>
        live_deployment_id === null || addresses.areSandboxed ? null : addresses.urlOf(slug),
    }),
    entityFeature,
    agentFeature,
    automationFeature,
    connectorFeature,
    analytics({
      db: database.db,
      cursors,
      countryHeader: config.COUNTRY_HEADER,
      onUnreadable: (count, error) => log.error({ count, error: describeError(error) }, 'users not counted'),
    }),
    billingFeature,
    adsFeature,
    webhookFeature,
    workflowFeature,
    memberFeature,
    folders({ cursors }),
    credits({ cursors, reportMismatch: (mismatch) => log.error(mismatch, 'credit pool does not match its ledger') }),
    auditFeature,
    installation({
      checkReadiness,
      readMetrics: metrics.render,
      metricsToken: config.METRICS_TOKEN,
      description: {
        buildDocument: (feature) => buildOpenApi(allRoutes, config.BASE_URL, feature),
        features: tags.map(({ name }) => name),
        buildLlmsText: () => buildLlmsText(allRoutes, config.BASE_URL),
      },
      describeServer: () => ({
        name: 'Plinth',
        version,
        api_version: apiVersion,
        beta: true,
        features: {
          ads: adPlatform.configured,
          model: model.configured,
          git: gitHost.configured,
          browser: browser.configured,
          mail: mail.configured,
        },
      }),
    }),
  ];
  const allRoutes: Route[] = features.flatMap((feature) => feature.routes);
  for (const gauge of features.flatMap((feature) => feature.gauges ?? []))
    metrics.addGauge({ ...gauge, read: () => gauge.read(database.db) });
  bus.listen(features.flatMap((feature) => feature.listeners ?? []));
  const background: BackgroundWork = {
    queues: [...features.flatMap((feature) => feature.queues ?? []), createWarningQueue(mail.send)],
    jobs: [
      ...features.flatMap((feature) => feature.jobs ?? []),
      ...warningJobs,
      { name: 'remove expired idempotency keys', everyMs: 60_000, run: removeExpiredKeys },
      { name: 'remove old turn deltas', everyMs: 30_000, run: removeOldDeltas },
    ],
    dispatch: bus.dispatch,
  };
  const routes = deps.routes?.(allRoutes) ?? allRoutes;

  const appOrigins = createAppOrigins(database.db, failedLookups, addresses.slugOf);
  const server = createServer(routes, {
    db: database.db,
    reservedDb: reserved.db,
    shares,
    clock,
    ...createGuard({
      db: database.db,
      counters,
      failedLookups,
      ...tokenKeys,
      baseOrigin: new URL(config.BASE_URL).origin,
      appOrigins,
      personalKeysUntil: config.PERSONAL_API_KEYS_UNTIL,
    }),
    crossOrigin: appOrigins,
    otherRequests: publishingFeature.server,
    isHttps,
    looksUpCaller: (operation: Operation) => {
      const { credentials, access } = operation as Route;
      const { readsSession, lookUpAnonymous, lookUpHook } = access;
      return credentials !== open || readsSession === true || (lookUpAnonymous ?? lookUpHook) !== undefined;
    },
    // If it can't be read, nothing is claimed: the request itself fails or not.
    isWorkerSeen: () => checkWorkers().catch(() => true),
    guardQuery: (operation: Operation) => ((operation as Route).access.choosesWorkspace ? ['workspaceId'] : []),
    trustedProxies: config.TRUSTED_PROXIES,
    proxyHeaders: config.COUNTRY_HEADER === undefined ? [] : [config.COUNTRY_HEADER],
    maxConnectionsPerAddress: config.MAX_CONNECTIONS_PER_ADDRESS,
    onConnectionRefused: (address) =>
      log.warn({ address }, 'connections refused: more than MAX_CONNECTIONS_PER_ADDRESS from one address'),
    onUntrustedForwarding: (address) =>
      log.warn(
        { address },
        'forwarding headers ignored: their sender is not in TRUSTED_PROXIES, so all callers behind it count as one address',
      ),
    strictAnswers: config.STRICT_ANSWERS,
    onResponse: (answered) => {
      metrics.countRequest(answered.operation, answered.status, answered.seconds);
      logAnswer(log, answered);
      if (answered.exchange?.refusal !== undefined) void auditRefusal(answered.exchange);
    },
    onError: (error, exchange) =>
      log.error(
        { request_id: exchange?.requestId, operation: exchange?.operation.name, error: describeError(error) },
        'request failed',
      ),
  });

  const auditRefusal = (exchange: Exchange) =>
    recordRefusal(database.db, counters, exchange).catch((error) =>
      log.error({ error: describeError(error) }, 'refusal not recorded'),
    );

  const close = async () => {
    draining = true;
    const shutdownTimer = setTimeout(() => shutdown.abort(), 10_000);
    // Keep-alive connections that become idle after close() began would otherwise stay open.
    const idleSweep = setInterval(() => server.server.closeIdleConnections(), 200);
    await waitAtMost(30_000, server.close());
    clearTimeout(shutdownTimer);
    clearInterval(idleSweep);
    counters.close();
    wake.close();
    mail.close();
    objectStorage.close();
    await browser.close();
    await browserSessions.close();
    await commandSandbox.close();
    adsFeature.close();
    await securityFeature.close();
    await adPlatform.close();
    await advisories.close();
    await gitHost.close();
    await outbound.close();
    await jq.close();
    await waitAtMost(5_000, Promise.all([database.close(), reserved.close()]));
  };
  return {
    server,
    routes,
    background,
    publish: bus.publish,
    wake,
    metrics,
    database,
    shares,
    counters,
    close,
  };
}

/** Null means unknown: the health could not be read, or no worker has run yet. Zero would claim that there is no lag. */
const presentQueueHealth = (seen: Awaited<ReturnType<typeof queueHealth>> | undefined) => ({
  queue_lag_seconds: seen === undefined ? null : Math.max(0, Math.round(seen.lagSeconds * 1000) / 1000),
  worker_heartbeat: seen?.heartbeatAt?.toISOString() ?? null,
});

/** `readConfig` refuses a bucket without its keys. */
const toStorageSettings = (config: Config): StorageSettings =>
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

/** Clients that the operator has registered, by type. */
function toConnectorSettings(config: Config) {
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

const isReachable = (database: Database<Tables>): Promise<boolean> =>
  database.pool.query('select 1').then(
    () => true,
    () => false,
  );

function logAnswer(log: Log, { operation, status, seconds, requestId, exchange }: RequestOutcome): void {
  if (!log.isLevelEnabled('info')) return;
  log.info(
    {
      request_id: requestId,
      operation,
      status,
      duration_ms: Math.round(seconds * 1e6) / 1e3,
      actor_id: exchange?.actor?.id,
      workspace_id: exchange?.actor?.workspaceId,
    },
    'request completed',
  );
}

async function waitAtMost(ms: number, work: PromiseLike<unknown>): Promise<void> {
  const timeUp = Promise.withResolvers<void>();
  const timer = setTimeout(timeUp.resolve, ms);
  await Promise.race([work, timeUp.promise]);
  clearTimeout(timer);
}
