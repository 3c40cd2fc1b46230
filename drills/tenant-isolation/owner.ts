// The victim's changes during the drill and their journal: the expected final state, and the events that the
// victim's webhook must receive.
import type { ReceivedRequest } from '../../sandbox/src/webhook-endpoint.ts';
import { call, type Send } from './client.ts';
import { pick } from './requests.ts';
import { entityNames, type RecordsById, readState, type State, secretOf, type Tenant, trashedIds } from './tenant.ts';

type Row = Record<string, unknown>;

export interface Journal {
  /** Makes one change as the owner. */
  write(): Promise<void>;
  readonly expected: State;
  /** All events, in the format of `eventLine`. */
  readonly events: readonly string[];
}

const eventLine = (type: unknown, id: unknown, secret: unknown): string => `${type} ${id} ${secret}`;

/** Converts a delivery to the victim's webhook to a journal line. */
export function eventLineOf({ body }: Pick<ReceivedRequest, 'body'>): string {
  const { type, entity_id, data, old_data } = JSON.parse(body);
  return eventLine(type, entity_id, (type === 'entity.deleted' ? old_data : data)?.secret);
}

/** The webhook is created first, so it receives an event for every initial record. */
function initialEvents(tenant: Tenant): string[] {
  const secrets = new Map(
    entityNames.flatMap((name) =>
      (tenant.kept[`entity_id ${name}`] ?? []).map((id, n) => [id, secretOf(tenant, name, n)] as const),
    ),
  );
  return [
    ...[...secrets].map(([id, secret]) => eventLine('entity.created', id, secret)),
    ...trashedIds(tenant).map((id) => eventLine('entity.deleted', id, secrets.get(id))),
  ];
}

export async function startJournal(send: Send, tenant: Tenant): Promise<Journal> {
  const expected = (await readState(send, tenant)) as Record<string, unknown>;
  const events = initialEvents(tenant);
  const { app_id, token, marker } = tenant;
  const tasks = expected.Task as RecordsById;
  let turn = 0;
  const at = `/api/apps/${app_id}/entities/Task`;
  const next = () => ({ secret: `${marker}-turn-${turn}`, n: turn });
  const acts = {
    async create() {
      const sent = { key: `owner-${turn}`, ...next() };
      const made: Row = await call(send, token, 'POST', at, sent);
      tasks[made.id as string] = { ...made, ...sent };
      expected['Task count'] = (expected['Task count'] as number) + 1;
      events.push(eventLine('entity.created', made.id, sent.secret));
    },
    async update() {
      const id = pick(Object.keys(tasks));
      const sent = next();
      const { updated_date } = await call(send, token, 'PUT', `${at}/${id}`, sent);
      tasks[id] = { ...tasks[id], ...sent, updated_date };
      events.push(eventLine('entity.updated', id, sent.secret));
    },
    async remove() {
      const id = pick(Object.keys(tasks));
      await call(send, token, 'DELETE', `${at}/${id}`);
      events.push(eventLine('entity.deleted', id, tasks[id]?.secret));
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
