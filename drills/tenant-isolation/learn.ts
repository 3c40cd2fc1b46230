// Owns what callers learn from answers about their own app: which things of theirs are there to be changed.
import { type Answer, idsIn } from './oracle.ts';
import { put } from './place.ts';
import { type Asked, poolOf } from './requests.ts';

const most = 300;

const madeBy: Readonly<Record<string, string>> = {
  createRecord: 'entity_id',
  createRecords: 'entity_id',
  restoreRecord: 'entity_id',
  upsertRecords: 'entity_id',
  createAppUser: 'user_id',
  createAppWebhook: 'webhook_id',
};

export function learn({ aim, op: { route }, place: { live }, entity, id }: Asked, { status, body }: Answer): void {
  if (aim === 'foreign') return;
  const made = madeBy[route.name];
  if (made !== undefined && status < 300) {
    const pool = poolOf(made, '', entity);
    put(live, pool, ...idsIn(body));
    live[pool]?.splice(0, Math.max(0, live[pool].length - most));
  }
  if (aim !== 'own' || (route.method !== 'DELETE' && status !== 404)) return;
  const named = /\{(\w+)\}[^{}]*$/.exec(route.path)?.[1] ?? '';
  forget(live[poolOf(named, route.path, entity)] ?? [], id);
  if (route.name === 'deleteRecord' && status < 300) put(live, poolOf('entity_id', '/restore', entity), id);
}

function forget(pool: string[], id: string): void {
  const at = pool.indexOf(id);
  if (at >= 0) pool.splice(at, 1);
}
