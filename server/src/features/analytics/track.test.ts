// Tests trackEvents (docs/api/analytics.md#send-events).
import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { startSecondApp, startWorld } from '../../../test/support/world.ts';
import type { AppRow } from '../../core/auth/proofs.ts';

const world = await startWorld();
const owner = await world.person('owner@example.com');
const workspace = await world.workspace(owner);
await world.db.updateTable('workspaces').set({ rate_multiplier: 1000 }).where('id', '=', workspace).execute();
const token = await world.token(owner, workspace);
const app = await world.appOf(owner, workspace, { public_settings: 'public_without_login' });
const user = await world.appUser(app, 'ann@example.com');
const ann = await world.appUserToken(app, user);

const minute = 60_000;
const day = 24 * 60 * minute;
const ago = (ms: number) => new Date(world.clock.now().getTime() - ms).toISOString();
const track = (
  events: readonly unknown[],
  { as = token, to = app, headers = {} }: { as?: string | null; to?: AppRow; headers?: Record<string, string> } = {},
) =>
  world.call('POST', `/api/apps/${to.id}/analytics/track/batch`, {
    ...(as !== null && { as }),
    body: { events },
    headers,
  });
const listStored = (event_name: string) =>
  world.db.selectFrom('analytics_events').selectAll().where('event_name', '=', event_name).orderBy('at').execute();
const findUser = (user_id: string) =>
  world.db.selectFrom('analytics_users').selectAll().where('user_id', '=', user_id).executeTakeFirst();
/** A name that no other test uses. */
const newName = () => `event ${randomUUID()}`;

describe('trackEvents', () => {
  it('stores an event with everything that was said about it', async () => {
    const event_name = newName();
    const event_id = randomUUID();
    const timestamp = ago(90 * minute);
    const properties = { title: 'a\tb\\c\n\r"d" ✓', total: 12.5, paid: true, note: null, '': undefined };
    const event = { event_name, event_id: event_id.toUpperCase(), timestamp, user_id: 'customer 1', session_id: 's 1' };
    const page_url = 'https://shop.example/orders?token=secret#/a?b=c';
    const got = await track([{ ...event, page_url, properties }], {
      headers: { 'user-agent': 'Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) Mobile/15E148' },
    });
    expect(got).toMatchObject({ status: 200, body: { accepted: 1, duplicates: 0, rejected: [] } });
    expect(await listStored(event_name)).toEqual([
      {
        app_id: app.id,
        event_id,
        at: new Date(timestamp),
        event_name,
        user_id: 'customer 1',
        session_id: 's 1',
        page_url: 'https://shop.example/orders#/a',
        properties: { title: 'a\tb\\c\n\r"d" ✓', total: 12.5, paid: true, note: null },
        country: null,
        device_type: 'mobile',
        os: 'iOS',
      },
    ]);
  });

  it('needs a name only: the time is that of the arrival, and an id is made', async () => {
    const event_name = newName();
    const before = world.clock.now();
    expect((await track([{ event_name, user_id: null, properties: null }])).body.accepted).toBe(1);
    const [stored] = await listStored(event_name);
    expect(stored).toMatchObject({ user_id: null, session_id: null, page_url: null, properties: {}, os: null });
    expect(stored?.event_id).toMatch(/^[0-9a-f-]{36}$/);
    expect(stored?.at.getTime()).toBeGreaterThanOrEqual(before.getTime());
  });

  it('rejects an event with a fault alone, and says why', async () => {
    const event_name = newName();
    const fine = { event_name };
    const faults: [unknown, string][] = [
      ['text', 'bad_event'],
      [null, 'bad_event'],
      [[fine], 'bad_event'],
      [{}, 'bad_event_name'],
      [{ event_name: '' }, 'bad_event_name'],
      [{ event_name: 'x'.repeat(129) }, 'bad_event_name'],
      [{ event_name: 'a\0b' }, 'bad_event_name'],
      [{ event_name: 7 }, 'bad_event_name'],
      [{ ...fine, event_id: 'no' }, 'bad_event_id'],
      [{ ...fine, properties: [] }, 'bad_property'],
      [{ ...fine, properties: { nested: {} } }, 'bad_property'],
      [{ ...fine, properties: { list: [1] } }, 'bad_property'],
      [{ ...fine, properties: { long: 'x'.repeat(1_025) } }, 'bad_property'],
      [{ ...fine, properties: { ['k'.repeat(65)]: 1 } }, 'bad_property'],
      [{ ...fine, properties: { '': 1 } }, 'bad_property'],
      [{ ...fine, properties: { nul: '\0' } }, 'bad_property'],
      [{ ...fine, properties: Object.fromEntries(Array.from({ length: 51 }, (_, n) => [`k${n}`, n])) }, 'bad_property'],
      [{ ...fine, timestamp: 'yesterday' }, 'bad_timestamp'],
      [{ ...fine, timestamp: 1 }, 'bad_timestamp'],
      [{ ...fine, timestamp: ago(-6 * minute) }, 'in_future'],
      [{ ...fine, timestamp: ago(60 * day + minute) }, 'too_old'],
      [{ ...fine, page_url: 'x'.repeat(2_049) }, 'bad_page_url'],
      [{ ...fine, page_url: 1 }, 'bad_page_url'],
      [{ ...fine, session_id: 'x'.repeat(129) }, 'bad_session_id'],
      [{ ...fine, user_id: '' }, 'bad_user_id'],
      [{ ...fine, user_id: 'x'.repeat(129) }, 'bad_user_id'],
    ];
    const got = await track([fine, ...faults.map(([event]) => event), fine]);
    expect(got).toMatchObject({ status: 200, body: { accepted: 2, duplicates: 0 } });
    expect(got.body.rejected).toEqual(faults.map(([, reason], n) => ({ index: n + 1, reason })));
    expect(await listStored(event_name)).toHaveLength(2);
  });

  it('accepts what is just within the bounds', async () => {
    const event_name = newName().padEnd(128, '✓');
    const properties = Object.fromEntries(
      Array.from({ length: 50 }, (_, n) => [`${n}`.padEnd(64, 'k'), '😀'.repeat(1_024)]),
    );
    const events = [
      { event_name, timestamp: ago(-5 * minute + 1_000) },
      { event_name, timestamp: ago(60 * day - minute) },
      { event_name, page_url: 'x'.repeat(2_048), session_id: '😀'.repeat(128), user_id: 'x'.repeat(128) },
    ];
    expect((await track(events)).body).toEqual({ accepted: 3, duplicates: 0, rejected: [] });
    expect((await track([{ event_name, properties }])).body).toEqual({ accepted: 1, duplicates: 0, rejected: [] });
    expect(await listStored(event_name)).toHaveLength(4);
  });

  it('answers 200 if every event is rejected, and 422 for a list that is none, empty or too long', async () => {
    expect(await track([1, {}])).toMatchObject({ status: 200, body: { accepted: 0, rejected: [{}, {}] } });
    const send = (body: unknown) =>
      world.call('POST', `/api/apps/${app.id}/analytics/track/batch`, { as: token, body });
    expect((await send({})).body.detail).toMatchObject([{ loc: ['body', 'events'], type: 'missing' }]);
    expect((await send({ events: [] })).body.detail).toMatchObject([{ type: 'too_short' }]);
    expect((await send({ events: Array(501).fill({}) })).body.detail).toMatchObject([{ type: 'too_long' }]);
  });

  it('refuses a body of more than 256 KiB', async () => {
    const got = await track([{ event_name: 'x', extra: 'x'.repeat(256 * 1024) }]);
    expect(got).toMatchObject({ status: 413, body: { code: 'payload_too_large', limit_bytes: 256 * 1024 } });
  });

  it('names fields that have no effect', async () => {
    const got = await track([{ event_name: 'x' }, { event_name: 'x', metadata: { country: 'AT' }, colour: 'red' }]);
    expect(got.headers['x-ignored-fields']).toBe('events.1.metadata,events.1.colour');
  });
});

describe('a repeated event', () => {
  it('is a duplicate, in the same request, in a later one, and with another time and day', async () => {
    const event_name = newName();
    const event_id = randomUUID();
    const first = { event_name, event_id, user_id: 'repeater', timestamp: ago(3 * day) };
    expect((await track([first, first])).body).toEqual({ accepted: 1, duplicates: 1, rejected: [] });
    expect((await track([{ ...first, timestamp: ago(0) }])).body).toEqual({ accepted: 0, duplicates: 1, rejected: [] });
    expect(await listStored(event_name)).toHaveLength(1);
    expect((await findUser('repeater'))?.last_event_at).toEqual(new Date(first.timestamp));
  });

  it('is counted by a metric if a transaction failed because of it', async () => {
    const readMetric = async () =>
      Number(/^plinth_analytics_retried_total (\d+)$/m.exec(await world.app.metrics.render())?.[1]);
    const quiet = await world.appOf(owner, workspace);
    const events = [{ event_name: newName(), event_id: randomUUID() }];
    const before = await readMetric();
    for (const duplicates of [0, 1, 1]) expect((await track(events, { to: quiet })).body.duplicates).toBe(duplicates);
    expect(await readMetric()).toBe(before + 1); // the third time, the id is looked up
  });

  it('is not a duplicate in another app', async () => {
    const other = await world.appOf(owner, workspace);
    const event = { event_name: newName(), event_id: randomUUID() };
    expect((await track([event])).body.accepted).toBe(1);
    expect((await track([event], { to: other })).body.accepted).toBe(1);
  });

  it('is stored once if many requests send it at the same time, to two processes', async () => {
    const second = await startSecondApp(world);
    const event_name = newName();
    const ids = Array.from({ length: 40 }, () => randomUUID());
    const send = (url: typeof world, from: number) => {
      const events = [...ids.slice(from), ...ids.slice(0, from)].map((event_id) => ({
        event_name,
        event_id,
        user_id: event_id.slice(0, 1),
      }));
      return url.call('POST', `/api/apps/${app.id}/analytics/track/batch`, { as: token, body: { events } });
    };
    const answers = await Promise.all(Array.from({ length: 20 }, (_, n) => send(n % 2 ? second : world, 2 * n)));
    expect(answers.map((answer) => answer.status)).toEqual(answers.map(() => 200));
    expect(answers.reduce((sum, { body }) => sum + body.accepted, 0)).toBe(40);
    expect(answers.reduce((sum, { body }) => sum + body.duplicates, 0)).toBe(19 * 40);
    expect(await listStored(event_name)).toHaveLength(40);
  });
});

describe('the user of an event', () => {
  it('is always the app user who sends it', async () => {
    const event_name = newName();
    const events = [{ event_name }, { event_name, user_id: user.id }, { event_name, user_id: 'another' }];
    const got = await track([...events, { event_name, user_id: 7 }], { as: ann });
    expect(got.body).toEqual({
      accepted: 2,
      duplicates: 0,
      rejected: [
        { index: 2, reason: 'user_mismatch' },
        { index: 3, reason: 'user_mismatch' },
      ],
    });
    expect((await listStored(event_name)).map((event) => event.user_id)).toEqual([user.id, user.id]);
  });

  it('is nobody if the caller is anonymous, whatever they say', async () => {
    const event_name = newName();
    const got = await track([{ event_name, user_id: 'me' }, { event_name }], { as: null });
    expect(got).toMatchObject({ status: 200, body: { accepted: 2 } });
    expect(got.headers['x-ignored-fields']).toBe('events.0.user_id');
    expect((await listStored(event_name)).map((event) => event.user_id)).toEqual([null, null]);
    const closed = await world.appOf(owner, workspace);
    expect((await track([{ event_name }], { as: null, to: closed })).status).toBe(401);
  });

  it('can send from the pages of the app', async () => {
    const origin = 'https://shop.example';
    await world.db
      .updateTable('apps')
      .set({ public_origins: [origin] })
      .where('id', '=', app.id)
      .execute();
    const got = await track([{ event_name: 'x' }], { as: ann, headers: { origin } });
    expect(got).toMatchObject({ status: 200, headers: { 'access-control-allow-origin': origin } });
  });

  it('moves forward only', async () => {
    const event = (ms: number) => ({ event_name: 'x', user_id: 'mover', timestamp: ago(ms) });
    await track([event(5 * day), event(2 * day), event(3 * day)]);
    const seen = await findUser('mover');
    await track([event(4 * day)]);
    expect(await findUser('mover')).toEqual(seen);
    await track([event(1 * day)]);
    expect((await findUser('mover'))?.last_event_at?.getTime()).toBeGreaterThan(seen?.last_event_at?.getTime() ?? 0);
  });
});

describe('a heartbeat', () => {
  const heartbeat = '__user_heartbeat_event__';

  it('says when the user was last there, and is not stored', async () => {
    const got = await track([
      { event_name: heartbeat, user_id: 'there', event_id: randomUUID(), timestamp: ago(minute) },
    ]);
    expect(got.body).toEqual({ accepted: 1, duplicates: 0, rejected: [] });
    const seen = await findUser('there');
    expect(seen).toMatchObject({ last_event_at: null, event_second: null });
    expect(await listStored(heartbeat)).toEqual([]);
    await track([{ event_name: heartbeat, user_id: 'there', timestamp: ago(2 * minute) }]);
    expect(await findUser('there')).toEqual(seen);
  });

  it('of a device whose clock is fast counts as of now', async () => {
    await track([{ event_name: heartbeat, user_id: 'fast', timestamp: ago(-4 * minute) }]);
    const seen = await findUser('fast');
    expect(seen?.last_heartbeat_at?.getTime()).toBeLessThanOrEqual(world.clock.now().getTime());
  });

  it('of an anonymous caller is accepted and changes nothing', async () => {
    const count = () =>
      world.db
        .selectFrom('analytics_users')
        .select((e) => e.fn.countAll().as('n'))
        .execute();
    const before = await count();
    expect((await track([{ event_name: heartbeat }], { as: null })).body.accepted).toBe(1);
    expect(await count()).toEqual(before);
  });

  it('is not one of the other reserved names, which are ordinary events', async () => {
    for (const event_name of ['__initialization_event__', '__session_duration_event__']) {
      await track([{ event_name, properties: { seconds: 7 } }]);
      expect(await listStored(event_name)).toHaveLength(1);
    }
  });
});

describe('the country of an event', () => {
  it('is what a trusted proxy says, and nothing else', async () => {
    const environment = { COUNTRY_HEADER: 'CF-IPCountry', TRUSTED_PROXIES: 'loopback' };
    const behindProxy = await startSecondApp(world, { environment });
    const direct = await startSecondApp(world, { environment: { ...environment, TRUSTED_PROXIES: '' } });
    const countryAt = async (from: typeof world, country: string) => {
      const event_name = newName();
      await from.call('POST', `/api/apps/${app.id}/analytics/track/batch`, {
        as: token,
        body: { events: [{ event_name }] },
        headers: { 'cf-ipcountry': country },
      });
      return (await listStored(event_name)).map((event) => event.country);
    };
    expect(await countryAt(behindProxy, 'at')).toEqual(['AT']);
    expect(await countryAt(behindProxy, 'not a country')).toEqual([null]);
    expect(await countryAt(direct, 'at')).toEqual([null]);
    expect(await countryAt(world, 'at')).toEqual([null]);
  });
});

describe('an app whose users are locked', () => {
  it('does not stop events of other apps', async () => {
    const stuck = await world.appOf(owner, workspace);
    const { promise: isDone, resolve: finish } = Promise.withResolvers<void>();
    const { promise: isLocked, resolve: locked } = Promise.withResolvers<void>();
    const lock = world.db.transaction().execute(async (db) => {
      await sql`select lock_analytics_apps(array[${stuck.id}::uuid])`.execute(db);
      locked();
      await isDone;
    });
    await isLocked;
    const event = { event_name: 'x', user_id: 'someone' };
    const waiting = [track([event], { to: stuck }), track([event], { to: stuck })];
    const others = await Promise.all(Array.from({ length: 6 }, () => track([event])));
    expect(others.map(({ status }) => status)).toEqual(others.map(() => 200));
    finish();
    await lock;
    expect((await Promise.all(waiting)).map(({ status }) => status)).toEqual([200, 200]);
  });
});
