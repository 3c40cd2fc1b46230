// Drill: events are published through the API and in transactions, and delivered over HTTPS, while processes are
// killed, PostgreSQL crashes, Redis is stopped and receivers misbehave. Judged only by journals and the public API.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Bench, BenchOptions, Report } from '../harness/bench.ts';
import { startInstallation } from '../harness/installation.ts';
import { randomFrom } from '../harness/random.ts';
import { rounded } from '../harness/statistics.ts';
import { readJournal } from './lib/journal-file.ts';
import { type Environment, startEnvironment } from './webhook-faults/environment.ts';
import { type Fault, type FaultPlan, injectFaults } from './webhook-faults/faults.ts';
import {
  createIntegrator,
  type Integrator,
  keyOfDelivery,
  listDeliveries,
  newestKey,
} from './webhook-faults/integrator.ts';
import { keysOfTurn, lastMessage, type ReceivedLine, type SentLine, typeOf } from './webhook-faults/journal.ts';
import { countRepeats, judgeDeliveries, type Listing, type Verdict } from './webhook-faults/oracle.ts';
import { findLongestStall, type Stall } from './webhook-faults/stalls.ts';

interface Size {
  /** The total number of events. `messages` are sent through the API and cause three events each. */
  readonly events: number;
  readonly messages: number;
  readonly agents: number;
  readonly plan: FaultPlan;
  /** The interval at which the integrator checks for webhooks that were turned off. */
  readonly lookMs: number;
  readonly drainMs: number;
}

const sizes: Record<'quick' | 'full', Size> = {
  quick: {
    events: 5_000,
    messages: 170,
    agents: 5,
    plan: {
      seconds: 12,
      durationMs: 3_000,
      counts: {
        'api killed': 2,
        'worker killed': 3,
        'postgres crashed': 1,
        'redis flushed': 1,
        'redis gone': 1,
        'receiver silent': 1,
        'receiver cuts': 2,
        'receiver answers 500': 2,
      },
    },
    lookMs: 1_000,
    drainMs: 60_000,
  },
  full: {
    events: 100_000,
    messages: 1_700,
    agents: 10,
    plan: {
      seconds: 300,
      durationMs: 8_000,
      counts: {
        'api killed': 15,
        'worker killed': 25,
        'postgres crashed': 6,
        'redis flushed': 8,
        'redis gone': 5,
        'receiver silent': 6,
        'receiver cuts': 10,
        'receiver answers 500': 10,
      },
    },
    lookMs: 5_000,
    drainMs: 600_000,
  },
};

const maxStallSeconds = 15;
const seed = Number(process.env.BENCH_SEED ?? 292);

export const webhookFaults: Bench = async (options) => {
  const size = sizes[options.quick ? 'quick' : 'full'];
  await using installation = await startInstallation();
  return await drill(await startEnvironment(installation, size.agents), size, options);
};

async function drill(environment: Environment, size: Size, { progress }: BenchOptions) {
  const { events, messages, plan } = size;
  progress(`${environment.webhooks.length} webhooks; seed ${seed}`);
  const { sent: all } = await environment.send({ events: events - 3 * messages, messages, seconds: plan.seconds });
  const integrator = createIntegrator(environment.call, environment.webhooks);
  const looking = startReenabling(integrator, size.lookMs);
  const workers = startCounting(environment);
  const [faults] = await Promise.all([injectFaults(environment.targets, plan, randomFrom(seed), progress), all]);
  const turnedOff = await looking.stop();
  await environment.targets.processes.allReady();
  const sent = readJournal<SentLine>(environment.journals.sent);
  await waitForLastSequence(environment);
  progress('faults are over, everything was sent and numbered');

  const overAt = Date.now();
  const before = await listAllDeliveries(environment);
  progress(`listed: ${JSON.stringify(statusesOf(before))}`);
  const drained = await drain(integrator, size, progress);
  const drainSeconds = (Date.now() - overAt) / 1000;
  const after = await listAllDeliveries(environment);

  const received = readJournal<ReceivedLine>(environment.journals.received);
  const keys = await keysByEvent(environment, received, after);
  const { turnedOnAt } = integrator;
  const stallEvidence = { sent, received, faults: faults.lines, turnedOnAt, workers: workers.stop() };
  return report(size, {
    sent,
    received,
    listings: { when_faults_were_over: before, at_the_end: after },
    verdicts: {
      when_faults_were_over: judgeDeliveries(environment.webhooks, { sent, received, listing: before, keys }),
      at_the_end: judgeDeliveries(environment.webhooks, { sent, received, listing: after, keys }),
    },
    injected: faults.counts,
    stall: findLongestStall(environment.webhooks, stallEvidence),
    restarts: environment.targets.processes.restarts,
    turnedOff,
    drained,
    drainSeconds,
  });
}

/** Regularly re-enables webhooks that were turned off. */
function startReenabling(integrator: Integrator, everyMs: number) {
  const stopping = new AbortController();
  const look = async (): Promise<number> => {
    let count = 0;
    while (!stopping.signal.aborted) {
      await sleep(everyMs, undefined, { signal: stopping.signal }).catch(() => {});
      if (!stopping.signal.aborted) count += await integrator.reenableWebhooks();
    }
    return count;
  };
  const looked = look();
  return {
    stop(): Promise<number> {
      stopping.abort();
      return looked;
    },
  };
}

/** Records the number of ready workers once a second. */
function startCounting({ targets }: Environment) {
  const counts: { at: number; ready: number }[] = [];
  const timer = setInterval(
    () => counts.push({ at: Date.now(), ready: targets.processes.countReady('worker') }),
    1_000,
  ).unref();
  return {
    stop() {
      clearInterval(timer);
      return counts;
    },
  };
}

const numberedWithinMs = 60_000;

/** Waits until every webhook's sequence includes the last message. */
async function waitForLastSequence({ call, webhooks }: Environment): Promise<void> {
  const end = Date.now() + numberedWithinMs;
  for (const webhook of webhooks) {
    const last = keysOfTurn(lastMessage).findLast((key) => webhook.types.includes(typeOf(key)));
    while ((await newestKey(call, webhook)) !== last && Date.now() < end) await sleep(200);
  }
}

async function listAllDeliveries({ call, webhooks }: Environment): Promise<Listing> {
  const lists = await Promise.all(
    webhooks.map(async (webhook) => [webhook.path, await listDeliveries(call, webhook)] as const),
  );
  return { at: Date.now(), deliveries: new Map(lists) };
}

async function drain(integrator: Integrator, size: Size, progress: (line: string) => void): Promise<boolean> {
  for (const end = Date.now() + size.drainMs; ; ) {
    const left = await integrator.replayMissing();
    progress(`${left} deliveries are on their way`);
    if (left === 0) return true;
    if (Date.now() > end) return false;
    await sleep(size.lookMs);
  }
}

/** Returns each event's key, from the receiver's journal, or from the API for events that never arrived. */
async function keysByEvent(
  { call, webhooks }: Environment,
  received: readonly ReceivedLine[],
  listing: Listing,
): Promise<Map<string, string>> {
  const keys = new Map(received.map(({ event, key }) => [event, key]));
  for (const webhook of webhooks)
    for (const listed of listing.deliveries.get(webhook.path) ?? [])
      if (!keys.has(listed.event_id)) keys.set(listed.event_id, await keyOfDelivery(call, webhook, listed));
  return keys;
}

const moments = ['when_faults_were_over', 'at_the_end'] as const;
type AtBoth<Thing> = Readonly<Record<(typeof moments)[number], Thing>>;

interface RunResult {
  readonly sent: readonly SentLine[];
  readonly received: readonly ReceivedLine[];
  readonly listings: AtBoth<Listing>;
  readonly verdicts: AtBoth<Verdict>;
  readonly injected: Readonly<Record<Fault, number>>;
  readonly stall: Stall;
  readonly restarts: number;
  readonly turnedOff: number;
  readonly drained: boolean;
  readonly drainSeconds: number;
}

function report(size: Size, run: RunResult): Report {
  const { sent, received, listings, verdicts, injected, stall, restarts, turnedOff, drained, drainSeconds } = run;
  const acknowledged = sent.filter(({ state }) => state === 'acknowledged');
  const count = (lines: readonly SentLine[]) => lines.reduce((sum, { keys }) => sum + keys.length, 0);
  const byHttp = count(acknowledged.filter(({ by }) => by === 'http'));
  const taken = received.filter(({ answer }) => answer === 200);
  const { repeated, changed } = countRepeats(received);
  const unsigned = received.filter(({ signed }) => !signed).length;
  const none = (of: Exclude<keyof Verdict, 'undelivered'>) => moments.every((moment) => verdicts[moment][of] === 0);
  return {
    figures: {
      seed,
      events_acknowledged: count(acknowledged),
      by_http: byHttp,
      outcome_unknown: count(sent.filter(({ state }) => state === 'began')) - count(acknowledged),
      requests_received: received.length,
      deliveries: new Set(taken.map(({ delivery }) => delivery)).size,
      repeats: repeated,
      faults: injected,
      processes_started_again: restarts,
      webhooks_turned_on_again: turnedOff,
      longest_without_an_acknowledgement_seconds: longestGap(acknowledged),
      longest_without_a_delivery_seconds: longestGap(taken),
      longest_stall_s: stall.seconds,
      around_the_longest_stall: stall.timeline,
      drain_seconds: rounded(drainSeconds, 1),
      statuses_when_faults_were_over: statusesOf(listings.when_faults_were_over),
      statuses_at_the_end: statusesOf(listings.at_the_end),
      ...verdicts,
    },
    judged: [
      {
        bar: `${size.events} events acknowledged, ${3 * size.messages} of them through the API`,
        met: count(acknowledged) >= size.events && byHttp >= 3 * size.messages,
      },
      { bar: 'every kind of fault was injected', met: Object.values(injected).every((times) => times > 0) },
      { bar: 'acknowledged = delivered or listed as pending, held, failed or missed', met: none('lost') },
      { bar: 'every sequence runs from 1 without a gap', met: none('gaps') },
      { bar: 'no event twice, and none that was never sent', met: none('twice') && none('invented') },
      { bar: 'journals and API agree on every number', met: none('contradicted') },
      { bar: 'listed as delivered = the receiver answered 2xx', met: none('claimed') },
      { bar: 'a repeat has the same id, sequence and body', met: changed === 0 && repeated > 0 },
      { bar: 'every signature verifies', met: unsigned === 0 },
      { bar: `no stall of more than ${maxStallSeconds} s while a worker lives`, met: stall.seconds <= maxStallSeconds },
      { bar: 'everything acknowledged is delivered in the end', met: drained && verdicts.at_the_end.undelivered === 0 },
    ],
    skipped: offEver(run) ? [] : ['no webhook was turned off: nothing had to be held, missed and replayed'],
  };
}

const offEver = ({ turnedOff, listings }: RunResult): boolean =>
  turnedOff > 0 || (statusesOf(listings.when_faults_were_over).missed ?? 0) > 0;

function statusesOf({ deliveries }: Listing): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { status } of [...deliveries.values()].flat()) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}

const longestGap = (lines: readonly { at: number }[]): number =>
  rounded(Math.max(...lines.slice(1).map(({ at }, n) => at - (lines[n]?.at ?? at))) / 1000, 1);
