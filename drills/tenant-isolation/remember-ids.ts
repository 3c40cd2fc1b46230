// Remembers ids from responses about a caller's own app, so later requests can change the resources.
import type { HttpResponse } from './client.ts';
import { idsIn } from './oracle.ts';
import { type AttackRequest, poolOf } from './requests.ts';
import { addIds } from './tenant.ts';

const most = 300;

const madeBy: Readonly<Record<string, string>> = {
  createRecord: 'entity_id',
  createRecords: 'entity_id',
  restoreRecord: 'entity_id',
  upsertRecords: 'entity_id',
  createAppUser: 'user_id',
  createAppWebhook: 'webhook_id',
};

export function rememberIds(
  { aim, op: { route }, tenant: { live }, entity, id }: AttackRequest,
  { status, body }: HttpResponse,
): void {
  if (aim === 'foreign') return;
  const made = madeBy[route.name];
  if (made !== undefined && status < 300) {
    const pool = poolOf(made, '', entity);
    addIds(live, pool, ...idsIn(body));
    live[pool]?.splice(0, Math.max(0, live[pool].length - most));
  }
  if (aim !== 'own' || (route.method !== 'DELETE' && status !== 404)) return;
  const named = /\{(\w+)\}[^{}]*$/.exec(route.path)?.[1] ?? '';
  removeId(live[poolOf(named, route.path, entity)] ?? [], id);
  if (route.name === 'deleteRecord' && status < 300) addIds(live, poolOf('entity_id', '/restore', entity), id);
}

function removeId(pool: string[], id: string): void {
  const at = pool.indexOf(id);
  if (at >= 0) pool.splice(at, 1);
}
