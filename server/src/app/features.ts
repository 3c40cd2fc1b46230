// Connects the features. Each receives the shared parts, its own settings, and what it needs from other features.

import { exportBytes } from '../core/auth/limits.ts';
import { countWorkspaceBytes } from '../core/auth/rate-limits/byte-budget.ts';
import type { Route } from '../core/auth/route.ts';
import type { Streams } from '../core/streams/streams.ts';
import { accounts } from '../features/accounts/index.ts';
import { ads, createCampaignStops, listMappedEntities, removeTrackingCheck } from '../features/ads/index.ts';
import { agents } from '../features/agents/index.ts';
import { analytics } from '../features/analytics/index.ts';
import {
  appUsers,
  createSignUpChoice,
  readSignInOffer,
  signInToPreview,
  temporaryUsers,
} from '../features/app-users/index.ts';
import { apps, createAppFiles } from '../features/apps/index.ts';
import { audit } from '../features/audit/index.ts';
import { automations, listEntitiesInUse, turnOffAutomations } from '../features/automations/index.ts';
import { billing } from '../features/billing/index.ts';
import { browserTests } from '../features/browser-tests/index.ts';
import { builder } from '../features/builder/index.ts';
import { codingSessions, createSessionStops } from '../features/coding-sessions/index.ts';
import { connectors, endAttempts } from '../features/connectors/index.ts';
import { webConsole } from '../features/console/index.ts';
import { credits } from '../features/credits/index.ts';
import {
  appSchemas,
  createAppSchemas,
  createRestoredSchemas,
  entities,
  schemasForFixes,
} from '../features/entities/index.ts';
import { folders } from '../features/folders/index.ts';
import { installation } from '../features/installation/index.ts';
import { members } from '../features/members/index.ts';
import {
  createPlatformFiles,
  createPreviewOpener,
  createRestoredHeaders,
  endPreviews,
  publishing,
} from '../features/publishing/index.ts';
import { security } from '../features/security/index.ts';
import { webhooks } from '../features/webhooks/index.ts';
import { appWorkflows, workflows } from '../features/workflows/index.ts';
import { workspaces } from '../features/workspaces/index.ts';
import type { Listener } from '../kit/background/events/dispatch.ts';
import type { Queue } from '../kit/background/queues/queue.ts';
import type { Job } from '../kit/background/workers/schedule.ts';
import { describeError } from '../kit/log.ts';
import type { GaugeReading } from '../kit/metrics.ts';
import { atMostOncePer, shareRecent } from '../kit/recent.ts';
import { buildCodeSamples } from '../openapi/code-samples.ts';
import { apiVersion, buildOpenApi } from '../openapi/document.ts';
import { buildLlmsText } from '../openapi/llms.ts';
import { tags } from '../openapi/tags.ts';
import { version } from '../release.ts';
import type { Db } from '../tables.ts';
import { createArchiveTables } from './archives.ts';
import type { Gateways } from './gateways.ts';
import type { Infrastructure } from './infrastructure.ts';
import type { createReadiness } from './readiness.ts';
import type { FeatureSettings, toSharedSettings } from './settings.ts';

/** The return value of a feature's entry point. */
export interface Feature {
  readonly routes: Route[];
  readonly listeners?: readonly Listener<Db>[];
  readonly queues?: readonly Queue[];
  readonly jobs?: readonly Job[];
  /** SQL conditions on `events.id` that are true while the feature's queues need a dispatched event's payload. */
  readonly eventNeededIf?: readonly string[];
  /** Metrics that are read from the database on every scrape. */
  readonly gauges?: readonly (Omit<GaugeReading, 'read'> & { read(db: Db): ReturnType<GaugeReading['read']> })[];
  /** Stops everything that the feature has started in this process. */
  close?(): void | Promise<void>;
}

/** The parts that every feature receives. A feature's parameters show which of them it uses. */
export type Shared = Omit<Infrastructure & Gateways, 'close'> &
  ReturnType<typeof toSharedSettings> & { readonly shutdownSignal: AbortSignal; readonly streams: Streams };

interface WholeApp {
  /** These list the routes and queues of all features, once the features exist. */
  listRoutes(): readonly Route[];
  listQueues(): readonly Queue[];
  readonly checkReadiness: ReturnType<typeof createReadiness>['check'];
}

/** Creates all features, in the order of the OpenAPI document. */
export function createFeatures(shared: Shared, settings: FeatureSettings, app: WholeApp) {
  const { log } = shared;
  const used = createUsedFeatures(shared, settings, app);
  const features: Feature[] = [
    accounts({ ...shared, ...settings.accounts, answerWithConsole: used.console.answerWithPage }),
    workspaces({
      ...shared,
      ...settings.workspaces,
      reportStorageDrift: (drift) => log.warn(drift, 'storage usage did not match the stored data and was corrected'),
      sealChain: used.audit.sealChain,
      countExported: (workspaceId, bytes) => countWorkspaceBytes(shared.counters, exportBytes, workspaceId, bytes),
      archiveTables: createArchiveTables(),
      campaigns: used.campaigns,
      onDelete: [used.sessions.stopWorkspace],
    }),
    used.apps,
    used.builder,
    used.publishing,
    security({
      ...shared,
      files: used.apps.scannedFiles,
      schemas: schemasForFixes,
      readSecuritySettings: used.publishing.readSecuritySettings,
      findOpenRules: used.entities.findOpenRules,
    }),
    browserTests({
      ...shared,
      ...settings.browserTests,
      sessions: shared.browserSessions,
      files: used.apps.scannedFiles,
      schemas: appSchemas,
      temporaryUsers,
      removeRecords: used.entities.removeRecordsOf,
    }),
    codingSessions({ ...shared, ...settings.codingSessions }),
    appUsers({
      ...shared,
      appUrl: ({ slug, live_deployment_id }) =>
        live_deployment_id === null || shared.addresses.areSandboxed ? null : shared.addresses.urlOf(slug),
    }),
    used.entities,
    used.agents,
    automations({
      ...shared,
      hasEntity: appSchemas.has,
      hasWorkflow: appWorkflows.has,
      startWorkflowRun: used.workflows.startRun,
      readSecrets: used.apps.readSecrets,
    }),
    used.connectors,
    analytics({
      ...shared,
      ...settings.analytics,
      db: shared.database.db,
      onUnreadable: (count, error) => log.error({ count, error: describeError(error) }, 'users not counted'),
    }),
    used.billing,
    ads({
      ...shared,
      ...settings.ads,
      platform: shared.adPlatform,
      // The platform limits the number of reads, so all apps without an account share one read per minute.
      checkAccess: shareRecent(60_000, shared.adPlatform.checkAccess, ({ outcome }) => outcome === 'read'),
      openSite: used.publishing.openSite,
      listFields: appSchemas.listFields,
      readBilling: used.billing.readBilling,
      readFiles: used.apps.contents.readFiles,
      reportSurplus: (surplus) => log.warn(surplus, 'more than one advertising account was created for an app'),
      reportUnlisted: (found) => log.error(found, 'a campaign from an abandoned launch was found on the ad platform'),
    }),
    used.webhooks,
    used.workflows,
    used.members,
    folders(shared),
    credits({
      ...shared,
      listRoutes: app.listRoutes,
      reportMismatch: (mismatch) => log.error(mismatch, 'credit pool does not match its ledger'),
    }),
    used.audit,
    installation({ ...settings.installation, ...describeApp(shared, settings, used, app) }),
    used.console,
  ];
  return { features, publishedApps: used.publishing.server, checkHost: used.publishing.checkHost };
}

/**
 * Creates the features that other features use directly, not only through events. Each is created after the features it
 * uses.
 */
function createUsedFeatures(shared: Shared, settings: FeatureSettings, app: WholeApp) {
  const { log } = shared;
  const platformFiles = createPlatformFiles(shared.baseUrl);
  const campaigns = createCampaignStops({ ...shared, times: settings.ads.times });
  const sessions = createSessionStops(shared);
  const auditFeature = audit({
    ...shared,
    isOperation: (name) => app.listRoutes().some((route) => route.name === name),
  });
  const webhookFeature = webhooks(shared);
  const memberFeature = members({
    ...shared,
    ...settings.members,
    pauseWebhooksOf: webhookFeature.pauseWebhooksOf,
  });
  const builderFeature = builder({
    ...shared,
    openPreview: createPreviewOpener(platformFiles),
    files: createAppFiles(shared.storage),
    schemas: createAppSchemas(shared.storage),
    signUp: createSignUpChoice(shared),
  });
  const listNamedEntities = [listEntitiesInUse, appWorkflows.listNamedEntities, listMappedEntities];
  const appFeature = apps({
    ...shared,
    schemas: createRestoredSchemas({ ...shared, listNamedEntities }),
    headers: createRestoredHeaders({ onPolicyChange: removeTrackingCheck }),
    guests: memberFeature.guests,
    startChat: builderFeature.startChat,
    beforeTrash: campaigns.stopApp,
    onTrash: [
      campaigns.requireAppStopped,
      turnOffAutomations,
      appWorkflows.stop,
      endAttempts,
      sessions.stopApp,
      endPreviews,
    ],
  });
  const entityFeature = entities({ ...shared, listNamedEntities });
  const publishingFeature = publishing({
    ...shared,
    ...settings.publishing,
    db: shared.database.db,
    contents: appFeature.contents,
    revisions: appFeature.keptRevisions,
    signInUser: (db, access, userId, now) => signInToPreview(db, access, userId, shared.tokenKeys, now),
    listOpenEntities: entityFeature.listOpenEntities,
    readSignInOffer: (db, app) => readSignInOffer(db, shared, app),
    onPolicyChange: removeTrackingCheck,
    platformFiles,
    onServeError: (error, requestId) =>
      log.error({ request_id: requestId, error: describeError(error) }, 'published file not served'),
    onHostsUnreadable: atMostOncePer(60_000, (error: unknown) =>
      log.warn({ error: describeError(error) }, 'hosts of apps could not be read for the proxy'),
    ),
  });
  const agentFeature = agents({ ...shared, campaigns });
  const connectorFeature = connectors({
    ...shared,
    ...settings.connectors,
    onRevokeError: (error) => log.error({ error: describeError(error) }, 'tokens not revoked'),
  });
  const workflowFeature = workflows({
    ...shared,
    ...settings.workflows,
    records: entityFeature.records,
    hasEntity: appSchemas.has,
    agentReplies: agentFeature.singleReplies,
    sendToConnector: connectorFeature.sendRequest,
    readSecrets: appFeature.readSecrets,
    listSecretValues: appFeature.listSecretValues,
  });
  return {
    campaigns,
    sessions,
    audit: auditFeature,
    webhooks: webhookFeature,
    members: memberFeature,
    builder: builderFeature,
    apps: appFeature,
    entities: entityFeature,
    publishing: publishingFeature,
    agents: agentFeature,
    connectors: connectorFeature,
    workflows: workflowFeature,
    billing: billing({ ...shared, returnUrl: shared.baseUrl }),
    console: webConsole({ ...shared, ...settings.console }),
  };
}

/** Describes the installation itself. */
const describeApp = (
  { metrics, baseUrl, cursors, ...shared }: Shared,
  { connectors: { settings: connectors }, installation: { standInRequests } }: FeatureSettings,
  { console }: ReturnType<typeof createUsedFeatures>,
  { listRoutes, listQueues, checkReadiness }: WholeApp,
) => ({
  cursors,
  listQueues,
  checkReadiness,
  readMetrics: metrics.render,
  description: {
    buildDocument: (feature?: string) => buildOpenApi(listRoutes(), baseUrl, feature),
    features: tags.map(({ name }) => name),
    buildLlmsText: () => buildLlmsText(listRoutes(), baseUrl),
    buildCodeSamples: () => buildCodeSamples(buildOpenApi(listRoutes(), baseUrl)),
  },
  describeServer: () => ({
    name: 'Plinth' as const,
    version,
    api_version: apiVersion,
    beta: true as const,
    features: {
      ads: shared.adPlatform.configured,
      model: shared.model.configured,
      git: shared.gitHost.configured,
      browser: shared.browser.configured,
      mail: shared.mail.configured,
      apps_domain: !shared.addresses.areSandboxed,
      payments: shared.payments.mode === 'provider',
      connectors: connectors.clients.size > 0 || connectors.sandboxUrl !== undefined,
      console: console.answerWithPage !== undefined,
    },
    stand_in_requests: standInRequests,
    mail_inbox_url: shared.mail.inboxUrl ?? null,
  }),
});
