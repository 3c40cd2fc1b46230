// Builds random requests: any operation, with values that its schema allows, naming resources in one app or two. A new
// path parameter gets a random id until `fillTenant` stores an id under its name.
import type { Route } from '../../server/src/core/auth/route.ts';
import { inlineRefs, type JsonSchema, toJsonSchema } from '../../server/src/kit/http/json-schema.ts';
import { newId } from '../../server/src/kit/ids.ts';
import { type CallerKind, namesAnApp } from './caller-kinds.ts';
import type { HttpRequest } from './client.ts';
import { entityNames, secretOf, type Tenant } from './tenant.ts';

/** An operation with its query and body schemas. */
export interface TestedOperation {
  readonly route: Route;
  readonly query: Readonly<Record<string, JsonSchema>>;
  readonly body: JsonSchema | undefined;
}

export function testedOperations(routes: readonly Route[]): TestedOperation[] {
  const schemaOf = (shape: Route['body']) => shape && inlineRefs(toJsonSchema(shape, 'input'));
  return routes
    .map((route) => {
      const query = (schemaOf(route.query)?.properties ?? {}) as TestedOperation['query'];
      return { route, query, body: schemaOf(route.body) };
    })
    .filter(({ route, query, body }) => namesAnApp(route, [query, body ?? {}]));
}

/**
 * `own` targets the caller's own app. `mixed` uses the own app's path with another app's ids, keys, filters and
 * cursors. `foreign` uses another app's path.
 */
export type Aim = 'own' | 'mixed' | 'foreign';

export interface AttackRequest {
  readonly kind: CallerKind;
  readonly op: TestedOperation;
  readonly aim: Aim;
  /** The app that the path names. */
  readonly tenant: Tenant;
  /** The app whose ids, keys and cursors are mixed in. */
  readonly others: Tenant;
  /** The entity, if the request names one. */
  readonly entity: string;
  /** Whether the filter is a text that only the victim has, so the result must be empty. */
  readonly probes: boolean;
  /** The last id in the path. */
  readonly id: string;
}

export const pick = <Item>(items: readonly Item[]): Item => items[Math.floor(Math.random() * items.length)] as Item;
const chance = (share: number): boolean => Math.random() < share;
let made = 0;

export function buildRequest(
  kind: CallerKind,
  op: TestedOperation,
  aim: Aim,
  tenant: Tenant,
  others: Tenant,
): { attack: AttackRequest; sent: HttpRequest } {
  const { route } = op;
  const makesSchemas = aim !== 'foreign' && route.path.includes('/entity-schemas') && route.method !== 'GET';
  const entity = makesSchemas ? `Scratch${pick([1, 2, 3])}` : pick(aim === 'foreign' ? entityNames : kind.entities);
  const filters = 'q' in op.query || route.name === 'deleteRecords';
  const probes = aim !== 'own' && filters && chance(0.2);
  const about = { kind, op, aim, tenant, others, entity, probes };
  const ids = new Map<string, string>();
  const path = route.path.replace(/\{(\w+)\}/g, (_all, name) => {
    ids.set(name, idOf(about, name));
    return encodeURIComponent(ids.get(name) as string);
  });
  const search = new URLSearchParams(queryOf(about));
  const keyed = route.idempotency !== undefined && chance(0.5);
  const headers = {
    ...pick(kind.callers).headers,
    ...(keyed && { 'idempotency-key': aim === 'own' ? newId() : pick(others.idempotencyKeys) }),
  };
  const id = [...ids.values()].at(-1) ?? '';
  const sent = {
    method: route.method,
    path: search.size > 0 ? `${path}?${search}` : path,
    headers,
    body: op.body && bodyOf(about, op.body),
  };
  return { attack: { ...about, id }, sent };
}

type RequestContext = Omit<AttackRequest, 'id'>;

/** Chooses a path parameter's value: an existing id in the targeted app. */
function idOf({ op: { route }, aim, tenant, others, entity }: RequestContext, name: string): string {
  const reads = route.method === 'GET' || /\/(test|replay|redeliver)$/.test(route.path);
  const live = tenant.live[poolOf(name, route.path, entity)] ?? [];
  switch (name) {
    case 'app_id':
      return tenant.app_id;
    case 'agent_id':
      return chance(0.1) ? tenant.app_id : tenant.agent_id;
    case 'folder_id':
      return (chance(0.5) ? tenant : others).folder_id;
    case 'entity_name':
      return entity;
    case 'email':
      return aim === 'own' ? `friend${pick([1, 2, 3])}@example.com` : pick(['victim@example.com', 'other@example.com']);
  }
  if (aim !== 'own') return pick(others.kept[poolOf(name, route.path, entity)] ?? [newId()]);
  if (name === 'secret_name') return `OWN_${pick([1, 2, 3])}`;
  if (name === 'webhook_id' || name === 'delivery_id') return pick((reads && tenant.kept[name]) || live) ?? newId();
  return pick(live) ?? newId();
}

/**
 * Record ids are stored per entity, with separate pools for records in the trash. Agents' webhooks have their own pool.
 */
export function poolOf(name: string, path: string, entity: string): string {
  if (name === 'entity_id') return `${/\/(restore|permanent)$/.test(path) ? 'trashed ' : ''}entity_id ${entity}`;
  return name === 'webhook_id' && path.startsWith('/api/agents/') ? 'webhook_id agent' : name;
}

function queryOf(about: RequestContext): Record<string, string> {
  const { op, aim, others, probes } = about;
  const query: Record<string, string> = {};
  for (const [name, schema] of Object.entries(op.query)) {
    if (name === 'q' && (probes || chance(0.4))) query.q = JSON.stringify(filterOf(about));
    else if (name === 'cursor' && aim !== 'own' && !probes && chance(0.3)) query.cursor = pick(others.cursors);
    else if (name === 'path') query.path = pathOf(about);
    else if (name === 'delete_records') query.delete_records = 'true';
    else if (name in plain && chance(0.3)) query[name] = pick(plain[name] as readonly string[]);
    else if (aim !== 'own' && Array.isArray(schema.enum) && chance(0.2)) query[name] = pick(schema.enum);
    else if (/_id$/.test(name) && aim !== 'own' && chance(0.5))
      query[name] = pick([others.app_id, others.folder_id, others.workspace_id]);
  }
  if (op.route.access.choosesWorkspace && aim !== 'own' && chance(0.3)) query.workspaceId = others.workspace_id;
  if (op.route.name === 'listRecords' && query.sort === undefined && chance(0.2))
    query.sort = pick(['key', '-n', 'secret']);
  return query;
}

const plain: Readonly<Record<string, readonly string[]>> = {
  limit: ['1', '5', '50'],
  fields: ['key,secret', 'n'],
  search: ['App', 'user', 'a'],
  prefix: ['kept', 'own/'],
  dry_run: ['true'],
};

/** Builds a filter that would find the other app's records, if any filter could. */
function filterOf({ kind, tenant, others, entity, probes }: RequestContext): object {
  if (probes)
    return pick([{ secret: secretOf(others, entity, pick([5, 6, 7])) }, { secret: { $contains: others.marker } }]);
  return pick<object>([
    { key: pick(others.keys) },
    { key: { $in: [pick(others.keys), pick(tenant.keys)] } },
    { id: pick(others.kept[`entity_id ${entity}`] ?? [newId()]) },
    { $or: [{ n: -1 }, { key: { $startsWith: `${others.letter}-` } }] },
    { secret: { $startsWith: kind.stamp } },
  ]);
}

const pathOf = ({ kind, aim, others }: RequestContext): string =>
  aim === 'own' ? `own/${kind.stamp}${pick([1, 2, 3])}.txt` : pick(others.kept.path ?? []);

/** Returns a unique text that identifies the kind of caller who wrote it. */
function stamped({ kind }: Pick<AttackRequest, 'kind'>): string {
  made += 1;
  return `${kind.stamp}-${made}`;
}

/**
 * Any caller may try to sign in to an app, and the app's owner sees the address in the audit log. That is not a leak.
 */
const signsInElsewhere = ({ op, aim }: RequestContext): boolean =>
  aim === 'foreign' && /\/auth\/(sign|link)/.test(op.route.path);

function bodyOf(about: RequestContext, schema: JsonSchema): unknown {
  const { op, aim, tenant, others, entity } = about;
  const { name, path } = op.route;
  if (path.includes('/entity-schemas')) return schemasIn(about, name === 'syncEntitySchemas');
  if (!path.includes('/entities/')) return valueFor(about, schema, '');
  const changes = name === 'updateRecord' || name === 'updateRecords';
  const record = (): Record<string, unknown> => ({
    ...(!changes && { key: aim === 'own' || chance(0.5) ? stamped(about) : pick(others.keys) }),
    secret: stamped(about),
    n: Math.floor(Math.random() * 100),
    ...(aim !== 'own' &&
      chance(0.3) && { id: pick(others.kept[`entity_id ${entity}`] ?? ['']), app_id: others.app_id }),
  });
  const pool = aim === 'own' ? tenant.live : others.kept;
  const withId = () => ({ ...record(), id: pick(pool[`entity_id ${entity}`] ?? []) ?? newId() });
  switch (name) {
    case 'updateRecords':
      return [withId()];
    case 'createRecords':
      return [record(), record()];
    case 'upsertRecords':
      return { records: [record()], key: ['key'] };
    case 'deleteRecords':
      return { query: aim === 'own' ? { n: Math.floor(Math.random() * 100) } : filterOf(about) };
    default:
      return record();
  }
}

function schemasIn(about: RequestContext, many: boolean): object {
  const { aim, entity } = about;
  const schema = { name: entity, properties: { x: { type: 'string', description: stamped(about) } } };
  return many ? { schemas: [schema], ...(aim === 'foreign' && { delete_missing: true }) } : schema;
}

/** Optional fields that are not sent to the caller's own app, because they would change who has rights on it. */
const untouched =
  /^(visibility|public_settings|public_origins|owner_email|slug|logo_url|hide_authorship|expected_|enabled|from|to|after_seq|to_seq|icon)/;

function valueFor(about: RequestContext, schema: JsonSchema, name: string): unknown {
  const { tenant, others, aim, entity } = about;
  if (name === 'app_ids') return [others.app_id];
  if (name === 'target_url') return `${tenant.receiverUrl}/${about.kind.stamp}`;
  if (name === 'email') return `${signsInElsewhere(about) ? 'someone' : stamped(about)}@customers.example`;
  if (name === 'path') return pathOf(about);
  if (name === 'entity_names') return aim === 'foreign' ? [entity] : ['Scratch1'];
  if (name === 'encoding') return 'utf-8';
  if (name === 'limit') return 1;
  if (Array.isArray(schema.enum)) return pick(schema.enum.filter((value) => value !== null));
  switch (Array.isArray(schema.type) ? schema.type[0] : schema.type) {
    case 'object': {
      const required = (schema.required ?? []) as string[];
      const entries = Object.entries((schema.properties ?? {}) as Record<string, JsonSchema>)
        .filter(
          ([key]) =>
            required.includes(key) ||
            key === 'entity_names' ||
            (chance(0.6) && (aim === 'foreign' || !untouched.test(key))),
        )
        .map(([key, value]) => [key, valueFor(about, value, key)]);
      return Object.fromEntries(entries);
    }
    case 'array':
      return [valueFor(about, (schema.items ?? {}) as JsonSchema, name)];
    case 'integer':
    case 'number':
      return Math.max(Number(schema.minimum ?? 1), 60);
    case 'boolean':
      return name === 'delete_missing' ? aim === 'foreign' : chance(0.5);
    default:
      return stamped(about);
  }
}
