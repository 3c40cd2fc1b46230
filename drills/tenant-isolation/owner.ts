// Owns what the victim's owner does meanwhile, and the journal of it: what must be found at the end, and what the victim's
// webhook must have heard.
import type { Heard } from '../../sandbox/src/hooks.ts';
import { done, type Send } from './client.ts';
import type { State } from './oracle.ts';
import { entityNames, type Place, type RecordsById, secretOf, stateOf, trashedIn } from './place.ts';
import { pick } from './requests.ts';

type Row = Record<string, unknown>;

export interface Journal {
  /** One more change of the owner's. */
  write(): Promise<void>;
  readonly expected: State;
  /** Each event as `told` writes it. */
  readonly events: readonly string[];
}

const told = (type: unknown, id: unknown, secret: unknown): string => `${type} ${id} ${secret}`;

/** A delivery to the victim's webhook, as the journal writes it. */
export function toldIn({ body }: Pick<Heard, 'body'>): string {
  const { type, entity_id, data, old_data } = JSON.parse(body);
  return told(type, entity_id, (type === 'entity.deleted' ? old_data : data)?.secret);
}

/** The webhook was there first, so it hears of every record it was filled with. */
function toldOfFilling(place: Place): string[] {
  const secrets = new Map(
    entityNames.flatMap((name) =>
      (place.kept[`entity_id ${name}`] ?? []).map((id, n) => [id, secretOf(place, name, n)] as const),
    ),
  );
  return [
    ...[...secrets].map(([id, secret]) => told('entity.created', id, secret)),
    ...trashedIn(place).map((id) => told('entity.deleted', id, secrets.get(id))),
  ];
}

export async function journalOf(send: Send, place: Place): Promise<Journal> {
  const expected = (await stateOf(send, place)) as Record<string, unknown>;
  const events = toldOfFilling(place);
  const { app_id, token, marker } = place;
  const tasks = expected.Task as RecordsById;
  let turn = 0;
  const at = `/api/apps/${app_id}/entities/Task`;
  const next = () => ({ secret: `${marker}-turn-${turn}`, n: turn });
  const acts = {
    async create() {
      const sent = { key: `owner-${turn}`, ...next() };
      const made: Row = await done(send, token, 'POST', at, sent);
      tasks[made.id as string] = { ...made, ...sent };
      expected['Task count'] = (expected['Task count'] as number) + 1;
      events.push(told('entity.created', made.id, sent.secret));
    },
    async update() {
      const id = pick(Object.keys(tasks));
      const sent = next();
      const { updated_date } = await done(send, token, 'PUT', `${at}/${id}`, sent);
      tasks[id] = { ...tasks[id], ...sent, updated_date };
      events.push(told('entity.updated', id, sent.secret));
    },
    async remove() {
      const id = pick(Object.keys(tasks));
      await done(send, token, 'DELETE', `${at}/${id}`);
      events.push(told('entity.deleted', id, tasks[id]?.secret));
      delete tasks[id];
      expected['Task count'] = (expected['Task count'] as number) - 1;
    },
  };
  return {
    expected,
    events,
    async write() {
      turn += 1;
      await acts[pick(['create', 'update', 'update', 'update', 'remove'] as const)]();
    },
  };
}
