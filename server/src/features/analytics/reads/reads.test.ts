// Tests reads by comparing their results with a plain model, using random events and filters.
import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { sql } from 'kysely';
import { afterEach, describe, expect, it } from 'vitest';
import {
  compute,
  type ModelEvent,
  matches,
  type Query,
  type Scalar,
  shownValueOf,
} from '../../../../test/support/event-model.ts';
import { startWorld } from '../../../../test/support/world.ts';
import type { AppRow } from '../../../core/auth/proofs.ts';
import { findBucketStart, intervals } from './intervals.ts';

const world = await startWorld();
const owner = await world.person('owner@example.com');
const workspace = await world.workspace(owner);
const token = await world.token(owner, workspace);
const now = world.clock.now();
const hour = 60 * 60 * 1000;
const day = 24 * hour;
const ago = (ms: number) => new Date(now.getTime() - ms);

const newEvent = (more: Partial<ModelEvent> = {}): ModelEvent => ({
  event_id: randomUUID(),
  event_name: 'order',
  at: ago(hour),
  user_id: null,
  session_id: null,
  page_url: null,
  properties: {},
  country: null,
  device_type: null,
  os: null,
  ...more,
});

async function insert(app: Pick<AppRow, 'id'>, events: readonly ModelEvent[]) {
  const rows = events.map((event) => ({ ...event, app_id: app.id, properties: JSON.stringify(event.properties) }));
  await world.db.insertInto('analytics_events').values(rows).execute();
}

async function appWith(events: readonly ModelEvent[]) {
  const app = await world.appOf(owner, workspace);
  if (events.length > 0) await insert(app, events);
  return app;
}

const post = (app: Pick<AppRow, 'id'>, path: string, body: unknown, headers: Record<string, string> = {}) =>
  world.call('POST', `/api/apps/${app.id}/analytics/${path}`, { as: token, body, headers });
const query = (app: Pick<AppRow, 'id'>, body: object) => post(app, 'events/query', { event_name: 'order', ...body });
const overTime = (app: Pick<AppRow, 'id'>, body: object) => post(app, 'aggregate/time', body);
const byField = (app: Pick<AppRow, 'id'>, body: object) => post(app, 'aggregate/field', body);
const getNames = (app: Pick<AppRow, 'id'>, search = '') =>
  world.call('GET', `/api/apps/${app.id}/analytics/event-names${search}`, { as: token });
const idsOf = (got: { body: { items: { event_id: string }[] } }) => got.body.items.map(({ event_id }) => event_id);
const faultsOf = async (path: string, body: object) => {
  const got = await post(busy, path, body);
  expect(got.status, got.text).toBe(422);
  return got.body.detail.map(({ loc, type }: { loc: string[]; type: string }) => [loc.slice(1).join('/'), type]);
};

// ---- random events and filters

const texts = ['a', 'A', 'ab', 'B', '', 'é', 'É', '1', "' or true --", '%', '_', '\\', 'ＡＢ', '😀', '{"a":1}', 'true'];
const numbers = [0, 1, 2, -3.5, 0.1, 1e21, -1e-7, 9007199254740991];
const scalar: fc.Arbitrary<Scalar> = fc.oneof(
  fc.constantFrom(...texts),
  fc.constantFrom(...numbers),
  fc.constantFrom(true, false, null),
);
const keys = ['price', 'a.b', "x' || '", '__proto__', 'Größe'];
const users = ['u1', 'u2', 'U1', '😀', null];
const start = ago(3 * day);
/** Times at the edges of buckets, some of them equal. */
const time = fc
  .tuple(fc.integer({ min: 0, max: 69 }), fc.constantFrom(-1, 0, 1, 1800_000))
  .map(([hours, ms]) => new Date(Math.floor(start.getTime() / hour) * hour + (hours + 1) * hour + ms));
const nullable = <T>(...values: T[]) => fc.constantFrom<T | null>(...values, null);
const randomEvent: fc.Arbitrary<ModelEvent> = fc.record({
  event_id: fc.uuid({ version: 4 }),
  event_name: fc.constantFrom('order', 'order', 'order', 'view', 'Ünï'),
  at: time,
  user_id: fc.constantFrom(...users),
  session_id: nullable('s1', 's2'),
  page_url: nullable('https://shop.example.com/Cart', 'https://shop.example.com/'),
  properties: fc.dictionary(fc.constantFrom(...keys), scalar, { maxKeys: 5 }),
  country: nullable('DE', 'AT'),
  device_type: nullable('mobile'),
  os: nullable('iOS', 'Android'),
});

const events = fc.sample(fc.uniqueArray(randomEvent, { minLength: 250, maxLength: 250, selector: (e) => e.event_id }), {
  numRuns: 1,
  seed: 4711,
})[0] as ModelEvent[];
const busy = await appWith(events);
const orders = events.filter(({ event_name }) => event_name === 'order');
/** Another app's events, which must never appear in the first app's results. */
const other = await appWith(events.map((event) => ({ ...event, event_id: randomUUID() })));

const textFields = ['user_id', 'session_id', 'page_url', 'metadata.country', 'metadata.device_type', 'metadata.os'];
const propertyFields = keys.map((key) => `properties.${key}`);
const textValue = fc.constantFrom(
  'u1',
  'U1',
  's1',
  'cart',
  'DE',
  'mobile',
  'iOS',
  'https://shop.example.com/',
  ...texts,
);
const testOf = (value: fc.Arbitrary<unknown>, ordered: fc.Arbitrary<unknown>): fc.Arbitrary<Query> =>
  fc.oneof(
    ...['eq', 'ne'].map((op) => fc.record({ [op]: fc.oneof(value, fc.constant(null)) })),
    ...['in', 'nin'].map((op) =>
      fc.record({ [op]: fc.array(fc.oneof(value, fc.constant(null)), { minLength: 1, maxLength: 12 }) }),
    ),
    ...['gt', 'gte', 'lt', 'lte'].map((op) => fc.record({ [op]: ordered })),
  );
const contains = fc.record({ contains: fc.constantFrom('a', 'É', 'CART', '😀', '%', '_', '\\', '', 'ａ') });
const oneField = (name: string, test: fc.Arbitrary<Query>) => test.map((inner): Query => ({ [name]: inner }));
const isoTime = time.map((each) => each.toISOString());
const leaf: fc.Arbitrary<Query> = fc.oneof(
  ...textFields.map((name) => oneField(name, fc.oneof(testOf(textValue, textValue), contains))),
  ...propertyFields.map((name) =>
    oneField(name, fc.oneof(testOf(scalar, fc.constantFrom(...texts, ...numbers)), contains)),
  ),
  oneField('timestamp', testOf(isoTime, isoTime)),
  oneField(
    'event_id',
    testOf(fc.constantFrom(...orders.slice(0, 5).map(({ event_id }) => event_id), 'no uuid'), textValue),
  ),
);
const filter: fc.Arbitrary<Query> = fc.letrec<{ node: Query }>((tie) => ({
  node: fc.oneof(
    { depthSize: 'small', maxDepth: 3 },
    { weight: 3, arbitrary: leaf },
    { weight: 1, arbitrary: fc.array(tie('node'), { minLength: 1, maxLength: 3 }).map((and) => ({ and })) },
    { weight: 1, arbitrary: fc.array(tie('node'), { minLength: 1, maxLength: 3 }).map((or) => ({ or })) },
    { weight: 1, arbitrary: tie('node').map((not) => ({ not })) },
  ),
})).node;

const newestFirst = (list: readonly ModelEvent[]) =>
  list.toSorted((a, b) => b.at.getTime() - a.at.getTime() || (a.event_id < b.event_id ? 1 : -1));
const close = (a: number | null, b: number | null) =>
  a === b || (a !== null && b !== null && Math.abs(a - b) <= 1e-9 * Math.max(1, Math.abs(a), Math.abs(b)));

afterEach(() => world.resetRateLimits());

describe('a filter', () => {
  it('matches the same events as the model, whatever it combines', async () => {
    await fc.assert(
      fc.asyncProperty(filter, async (q) => {
        const got = await query(busy, { q, limit: 1000 });
        expect(got.status, got.text).toBe(200);
        expect(idsOf(got)).toEqual(newestFirst(orders.filter((event) => matches(event, q))).map((e) => e.event_id));
      }),
      { numRuns: 100 },
    );
  });

  it('tells values of different types apart, and null from nothing else than missing', async () => {
    const one = newEvent({ properties: { v: 1 } });
    const text = newEvent({ properties: { v: '1' } });
    const yes = newEvent({ properties: { v: true } });
    const none = newEvent({ properties: { v: null } });
    const missing = newEvent();
    const app = await appWith([one, text, yes, none, missing]);
    const ids = async (test: object) => idsOf(await query(app, { q: { 'properties.v': test } })).toSorted();
    const sorted = (...list: ModelEvent[]) => list.map(({ event_id }) => event_id).toSorted();
    expect(await ids({ eq: 1 })).toEqual(sorted(one));
    expect(await ids({ eq: '1' })).toEqual(sorted(text));
    expect(await ids({ eq: true })).toEqual(sorted(yes));
    expect(await ids({ eq: null })).toEqual(sorted(none, missing));
    expect(await ids({ ne: null })).toEqual(sorted(one, text, yes));
    expect(await ids({ ne: 1 })).toEqual(sorted(text, yes, none, missing));
    expect(await ids({ gte: 0 })).toEqual(sorted(one));
    expect(await ids({ gte: '0' })).toEqual(sorted(text));
    expect(await ids({ nin: [1, null] })).toEqual(sorted(text, yes));
    expect(await ids({ contains: '1' })).toEqual(sorted(text));
  });

  it('finds an event by its id in any case', async () => {
    const event = newEvent({ event_id: 'aaaaaaaa-bbbb-4ccc-8ddd-eeeeeeeeeeee' });
    const app = await appWith([event, newEvent()]);
    expect(idsOf(await query(app, { q: { event_id: { eq: event.event_id.toUpperCase() } } }))).toEqual([
      event.event_id,
    ]);
  });

  it('is refused at the path of each fault, together with other faults of the body', async () => {
    const body = { q: { or: [{ user: { eq: 1 } }, { user_id: { like: 'x' } }] }, limit: 0 };
    expect(await faultsOf('events/query', { event_name: 'order', ...body })).toEqual([
      ['q/or/0/user', 'unknown_field'],
      ['q/or/1/user_id/like', 'unsupported_operator'],
      ['limit', 'greater_than_equal'],
    ]);
    expect(await faultsOf('events/query', { event_name: 'order', q: 'x' })).toEqual([['q', 'dict_type']]);
    expect(await faultsOf('aggregate/field', { metrics: [{ name: 'm', field: 'x' }], q: { x: {} } })).toEqual([
      ['metrics/0/field', 'unknown_field'],
      ['q/x', 'unknown_field'],
    ]);
  });

  it('treats SQL in keys and values as text', async () => {
    const key = "x'); drop table analytics_events; --";
    const event = newEvent({ properties: { [key]: key }, user_id: key });
    const app = await appWith([event, newEvent()]);
    const q = { [`properties.${key}`]: { eq: key, contains: 'DROP', gt: "'" }, user_id: { in: [key, "'"] } };
    expect(idsOf(await query(app, { q }))).toEqual([event.event_id]);
    const field = `properties.${key}`;
    const got = await byField(app, { metrics: [{ name: key, field }] });
    expect(got.body.groups[0]).toEqual({ metric: key, value: key, count: 1 });
    const metrics = [{ name: key, function: 'count_unique', field }];
    expect((await overTime(app, { metrics })).body.total).toEqual({ [key]: 1 });
  });
});

describe('queryEvents', () => {
  it('returns the whole event', async () => {
    const event = newEvent({
      properties: { n: 1.5, s: 'x', b: false, z: null },
      user_id: 'u',
      country: 'DE',
      os: 'iOS',
    });
    const got = await query(await appWith([event]), {});
    expect(got.body).toEqual({
      items: [
        {
          event_id: event.event_id,
          event_name: 'order',
          timestamp: event.at.toISOString(),
          user_id: 'u',
          session_id: null,
          page_url: null,
          properties: event.properties,
          metadata: { country: 'DE', device_type: null, os: 'iOS' },
        },
      ],
      next_cursor: null,
      has_more: false,
    });
  });

  it('pages through events of the same time without losing or repeating one', async () => {
    const at = ago(hour);
    const list = Array.from({ length: 23 }, () => newEvent({ at }));
    const app = await appWith([...list, newEvent({ at: ago(2 * hour) }), newEvent({ event_name: 'other', at })]);
    const seen: string[] = [];
    let cursor: string | undefined;
    do {
      const got = await query(app, { limit: 5, ...(cursor && { cursor }) });
      seen.push(...idsOf(got));
      cursor = got.body.next_cursor ?? undefined;
    } while (cursor !== undefined);
    expect(seen).toHaveLength(24);
    expect(new Set(seen).size).toBe(24);
    expect(seen.slice(0, 23)).toEqual(newestFirst(list).map(({ event_id }) => event_id));
  });

  it('keeps to the times of the first page', async () => {
    const app = await appWith([newEvent({ at: ago(hour) }), newEvent({ at: ago(7 * day - 60_000) })]);
    const first = await query(app, { limit: 1 });
    world.clock.aheadMs = 2 * 60_000;
    const second = await query(app, { limit: 1, cursor: first.body.next_cursor });
    world.clock.aheadMs = 0;
    expect(second.body.items).toHaveLength(1);
  });

  it('continues a list of 60 days later, though its first moments are no longer kept', async () => {
    const app = await appWith([1, 2, 3].map((days) => newEvent({ at: ago(days * day) })));
    const range = { start_time: ago(60 * day).toISOString() };
    const first = await query(app, { ...range, limit: 2 });
    world.clock.aheadMs += 121_000;
    const second = await query(app, { ...range, limit: 2, cursor: first.body.next_cursor });
    world.clock.aheadMs -= 121_000;
    expect(second).toMatchObject({ status: 200, body: { items: [{}], has_more: false } });
  });

  it('refuses a cursor of another filter, app or caller, and a forged one', async () => {
    const app = await appWith([newEvent(), newEvent()]);
    const { next_cursor: cursor } = (await query(app, { limit: 1 })).body;
    const invalid = { status: 400, body: { code: 'cursor_invalid' } };
    expect(await query(app, { limit: 1, cursor, q: { user_id: { eq: 'x' } } })).toMatchObject(invalid);
    expect(await query(app, { limit: 1, cursor, event_name: 'other' })).toMatchObject(invalid);
    expect(await query(busy, { limit: 1, cursor })).toMatchObject(invalid);
    expect(await query(app, { limit: 1, cursor: `${cursor}x` })).toMatchObject(invalid);
    const another = await world.token(owner, workspace);
    const path = `/api/apps/${app.id}/analytics/events/query`;
    const body = { event_name: 'order', limit: 1, cursor };
    expect(await world.call('POST', path, { as: another, body })).toMatchObject(invalid);
  });

  it('ends a page early at 1 MiB', async () => {
    const properties = Object.fromEntries(Array.from({ length: 50 }, (_, at) => [`k${at}`, 'x'.repeat(1024)]));
    const list = Array.from({ length: 30 }, (_, at) => newEvent({ at: ago(at * 1000), properties }));
    const app = await appWith(list);
    const first = await query(app, { limit: 1000 });
    expect(first.text.length).toBeLessThan(1024 * 1024 + 10_000);
    expect(first.body).toMatchObject({ has_more: true });
    const second = await query(app, { limit: 1000, cursor: first.body.next_cursor });
    expect([...idsOf(first), ...idsOf(second)]).toEqual(list.map(({ event_id }) => event_id));
  });

  it('requires a name', async () => {
    expect(await faultsOf('events/query', {})).toEqual([['event_name', 'missing']]);
  });
});

describe('the time of a read', () => {
  it('is from its start up to, but not including, its end', async () => {
    const at = ago(hour);
    const app = await appWith([newEvent({ at }), newEvent({ at: new Date(at.getTime() + 1) })]);
    const end_time = new Date(at.getTime() + 1).toISOString();
    expect((await query(app, { start_time: at.toISOString(), end_time })).body.items).toHaveLength(1);
    expect((await query(app, { start_time: at.toISOString() })).body.items).toHaveLength(2);
  });

  it('is a week, and a month for aggregations, before its end', async () => {
    const app = await appWith([
      newEvent({ at: ago(6 * day) }),
      newEvent({ at: ago(8 * day) }),
      newEvent({ at: ago(31 * day) }),
    ]);
    const metrics = [{ name: 'n', function: 'count' }];
    expect((await query(app, {})).body.items).toHaveLength(1);
    expect((await query(app, { end_time: ago(7 * day).toISOString() })).body.items).toHaveLength(1);
    expect((await overTime(app, { metrics })).body.total).toEqual({ n: 2 });
    const early = { metrics, end_time: ago(30.5 * day).toISOString() };
    expect((await overTime(app, early)).body.total).toEqual({ n: 1 });
  });

  it('reaches back 60 days, for which events are kept', async () => {
    const app = await appWith([newEvent({ at: ago(60 * day - 60_000) }), newEvent({ at: ago(60 * day + 5_000) })]);
    // The client's clock is slightly behind.
    const got = await query(app, { start_time: ago(60 * day + 10_000).toISOString() });
    expect(got.body.items).toHaveLength(1);
    expect((await getNames(app)).body.items).toMatchObject([{ event_name: 'order', count: 1 }]);
    const start_time = ago(61 * day).toISOString();
    expect(await faultsOf('events/query', { event_name: 'x', start_time })).toEqual([['start_time', 'value_error']]);
    const end_time = ago(60 * day + 1).toISOString();
    expect(await faultsOf('events/query', { event_name: 'x', end_time })).toEqual([['end_time', 'value_error']]);
  });

  it('is not reversed, nor longer than 60 days', async () => {
    const range = { start_time: ago(hour).toISOString(), end_time: ago(hour).toISOString() };
    expect(await faultsOf('events/query', { event_name: 'x', ...range })).toEqual([['end_time', 'value_error']]);
    const end_time = new Date(now.getTime() + 70 * day).toISOString();
    const long = { event_name: 'x', start_time: ago(hour).toISOString(), end_time };
    expect(await faultsOf('events/query', long)).toEqual([['end_time', 'value_error']]);
  });
});

const functions = ['count', 'count_unique', 'sum', 'avg', 'min', 'max', 'p50', 'p90', 'p95', 'p99'];

describe('aggregateOverTime', () => {
  const fields = [...propertyFields, 'user_id', 'timestamp', 'metadata.os', 'event_id'];
  const metric = fc
    .record({ function: fc.constantFrom(...functions), field: fc.constantFrom(...fields) })
    .chain((each) => fc.constantFrom(each, each.function === 'count' ? { function: 'count' } : each));

  it('computes what the model computes, per bucket and in total', async () => {
    const request = fc.record({
      metrics: fc.array(metric, { minLength: 1, maxLength: 10 }),
      event_name: fc.option(fc.constantFrom('order', 'view'), { nil: undefined }),
      q: fc.option(filter, { nil: undefined }),
      interval: fc.constantFrom(...intervals),
    });
    await fc.assert(
      fc.asyncProperty(request, async ({ metrics, interval, ...rest }) => {
        const named = metrics.map((each, at) => ({ ...each, name: `m${at}` }));
        const sent = { ...rest, metrics: named, bucket_size_ms: interval.sizeMs, max_buckets: 1000 };
        const got = await overTime(busy, sent);
        expect(got.status, got.text).toBe(200);
        const chosen = events.filter(
          (event) => (rest.event_name ?? event.event_name) === event.event_name && matches(event, rest.q ?? {}),
        );
        const buckets = Map.groupBy(chosen, (event) => findBucketStart(event.at.getTime(), interval));
        const starts = [...buckets.keys()].toSorted((a, b) => a - b);
        expect(got.body.bucket_interval).toBe(interval.name);
        expect(got.body.buckets.map((bucket: { start: string }) => Date.parse(bucket.start))).toEqual(starts);
        for (const { name, ...each } of named) {
          const field = 'field' in each ? each.field : undefined;
          const total = compute(chosen, each.function, field);
          expect(close(got.body.total[name], total.value), `${got.text} ${total.value}`).toBe(true);
          expect(got.body.skipped[name]).toBe(total.skipped);
          for (const [at, at0] of starts.entries()) {
            const { value } = compute(buckets.get(at0) ?? [], each.function, field);
            expect(close(got.body.buckets[at].metrics[name], value), `${each.function} ${value}`).toBe(true);
          }
        }
      }),
      { numRuns: 50 },
    );
  });

  it('interpolates percentiles as percentile_cont does', async () => {
    const app = await appWith([10, 20, 30, 40].map((v) => newEvent({ properties: { v } })));
    const metrics = ['p50', 'p90', 'p95', 'p99'].map((name) => ({ name, function: name, field: 'properties.v' }));
    const { total } = (await overTime(app, { metrics })).body;
    expect(total.p50).toBe(25);
    expect(total.p90).toBeCloseTo(37, 9);
    expect(total.p95).toBeCloseTo(38.5, 9);
    expect(total.p99).toBeCloseTo(39.7, 9);
  });

  it('adds decimals exactly, and answers null for what no number of JSON can be', async () => {
    const app = await appWith([...Array(10)].map(() => newEvent({ properties: { v: 0.1, huge: 1.7e308 } })));
    const metrics = [
      { name: 'v', function: 'sum', field: 'properties.v' },
      { name: 'huge', function: 'sum', field: 'properties.huge' },
      { name: 'none', function: 'max', field: 'properties.none' },
      { name: 'nothing', function: 'sum', field: 'properties.none' },
    ];
    const got = await overTime(app, { metrics });
    expect(got.body.total).toEqual({ v: 1, huge: null, none: null, nothing: 0 });
  });

  it('raises the interval until the buckets fit', async () => {
    const app = await appWith([newEvent()]);
    const sent = { metrics: [{ name: 'n', function: 'count' }], bucket_size_ms: 1 };
    const intervalOf = async (more: object) => (await overTime(app, { ...sent, ...more })).body.bucket_interval;
    const lastDay = { start_time: ago(day).toISOString() };
    expect(await intervalOf(lastDay)).toBe('1h');
    expect(await intervalOf({ ...lastDay, max_buckets: 24 })).toBe(now.getTime() % hour === 0 ? '1h' : '2h');
    expect(await intervalOf({})).toBe('8h');
    expect(await intervalOf({ max_buckets: 1000 })).toBe('1h');
  });

  it('keeps the newest buckets if even the largest interval has too many, and says so', async () => {
    const app = await appWith([0, 20, 40, 59].map((days) => newEvent({ at: ago(days * day + 1) })));
    const sent = { metrics: [{ name: 'n', function: 'count' }], start_time: ago(60 * day).toISOString() };
    const all = await overTime(app, { ...sent, bucket_size_ms: 30 * day });
    const one = await overTime(app, { ...sent, max_buckets: 1 });
    expect(all.headers['x-truncated']).toBeUndefined();
    expect(one.headers['x-truncated']).toBe('true');
    expect(one.body).toEqual({ ...all.body, buckets: all.body.buckets.slice(-1) });
    expect(one.body.total).toEqual({ n: 4 });
  });

  it('answers with empty lists for an app without events', async () => {
    const metrics = [
      { name: 'n', function: 'count' },
      { name: '__proto__', function: 'avg', field: 'properties.v' },
    ];
    const got = await overTime(await appWith([]), { metrics });
    expect(got.text).toBe(
      '{"bucket_interval":"8h","buckets":[],"total":{"n":0,"__proto__":null},"skipped":{"n":0,"__proto__":0}}',
    );
  });

  it('refuses metrics without a field, unknown functions, repeated names and too many', async () => {
    const metrics = [
      { name: 'a', function: 'sum' },
      { name: 'b', function: 'median', field: 'user_id' },
      { name: 'c', function: 'avg', field: 'price' },
      { name: '', function: 'count' },
    ];
    expect(await faultsOf('aggregate/time', { metrics })).toEqual([
      ['metrics/0/field', 'missing'],
      ['metrics/1/function', 'enum'],
      ['metrics/2/field', 'unknown_field'],
      ['metrics/3/name', 'string_too_short'],
    ]);
    const count = { name: 'n', function: 'count' };
    expect(await faultsOf('aggregate/time', { metrics: [count, count] })).toEqual([['metrics', 'duplicate_items']]);
    const eleven = Array.from({ length: 11 }, (_, at) => ({ ...count, name: `n${at}` }));
    expect(await faultsOf('aggregate/time', { metrics: eleven })).toEqual([['metrics', 'too_long']]);
    expect(await faultsOf('aggregate/time', { metrics: [] })).toEqual([['metrics', 'too_short']]);
    expect(await faultsOf('aggregate/time', { metrics: [count], max_buckets: 1001, bucket_size_ms: 0 })).toEqual([
      ['max_buckets', 'less_than_equal'],
      ['bucket_size_ms', 'greater_than_equal'],
    ]);
  });
});

describe('a chart', () => {
  const svgOf = (app: Pick<AppRow, 'id'>, body: object) =>
    post(app, 'aggregate/time', body, { accept: 'image/svg+xml' });

  it('is the answer to a caller who accepts an image', async () => {
    const price = { field: 'properties.price' };
    const metrics = [
      { name: 'orders', function: 'count' },
      { name: 'average', function: 'avg', ...price },
    ];
    const got = await svgOf(busy, { event_name: 'order', metrics });
    expect(got.status, got.text).toBe(200);
    expect(got.headers['content-type']).toBe('image/svg+xml');
    const { body } = await overTime(busy, { event_name: 'order', metrics });
    expect(got.text).toContain(`</tspan>${body.total.orders}</text>`);
    expect(got.text).toContain(`avg of properties.price, ${body.skipped.average} not numeric`);
    expect(got.text.split('<rect class="bar"')).toHaveLength(body.buckets.length + 1);
  });

  it('of a faulty request is refused as JSON', async () => {
    const got = await svgOf(busy, { metrics: [] });
    expect(got).toMatchObject({ status: 422, body: { detail: [{ loc: ['body', 'metrics'], type: 'too_short' }] } });
  });
});

describe('aggregateByField', () => {
  const fields = [...propertyFields, ...textFields, 'timestamp', 'event_id'];

  it('groups as the model does, the largest first', async () => {
    const request = fc.record({
      field: fc.constantFrom(...fields),
      function: fc.constantFrom('count', 'count_unique', undefined),
      q: fc.option(filter, { nil: undefined }),
    });
    await fc.assert(
      fc.asyncProperty(request, async ({ q, ...metric }) => {
        const got = await byField(busy, { q, metrics: [{ ...metric, name: 'm', max_groups: 1000 }] });
        expect(got.status, got.text).toBe(200);
        const chosen = events.filter((event) => matches(event, q ?? {}));
        const groups = Map.groupBy(chosen, (event) => shownValueOf(event, metric.field));
        const countOf = (group: readonly ModelEvent[]) =>
          metric.function === 'count_unique'
            ? new Set(group.flatMap(({ user_id }) => user_id ?? [])).size
            : group.length;
        const expected = new Map([...groups].map(([value, group]) => [value, countOf(group)]));
        const shown = got.body.groups as { value: Scalar; count: number }[];
        expect(new Map(shown.map(({ value, count }) => [value, count]))).toEqual(expected);
        expect(shown.map(({ count }) => count)).toEqual(shown.map(({ count }) => count).toSorted((a, b) => b - a));
        expect(got.body.group_count).toEqual({ m: expected.size });
        expect(got.headers['x-truncated']).toBeUndefined();
      }),
      { numRuns: 40 },
    );
  });

  it('cuts the groups of each metric, counts all, and says so', async () => {
    const list = Array.from({ length: 60 }, (_, at) => newEvent({ user_id: `u${at % 55}`, country: 'DE' }));
    const app = await appWith(list);
    const metrics = [
      { name: 'users', field: 'user_id' },
      { name: 'few', field: 'user_id', max_groups: 2 },
      { name: 'countries', field: 'metadata.country', function: 'count_unique' },
    ];
    const got = await byField(app, { metrics });
    expect(got.headers['x-truncated']).toBe('true');
    expect(got.body.group_count).toEqual({ users: 55, few: 55, countries: 1 });
    const counts = Map.groupBy(got.body.groups as { metric: string }[], ({ metric }) => metric);
    expect([...counts].map(([metric, groups]) => [metric, groups.length])).toEqual([
      ['users', 50],
      ['few', 2],
      ['countries', 1],
    ]);
    expect(counts.get('few')).toEqual([
      { metric: 'few', value: 'u0', count: 2 },
      { metric: 'few', value: 'u1', count: 2 },
    ]);
    expect(counts.get('countries')).toEqual([{ metric: 'countries', value: 'DE', count: 55 }]);
  });

  it('keeps an answer with long values within bounds', async () => {
    const url = (at: number) => `https://shop.example.com/${at}/${'é'.repeat(2_000)}`;
    const app = await appWith(Array.from({ length: 400 }, (_, at) => newEvent({ page_url: url(at) })));
    const got = await byField(app, { metrics: [{ name: 'pages', field: 'page_url', max_groups: 1000 }] });
    expect(Buffer.byteLength(got.text)).toBeLessThan(1.2 * 1024 * 1024);
    expect(got.body.groups.length).toBeGreaterThan(200);
    expect(got.body.group_count).toEqual({ pages: 400 });
    expect(got.headers['x-truncated']).toBe('true');
  });

  it('refuses other functions, and too many metrics or groups', async () => {
    const metrics = [{ name: 'm', field: 'user_id', function: 'sum', max_groups: 1001 }];
    expect(await faultsOf('aggregate/field', { metrics })).toEqual([
      ['metrics/0/function', 'enum'],
      ['metrics/0/max_groups', 'less_than_equal'],
    ]);
    const six = Array.from({ length: 6 }, (_, at) => ({ name: `m${at}`, field: 'user_id' }));
    expect(await faultsOf('aggregate/field', { metrics: six })).toEqual([['metrics', 'too_long']]);
  });
});

describe('listEventNames', () => {
  it('lists names with their counts, the most frequent first, in pages', async () => {
    const names = ['b', 'b', 'b', 'a', 'a', 'c', 'c', 'Ünï', "'"];
    const app = await appWith(names.map((event_name, at) => newEvent({ event_name, at: ago(at * hour) })));
    const all = await getNames(app);
    expect(all.body.items).toEqual([
      { event_name: 'b', count: 3, last_seen: ago(0).toISOString() },
      { event_name: 'a', count: 2, last_seen: ago(3 * hour).toISOString() },
      { event_name: 'c', count: 2, last_seen: ago(5 * hour).toISOString() },
      { event_name: "'", count: 1, last_seen: ago(8 * hour).toISOString() },
      { event_name: 'Ünï', count: 1, last_seen: ago(7 * hour).toISOString() },
    ]);
    const seen: unknown[] = [];
    let cursor = '';
    do {
      const { body } = await getNames(app, `?limit=2${cursor}`);
      seen.push(...body.items);
      cursor = body.next_cursor && `&cursor=${body.next_cursor}`;
    } while (cursor);
    expect(seen).toEqual(all.body.items);
    expect(await getNames(busy, `?cursor=${(await getNames(app, '?limit=1')).body.next_cursor}`)).toMatchObject({
      status: 400,
      body: { code: 'cursor_invalid' },
    });
  });
});

describe('isolation', () => {
  it('never shows events of another app', async () => {
    const ids = new Set(events.map(({ event_id }) => event_id));
    const got = await query(other, { limit: 1000 });
    expect(got.body.items).toHaveLength(orders.length);
    expect(idsOf(got).some((id) => ids.has(id))).toBe(false);
    const metrics = [{ name: 'n', function: 'count' }];
    expect((await overTime(busy, { metrics })).body.total).toEqual({ n: events.length });
    const stranger = await world.person('stranger@example.com');
    const outside = await world.token(stranger, await world.workspace(stranger));
    for (const path of ['events/query', 'aggregate/time', 'aggregate/field'])
      expect(
        await world.call('POST', `/api/apps/${busy.id}/analytics/${path}`, { as: outside, body: {} }),
      ).toMatchObject({ status: 404, body: { code: 'app_not_found' } });
  });

  it('lets viewers and read-only tokens read', async () => {
    const viewer = await world.member(workspace, 'viewer', 'viewer@example.com');
    const as = await world.token(viewer, workspace, { permission: 'read_only' });
    const body = { event_name: 'order' };
    expect(await world.call('POST', `/api/apps/${busy.id}/analytics/events/query`, { as, body })).toMatchObject({
      status: 200,
    });
  });
});

describe('the time limit of reads', () => {
  it('answers 503 after five seconds, and says what to do', async () => {
    const app = await appWith([newEvent(), newEvent()]);
    await sql`alter table analytics_events rename to analytics_events_kept`.execute(world.db);
    await sql`create view analytics_events as
      select r.* from analytics_events_kept r, lateral (select pg_sleep(4), r.event_id) slow`.execute(world.db);
    await sql`grant select on analytics_events to plinth_test`.execute(world.db);
    const got = await query(app, {});
    const names = await getNames(app);
    await sql`drop view analytics_events`.execute(world.db);
    await sql`alter table analytics_events_kept rename to analytics_events`.execute(world.db);
    expect(got).toMatchObject({ status: 503, body: { code: 'service_unavailable', retry_safe: true } });
    expect(got.body.detail).toMatch(/^The query took longer than 5 seconds/);
    expect(names).toMatchObject({ status: 503, body: { code: 'service_unavailable' } });
    expect(names.body.detail).toMatch(/^Counting events by name took longer/);
  });
});
