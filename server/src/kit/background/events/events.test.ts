// Events: told by the transaction that caused them, heard once, in order, whatever one listener does.
import { sql } from 'kysely';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { cloneTemplate } from '../../../../test/support/template.ts';
import { type AnyDb, openDatabase, transaction } from '../../db/database.ts';
import type { Event, Listener } from './dispatch.ts';
import { createListeners, eventBus, removeDispatchedEvents } from './event-bus.ts';

interface Told {
  'thing.made': { n: number };
  'thing.gone': { n: number };
}

const cloned = await cloneTemplate();
const { db, close } = openDatabase<never>({ url: cloned.url, poolSize: 8 });
await sql`create table heard (n integer not null, name text not null)`.execute(db);
afterAll(async () => {
  await close();
  await cloned.drop();
});
beforeEach(async () => {
  await sql`truncate events, heard`.execute(db);
  await sql`update event_dispatch_state set in_progress = false, crash_count = 0, event_id = null`.execute(db);
});

const { listenInTransaction, listenAfterCommit } = createListeners<Told, AnyDb>();
const failures: string[] = [];
const woken: string[] = [];
function busOf(...listeners: Listener<AnyDb>[]) {
  const bus = eventBus<Told, AnyDb>({ notify: (topic) => woken.push(topic) }, (event, error) =>
    failures.push(`${event.name} ${(error as Error).message}`),
  );
  bus.listen(listeners);
  return bus;
}
const note = async (db: AnyDb, events: readonly Event<{ n: number }>[]) => {
  for (const event of events) await sql`insert into heard values (${event.payload.n}, ${event.name})`.execute(db);
};
const noted = async () => (await sql<{ n: number }>`select n from heard`.execute(db)).rows.map((row) => row.n);
const now = () => new Date();

describe('publish', () => {
  it('is part of the transaction: commit and it will be heard, rollback and it never happened', async () => {
    const bus = busOf(listenAfterCommit('thing.made', note));
    await transaction(db, async (db) => bus.publish(db, 'thing.made', { n: 1 }, now()));
    await transaction(db, async (db) => {
      await bus.publish(db, 'thing.made', { n: 2 }, now());
      throw new Error('undone');
    }).catch(() => {});
    expect(await bus.dispatch(db, now())).toBe(1);
    expect(await noted()).toEqual([1]);
    expect(await bus.dispatch(db, now())).toBe(0);
  });

  it('wakes the workers after the commit, and not after a rollback', async () => {
    const bus = busOf();
    woken.length = 0;
    await transaction(db, async (db) => {
      await bus.publish(db, 'thing.made', { n: 1 }, now());
      expect(woken).toEqual([]);
    });
    expect(woken).toEqual(['events']);
    await transaction(db, async (db) => {
      await bus.publish(db, 'thing.made', { n: 2 }, now());
      throw new Error('undone');
    }).catch(() => {});
    expect(woken).toEqual(['events']);
  });

  it('runs listeners in the transaction at once; when one of them fails, nothing has happened', async () => {
    const bus = busOf(
      listenInTransaction('thing.gone', async (db, { n }) => {
        await sql`insert into heard values (${n}, 'inside')`.execute(db);
        if (n === 13) throw new Error('not thirteen');
      }),
    );
    await transaction(db, async (db) => bus.publish(db, 'thing.gone', { n: 1 }, now()));
    expect(await noted()).toEqual([1]);
    const refused = transaction(db, async (db) => bus.publish(db, 'thing.gone', { n: 13 }, now()));
    await expect(refused).rejects.toThrow('not thirteen');
    expect(await noted()).toEqual([1]);
  });
});

describe('dispatch', () => {
  const tell = (bus: ReturnType<typeof busOf>, count: number) =>
    transaction(db, async (db) => {
      for (let n = 1; n <= count; n += 1) await bus.publish(db, 'thing.made', { n }, now());
    });

  it('calls a listener once for a batch, in the order of the log, with its own events only', async () => {
    const batches: number[] = [];
    const bus = busOf(
      listenAfterCommit('thing.made', async (db, events) => {
        batches.push(events.length);
        await note(db, events);
      }),
      listenAfterCommit('thing.gone', () => Promise.reject(new Error('none was told'))),
    );
    await tell(bus, 50);
    expect(await bus.dispatch(db, now())).toBe(50);
    expect(batches).toEqual([50]);
    expect(await noted()).toEqual(Array.from({ length: 50 }, (_, index) => index + 1));
  });

  it('hears each event once, in order, however many dispatch at the same time', async () => {
    const bus = busOf(listenAfterCommit('thing.made', note));
    await tell(bus, 2_500);
    const worker = async () => {
      for (let idle = 0; idle < 5; ) {
        if ((await bus.dispatch(db, now())) === 0) {
          idle += 1;
          await new Promise((resolve) => setTimeout(resolve, 5));
        }
      }
    };
    await Promise.all([worker(), worker(), worker(), worker()]);
    while ((await bus.dispatch(db, now())) > 0);
    expect(await noted()).toEqual(Array.from({ length: 2_500 }, (_, index) => index + 1));
  });

  it('sets an event aside that cannot be heard, with its reason, and lets its neighbours through', async () => {
    let healed = false;
    const bus = busOf(
      listenAfterCommit('thing.made', async (db, events) => {
        if (!healed && events.some((event) => event.payload.n === 3)) throw new Error('three is poison');
        await note(db, events);
      }),
    );
    await tell(bus, 5);
    expect(await bus.dispatch(db, now())).toBe(4);
    expect(await noted()).toEqual([1, 2, 4, 5]);
    expect(failures).toContain('thing.made three is poison');
    const waiting = () => sql`select failures, failure from events where dispatched_at is null`.execute(db);
    expect((await waiting()).rows).toEqual([{ failures: 1, failure: 'three is poison' }]);
    expect(await bus.dispatch(db, now())).toBe(0); // not before its time
    healed = true;
    await sql`update events set retry_at = now() where dispatched_at is null`.execute(db);
    expect(await bus.dispatch(db, now())).toBe(1);
    expect((await noted()).sort()).toEqual([1, 2, 3, 4, 5]);
  });
});

it('a reason that cannot be stored holds nobody up', async () => {
  const bus = busOf(
    listenAfterCommit('thing.made', async (db, events) => {
      if (events.some((event) => event.payload.n === 2)) throw new Error('a \0 byte');
      await note(db, events);
    }),
  );
  for (let n = 1; n <= 4; n += 1) await bus.publish(db, 'thing.made', { n }, now());
  expect(await bus.dispatch(db, now())).toBe(3);
  expect(await noted()).toEqual([1, 3, 4]);
});

it('one listener of several names hears them in the order of the log', async () => {
  const heard: string[] = [];
  const bus = busOf(
    listenAfterCommit(['thing.gone', 'thing.made'], async (_db, events) => {
      heard.push(...events.map((event) => `${event.name} ${event.payload.n}`));
    }),
  );
  await bus.publish(db, 'thing.made', { n: 1 }, now());
  await bus.publish(db, 'thing.gone', { n: 1 }, now());
  await bus.publish(db, 'thing.made', { n: 2 }, now());
  await bus.dispatch(db, now());
  expect(heard).toEqual(['thing.made 1', 'thing.gone 1', 'thing.made 2']);
});

it('an event that ends the process which hears it is found, and set aside with its reason', async () => {
  const died = new Error('the process is gone');
  Object.assign(died, { code: '57P01' }); // as a lost connection: nothing was decided, nothing is set aside
  const bus = busOf(
    listenAfterCommit('thing.made', async (db, events) => {
      if (events.some((event) => event.payload.n === 2)) throw died;
      await note(db, events);
    }),
  );
  for (let n = 1; n <= 3; n += 1) await bus.publish(db, 'thing.made', { n }, now());
  for (let death = 0; death < 12; death += 1) await bus.dispatch(db, now()).catch(() => {});
  expect(await noted()).toEqual([1, 3]);
  const { rows } = await sql`select failure from events where dispatched_at is null`.execute(db);
  expect(rows).toEqual([{ failure: 'the process that heard it ended, again and again' }]);
});

it('events that were heard are forgotten after a week, others never', async () => {
  const bus = busOf();
  await bus.publish(db, 'thing.made', { n: 1 }, now());
  await bus.dispatch(db, now());
  await bus.publish(db, 'thing.made', { n: 2 }, now());
  expect(await removeDispatchedEvents(db, new Date(Date.now() + 6 * 86_400_000))).toBe(0);
  expect(await removeDispatchedEvents(db, new Date(Date.now() + 8 * 86_400_000))).toBe(1);
  expect((await sql`select 1 from events`.execute(db)).rows).toHaveLength(1);
});
