// Tests events: they are published by the transaction that caused them and handled once, in order, even if a listener
// fails.
import { sql } from 'kysely';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { countRowsRead } from '../../../../test/support/rows-read.ts';
import { cloneTemplate } from '../../../../test/support/template.ts';
import { type AnyDb, openDatabase, transaction } from '../../db/database.ts';
import { newId } from '../../ids.ts';
import type { Event, Listener } from './dispatch.ts';
import { createListeners, eventBus, removeDispatchedEvents } from './event-bus.ts';

interface TestEvents {
  'thing.made': { n: number };
  'thing.gone': { n: number };
}

const cloned = await cloneTemplate();
const { db, close } = openDatabase<never>({ url: cloned.url, poolSize: 8 });
await cloned.runAsOwner('create table handled (n integer not null, name text not null)');
afterAll(async () => {
  await close();
  await cloned.drop();
});
beforeEach(async () => {
  await cloned.runAsOwner('truncate events, handled');
  await sql`update event_dispatch_state set event_id = null, started_after = ''`.execute(db);
  await sql`select setval('unfinished_event_batches', 0)`.execute(db);
});

const { listenInTransaction, listenAfterCommit } = createListeners<TestEvents, AnyDb>();
const failures: string[] = [];
const woken: string[] = [];
function busOf(...listeners: Listener<AnyDb>[]) {
  const bus = eventBus<TestEvents, AnyDb>({ notify: (topic) => woken.push(topic) }, (event, error) =>
    failures.push(`${event.name} ${(error as Error).message}`),
  );
  bus.listen(listeners);
  return bus;
}
const recordEvents = async (db: AnyDb, events: readonly Event<{ n: number }>[]) => {
  for (const event of events) await sql`insert into handled values (${event.payload.n}, ${event.name})`.execute(db);
};
const listHandled = async () => (await sql<{ n: number }>`select n from handled`.execute(db)).rows.map((row) => row.n);
const now = () => new Date();

describe('publish', () => {
  it('is part of the transaction: committed, the event is dispatched; rolled back, it never existed', async () => {
    const bus = busOf(listenAfterCommit('thing.made', recordEvents));
    await transaction(db, async (db) => bus.publish(db, 'thing.made', { n: 1 }, now()));
    await transaction(db, async (db) => {
      await bus.publish(db, 'thing.made', { n: 2 }, now());
      throw new Error('undone');
    }).catch(() => {});
    expect(await bus.dispatch(db, now())).toBe(1);
    expect(await listHandled()).toEqual([1]);
    expect(await bus.dispatch(db, now())).toBe(0);
  });

  it('wakes the workers after a commit, and not after a rollback', async () => {
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

  it('calls inTransaction listeners at once; when one of them throws, the transaction rolls back', async () => {
    const bus = busOf(
      listenInTransaction('thing.gone', async (db, { n }) => {
        await sql`insert into handled values (${n}, 'inside')`.execute(db);
        if (n === 13) throw new Error('not thirteen');
      }),
    );
    await transaction(db, async (db) => bus.publish(db, 'thing.gone', { n: 1 }, now()));
    expect(await listHandled()).toEqual([1]);
    const refused = transaction(db, async (db) => bus.publish(db, 'thing.gone', { n: 13 }, now()));
    await expect(refused).rejects.toThrow('not thirteen');
    expect(await listHandled()).toEqual([1]);
  });
});

describe('dispatch', () => {
  const publishMany = (bus: ReturnType<typeof busOf>, count: number) =>
    transaction(db, async (db) => {
      for (let n = 1; n <= count; n += 1) await bus.publish(db, 'thing.made', { n }, now());
    });

  it('calls a listener once for a batch, in the order of the log, with its own events only', async () => {
    const batches: number[] = [];
    const bus = busOf(
      listenAfterCommit('thing.made', async (db, events) => {
        batches.push(events.length);
        await recordEvents(db, events);
      }),
      listenAfterCommit('thing.gone', () => Promise.reject(new Error('no such event was published'))),
    );
    await publishMany(bus, 50);
    expect(await bus.dispatch(db, now())).toBe(50);
    expect(batches).toEqual([50]);
    expect(await listHandled()).toEqual(Array.from({ length: 50 }, (_, index) => index + 1));
  });

  it('handles each event once, in order, when several workers dispatch at the same time', async () => {
    const bus = busOf(listenAfterCommit('thing.made', recordEvents));
    await publishMany(bus, 2_500);
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
    expect(await listHandled()).toEqual(Array.from({ length: 2_500 }, (_, index) => index + 1));
  });

  it('takes some events of each workspace, so a long backlog of one delays nobody else', async () => {
    const handled: string[] = [];
    const bus = busOf(
      listenAfterCommit('thing.made', async (_db, events: readonly Event<{ n: number; workspace_id?: string }>[]) => {
        handled.push(...events.map(({ payload }) => `${payload.workspace_id} ${payload.n}`));
      }),
    );
    const publish = (workspace_id: string, n: number) =>
      bus.publish(db, 'thing.made', { n, workspace_id } as { n: number }, now());
    for (let n = 1; n <= 250; n += 1) await publish('busy', n);
    await publish('a quiet one', 1);
    await publish('quiet', 1);
    expect(await bus.dispatch(db, now())).toBe(52);
    expect(handled.slice(-3)).toEqual(['busy 50', 'a quiet one 1', 'quiet 1']);
    await publish('quiet', 2);
    while ((await bus.dispatch(db, now())) > 0);
    expect(handled).toHaveLength(253);
    const ofBusy = handled.filter((text) => text.startsWith('busy'));
    expect(ofBusy).toEqual(Array.from({ length: 250 }, (_, index) => `busy ${index + 1}`));
    expect(handled.indexOf('quiet 2')).toBeLessThan(handled.indexOf('busy 151')); // batch 2 has at most 100 events
  });

  it('reads what it takes, not the backlog, with statistics from when nothing was waiting', async () => {
    const bus = busOf();
    const insertEvents = (from: number, dispatched: string) =>
      cloned.runAsOwner(`insert into events (id, name, payload, occurred_at, dispatched_at)
        select lpad(to_hex(${from} + i), 32, '0')::uuid, 'thing.made', '{"workspace_id": "w1", "n": 1}', now(), ${dispatched}
        from generate_series(1, 20000) as i`);
    await insertEvents(0, 'now()');
    await cloned.runAsOwner('analyze events');
    await insertEvents(100_000, 'null');
    await transaction(db, async (db) => {
      const read = await countRowsRead(db, 'events', async () => {
        expect(await bus.dispatch(db, now())).toBe(50);
      });
      expect(read).toBeLessThan(100);
    });
  });

  it('takes fewer events at a time if they take long to handle, and more if they do not', async () => {
    const batches: number[] = [];
    let pauseMs = 60;
    const bus = busOf(
      listenAfterCommit('thing.made', async (_db, events) => {
        batches.push(events.length);
        await new Promise((resolve) => setTimeout(resolve, pauseMs));
      }),
    );
    await publishMany(bus, 200);
    for (let n = 0; n < 4; n += 1) await bus.dispatch(db, now());
    expect(batches).toEqual([50, 25, 25, 25]);
    pauseMs = 0;
    await cloned.runAsOwner('truncate events');
    await publishMany(bus, 3_000);
    while ((batches.at(-1) ?? 0) < 50 && (await bus.dispatch(db, now())) > 0);
    expect(batches.at(-1)).toBe(50);
  });

  it('ends a batch of one workspace at a mebibyte, but handles at least one event of each', async () => {
    const bus = busOf(listenAfterCommit('thing.made', async () => {}));
    const large = Array.from({ length: 20_000 }, (_, index) => `${index} ${Math.sin(index)}`).join();
    for (const n of [1, 2, 3, 4, 5, 6])
      await bus.publish(db, 'thing.made', { n, workspace_id: 'busy', large } as { n: number }, now());
    await bus.publish(db, 'thing.made', { n: 1, workspace_id: 'quiet' } as { n: number }, now());
    expect(await bus.dispatch(db, now())).toBe(5); // a large payload counts as 256 KiB
    expect(await bus.dispatch(db, now())).toBe(2);
  });

  it('schedules a retry for an event whose listener throws, with its error, and handles the others', async () => {
    let fixed = false;
    const bus = busOf(
      listenAfterCommit('thing.made', async (db, events) => {
        if (!fixed && events.some((event) => event.payload.n === 3)) throw new Error('three is bad');
        await recordEvents(db, events);
      }),
    );
    await publishMany(bus, 5);
    expect(await bus.dispatch(db, now())).toBe(4);
    expect(await listHandled()).toEqual([1, 2, 4, 5]);
    expect(failures).toContain('thing.made three is bad');
    const pending = () => sql`select failures, failure from events where dispatched_at is null`.execute(db);
    expect((await pending()).rows).toEqual([{ failures: 1, failure: 'three is bad' }]);
    expect(await bus.dispatch(db, now())).toBe(0); // the retry is not yet due
    fixed = true;
    await sql`update events set retry_at = now() where dispatched_at is null`.execute(db);
    expect(await bus.dispatch(db, now())).toBe(1);
    expect((await listHandled()).sort()).toEqual([1, 2, 3, 4, 5]);
  });
});

describe('the repeated full look', () => {
  /** The next dispatch makes a full look. */
  function createLookingBus() {
    const missed: number[] = [];
    const bus = eventBus<TestEvents, AnyDb>({ notify: () => {} }, () => {}, {
      fullLookEveryMs: 0,
      onMissed: (count) => missed.push(count),
    });
    return { bus, missed };
  }
  const publishOf = (bus: ReturnType<typeof createLookingBus>['bus'], workspace_id: string) =>
    bus.publish(db, 'thing.made', { n: 1, workspace_id } as { n: number }, now());

  it('counts no workspace as missed whose first event was committed since the last look', async () => {
    const { bus, missed } = createLookingBus();
    await bus.dispatch(db, now());
    for (const workspace of ['a', 'b', 'a', 'c']) {
      await publishOf(bus, workspace);
      expect(await bus.dispatch(db, now())).toBe(1);
    }
    expect(missed).toEqual([]);
  });

  it('counts no event as missed that was committed after later ones were dispatched', async () => {
    const { bus, missed } = createLookingBus();
    await bus.dispatch(db, now());
    await transaction(db, async (late) => {
      await sql`insert into events (id, name, payload, occurred_at)
        values (${newId()}, 'thing.made', '{"workspace_id": "late"}', now())`.execute(late);
      await publishOf(bus, 'a');
      expect(await bus.dispatch(db, now())).toBe(1);
    });
    expect(await bus.dispatch(db, now())).toBe(1);
    expect(missed).toEqual([]);
  });

  it('finds an event that looks cannot find, and counts it', async () => {
    const { bus, missed } = createLookingBus();
    await bus.dispatch(db, now());
    await publishOf(bus, 'hidden');
    await sql`update events set changed_in = '3'`.execute(db); // as if the trigger were missing
    await publishOf(bus, 'seen');
    expect(await bus.dispatch(db, now())).toBe(2);
    expect(missed).toEqual([1]);
  });
});

describe('an error of the dispatch', () => {
  /** Returns the error of a dispatch while `lock` is held. */
  const failUnder = (lock: string, bus: ReturnType<typeof busOf>) =>
    transaction(db, async (locking) => {
      await sql.raw(lock).execute(locking);
      return bus.dispatch(db, now()).catch((error: unknown) => error);
    });

  it.each([
    ['of the look', 'lock table events in access exclusive mode'],
    ['of a listener', 'lock table handled in access exclusive mode'],
  ])('%s that is a lock timeout forgets nothing', async (_name, lock) => {
    const bus = busOf(listenAfterCommit('thing.made', recordEvents));
    await bus.dispatch(db, now());
    await bus.publish(db, 'thing.made', { n: 1 }, now());
    expect(await failUnder(lock, bus)).toMatchObject({ code: '55P03' });
    expect(bus.known.position).toBeDefined();
    expect(await bus.dispatch(db, now())).toBe(1);
    expect(await listHandled()).toEqual([1]);
  });

  it('that may mean anything forgets everything, so the next dispatch makes a full look', async () => {
    const bus = busOf();
    await bus.dispatch(db, now());
    await cloned.runAsOwner('alter table unfinished_event_batches rename to unfinished_away');
    await expect(bus.dispatch(db, now())).rejects.toThrow();
    await cloned.runAsOwner('alter table unfinished_away rename to unfinished_event_batches');
    expect(bus.known.position).toBeUndefined();
  });
});

it('an error with characters that cannot be stored delays no other event', async () => {
  const bus = busOf(
    listenAfterCommit('thing.made', async (db, events) => {
      if (events.some((event) => event.payload.n === 2)) throw new Error('a \0 byte');
      await recordEvents(db, events);
    }),
  );
  for (let n = 1; n <= 4; n += 1) await bus.publish(db, 'thing.made', { n }, now());
  expect(await bus.dispatch(db, now())).toBe(3);
  expect(await listHandled()).toEqual([1, 3, 4]);
});

it('one listener of several names gets them in log order', async () => {
  const handled: string[] = [];
  const bus = busOf(
    listenAfterCommit(['thing.gone', 'thing.made'], async (_db, events) => {
      handled.push(...events.map((event) => `${event.name} ${event.payload.n}`));
    }),
  );
  await bus.publish(db, 'thing.made', { n: 1 }, now());
  await bus.publish(db, 'thing.gone', { n: 1 }, now());
  await bus.publish(db, 'thing.made', { n: 2 }, now());
  await bus.dispatch(db, now());
  expect(handled).toEqual(['thing.made 1', 'thing.gone 1', 'thing.made 2']);
});

it('a batch that fails is the one whose events are handled one at a time, however many workspaces wait', async () => {
  const handled = new Set<number>();
  const bus = busOf(
    listenAfterCommit('thing.made', async (_db, events) => {
      if (events.some((event) => event.payload.n === 3)) throw new Error('three is bad');
      for (const event of events) handled.add(event.payload.n);
    }),
  );
  const count = 700; // more workspaces than fit in a batch
  for (let n = 0; n < count; n += 1) {
    const workspace_id = String(n).padStart(4, '0');
    await bus.publish(db, 'thing.made', { n, workspace_id } as { n: number }, now());
  }
  expect(await bus.dispatch(db, now())).toBe(499);
  expect(handled.size).toBe(499);
  expect(await bus.dispatch(db, now())).toBe(200);
  expect([handled.size, handled.has(3)]).toEqual([count - 1, false]);
});

it('an event that crashes its worker is found, and retried later with its error', async () => {
  const crash = new Error('the process is gone');
  Object.assign(crash, { code: '57P01' }); // a lost connection does not count as a failed event
  const bus = busOf(
    listenAfterCommit('thing.made', async (db, events) => {
      if (events.some((event) => event.payload.n === 2)) throw crash;
      await recordEvents(db, events);
    }),
  );
  for (let n = 1; n <= 3; n += 1) await bus.publish(db, 'thing.made', { n }, now());
  for (let crashes = 0; crashes < 12; crashes += 1) await bus.dispatch(db, now()).catch(() => {});
  expect(await listHandled()).toEqual([1, 3]);
  const { rows } = await sql`select failure from events where dispatched_at is null`.execute(db);
  expect(rows).toEqual([{ failure: 'the worker crashed repeatedly while handling the event' }]);
});

describe('removing events', () => {
  const minuteMs = 60_000;
  const remove = (afterMs: number, neededIf: readonly string[] = []) =>
    removeDispatchedEvents(db, neededIf, new Date(Date.now() + afterMs));
  const listNumbers = async () =>
    (await sql<{ n: number }>`select (payload->>'n')::int as n from events order by id`.execute(db)).rows.map(
      ({ n }) => n,
    );
  const textOf = (bytes: number) => Array.from({ length: bytes / 32 }, () => newId().replaceAll('-', '')).join('');
  const publish = (n: number, text = '') => busOf().publish(db, 'thing.made', { n, text } as { n: number }, now());

  it('takes ten minutes from the dispatch, one if the payload is large, and never happens before it', async () => {
    await publish(1);
    await publish(2, textOf(64_000));
    expect(await busOf().dispatch(db, now())).toBe(2);
    await publish(3, textOf(64_000));
    expect(await remove(0)).toBe(0);
    expect(await remove(2 * minuteMs)).toBe(1);
    expect(await listNumbers()).toEqual([1, 3]);
    expect(await remove(9 * minuteMs)).toBe(0);
    expect(await remove(11 * minuteMs)).toBe(1);
    expect(await listNumbers()).toEqual([3]);
  });

  it('waits while something needs the event', async () => {
    for (const n of [1, 2]) await publish(n, textOf(64_000));
    await busOf().dispatch(db, now());
    await sql`insert into handled values (1, 'needs the first event')`.execute(db);
    const neededIf = ["exists (select from handled where n = (events.payload->>'n')::int)", 'false'];
    expect(await remove(60 * minuteMs, neededIf)).toBe(1);
    expect(await listNumbers()).toEqual([1]);
    await sql`delete from handled`.execute(db);
    expect(await remove(60 * minuteMs, neededIf)).toBe(1);
  });
});
