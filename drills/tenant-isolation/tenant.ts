// Each app's contents, and reads them as the app's owner. Every text that other callers do not know contains the
// app's marker. Names, ids and unique values are known to all callers.
import { setTimeout as sleep } from 'node:timers/promises';
import type { TenantLetter } from './caller-kinds.ts';
import { call, type Send } from './client.ts';

/** The parts of a tenant that its owner can read, by name. */
export type State = Readonly<Record<string, unknown>>;

/** Ids and names, by kind of resource. */
export type Pools = Record<string, string[]>;

export function addIds(pools: Pools, name: string, ...ids: string[]): void {
  pools[name] ??= [];
  pools[name].push(...ids);
}

export interface Tenant {
  readonly letter: TenantLetter;
  readonly app_id: string;
  readonly agent_id: string;
  readonly folder_id: string;
  readonly workspace_id: string;
  readonly owner_id: string;
  readonly marker: string;
  readonly token: string;
  /** The URL to which the tenant's webhooks send deliveries. */
  readonly receiverUrl: string;
  /** Resources that are recorded in the journal. Callers with rights on the app do not change them. */
  readonly kept: Pools;
  /** Resources created by callers with rights on the app, who may change them. */
  readonly live: Pools;
  /** The unique values in the tenant's records. */
  readonly keys: string[];
  readonly cursors: string[];
  readonly idempotencyKeys: string[];
}

export const entityNames = ['Task', 'Note', 'Bare', 'Kept'] as const;

const admins = { user_condition: { role: 'admin' } };
const ownersOnly = { $or: [{ created_by_id: '{{user.id}}' }, admins] };
const ownersOnlyRules = { read: ownersOnly, create: admins, update: ownersOnly, delete: ownersOnly };
const signedIn = { user_condition: { id: '{{user.id}}' } };

/**
 * The victim's rules allow only its managers. In the other apps, one entity is open to signed-in users, one to
 * everyone, and one to managers only. `Bare` has no rules in any app, which must have the same effect as rules that
 * allow only managers.
 */
const schemasOf = ({ letter, marker }: Pick<Tenant, 'letter' | 'marker'>) =>
  entityNames.map((name) => ({
    name,
    type: 'object',
    description: `schema of ${marker}`,
    properties: {
      key: { type: 'string' },
      secret: { type: 'string', ...(letter === 'a' && { rls: { read: ownersOnly } }) },
      n: { type: 'integer' },
    },
    unique: [['key']],
    ...(name !== 'Bare' && { rls: rulesOf(letter, name) }),
  }));

function rulesOf(letter: TenantLetter, name: string): object {
  if (letter === 'a' || name === 'Kept') return ownersOnlyRules;
  return name === 'Note' ? { read: true, write: true } : { read: signedIn, write: signedIn };
}

export const secretOf = ({ marker }: Tenant, entity: string, n: number): string => `${marker}-${entity}-${n}`;

/** Fills an app with data, as its owner. */
export async function fillTenant(send: Send, tenant: Tenant, records: number): Promise<void> {
  const { letter, app_id, agent_id, folder_id, marker, token, kept } = tenant;
  const asOwner = (method: string, path: string, body?: unknown, more = {}) =>
    call(send, token, method, path, body, more);
  const app = `/api/apps/${app_id}`;
  await asOwner('PUT', `${app}/entity-schemas`, { schemas: schemasOf(tenant) });
  kept.entity_name = [...entityNames];
  const hook = { target_url: tenant.receiverUrl, description: marker };
  const subscription =
    letter === 'a'
      ? { events: ['entity.created', 'entity.updated', 'entity.deleted'] }
      : { events: ['entity.created'], entity_names: ['Task'] };
  kept.webhook_id = [(await asOwner('POST', `${app}/webhooks`, { ...hook, ...subscription })).id];
  for (const name of entityNames) {
    const sent = Array.from({ length: records }, (_, n) => ({
      key: `${letter}-${name}-${n}`,
      secret: secretOf(tenant, name, n),
      n,
    }));
    const idempotencyKey = `owner-${name}`;
    const made = await asOwner('POST', `${app}/entities/${name}/bulk`, sent, { 'idempotency-key': idempotencyKey });
    kept[`entity_id ${name}`] = made.map((record: { id: string }) => record.id);
    tenant.keys.push(...sent.map(({ key }) => key));
    tenant.idempotencyKeys.push(idempotencyKey);
  }
  // Moves records to the trash, which other callers may try to restore.
  for (const id of trashedIds(tenant)) await asOwner('DELETE', `${app}/entities/Note/${id}`);
  for (let n = 0; n < 3; n += 1) {
    const body = { email: `user${n}@customers.example`, full_name: marker, data: { about: marker } };
    addIds(kept, 'user_id', (await asOwner('POST', `${app}/users`, body)).id);
    const path = `kept-${letter}/file${n}.txt`;
    addIds(kept, 'path', path);
    await asOwner('PUT', `${app}/files/content?path=${path}`, { content: `${marker} file ${n}` });
    const name = `KEPT_${letter.toUpperCase()}_${n}`;
    addIds(kept, 'secret_name', name);
    await asOwner('PUT', `${app}/secrets/${name}`, { value: `${marker}-value-${n}` });
  }
  await asOwner('PATCH', `/api/agents/${agent_id}`, { instructions: marker, description: marker });
  kept.conversation_id = [(await asOwner('POST', `/api/agents/${agent_id}/conversations`, {})).id];
  await asOwner('POST', `/api/app-folders/${folder_id}/items`, { app_ids: [app_id] });
  const ofAgent = { ...hook, events: ['message.created'] };
  kept['webhook_id agent'] = [(await asOwner('POST', `/api/agents/${agent_id}/webhooks`, ofAgent)).id];
}

export const trashedIds = ({ kept }: Tenant): string[] => kept['entity_id Note']?.slice(0, 3) ?? [];

/** Stores delivery ids, once there are deliveries, and the owner's cursors. */
export async function recordDeliveries(send: Send, tenant: Tenant): Promise<void> {
  const { app_id, token, kept } = tenant;
  const app = `/api/apps/${app_id}`;
  const log = `${app}/webhooks/${kept.webhook_id}/deliveries`;
  const read = (path: string) => call(send, token, 'GET', path);
  for (let waits = 0; (kept.delivery_id?.length ?? 0) < 2; waits += 1) {
    if (waits > 300) throw new Error(`no deliveries for ${tenant.letter}`);
    await sleep(100);
    kept.delivery_id = (await read(log)).items.map((delivery: { id: string }) => delivery.id);
  }
  for (const path of [`${app}/entities/Task`, `${app}/users`, `${app}/files`, `${app}/secrets`, log])
    tenant.cursors.push((await read(`${path}?limit=1`)).next_cursor);
}

/** Reads all of a list's pages. */
export async function readAllPages(send: Send, token: string, path: string, limit: number) {
  const items: { id: string }[] = [];
  for (let cursor = ''; ; ) {
    const page = await call(send, token, 'GET', `${path}?limit=${limit}${cursor && `&cursor=${cursor}`}`);
    items.push(...page.items);
    if (page.next_cursor === null) return items;
    cursor = page.next_cursor;
  }
}

const without = (names: readonly string[]) => (thing: object) =>
  Object.fromEntries(Object.entries(thing).filter(([name]) => !names.includes(name)));

export type RecordsById = Record<string, Record<string, unknown>>;

/**
 * Reads everything that the owner can read. For an app that other callers may change, reads only the parts that they
 * must not change.
 */
export async function readState(send: Send, tenant: Tenant): Promise<State> {
  const { app_id, agent_id, folder_id, token, kept, letter } = tenant;
  const whole = letter === 'a';
  const app = `/api/apps/${app_id}`;
  const read = (path: string) => call(send, token, 'GET', path);
  const among = (name: string, of: string) => (thing: object) =>
    whole || kept[of]?.includes((thing as Record<string, string>)[name] as string);
  const records = async (name: string): Promise<RecordsById> =>
    Object.fromEntries(
      (await readAllPages(send, token, `${app}/entities/${name}`, 1000)).map((each) => [each.id, each]),
    );
  const schemas: { name: string }[] = await read(`${app}/entity-schemas`);
  const state: Record<string, unknown> = {
    schemas: schemas
      .filter(({ name }) => whole || name === 'Kept')
      .map(without(['record_count', ...(whole ? [] : ['revision'])])),
    Kept: await records('Kept'),
    users: (await readAllPages(send, token, `${app}/users`, 100)).filter(among('id', 'user_id')),
    files: (await readAllPages(send, token, `${app}/files`, 100)).filter(among('path', 'path')),
    secrets: (await readAllPages(send, token, `${app}/secrets`, 100)).filter(among('name', 'secret_name')),
    webhooks: (await read(`${app}/webhooks`)).filter(among('id', 'webhook_id')).map(without(['last_trigger_time'])),
    agent: await read(`/api/agents/${agent_id}`),
    'agent webhooks': await read(`/api/agents/${agent_id}/webhooks`),
    conversations: await read(`/api/agents/${agent_id}/conversations`),
  };
  if (!whole) return state;
  state.app = await read(app);
  state['apps in its folder'] = (await read(`/api/apps?folder_id=${folder_id}`)).items;
  state.shares = await read(`${app}/shares`);
  for (const name of ['Task', 'Note', 'Bare']) state[name] = await records(name);
  for (const name of entityNames) state[`${name} count`] = (await read(`${app}/entities/${name}/count`)).count;
  return state;
}

/** Reads an app's entire contents as a single string, to search it for texts that other callers wrote. */
export async function readAllText(send: Send, tenant: Tenant): Promise<string> {
  const { app_id, token } = tenant;
  const app = `/api/apps/${app_id}`;
  const lists = [...entityNames.map((name) => `entities/${name}`), 'users', 'files', 'secrets'];
  const all: unknown[] = [];
  for (const list of lists) all.push(await readAllPages(send, token, `${app}/${list}`, 100));
  for (const path of [app, `${app}/entity-schemas`, `${app}/webhooks`, `${app}/shares`])
    all.push(await call(send, token, 'GET', path));
  return JSON.stringify(all);
}
