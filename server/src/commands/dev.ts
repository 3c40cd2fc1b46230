// `plinth dev`, which runs the API, a worker and the sandbox on this machine with demo data, and reloads them when
// their code changes. Creates the keys, the database and the demo data if they are missing.
import { clientSettingsOf, connectorsWithClient } from '../config/connectors.ts';
import { type Config, ConfigError, readConfig, setSettings, settingText } from '../config.ts';
import { isInitialised } from '../core/identity/accounts.ts';
import { systemClock } from '../kit/clock.ts';
import { openDatabase, transaction } from '../kit/db/database.ts';
import type { Db, Tables } from '../tables.ts';
import { parseArguments } from './arguments.ts';
import { createFirstUser, issueToken } from './bootstrap.ts';
import { createDemoData } from './demo/demo.ts';
import { type DemoRequest, demoRequest } from './demo/request.ts';
import { superviseApi } from './dev/api-process.ts';
import { bannerText, loopback } from './dev/banner.ts';
import { findBrowser } from './dev/browser.ts';
import { type Sandbox, startLoadingLocations, startSandbox, superviseWorker } from './dev/children.ts';
import { buildConsole, isConsoleServed, placeConsoleServer } from './dev/console.ts';
import { reloadOnChange } from './dev/reload.ts';
import { createDatabaseIfMissing, requireServices } from './dev/services.ts';
import { addMissingKeys, loadEnvFile } from './env-file.ts';
import { formatDatabaseCommand } from './failures.ts';
import { migrateAll, migrateUrl } from './migrate.ts';
import { devUsage } from './usages.ts';
import { createPrintedLink } from './user.ts';

const tokenName = 'npm run dev';

export async function dev(args: string[]): Promise<void> {
  const options = {
    'no-sandbox': { type: 'boolean', default: false },
    console: { type: 'boolean', default: false },
  } as const;
  const { values } = parseArguments(args, { usage: devUsage, options });
  const wantsSandbox = !values['no-sandbox'];
  const added = addMissingKeys();
  if (added.length > 0) {
    console.log(`added keys to .env: ${added.join(', ')}`);
    loadEnvFile();
  }
  await requireServices(readConfig());
  const consoleServer = values.console ? await placeConsoleServer() : undefined;
  const built = buildConsole(readConfig());
  const sandbox = wantsSandbox ? await startSandbox() : undefined;
  const config = configure(sandbox);
  await createDatabaseIfMissing(config);
  await migrateAll(migrateUrl(config), config.DATABASE_URL);
  const { token, isNew, passwordUrl } = await openDemoAccount(config);
  await built;
  const api = superviseApi(config);
  if ((await api.reload()) !== 'serving') throw new ConfigError('The API did not start: see above.');
  await consoleServer?.start(api.url());
  const worker = await superviseWorker();
  const request = demoRequest(api.url(), token);
  if (isNew) await fillWithDemoData(config, request, sandbox);
  const email = await revokeEarlierTokens(request);
  const app = await findPublishedApp(request);
  reloadOnChange(api, worker, sandbox);
  console.log(bannerText(config, { email, token, passwordUrl, app, hasConsole: isConsoleServed(config) }, sandbox));
  startLoadingLocations();
}

async function fillWithDemoData(config: Config, request: DemoRequest, sandbox: Sandbox | undefined): Promise<void> {
  console.log('creating demo data …');
  try {
    const hasSandboxModel = sandbox !== undefined && config.MODEL_URL === sandbox.modelUrl;
    const gitHost =
      sandbox !== undefined && config.GIT_HOST_URL === sandbox.gitHostUrl
        ? { repository: sandbox.gitHostRepository, token: sandbox.gitHostToken }
        : undefined;
    const options = { receiverUrl: sandbox?.receiverUrl, hasSandboxModel, gitHost };
    await withDatabase(config, (db) => createDemoData(db, request, options, systemClock.now()));
  } catch (error) {
    throw new ConfigError(
      `The demo data is incomplete: ${(error as Error).message}\nTo start over, drop the database: ${formatDatabaseCommand('dropdb', migrateUrl(config))}`,
    );
  }
}

/**
 * Configures this process and the worker for development: webhooks may use loopback addresses, published apps have a
 * domain, and the sandbox replaces every service that is not configured.
 */
function configure(sandbox: Sandbox | undefined): Config {
  const { SMTP_URL, MODEL_URL, ADS_PLATFORM_URL, PAYMENTS_SECRET_KEY, ADVISORIES_URL, GIT_HOST_URL } = readConfig();
  setSettings({
    STRICT_ANSWERS: 'true',
    // Browsers resolve all names under `localhost` to this machine without DNS.
    APPS_DOMAIN: settingText('APPS_DOMAIN') ?? 'apps.localhost',
    BROWSER_EXECUTABLE: settingText('BROWSER_EXECUTABLE') ?? findBrowser() ?? '',
    OUTBOUND_ALLOW: [settingText('OUTBOUND_ALLOW'), loopback].filter(Boolean).join(','),
    ...(sandbox !== undefined && {
      SMTP_URL: SMTP_URL ?? sandbox.smtpUrl,
      MODEL_URL: MODEL_URL ?? sandbox.modelUrl,
      MODEL_STAND_IN: MODEL_URL === undefined ? sandbox.modelRequests.join('; ') : '',
      ADVISORIES_URL: ADVISORIES_URL ?? sandbox.advisoriesUrl,
      ...connectorSettings(sandbox),
    }),
    ...(sandbox !== undefined &&
      ADS_PLATFORM_URL === undefined && {
        ADS_PLATFORM_URL: sandbox.adPlatformUrl,
        ADS_PLATFORM_MANAGER_ID: sandbox.adPlatformManagerId,
        ADS_PLATFORM_CREDENTIALS: sandbox.adPlatformCredentials,
      }),
    ...(sandbox !== undefined &&
      PAYMENTS_SECRET_KEY === undefined && {
        PAYMENTS_URL: sandbox.paymentsUrl,
        PAYMENTS_SECRET_KEY: sandbox.paymentsSecretKey,
      }),
    ...(sandbox !== undefined &&
      GIT_HOST_URL === undefined && {
        GIT_HOST_URL: sandbox.gitHostUrl,
        GIT_HOST_CLONE_URL: sandbox.gitHostCloneUrl,
      }),
  });
  return readConfig();
}

/**
 * The sandbox replaces all connectors' services, unless the operator has registered a client with one of the services.
 */
function connectorSettings({ connectorUrl }: Sandbox): Record<string, string> {
  const clients = connectorsWithClient.map((type) => ({ type, ...clientSettingsOf(type) }));
  if (clients.some(({ id }) => settingText(id) !== undefined)) return {};
  return {
    CONNECTOR_SANDBOX_URL: connectorUrl,
    ...Object.fromEntries(
      clients.flatMap(({ type, id, secret }) => [
        [id, `sandbox-${type}`],
        [secret, `sandbox-${type}-secret`],
      ]),
    ),
  };
}

interface DemoAccount {
  readonly token: string;
  /** Whether the installation had no users before. */
  readonly isNew: boolean;
  /** A link for setting the owner's password, or `undefined` if they have one. */
  readonly passwordUrl: string | undefined;
}

/** Issues a new token for the demo's owner at each start, because only the hashes of earlier tokens are stored. */
const openDemoAccount = (config: Config): Promise<DemoAccount> =>
  withDatabase(config, async (db) => {
    const isNew = !(await isInitialised(db));
    const first = { email: 'demo@example.com', name: 'Demo Owner', workspace: 'Demo workspace', tokenName };
    const firstToken = isNew ? (await createFirstUser(db, config, first)).token : undefined;
    const owner = await db
      .selectFrom('memberships')
      .innerJoin('users', 'users.id', 'memberships.user_id')
      .where('users.is_operator', '=', true)
      .where('memberships.role', '=', 'owner')
      .orderBy('memberships.created_date')
      .select(['memberships.user_id', 'memberships.workspace_id'])
      .executeTakeFirstOrThrow();
    const now = systemClock.now();
    const token = firstToken ?? (await issueToken(db, config, { ...owner, name: tokenName }, now)).token;
    return { token, isNew, passwordUrl: await createPasswordLink(db, config, owner.user_id, now) };
  });

async function createPasswordLink(db: Db, config: Config, userId: string, now: Date): Promise<string | undefined> {
  const password = await db.selectFrom('passwords').where('user_id', '=', userId).select('user_id').executeTakeFirst();
  return password === undefined ? transaction(db, (db) => createPrintedLink(db, config, userId, now)) : undefined;
}

async function withDatabase<T>(config: Config, use: (db: Db) => Promise<T>): Promise<T> {
  const { db, close } = openDatabase<Tables>({ url: config.DATABASE_URL, poolSize: 1 });
  try {
    return await use(db);
  } finally {
    await close();
  }
}

/**
 * Revokes the tokens from earlier starts, which can't be used again because their text is not stored. Returns the
 * e-mail address of the tokens' owner.
 */
async function revokeEarlierTokens(request: DemoRequest): Promise<string> {
  const { user, credential } = await request<{ user: { email: string }; credential: { id: string } }>(
    'GET',
    '/api/auth/me',
  );
  const tokens = await request<{ id: string; name: string }[]>('GET', '/api/auth/tokens');
  for (const { id, name } of tokens)
    if (name === tokenName && id !== credential.id) await request('DELETE', `/api/auth/tokens/${id}`);
  return user.email;
}

/** Finds a published app, if there is one. */
async function findPublishedApp(request: DemoRequest): Promise<{ id: string; url: string } | undefined> {
  const { items } = await request<{ items: { id: string; published: { url: string } | null }[] }>(
    'GET',
    '/api/apps?sort=created_date&limit=100',
  );
  return items.flatMap(({ id, published }) => (published === null ? [] : [{ id, url: published.url }]))[0];
}
