// Whether callers without rights on an app can read or change anything of it: random operations, judged by a journal that
// the product knows nothing of. None may.
import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import type { Heard } from '../sandbox/src/hooks.ts';
import type { Bench } from './lib/bench.ts';
import { rounded } from './lib/figures.ts';
import { type Kind, type Letter, may } from './neighbours/kinds.ts';
import { learn } from './neighbours/learn.ts';
import {
  differences,
  foundBy,
  hiddenFrom,
  leakIn,
  type Markers,
  type State,
  strangeTo,
  untrue,
} from './neighbours/oracle.ts';
import { type Journal, journalOf, toldIn } from './neighbours/owner.ts';
import { noteDeliveries, type Place, stateOf, textOf, trashedIn } from './neighbours/place.ts';
import { type Aim, type Op, opsOf, pick, requestOf } from './neighbours/requests.ts';
import { type Stage, setStage } from './neighbours/stage.ts';
import { Tally } from './neighbours/tally.ts';

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
    for (const place of [places.b, places.c]) await openLog(stage, place);
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

/** Something for the log of the webhook. */
async function openLog({ send }: Stage, { app_id, token, marker }: Place): Promise<void> {
  for (let n = 0; n < 3; n += 1) {
    const headers = { authorization: `Bearer ${token}` };
    await send({ method: 'POST', path: `/api/apps/${app_id}/entities/Note`, headers, body: { secret: marker } });
  }
}

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
  const hidden = new Map(stage.kinds.map((kind) => [kind, hiddenFrom(kind.own, markersOf(stage), stage.kinds)]));
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
      const where = leakIn(hidden.get(kind) as RegExp, answer);
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
  const op = pick(aim === 'foreign' ? ops : own);
  const place = aim === 'foreign' ? foreign : places[kind.own as Letter];
  return [kind, op, aim, place, aim === 'own' ? place : foreign] as const;
}

const markersOf = ({ places }: Stage): Markers => ({ a: places.a.marker, b: places.b.marker, c: places.c.marker });

/** What is not as it must be, once all deliveries have come. */
async function inspect(
  stage: Stage,
  journal: Journal,
  before: Readonly<Record<'b' | 'c', State>>,
  heard: readonly Heard[],
): Promise<string[]> {
  const { send, places, kinds } = stage;
  await settled(journal, heard);
  const wrong = differences(journal.expected, await stateOf(send, places.a)).map((part) => `a: ${part}`);
  for (const letter of ['b', 'c'] as const) {
    const place = places[letter];
    wrong.push(...differences(before[letter], await stateOf(send, place)).map((part) => `${letter}: ${part}`));
    if (strangeTo(letter, kinds).test(await textOf(send, place))) wrong.push(`${letter}: written by a stranger`);
  }
  return [...wrong, ...(await restored(stage)), ...misheard(stage, journal, heard)];
}

const heardBy = (letter: Letter, heard: readonly Heard[]): Heard[] =>
  heard.filter(({ path }) => path.split('/')[1] === letter);

/** Once per delivery: at least once is the promise. */
const toldTo = (heard: readonly Heard[]): string[] => [
  ...new Map(heardBy('a', heard).map((each) => [each.headers['x-service-delivery'] ?? each.body, toldIn(each)])).values(),
];

async function settled({ events }: Journal, heard: readonly Heard[]): Promise<void> {
  for (let waits = 0; waits < 300 && toldTo(heard).length < events.length; waits += 1) await sleep(200);
  await sleep(1_000); // what should not come has had its time
}

function misheard(stage: Stage, { events }: Journal, heard: readonly Heard[]): string[] {
  const wrong = untrue(events, toldTo(heard)).map((each) => `a was told: ${each}`);
  for (const letter of ['b', 'c'] as const) {
    const hidden = hiddenFrom(letter, markersOf(stage), stage.kinds);
    const strange = heardBy(letter, heard).filter(({ body, headers }) => leakIn(hidden, { status: 0, headers, body }));
    if (strange.length > 0) wrong.push(`${letter} was told of another’s, ${strange.length} times`);
  }
  return wrong;
}

/** What the owner had thrown away is still there to be fetched. */
async function restored({ send, places: { a } }: Stage): Promise<string[]> {
  const wrong: string[] = [];
  for (const id of trashedIn(a)) {
    const path = `/api/apps/${a.app_id}/entities/Note/${id}/restore`;
    const { status, body } = await send({ method: 'POST', path, headers: { authorization: `Bearer ${a.token}` } });
    if (status !== 200 || !body.includes(a.marker)) wrong.push(`a: ${id} is not in the trash`);
  }
  return wrong;
}

/** Whether this drill would see a leak: each kind of them, planted where the product has none. */
async function planted(stage: Stage, journal: Journal, heard: readonly Heard[]): Promise<Record<string, boolean>> {
  const { send, db, places, kinds } = stage;
  const guest = hiddenFrom('b', markersOf(stage), kinds);
  const { marker } = places.a;
  const sees = (answer: { headers?: Record<string, string>; body?: string }) =>
    leakIn(guest, { status: 200, headers: {}, body: '{}', ...answer }) !== undefined;
  const cursor = Buffer.from(JSON.stringify([[marker], 'x', 1])).toString('base64url');
  const unchanged = await stateOf(send, places.a);
  const first = Object.keys(unchanged.Kept as object)[0];
  await sql`update entity_records set data = data || '{"n":-1}'
    where app_id = ${places.a.app_id} and id = ${first}`.execute(db);
  const changed = differences(unchanged, await stateOf(send, places.a));
  const editor = kinds.find((kind) => kind.name === 'editor of the workspace') as Kind;
  const list = { method: 'GET', path: `/api/apps/${places.a.app_id}/entities/Task`, ...pick(editor.callers) };
  const refused = await send(list);
  await sql`update apps set visibility = 'workspace' where id = ${places.a.app_id}`.execute(db);
  const event = JSON.stringify({ type: 'entity.updated', entity_id: 'x', data: { secret: marker } });
  const extra = { path: '/a', headers: {}, body: event, at: 0, from: 0 };
  const strange = { ...extra, path: '/b' };
  const stranger = kinds.find((kind) => kind.own === 'b') as Kind;
  return {
    body: sees({ body: JSON.stringify({ secret: `${marker}-1` }) }),
    header: sees({ headers: { 'x-warning': marker } }),
    cursor: sees({ body: JSON.stringify({ items: [], next_cursor: `${cursor}.x` }) }),
    nothing: !sees({ body: JSON.stringify({ secret: places.b.marker }) }),
    filter: foundBy('{"count":1}') && !foundBy('{"count":0}'),
    opened_app: leakIn(guest, refused) === undefined && leakIn(guest, await send(list)) !== undefined,
    changed_record: changed.join() === `Kept ${first} n`,
    stranger_in_c: strangeTo('c', kinds).test(stranger.stamp),
    extra_delivery: misheard(stage, journal, [...heard, extra]).length > 0,
    delivery_to_b: misheard(stage, journal, [...heard, strange]).length > 0,
  };
}
