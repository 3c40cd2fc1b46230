// Drill: campaigns are launched, changed and deleted, and apps are deleted, while the ad platform drops, delays,
// duplicates, rejects and fails requests, processes are killed and PostgreSQL crashes. Callers repeat every request
// blindly. Judged by the platform's own journal.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Bench } from '../harness/bench.ts';
import { type Random, randomFrom } from '../harness/random.ts';
import { quantile, rounded } from '../harness/statistics.ts';
import { newId } from '../server/src/kit/ids.ts';
import { openPlatformClient } from '../server/test/support/ad-platform.ts';
import { type Attempt, type Callers, createCallers, type LaunchedCampaign } from './launch-faults/callers.ts';
import { type DrillApp, type Environment, openEnvironment } from './launch-faults/environment.ts';
import { breakProcesses, createPlatformFaults } from './launch-faults/faults.ts';
import {
  compare,
  type Lists,
  listDuplicates,
  listEnabledOfDeleted,
  listUntrueAnswers,
  measureSettling,
} from './launch-faults/judge.ts';
import { countFaults, listMissingFaults, readCampaigns, stepOf } from './launch-faults/platform-view.ts';

const seed = Number(process.env.BENCH_SEED ?? 2121);

/** `speed` is the factor by which advertising's time limits are shortened. A full run keeps the original limits. */
const plans = {
  full: { launches: 2_000, changes: 500, deletedApps: 30, workspaces: 10, appsPerWorkspace: 12, atOnce: 100, speed: 1 },
  quick: { launches: 100, changes: 30, deletedApps: 3, workspaces: 2, appsPerWorkspace: 6, atOnce: 40, speed: 5 },
};
const killEveryMs = 6_000;
const crashEveryMs = 40_000;

export const launchFaults: Bench = async ({ quick, progress }) => {
  const plan = quick ? plans.quick : plans.full;
  const random = randomFrom(seed);
  let environment: Environment | undefined;
  const faults = createPlatformFaults(random, 35_000 / plan.speed, () => environment as Environment);
  progress('starting the processes');
  environment = await openEnvironment(plan, faults.intercept);
  try {
    const { platform, apps } = environment;
    const callers = createCallers(environment, random, 3_000 / plan.speed);
    const stop = new AbortController();
    faults.start();
    const breaking = breakProcesses(environment, random, killEveryMs, crashEveryMs / (quick ? 4 : 1), stop.signal);

    const reporting = setInterval(() => progress(describeAttempts(callers.attempts)), 10_000);
    stop.signal.addEventListener('abort', () => clearInterval(reporting));
    const drafts = Array.from({ length: plan.launches }, (_, n) => ({
      app: apps[n % apps.length] as DrillApp,
      id: newId(),
    }));
    const launched: LaunchedCampaign[] = [];
    await inTurn(drafts, plan.atOnce, async (draft) => {
      launched.push(await callers.launch(draft));
    });
    progress('changing campaigns');
    await changeCampaigns(callers, launched, plan.changes, random, plan.atOnce);
    progress('deleting apps');
    const deleted = apps.slice(0, plan.deletedApps);
    await inTurn(deleted, plan.atOnce, callers.deleteApp);

    faults.stop();
    stop.abort();
    const broken = await breaking;
    await environment.processes.allReady();
    progress('settling');
    await sleep(10_000 / plan.speed);
    const restoredAt = Date.now();
    for (const app of deleted) await callers.restoreApp(app);
    const lists = await settle(callers, environment, progress);

    const journal = platform.journal;
    const atPlatform = readCampaigns(journal);
    const differences = compare(lists, atPlatform);
    const duplicates = listDuplicates(atPlatform);
    const untrue = listUntrueAnswers(callers.attempts, lists, atPlatform);
    const enabledOfDeleted = listEnabledOfDeleted(callers.attempts, atPlatform, restoredAt);
    const settling = measureSettling(callers.attempts, journal, atPlatform);
    const missing = listMissingFaults(countFaults(journal));
    const enabling = new Set(
      journal.flatMap((entry) =>
        entry.event === 'received' && stepOf(entry) === 'enable' ? entry.customer_id + JSON.stringify(entry.body) : [],
      ),
    ).size;
    const unlisted = await readUnlistedSpending(environment, lists);
    const slowest = Math.max(0, ...settling);
    return {
      figures: {
        seed,
        launches: plan.launches,
        attempts: callers.attempts.length,
        requests: journal.filter(({ event }) => event === 'received').length,
        campaigns: atPlatform.length,
        campaigns_to_be_enabled: enabling,
        faults: countFaults(journal),
        killed: broken,
        ambiguous: settling.length,
        settled_s: {
          p50: rounded(quantile(settling, 0.5) / 1000),
          p95: rounded(quantile(settling, 0.95) / 1000),
          max: rounded(slowest / 1000),
        },
        unlisted_micros: unlisted,
        differences: differences.slice(0, 20),
        duplicates: duplicates.slice(0, 20),
        untrue: untrue.slice(0, 20),
        enabled_of_deleted: enabledOfDeleted.slice(0, 20),
        missing_faults: missing,
      },
      judged: [
        {
          bar: 'the campaigns of the platform are those that are listed, with the same status and budget',
          met: differences.length === 0,
        },
        { bar: 'no draft has two campaigns', met: duplicates.length === 0 },
        { bar: 'no campaign was to be enabled before it was recorded', met: faults.enabledUnrecorded.length === 0 },
        { bar: 'a campaign that is not listed spends nothing', met: unlisted === 0 },
        { bar: 'at least half of the launches reach the enabling step', met: enabling >= plan.launches / 2 },
        { bar: 'no pause, resume or deletion was answered that was not true', met: untrue.length === 0 },
        { bar: 'no campaign of a deleted app was enabled', met: enabledOfDeleted.length === 0 },
        ...(quick
          ? []
          : [
              {
                bar: 'what was ambiguous is settled within 60 s of the platform answering again',
                met: slowest <= 60_000,
              },
              { bar: 'every fault met every step', met: missing.length === 0 },
            ]),
        {
          bar: 'processes were killed, and PostgreSQL crashed',
          met: Math.min(broken.apis, broken.workers, broken.databaseCrashes) > 0,
        },
      ],
      skipped: quick
        ? [
            'how long it takes to settle: the times pass five times as fast',
            'every fault at every step: too few requests',
          ]
        : [],
    };
  } finally {
    await environment.close();
  }
};

/** Counts how often each response occurred. */
function describeAttempts(attempts: readonly Attempt[]): string {
  const answers = Map.groupBy(attempts, ({ kind, status, code }) => `${kind} ${status ?? 'lost'} ${code ?? ''}`.trim());
  return [...answers].map(([answer, all]) => `${all.length} ${answer}`).join(', ');
}

async function inTurn<T>(items: readonly T[], atOnce: number, work: (item: T) => Promise<void>): Promise<void> {
  const waiting = items.values();
  const workOff = async () => {
    for (const item of waiting) await work(item);
  };
  await Promise.all(Array.from({ length: atOnce }, workOff));
}

/** Makes each kind of change as often as planned. Changes to the same campaign are made in sequence. */
async function changeCampaigns(
  callers: Callers,
  launched: readonly LaunchedCampaign[],
  count: number,
  random: Random,
  atOnce: number,
): Promise<void> {
  const tracked = launched.filter(({ app }) => app.isTracked);
  const chosen = tracked.slice(0, count);
  await inTurn(chosen, atOnce, async (campaign) => {
    const kinds = random() < 0.5 ? (['pause', 'resume', 'update'] as const) : (['update', 'pause', 'resume'] as const);
    for (const kind of kinds) await callers.change(kind, campaign);
  });
  await inTurn(launched.slice(-count), atOnce, (campaign) => callers.change('delete', campaign));
}

const settleWithinMs = 150_000;

/** Reads the lists until they agree with the platform, or until a timeout. */
async function settle(
  callers: Callers,
  { apps, platform }: Environment,
  progress: (line: string) => void,
): Promise<Lists[]> {
  for (const end = Date.now() + settleWithinMs; ; await sleep(2_000)) {
    const lists: Lists[] = [];
    for (const app of apps) lists.push({ app, listed: await callers.listCampaigns(app) });
    const differences = compare(lists, readCampaigns(platform.journal));
    if (differences.length === 0 || Date.now() > end) return lists;
    progress(`${differences.length} differences: ${differences[0]}`);
  }
}

/** Returns the amount that unlisted campaigns spend in a day. */
async function readUnlistedSpending({ platform }: Environment, lists: readonly Lists[]): Promise<number> {
  platform.advance(24 * 60 * 60 * 1000);
  const listed = new Set(lists.flatMap(({ listed }) => listed.map(({ platform_campaign_id }) => platform_campaign_id)));
  const client = openPlatformClient(platform);
  let micros = 0;
  for (const customerId of new Set(readCampaigns(platform.journal).map((campaign) => campaign.customerId))) {
    const metrics = await client.campaigns.readMetrics(customerId);
    if (metrics.outcome !== 'read') throw new Error('the platform cannot be read');
    for (const [id, { costMicros }] of metrics.result) if (!listed.has(id)) micros += costMicros;
  }
  await client.close();
  return micros;
}
