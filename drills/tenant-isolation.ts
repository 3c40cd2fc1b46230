// Drill: callers without rights on an app send random operations and must neither read nor change any of its data.
// Judged by a journal kept outside the product.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Bench } from '../harness/bench.ts';
import { rounded } from '../harness/statistics.ts';
import type { ReceivedRequest } from '../sandbox/src/webhook-endpoint.ts';
import { type CallerKind, keepsToken, mayCall, type TenantLetter } from './tenant-isolation/caller-kinds.ts';
import { type Environment, startEnvironment } from './tenant-isolation/environment.ts';
import { inspect } from './tenant-isolation/inspect.ts';
import { excerptOf, findLeak, type HiddenData, hasMatches, hiddenDataFor } from './tenant-isolation/oracle.ts';
import { type Journal, startJournal } from './tenant-isolation/owner.ts';
import { checkPlantedLeaks } from './tenant-isolation/planted-leaks.ts';
import { rememberIds } from './tenant-isolation/remember-ids.ts';
import { type Aim, buildRequest, pick, type TestedOperation, testedOperations } from './tenant-isolation/requests.ts';
import { Tally } from './tenant-isolation/tally.ts';
import { readState, recordDeliveries } from './tenant-isolation/tenant.ts';

const connections = 24;
const records = 120;
const ownBar = 0.6;
const limitedBar = 0.2;

export const tenantIsolation: Bench = async ({ quick, progress }) => {
  const operations = quick ? 20_000 : 1_000_000;
  const received: ReceivedRequest[] = [];
  const environment = await startEnvironment(connections, records, (each) => void received.push(each));
  try {
    const { send, tenants } = environment;
    const journal = await startJournal(send, tenants.a);
    for (let n = 0; n < 5; n += 1) await journal.write();
    for (const tenant of Object.values(tenants)) await recordDeliveries(send, tenant);
    const before = { b: await readState(send, tenants.b), c: await readState(send, tenants.c) };
    progress(`the environment is set: ${environment.kinds.length} kinds of callers`);
    const startedAt = performance.now();
    const tally = await drill(environment, journal, operations, quick ? 200 : 600, progress);
    const seconds = (performance.now() - startedAt) / 1000;
    const wrong = await inspect(environment, journal, before, received);
    const seen = await checkPlantedLeaks(environment, journal, received);
    const own = tally.share('own', (status) => status < 300);
    const limited = tally.share(undefined, (status) => status === 429);
    return {
      figures: {
        operations,
        seconds: rounded(seconds),
        per_second: rounded(operations / seconds, 0),
        victim_events: journal.events.length,
        deliveries_received: received.length,
        own_succeeded: rounded(own, 3),
        rate_limited: rounded(limited, 3),
        by_kind: tally.byKind,
        by_aim: tally.byAim,
        by_operation: tally.byOperation,
        server_errors: tally.serverErrors,
        signed_out: tally.signedOut,
        leaks: tally.leaks,
        wrong_at_the_end: wrong.slice(0, 20),
        planted: seen,
      },
      judged: [
        { bar: "no answer contains anything of an app that is not the caller's", met: tally.leaks.length === 0 },
        { bar: 'the final state and the received events match the journal', met: wrong.length === 0 },
        {
          bar: 'no answer is a 5xx, except of services that the drill does not run',
          met: tally.countServerErrors() === 0,
        },
        {
          bar: 'no valid credential is refused: its caller would no longer reach anything',
          met: tally.signedOut === 0,
        },
        { bar: `>= ${ownBar} of the operations on own resources succeed`, met: own >= ownBar },
        { bar: `<= ${limitedBar} of all are stopped by a rate limit`, met: limited <= limitedBar },
        { bar: 'every planted leak and change is seen', met: Object.values(seen).every(Boolean) },
      ],
      skipped: [],
    };
  } finally {
    await environment.close();
  }
};

/** Each of these operations starts a process that runs for a second, so they are sent less often than others. */
const costly = new Set(['runSecurityScan', 'publishApp']);

const aims: readonly Aim[] = ['own', 'mixed', 'foreign', 'foreign', 'foreign'];

async function drill(
  environment: Environment,
  journal: Journal,
  operations: number,
  ownerWrites: number,
  progress: (line: string) => void,
): Promise<Tally> {
  const tally = new Tally();
  const ops = testedOperations(environment.routes);
  const hidden = new Map(
    environment.kinds.map((kind) => [
      kind,
      hiddenDataFor(kind.own, Object.values(environment.tenants), environment.kinds),
    ]),
  );
  const choices = environment.kinds.flatMap((kind) => Array<CallerKind>(kind.weight * 2).fill(kind));
  const chosen = ops.flatMap((op) => Array<TestedOperation>(costly.has(op.route.name) ? 1 : 10).fill(op));
  const mayDo = new Map(environment.kinds.map((kind) => [kind, chosen.filter((op) => mayCall(kind, op.route))]));
  // Callers without their own app have tokens for the app that they attack.
  const tokenKeeping = chosen.filter((op) => keepsToken(op.route));
  let started = 0;
  const client = async () => {
    while (started < operations) {
      started += 1;
      if (started % Math.ceil(operations / 10) === 0)
        progress(`${started} of ${operations} operations, ${tally.leakCount} leaks`);
      const kind = pick(choices);
      const { attack, sent } = buildRequest(
        ...chooseRequest(environment, kind, kind.own === null ? tokenKeeping : chosen, mayDo.get(kind) ?? []),
      );
      const answer = await environment.send(sent);
      rememberIds(attack, answer);
      const secret = hidden.get(kind) as HiddenData;
      const found = attack.probes && answer.status < 300 && hasMatches(answer.body) ? 'filter' : undefined;
      const where = findLeak(secret, answer) ?? found;
      if (where !== undefined) tally.leak(attack, sent, answer.status, where, excerptOf(secret, answer.body));
      tally.count(attack, answer);
    }
  };
  const owner = async () => {
    for (let n = 1; n <= ownerWrites; n += 1) {
      while (started < (operations * n) / (ownerWrites + 1)) await sleep(5);
      await journal.write();
    }
  };
  await Promise.all([owner(), ...Array.from({ length: connections }, client)]);
  return tally;
}

function chooseRequest(
  { tenants }: Environment,
  kind: CallerKind,
  ops: readonly TestedOperation[],
  own: readonly TestedOperation[],
) {
  const strangers = Object.values(tenants).filter(({ letter }) => letter !== kind.own);
  const foreign = Math.random() < 0.7 ? tenants.a : pick(strangers);
  const aim = kind.own === null ? 'foreign' : pick(aims);
  // Mostly chooses operations that accept these credentials. Others are rejected before the app is even looked up.
  const op = pick(aim === 'foreign' && Math.random() < 0.3 ? ops : own);
  const tenant = aim === 'foreign' ? foreign : tenants[kind.own as TenantLetter];
  return [kind, op, aim, tenant, aim === 'own' ? tenant : foreign] as const;
}
