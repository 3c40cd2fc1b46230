// Proves that the drill would detect a leak: plants one leak of each kind and checks that it is reported.
import { sql } from 'kysely';
import type { ReceivedRequest } from '../../sandbox/src/webhook-endpoint.ts';
import type { CallerKind } from './caller-kinds.ts';
import { call } from './client.ts';
import type { Environment } from './environment.ts';
import { wrongDeliveries } from './inspect.ts';
import { differences, findLeak, foreignStamps, hasMatches, hiddenDataFor } from './oracle.ts';
import type { Journal } from './owner.ts';
import { pick } from './requests.ts';
import { readState } from './tenant.ts';

const openedBare = { name: 'Bare', properties: { key: {}, secret: {} }, rls: { read: true } };

/** Returns whether each kind of leak was detected. */
export async function checkPlantedLeaks(
  environment: Environment,
  journal: Journal,
  received: readonly ReceivedRequest[],
): Promise<Record<string, boolean>> {
  const { send, db, tenants, kinds } = environment;
  const guest = hiddenDataFor('b', Object.values(tenants), kinds);
  const { marker } = tenants.a;
  const sees = (answer: { headers?: Record<string, string>; body?: string }) =>
    findLeak(guest, { status: 200, headers: {}, body: '{}', ...answer }) !== undefined;
  const cursor = Buffer.from(JSON.stringify([[marker], 'x', 1])).toString('base64url');
  const unchanged = await readState(send, tenants.a);
  const first = Object.keys(unchanged.Kept as object)[0];
  await sql`update entity_records set data = data || '{"n":-1}'
    where app_id = ${tenants.a.app_id} and id = ${first}`.execute(db);
  const changed = differences(unchanged, await readState(send, tenants.a));
  const editor = kinds.find((kind) => kind.name === 'editor of the workspace') as CallerKind;
  const list = { method: 'GET', path: `/api/apps/${tenants.a.app_id}/entities/Task`, ...pick(editor.callers) };
  const refused = await send(list);
  await sql`update apps set visibility = 'workspace' where id = ${tenants.a.app_id}`.execute(db);
  const refusedUser = kinds.find((kind) => kind.name === 'app user of a whom the rules refuse') as CallerKind;
  const bare = { method: 'GET', path: `/api/apps/${tenants.a.app_id}/entities/Bare`, ...pick(refusedUser.callers) };
  const withoutRule = await send(bare);
  await call(send, tenants.a.token, 'PUT', `/api/apps/${tenants.a.app_id}/entity-schemas/Bare`, openedBare);
  const event = JSON.stringify({ type: 'entity.updated', entity_id: 'x', data: { secret: marker } });
  const extra = { method: 'POST', path: '/a', headers: {}, body: event, at: 0, from: 0 };
  const strange = { ...extra, path: '/b' };
  const wrongWith = (more: ReceivedRequest[]) => wrongDeliveries(environment, journal, [...received, ...more]).length;
  const stranger = kinds.find((kind) => kind.own === 'b') as CallerKind;
  return {
    body: sees({ body: JSON.stringify({ secret: `${marker}-1` }) }),
    id: sees({ body: JSON.stringify({ items: [{ id: first, n: 1 }] }) }),
    header: sees({ headers: { 'x-warning': marker } }),
    cursor: sees({ body: JSON.stringify({ items: [], next_cursor: `${cursor}.x` }) }),
    nothing: !sees({ body: JSON.stringify({ secret: tenants.b.marker }) }),
    filter: hasMatches('{"count":1}') && !hasMatches('{"count":0}'),
    opened_app: findLeak(guest, refused) === undefined && findLeak(guest, await send(list)) !== undefined,
    opened_entity: findLeak(guest, withoutRule) === undefined && findLeak(guest, await send(bare)) !== undefined,
    changed_record: changed.join() === `Kept ${first} n`,
    stranger_in_c: foreignStamps('c', kinds).test(stranger.stamp),
    extra_delivery: wrongWith([extra]) > wrongWith([]),
    delivery_to_b: wrongWith([strange]) > wrongWith([]),
  };
}
