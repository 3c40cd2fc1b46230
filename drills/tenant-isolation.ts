// Whether callers without rights on an app can read or change anything of it: random operations, judged by a journal that
// the product knows nothing of. None may.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Bench } from '../bench/lib/bench.ts';
import { rounded } from '../bench/lib/figures.ts';
import type { Heard } from '../sandbox/src/hooks.ts';
import { inspect } from './tenant-isolation/inspect.ts';
import { type Kind, type Letter, may } from './tenant-isolation/kinds.ts';
import { learn } from './tenant-isolation/learn.ts';
import { foundBy, type Hidden, hiddenFrom, leakIn } from './tenant-isolation/oracle.ts';
import { type Journal, journalOf } from './tenant-isolation/owner.ts';
import { noteDeliveries, stateOf } from './tenant-isolation/place.ts';
import { planted } from './tenant-isolation/planted.ts';
import { type Aim, type Op, opsOf, pick, requestOf } from './tenant-isolation/requests.ts';
import { type Stage, setStage } from './tenant-isolation/stage.ts';
import { Tally } from './tenant-isolation/tally.ts';

const connections = 24;
const records = 120;
const ownBar = 0.6;
const limitedBar = 0.2;

export const neighbours: Bench = async ({ quick, progress }) => {
  const operations = quick ? 20_000 : 1_000_000;
  const heard: Heard[] = [];
  const stage = await setStage(connections, records, (each) => void heard.push(each));
  try {
    const { send, places } = stage;
    const journal = await journalOf(send, places.a);
    for (let n = 0; n < 5; n += 1) await journal.write();
    for (const place of Object.values(places)) await noteDeliveries(send, place);
    const before = { b: await stateOf(send, places.b), c: await stateOf(send, places.c) };
    progress(`the stage is set: ${stage.kinds.length} kinds of callers`);
    const startedAt = performance.now();
    const tally = await drill(stage, journal, operations, quick ? 200 : 600, progress);
    const seconds = (performance.now() - startedAt) / 1000;
    const wrong = await inspect(stage, journal, before, heard);
    const seen = await planted(stage, journal, heard);
    const own = tally.share('own', (status) => status < 300);
    const limited = tally.share(undefined, (status) => status === 429);
    return {
      figures: {
        operations,
        seconds: rounded(seconds),
        per_second: rounded(operations / seconds, 0),
        victim_events: journal.events.length,
        deliveries_heard: heard.length,
        own_succeeded: rounded(own, 3),
        rate_limited: rounded(limited, 3),
        by_kind: tally.byKind,
        by_aim: tally.byAim,
        by_operation: tally.byOperation,
        leaks: tally.leaks,
        wrong_at_the_end: wrong.slice(0, 20),
        planted: seen,
      },
      judged: [
        { bar: 'no answer holds anything of an app that is not the caller’s', met: tally.leaks.length === 0 },
        { bar: 'everything is as the journal says, and was told as it says', met: wrong.length === 0 },
        { bar: 'no answer is a 5xx', met: tally.share(undefined, (status) => status >= 500) === 0 },
        { bar: `>= ${ownBar} of the operations on own things succeed`, met: own >= ownBar },
        { bar: `<= ${limitedBar} of all are stopped by a rate limit`, met: limited <= limitedBar },
        { bar: 'every planted leak and change is seen', met: Object.values(seen).every(Boolean) },
      ],
      skipped: [],
    };
  } finally {
    await stage.close();
  }
};

const aims: readonly Aim[] = ['own', 'mixed', 'foreign', 'foreign', 'foreign'];

async function drill(
  stage: Stage,
  journal: Journal,
  operations: number,
  ownerWrites: number,
  progress: (line: string) => void,
): Promise<Tally> {
  const tally = new Tally();
  const ops = opsOf(stage.routes);
  const hidden = new Map(
    stage.kinds.map((kind) => [kind, hiddenFrom(kind.own, Object.values(stage.places), stage.kinds)]),
  );
  const choices = stage.kinds.flatMap((kind) => Array<Kind>(kind.weight * 2).fill(kind));
  const mayDo = new Map(stage.kinds.map((kind) => [kind, ops.filter((op) => may(kind, op.route))]));
  let begun = 0;
  const client = async () => {
    while (begun < operations) {
      begun += 1;
      if (begun % Math.ceil(operations / 10) === 0) progress(`${begun} of ${operations} operations`);
      const kind = pick(choices);
      const { asked, sent } = requestOf(...chosen(stage, kind, ops, mayDo.get(kind) ?? []));
      const answer = await stage.send(sent);
      learn(asked, answer);
      const where = leakIn(hidden.get(kind) as Hidden, answer);
      if (where !== undefined) tally.leak(asked, sent, answer, where);
      if (asked.probes && answer.status < 300 && foundBy(answer.body)) tally.leak(asked, sent, answer, 'filter');
      tally.count(asked, answer.status);
    }
  };
  const owner = async () => {
    for (let n = 1; n <= ownerWrites; n += 1) {
      while (begun < (operations * n) / (ownerWrites + 1)) await sleep(5);
      await journal.write();
    }
  };
  await Promise.all([owner(), ...Array.from({ length: connections }, client)]);
  return tally;
}

function chosen({ places }: Stage, kind: Kind, ops: readonly Op[], own: readonly Op[]) {
  const strangers = Object.values(places).filter(({ letter }) => letter !== kind.own);
  const foreign = Math.random() < 0.7 ? places.a : pick(strangers);
  const aim = kind.own === null ? 'foreign' : pick(aims);
  // Mostly what their credentials are good for, so that it is not refused before anybody asks whose the app is.
  const op = pick(aim === 'foreign' && Math.random() < 0.3 ? ops : own);
  const place = aim === 'foreign' ? foreign : places[kind.own as Letter];
  return [kind, op, aim, place, aim === 'own' ? place : foreign] as const;
}
