// Workflows: started by a transaction, run to their end whatever happens on the way, signalled, delayed and cancelled.
import { sql } from 'kysely';
import { afterAll, describe, expect, it } from 'vitest';
import { cloneTemplate } from '../../../../test/support/template.ts';
import { systemClock } from '../../clock.ts';
import { type AnyDb, openDatabase, transaction } from '../../db/database.ts';
import { newId } from '../../ids.ts';
import { queueMetrics } from '../metrics.ts';
import { acquireSlot, type WorkerSlot } from '../workers/slots.ts';
import { openWakeUps } from '../workers/wake.ts';
import { startWorker } from '../workers/worker.ts';
import { openWorkflows, type ScheduledInput, type Workflow } from './workflows.ts';

const cloned = await cloneTemplate();
const { db, pool, close } = openDatabase<never>({ url: cloned.url, poolSize: 10 });
await sql`create table effects (what text not null, at timestamptz not null default clock_timestamp())`.execute(db);
const effect = async (db: AnyDb, what: string) =>
  void (await sql`insert into effects (what) values (${what})`.execute(db));
const effects = async (what = '') =>
  (
    await sql<{ what: string }>`select what from effects where what like ${`${what}%`} order by at`.execute(db)
  ).rows.map((row) => row.what);

const limits = { perProcess: 20, pollMs: 50, timeoutMs: 60_000 };
const runningNow = new Map<string, number>();
let mostAtOnce = 0;

const twoSteps: Workflow<{ name: string }> = {
  ...limits,
  name: 'two steps',
  async run(flow, { name }) {
    const one = await flow.transaction('one', async (db) => {
      await effect(db, `${name} one`);
      return { n: 1 };
    });
    await flow.transaction('two', (db) => effect(db, `${name} two after ${one.n}`));
  },
};
const waiting: Workflow<{ name: string }> = {
  ...limits,
  name: 'waiting',
  async run(flow, { name }) {
    const said = await flow.receive<string>('word', 20);
    await flow.transaction('heard', (db) => effect(db, `${name} heard ${said}`));
  },
};
const failing: Workflow<object> = {
  ...limits,
  name: 'failing',
  async run(flow) {
    await flow.step('outside', () => Promise.reject(new Error('the outside said no')), { attempts: 2, firstMs: 10 });
  },
};
const limited: Workflow<{ tenant: string }> = {
  ...limits,
  name: 'limited',
  perTenant: 1,
  async run(flow, { tenant }) {
    await flow.step('work', async () => {
      runningNow.set(tenant, (runningNow.get(tenant) ?? 0) + 1);
      mostAtOnce = Math.max(mostAtOnce, runningNow.get(tenant) ?? 0);
      await new Promise((resolve) => setTimeout(resolve, 60));
      runningNow.set(tenant, (runningNow.get(tenant) ?? 0) - 1);
    });
    await flow.transaction('done', (db) => effect(db, `limited ${tenant}`));
  },
};
const ticking: Workflow<ScheduledInput> = {
  ...limits,
  name: 'ticking',
  schedule: '* * * * * *',
  async run(flow, { scheduled_at }) {
    await flow.transaction('tick', (db) => effect(db, `tick ${scheduled_at}`));
  },
};
const endless: Workflow<object> = {
  ...limits,
  name: 'endless',
  timeoutMs: 500,
  async run(flow) {
    for (;;) await flow.sleep(50);
  },
};

const engine = openWorkflows(pool, cloned.url);
const slot = (await acquireSlot({ url: cloned.url, slots: 1 }, new AbortController().signal)) as WorkerSlot;
const wake = openWakeUps('redis://127.0.0.1:6379', `test:${process.pid}:`);
const warnings: unknown[] = [];
const working = await startWorker(
  {
    queues: [],
    workflows: [twoSteps, waiting, failing, limited, ticking, endless] as Workflow[],
    jobs: [],
    dispatch: async () => 0,
  },
  slot,
  { url: cloned.url, db, clock: systemClock, wake, engine, onError: (_what, error) => warnings.push(error) },
);
afterAll(async () => {
  await working.stop();
  await engine.close();
  wake.close();
  await close();
  await cloned.drop();
});
const ended = (id: string, state: string) =>
  expect.poll(async () => (await engine.find(db, id))?.state, { timeout: 15_000 }).toBe(state);

describe('start', () => {
  it('belongs to the transaction: committed it runs, rolled back it never does', async () => {
    const id = await transaction(db, (db) => engine.start(db, twoSteps, { name: 'kept' }));
    const undone = newId();
    await transaction(db, async (db) => {
      await engine.start(db, twoSteps, { name: 'undone' }, { id: undone });
      throw new Error('undone');
    }).catch(() => {});
    await ended(id, 'done');
    expect(await effects('kept')).toEqual(['kept one', 'kept two after 1']);
    expect(await engine.find(db, undone)).toBeUndefined();
    expect(await effects('undone')).toEqual([]);
  });

  it('with the same id twice starts once', async () => {
    const id = newId();
    for (let n = 0; n < 2; n += 1) await transaction(db, (db) => engine.start(db, twoSteps, { name: 'same' }, { id }));
    await ended(id, 'done');
    expect(await effects('same')).toHaveLength(2);
  });

  it('may be delayed, and holds no process meanwhile', async () => {
    const id = await transaction(db, (db) => engine.start(db, twoSteps, { name: 'delayed' }, { delaySeconds: 1 }));
    expect(await engine.find(db, id)).toEqual({ state: 'waiting', error: null });
    expect(await effects('delayed')).toEqual([]);
    await ended(id, 'done');
  });

  it('runs one tenant’s one at a time where that is the limit, and others beside them', async () => {
    const ids: string[] = [];
    for (const tenant of ['a', 'b', 'a', 'a', 'b'])
      ids.push(await transaction(db, (db) => engine.start(db, limited, { tenant }, { tenant })));
    for (const id of ids) await ended(id, 'done');
    expect(mostAtOnce).toBe(1);
  });
});

it('one with a schedule is started by the clock, once for each time', async () => {
  await expect.poll(async () => (await effects('tick')).length).toBeGreaterThanOrEqual(3);
  const ticks = await effects('tick');
  expect(new Set(ticks).size).toBe(ticks.length);
});

describe('on the way', () => {
  it('hears a signal sent in a transaction, once per key', async () => {
    const id = await transaction(db, (db) => engine.start(db, waiting, { name: 'listener' }));
    await transaction(db, async (db) => {
      await engine.signal(db, id, 'word', 'never');
      throw new Error('undone');
    }).catch(() => {});
    for (let n = 0; n < 2; n += 1) await transaction(db, (db) => engine.signal(db, id, 'word', 'hello', 'key'));
    await ended(id, 'done');
    expect(await effects('listener')).toEqual(['listener heard hello']);
  });

  it('is cancelled before its next step, also while it waits', async () => {
    const id = await transaction(db, (db) => engine.start(db, waiting, { name: 'cancelled' }));
    await ended(id, 'running');
    await engine.cancel(db, id);
    await ended(id, 'cancelled');
    await transaction(db, (db) => engine.signal(db, id, 'word', 'too late'));
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(await effects('cancelled')).toEqual([]);
  });

  it('fails with the reason of its last try', async () => {
    const id = await transaction(db, (db) => engine.start(db, failing, {}));
    await ended(id, 'failed');
    expect((await engine.find(db, id))?.error).toContain('the outside said no');
    const { workflows } = await queueMetrics(db, []);
    expect(workflows).toContainEqual({ name: 'failing', state: 'error', count: 1 });
  });

  it('that never ends is cancelled when its time is up', async () => {
    const id = await transaction(db, (db) => engine.start(db, endless, {}));
    await ended(id, 'cancelled');
  });
});

describe('what a dead process left', () => {
  it('goes on elsewhere; a step that had committed is not repeated', async () => {
    const id = await transaction(db, (db) => engine.start(db, waiting, { name: 'orphan' }));
    await ended(id, 'running');
    // As if another slot had begun it, and died.
    await sql`update dbos.workflow_status set executor_id = 'slot-9' where workflow_uuid = ${id}`.execute(db);
    await engine.recover(db, 'slot-9', { crashId: '9.1' });
    await transaction(db, (db) => engine.signal(db, id, 'word', 'again'));
    await ended(id, 'done');
    expect(await effects('orphan')).toEqual(['orphan heard again']);
  });

  it('stays cancelled when it was cancelled before', async () => {
    const id = await transaction(db, (db) => engine.start(db, twoSteps, { name: 'dropped' }, { delaySeconds: 3_600 }));
    await engine.cancel(db, id);
    await sql`update dbos.workflow_status set status = 'PENDING', executor_id = 'slot-8', queue_name = 'two steps'
      where workflow_uuid = ${id}`.execute(db);
    await engine.recover(db, 'slot-8', { crashId: '8.1' });
    expect((await engine.find(db, id))?.state).toBe('cancelled');
  });

  it('is given up with its reason once its process has ended under it too often', async () => {
    const id = await transaction(db, (db) => engine.start(db, twoSteps, { name: 'deadly' }, { delaySeconds: 3_600 }));
    for (let n = 0; n < 20; n += 1) {
      await sql`update dbos.workflow_status set status = 'PENDING', executor_id = 'slot-7', queue_name = 'none'
        where workflow_uuid = ${id}`.execute(db);
      for (let again = 0; again < 2; again += 1) await engine.recover(db, 'slot-7', { crashId: `7.${n}` });
    }
    expect(await engine.find(db, id)).toEqual({ state: 'failed', error: 'its process ended while it ran, 20 times' });
    expect(await effects('deadly')).toEqual([]);
  });
});

it('many deaths of others do not end a run that only waits', async () => {
  const id = await transaction(db, (db) => engine.start(db, waiting, { name: 'patient' }));
  await ended(id, 'running');
  await expect
    .poll(
      async () => (await sql`select 1 from workflow_run_state where workflow_id = ${id} and waiting`.execute(db)).rows,
    )
    .toHaveLength(1);
  for (let n = 0; n < 25; n += 1) {
    await sql`update dbos.workflow_status set status = 'PENDING', executor_id = 'slot-6' where workflow_uuid = ${id}`.execute(
      db,
    );
    await sql`update workflow_run_state set waiting = true where workflow_id = ${id}`.execute(db);
    await engine.recover(db, 'slot-6', { crashId: `6.${n}` });
  }
  await transaction(db, (db) => engine.signal(db, id, 'word', 'at last'));
  await ended(id, 'done');
  expect(await effects('patient')).toEqual(['patient heard at last']);
});

it('a cancel and a signal belong to the transaction; a signal to nobody says so', async () => {
  const id = await transaction(db, (db) => engine.start(db, waiting, { name: 'undisturbed' }));
  await transaction(db, async (db) => {
    await engine.cancel(db, id);
    throw new Error('undone');
  }).catch(() => {});
  const told = await transaction(db, async (db) => {
    expect(await engine.signal(db, newId(), 'word', 'nobody')).toBe(false);
    return engine.signal(db, id, 'word', 'go on');
  });
  expect(told).toBe(true);
  await ended(id, 'done');
  expect(await effects('undisturbed')).toEqual(['undisturbed heard go on']);
});

it('the same id again after it was forgotten begins anew', async () => {
  const id = newId();
  const begin = () => transaction(db, (db) => engine.start(db, waiting, { name: 'again' }, { id }));
  await begin();
  await ended(id, 'running');
  await engine.cancel(db, id);
  await ended(id, 'cancelled');
  await sql`insert into dbos.transaction_completion (workflow_id, function_num) values (${id}, 2)`.execute(db);
  await engine.removeFinished(db, new Date(Date.now() + 60_000));
  await begin();
  await transaction(db, (db) => engine.signal(db, id, 'word', 'hello'));
  await ended(id, 'done');
  expect(await effects('again')).toEqual(['again heard hello']);
});

it('runs that ended are forgotten after a while', async () => {
  const id = await transaction(db, (db) => engine.start(db, twoSteps, { name: 'old' }));
  await ended(id, 'done');
  expect(await engine.removeFinished(db, new Date(Date.now() - 60_000))).toBe(0);
  expect(await engine.removeFinished(db, new Date(Date.now() + 60_000))).toBeGreaterThan(0);
  expect(await engine.find(db, id)).toBeUndefined();
});
