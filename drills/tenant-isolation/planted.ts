// Owns the proof that the drill would see a leak: each kind is planted, at the end, where the product has none.
import { sql } from 'kysely';
import type { Heard } from '../../sandbox/src/hooks.ts';
import { misheard } from './inspect.ts';
import type { Kind } from './kinds.ts';
import { differences, foundBy, hiddenFrom, leakIn, strangeTo } from './oracle.ts';
import type { Journal } from './owner.ts';
import { stateOf } from './place.ts';
import { pick } from './requests.ts';
import type { Stage } from './stage.ts';

/** By kind of leak: whether it was seen. */
export async function planted(
  stage: Stage,
  journal: Journal,
  heard: readonly Heard[],
): Promise<Record<string, boolean>> {
  const { send, db, places, kinds } = stage;
  const guest = hiddenFrom('b', Object.values(places), kinds);
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
  const told = (more: Heard[]) => misheard(stage, journal, [...heard, ...more]).length;
  const stranger = kinds.find((kind) => kind.own === 'b') as Kind;
  return {
    body: sees({ body: JSON.stringify({ secret: `${marker}-1` }) }),
    id: sees({ body: JSON.stringify({ items: [{ id: first, n: 1 }] }) }),
    header: sees({ headers: { 'x-warning': marker } }),
    cursor: sees({ body: JSON.stringify({ items: [], next_cursor: `${cursor}.x` }) }),
    nothing: !sees({ body: JSON.stringify({ secret: places.b.marker }) }),
    filter: foundBy('{"count":1}') && !foundBy('{"count":0}'),
    opened_app: leakIn(guest, refused) === undefined && leakIn(guest, await send(list)) !== undefined,
    changed_record: changed.join() === `Kept ${first} n`,
    stranger_in_c: strangeTo('c', kinds).test(stranger.stamp),
    extra_delivery: told([extra]) > told([]),
    delivery_to_b: told([strange]) > told([]),
  };
}
