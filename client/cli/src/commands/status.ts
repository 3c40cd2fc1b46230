// `plinthctl status`: whether the installation is ready, the credits, failing webhooks and launches whose outcome is not
// known. What can't be read is named as such.

import { isPlinthError, type Plinth } from '../../../sdk/src/index.ts';
import type { Cli, Define } from '../cli.ts';
import { type AppOption, appOption } from '../options.ts';
import { colour, facts, table } from '../output.ts';
import { readProject } from '../project.ts';
import { reachServer } from '../reach.ts';

interface FailingWebhook {
  readonly target_url: string;
  readonly consecutive_failures: number;
  readonly disabled_at: string | null;
  readonly last_error: string | null;
}

export const define: Define = (command, cli) => {
  command.option(...appOption).action(({ app }: AppOption) => show(cli, app));
};

async function show(cli: Cli, named: string | undefined): Promise<void> {
  const hasApp = named !== undefined || (await readProject()) !== undefined;
  const { plinth, url } = await cli.connect();
  const server = await cli.output.during('Reading', reachServer(plinth, url, cli.signal));
  const app_id = hasApp ? (await cli.connectToApp(named)).app_id : undefined;
  const unread: string[] = [];
  const read = async <Part>(name: string, work: PromiseLike<Part>): Promise<Part | null> => {
    try {
      return await work;
    } catch (error) {
      if (!isPlinthError(error) || error.status === 401) throw error;
      unread.push(`${name}: ${error.message}`);
      return null;
    }
  };
  const [readiness, credits, app, webhooks, unknownLaunches] = await cli.output.during(
    'Reading',
    Promise.all([
      read('readiness', plinth.ready()),
      read('credits', plinth.getCredits()),
      app_id === undefined ? null : read('app', plinth.getApp({ app_id })),
      app_id === undefined ? null : read('webhooks', listFailing(plinth, app_id)),
      app_id === undefined ? null : read('launches', listUnknownLaunches(plinth, app_id)),
    ]),
  );
  const status = {
    url,
    version: server.version,
    readiness,
    credits,
    app,
    webhooks,
    unknown_launches: unknownLaunches,
    unread,
  };
  if (isNewer(server.version, cli.version))
    cli.output.say(`The installation has version ${server.version}, and plinthctl ${cli.version}: update plinthctl.`);
  const notKnown = 'not known';
  await cli.output.show(status, () =>
    [
      facts({
        installation: `${url}, version ${server.version}`,
        state: readiness === null ? notKnown : readiness.status.replace('_', ' '),
        credits:
          credits === null
            ? notKnown
            : `${credits.used} used this month, ${credits.remaining === null ? 'no limit' : `${credits.remaining} left`}`,
        app:
          app_id === undefined
            ? undefined
            : app === null
              ? notKnown
              : `${app.name}, ${app.status.state}, revision ${app.revision}`,
        'failing webhooks': app_id === undefined ? undefined : webhooks === null ? notKnown : webhooks.length,
        'launches to look at':
          app_id === undefined ? undefined : unknownLaunches === null ? notKnown : unknownLaunches.join(', ') || 'none',
      }),
      ...(webhooks !== null && webhooks.length > 0 ? ['', describeWebhooks(webhooks)] : []),
      ...unread.map((part) => colour('yellow', `Not read: ${part}`)),
    ].join('\n'),
  );
}

/** Whether a release is newer than another one. */
function isNewer(release: string, other: string): boolean {
  const [a, b] = [release, other].map((version) => version.split('.').map(Number));
  const differing = a?.findIndex((part, index) => part !== b?.[index]) ?? -1;
  return differing >= 0 && (a?.[differing] ?? 0) > (b?.[differing] ?? 0);
}

async function listFailing(plinth: Plinth, app_id: string): Promise<FailingWebhook[]> {
  const webhooks = await plinth.listAppWebhooks({ app_id });
  return webhooks
    .filter(({ consecutive_failures, disabled_at }) => consecutive_failures > 0 || disabled_at !== null)
    .map(({ target_url, consecutive_failures, disabled_at, last_error }) => ({
      target_url,
      consecutive_failures,
      disabled_at,
      last_error: last_error?.message ?? null,
    }));
}

async function listUnknownLaunches(plinth: Plinth, app_id: string): Promise<string[]> {
  const names: string[] = [];
  for await (const { campaign_name, primary_status_reasons } of plinth.listCampaigns({
    app_id,
    include_metrics: false,
  }))
    if (primary_status_reasons.includes('SERVICE_LAUNCH_UNCONFIRMED')) names.push(campaign_name);
  return names;
}

const describeWebhooks = (webhooks: readonly FailingWebhook[]): string =>
  table(webhooks, [
    ['webhook', ({ target_url }) => target_url],
    ['failed', ({ consecutive_failures }) => consecutive_failures],
    ['off since', ({ disabled_at }) => disabled_at],
    ['last error', ({ last_error }) => last_error],
  ]);
