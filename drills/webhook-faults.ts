// Whether deliveries survive: events told through the API and in transactions, to webhooks over HTTPS, while processes are
// killed, PostgreSQL crashes, Redis is gone and receivers misbehave. Judged by two journals and the public API alone.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Bench, BenchOptions, Report } from '../bench/lib/bench.ts';
import { rounded } from '../bench/lib/figures.ts';
import { type Fault, letLoose, randomFrom, type Weather } from './webhook-faults/faults.ts';
import { type Integrator, integratorOf, keyOfListed, listDeliveries, newestKey } from './webhook-faults/integrator.ts';
import { type Heard, keysOfTurn, lastWords, readJournal, type Sent, typeOf } from './webhook-faults/journal.ts';
import { examine, type Listing, repeats, type Verdict } from './webhook-faults/oracle.ts';
import { type Stage, setStage } from './webhook-faults/stage.ts';

interface Size {
  /** Told in all, and of those through the API: three by each message. */
  readonly events: number;
  readonly messages: number;
  readonly agents: number;
  readonly weather: Weather;
  /** How often the integrator looks for webhooks that were turned off. */
  readonly lookMs: number;
  readonly drainMs: number;
}

const sizes: Record<'quick' | 'full', Size> = {
  quick: {
    events: 5_000,
    messages: 170,
    agents: 5,
    weather: {
      seconds: 12,
      spellMs: 3_000,
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
    weather: {
      seconds: 300,
      spellMs: 8_000,
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

const seed = Number(process.env.BENCH_SEED ?? 292);

export const webhookFaults: Bench = async (options) => {
  const size = sizes[options.quick ? 'quick' : 'full'];
  const stage = await setStage(size.agents);
  try {
    return await drill(stage, size, options);
  } finally {
    await stage.close();
  }
};

async function drill(stage: Stage, size: Size, { progress }: BenchOptions) {
  const { events, messages, weather } = size;
  progress(`${stage.hooks.length} webhooks; seed ${seed}`);
  const { sent: all } = await stage.send({ events: events - 3 * messages, messages, seconds: weather.seconds });
  const integrator = integratorOf(stage.ask, stage.hooks);
  const looking = keepOn(integrator, size.lookMs);
  const [struck] = await Promise.all([letLoose(stage.victims, weather, randomFrom(seed), progress), all]);
  const turnedOff = await looking.stop();
  await stage.victims.crew.allReady();
  const sent = readJournal<Sent>(stage.journals.sent);
  await untilNumbered(stage);
  progress('faults are over, everything was sent and numbered');

  const overAt = Date.now();
  const before = await listAll(stage);
  progress(`listed: ${JSON.stringify(statusesOf(before))}`);
  const drained = await drain(integrator, size, progress);
  const drainSeconds = (Date.now() - overAt) / 1000;
  const after = await listAll(stage);

  const heard = readJournal<Heard>(stage.journals.heard);
  const keys = await keysOf(stage, heard, after);
  return report(size, {
    sent,
    heard,
    listings: { when_faults_were_over: before, at_the_end: after },
    verdicts: {
      when_faults_were_over: examine(stage.hooks, { sent, heard, listing: before, keys }),
      at_the_end: examine(stage.hooks, { sent, heard, listing: after, keys }),
    },
    struck,
    restarts: stage.victims.crew.restarts,
    turnedOff,
    drained,
    drainSeconds,
  });
}

/** Now and then looks for what was turned off. */
function keepOn(integrator: Integrator, everyMs: number) {
  const stopping = new AbortController();
  const look = async (): Promise<number> => {
    let count = 0;
    while (!stopping.signal.aborted) {
      await sleep(everyMs, undefined, { signal: stopping.signal }).catch(() => {});
      if (!stopping.signal.aborted) count += await integrator.revive();
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

const numberedWithinMs = 60_000;

/** Until every webhook's sequence has come to the last words; whether the rest is there is judged later. */
async function untilNumbered({ ask, hooks }: Stage): Promise<void> {
  const end = Date.now() + numberedWithinMs;
  for (const hook of hooks) {
    const last = keysOfTurn(lastWords).findLast((key) => hook.types.includes(typeOf(key)));
    while ((await newestKey(ask, hook)) !== last && Date.now() < end) await sleep(200);
  }
}

async function listAll({ ask, hooks }: Stage): Promise<Listing> {
  const lists = await Promise.all(hooks.map(async (hook) => [hook.path, await listDeliveries(ask, hook)] as const));
  return { at: Date.now(), deliveries: new Map(lists) };
}

async function drain(integrator: Integrator, size: Size, progress: (line: string) => void): Promise<boolean> {
  for (const end = Date.now() + size.drainMs; ; ) {
    const left = await integrator.chase();
    progress(`${left} deliveries are on their way`);
    if (left === 0) return true;
    if (Date.now() > end) return false;
    await sleep(size.lookMs);
  }
}

/** The receiver knows what it heard; what it never did, the API is asked for. */
async function keysOf({ ask, hooks }: Stage, heard: readonly Heard[], listing: Listing): Promise<Map<string, string>> {
  const keys = new Map(heard.map(({ event, key }) => [event, key]));
  for (const hook of hooks)
    for (const listed of listing.deliveries.get(hook.path) ?? [])
      if (!keys.has(listed.event_id)) keys.set(listed.event_id, await keyOfListed(ask, hook, listed));
  return keys;
}

const moments = ['when_faults_were_over', 'at_the_end'] as const;
type AtBoth<Thing> = Readonly<Record<(typeof moments)[number], Thing>>;

interface Run {
  readonly sent: readonly Sent[];
  readonly heard: readonly Heard[];
  readonly listings: AtBoth<Listing>;
  readonly verdicts: AtBoth<Verdict>;
  readonly struck: Readonly<Record<Fault, number>>;
  readonly restarts: number;
  readonly turnedOff: number;
  readonly drained: boolean;
  readonly drainSeconds: number;
}

function report(size: Size, run: Run): Report {
  const { sent, heard, listings, verdicts, struck, restarts, turnedOff, drained, drainSeconds } = run;
  const acknowledged = sent.filter(({ state }) => state === 'acknowledged');
  const count = (lines: readonly Sent[]) => lines.reduce((sum, { keys }) => sum + keys.length, 0);
  const byHttp = count(acknowledged.filter(({ by }) => by === 'http'));
  const taken = heard.filter(({ answer }) => answer === 200);
  const { repeated, changed } = repeats(heard);
  const unsigned = heard.filter(({ signed }) => !signed).length;
  const none = (of: Exclude<keyof Verdict, 'undelivered'>) => moments.every((moment) => verdicts[moment][of] === 0);
  return {
    figures: {
      seed,
      events_acknowledged: count(acknowledged),
      by_http: byHttp,
      outcome_unknown: count(sent.filter(({ state }) => state === 'began')) - count(acknowledged),
      requests_heard: heard.length,
      deliveries: new Set(taken.map(({ delivery }) => delivery)).size,
      repeats: repeated,
      faults: struck,
      processes_started_again: restarts,
      webhooks_turned_on_again: turnedOff,
      longest_without_an_acknowledgement_seconds: longestGap(acknowledged),
      longest_without_a_delivery_seconds: longestGap(taken),
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
      { bar: 'every kind of fault struck', met: Object.values(struck).every((times) => times > 0) },
      { bar: 'acknowledged = delivered or listed as pending, held, failed or missed', met: none('lost') },
      { bar: 'every sequence runs from 1 without a gap', met: none('gaps') },
      { bar: 'no event twice, and none that nobody told', met: none('twice') && none('invented') },
      { bar: 'journals and API agree on every number', met: none('contradicted') },
      { bar: 'listed as delivered = the receiver answered 2xx', met: none('claimed') },
      { bar: 'a repeat has the same id, sequence and body', met: changed === 0 && repeated > 0 },
      { bar: 'every signature verifies', met: unsigned === 0 },
      { bar: 'everything acknowledged is delivered in the end', met: drained && verdicts.at_the_end.undelivered === 0 },
    ],
    skipped: offEver(run) ? [] : ['no webhook was turned off: nothing had to be held, missed and replayed'],
  };
}

const offEver = ({ turnedOff, listings }: Run): boolean =>
  turnedOff > 0 || (statusesOf(listings.when_faults_were_over).missed ?? 0) > 0;

function statusesOf({ deliveries }: Listing): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { status } of [...deliveries.values()].flat()) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}

const longestGap = (lines: readonly { at: number }[]): number =>
  rounded(Math.max(...lines.slice(1).map(({ at }, n) => at - (lines[n]?.at ?? at))) / 1000, 1);
