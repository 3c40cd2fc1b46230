// Owns `plinth dev`: runs API, worker and sandbox on this machine with demo data. Creates keys, the database and the demo data
// if they are missing.
import { parseArgs } from 'node:util';
import type { App } from '../app.ts';
import { type Config, ConfigError, readConfig, setSettings, settingText } from '../config.ts';
import { isInitialised } from '../core/identity/accounts.ts';
import { systemClock } from '../kit/clock.ts';
import { openDatabase } from '../kit/db/database.ts';
import { createLog } from '../kit/log.ts';
import type { Tables } from '../tables.ts';
import { serve } from './api.ts';
import { createFirstUser, issueToken } from './bootstrap.ts';
import { createDemoData } from './demo/demo.ts';
import { type Sandbox, startSandbox, superviseWorker } from './dev/children.ts';
import { prettyLog } from './dev/log-lines.ts';
import { createDatabaseIfMissing, requireServices } from './dev/services.ts';
import { addMissingKeys, loadEnvFile } from './env-file.ts';
import { migrateAll, migrateUrl } from './migrate.ts';

export const devUsage = 'dev [--no-sandbox]';

// `api` and `worker` never set this themselves: on a server, a webhook must not reach what only that server can reach.
const loopback = 'http://127.0.0.0/8,http://::1/128';
const tokenName = 'npm run dev';

export async function dev(args: string[]): Promise<void> {
  const wantsSandbox = readArgs(args);
  const added = addMissingKeys();
  if (added.length > 0) {
    console.log(`added keys to .env: ${added.join(', ')}`);
    loadEnvFile();
  }
  await requireServices(readConfig());
  const sandbox = wantsSandbox ? await startSandbox() : undefined;
  const config = configure(sandbox);
  await createDatabaseIfMissing(migrateUrl(config));
  await migrateAll(migrateUrl(config), config.DATABASE_URL);
  const { token, isNew } = await issueDemoToken(config);
  const log = createLog(config.LOG_LEVEL, prettyLog('api'));
  const app = await serve(config, log);
  await superviseWorker();
  log.level = 'warn'; // the requests that follow are ours
  if (isNew) await fillWithDemoData(app, config, token, sandbox);
  await revokeEarlierTokens(app, token);
  log.level = config.LOG_LEVEL;
  console.log(bannerText(config, token, sandbox));
}

async function fillWithDemoData(app: App, config: Config, token: string, sandbox: Sandbox | undefined): Promise<void> {
  console.log('creating demo data …');
  try {
    await createDemoData(app, token, sandbox?.receiverUrl, systemClock.now());
  } catch (error) {
    const database = new URL(config.DATABASE_URL).pathname.slice(1);
    throw new ConfigError(
      `The demo data is incomplete: ${(error as Error).message}\nTo start over, drop the database: dropdb ${database}`,
    );
  }
}

function readArgs(args: string[]): boolean {
  try {
    const options = { 'no-sandbox': { type: 'boolean', default: false } } as const;
    return !parseArgs({ args, options }).values['no-sandbox'];
  } catch {
    throw new ConfigError(`usage: plinth ${devUsage}`);
  }
}

/** Settings for development, for this process and the worker: loopback for webhooks, and the sandbox where nothing else is set. */
function configure(sandbox: Sandbox | undefined): Config {
  const { SMTP_URL, MODEL_URL } = readConfig();
  setSettings({
    STRICT_ANSWERS: 'true',
    OUTBOUND_ALLOW: [settingText('OUTBOUND_ALLOW'), loopback].filter(Boolean).join(','),
    ...(sandbox !== undefined && { SMTP_URL: SMTP_URL ?? sandbox.smtpUrl, MODEL_URL: MODEL_URL ?? sandbox.modelUrl }),
  });
  return readConfig();
}

/** Issues a new token for the demo's owner at each start, because only hashes of tokens are stored. */
async function issueDemoToken(config: Config): Promise<{ token: string; isNew: boolean }> {
  const { db, close } = openDatabase<Tables>({ url: config.DATABASE_URL, poolSize: 1 });
  try {
    if (!(await isInitialised(db))) {
      const first = { email: 'demo@example.com', name: 'Demo Owner', workspace: 'Demo workspace', tokenName };
      return { token: await createFirstUser(db, config, first), isNew: true };
    }
    const owner = await db
      .selectFrom('memberships')
      .innerJoin('users', 'users.id', 'memberships.user_id')
      .where('users.is_operator', '=', true)
      .where('memberships.role', '=', 'owner')
      .orderBy('memberships.created_date')
      .select(['memberships.user_id', 'memberships.workspace_id'])
      .executeTakeFirstOrThrow();
    const { token } = await issueToken(db, config, { ...owner, name: tokenName }, systemClock.now());
    return { token, isNew: false };
  } finally {
    await close();
  }
}

/** Nobody can find out what the token of an earlier run was, so it would only be a way in that is forgotten. */
async function revokeEarlierTokens({ server }: App, token: string): Promise<void> {
  const headers = { authorization: `Bearer ${token}` };
  const request = async (method: 'GET' | 'DELETE', url: string) => {
    const response = await server.inject({ method, url, headers });
    if (response.statusCode !== 200)
      throw new Error(`${method} ${url} returned ${response.statusCode}: ${response.body}`);
    return response.json();
  };
  const { credential } = await request('GET', '/api/auth/me');
  const tokens: { id: string; name: string }[] = await request('GET', '/api/auth/tokens');
  for (const { id, name } of tokens)
    if (name === tokenName && id !== credential.id) await request('DELETE', `/api/auth/tokens/${id}`);
}

function bannerText({ BASE_URL, SMTP_URL, MODEL_URL }: Config, token: string, sandbox: Sandbox | undefined): string {
  const isOurs = (url: string | undefined, ours: string | undefined) => url !== undefined && url === ours;
  const mail = isOurs(SMTP_URL, sandbox?.smtpUrl)
    ? `inbox of all mail: ${sandbox?.inboxUrl}`
    : (SMTP_URL ?? 'off: set SMTP_URL');
  const model = isOurs(MODEL_URL, sandbox?.modelUrl)
    ? `stand-in, repeats what it is told: ${MODEL_URL}`
    : (MODEL_URL ?? 'off: set MODEL_URL');
  const variables = { PLINTH: BASE_URL, TOKEN: token, RECEIVER: sandbox?.receiverUrl, INBOX: sandbox?.inboxUrl };
  const exports = Object.entries(variables).filter(([, value]) => value !== undefined);
  return `
Plinth is running at ${BASE_URL}

  reference   ${BASE_URL}/docs
  mail        ${mail}
  model       ${model}
  webhooks    may be sent to this machine (OUTBOUND_ALLOW=${loopback})
${sandbox === undefined ? '' : `  receiver    shows what was sent to it, and verifies: ${sandbox.receiverUrl}/received\n`}
Paste into another terminal:

${exports.map(([name, value]) => `  export ${name}=${value}`).join('\n')}
  curl -H "Authorization: Bearer $TOKEN" $PLINTH/api/apps

Next: docs/guides/first-hour.md      Stop: Ctrl+C. The token is valid until the next start.
`;
}
