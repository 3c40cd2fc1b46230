// Workflows: started by a transaction, completed despite crashes, signalled, delayed and cancelled.
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
await cloned.runAsOwner('create table effects (what text not null, at timestamptz not null default clock_timestamp())');
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
  async run(context, { name }) {
    const one = await context.transaction('one', async (db) => {
      await effect(db, `${name} one`);
      return { n: 1 };
    });
    await context.transaction('two', (db) => effect(db, `${name} two after ${one.n}`));
  },
};
const waiting: Workflow<{ name: string }> = {
  ...limits,
  name: 'waiting',
  async run(context, { name }) {
    const word = await context.receive<string>('word', 20);
    await context.transaction('received', (db) => effect(db, `${name} received ${word}`));
  },
};
const failing: Workflow<object> = {
  ...limits,
  name: 'failing',
  async run(context) {
    await context.step('outside', () => Promise.reject(new Error('the service refused')), { attempts: 2, firstMs: 10 });
  },
};
const limited: Workflow<{ tenant: string }> = {
  ...limits,
  name: 'limited',
  perTenant: 1,
  async run(context, { tenant }) {
    await context.step('work', async () => {
      runningNow.set(tenant, (runningNow.get(tenant) ?? 0) + 1);
      mostAtOnce = Math.max(mostAtOnce, runningNow.get(tenant) ?? 0);
      await new Promise((resolve) => setTimeout(resolve, 60));
      runningNow.set(tenant, (runningNow.get(tenant) ?? 0) - 1);
    });
    await context.transaction('done', (db) => effect(db, `limited ${tenant}`));
  },
};
const ticking: Workflow<ScheduledInput> = {
  ...limits,
  name: 'ticking',
  schedule: '* * * * * *',
  async run(context, { scheduled_at }) {
    await context.transaction('tick', (db) => effect(db, `tick ${scheduled_at}`));
  },
};
const endless: Workflow<object> = {
  ...limits,
  name: 'endless',
  timeoutMs: 500,
  async run(context) {
    for (;;) await context.sleep(50);
  },
};

const engine = openWorkflows(pool, cloned.url);
const slot = (await acquireSlot({ url: cloned.url, slots: 1 }, new AbortController().signal)) as WorkerSlot;
const wake = openWakeUps('redis://127.0.0.1:6379', `test:${process.pid}:`);
const warnings: unknown[] = [];
const working = await startWorker(
  {
    queues: [],
    workflows: [twoSteps, waiting, failing, limited, ticking, endless],
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
const waitForState = (id: string, state: string) =>
  expect.poll(async () => (await engine.find(db, id))?.state, { timeout: 15_000 }).toBe(state);

describe('start', () => {
  it('is part of the transaction: committed, the workflow runs; rolled back, it never does', async () => {
    const id = await transaction(db, (db) => engine.start(db, twoSteps, { name: 'kept' }));
    const undone = newId();
    await transaction(db, async (db) => {
      await engine.start(db, twoSteps, { name: 'undone' }, { id: undone });
      throw new Error('undone');
    }).catch(() => {});
    await waitForState(id, 'done');
    expect(await effects('kept')).toEqual(['kept one', 'kept two after 1']);
    expect(await engine.find(db, undone)).toBeUndefined();
    expect(await effects('undone')).toEqual([]);
  });

  it('with the same id twice starts one run', async () => {
    const id = newId();
    for (let n = 0; n < 2; n += 1) await transaction(db, (db) => engine.start(db, twoSteps, { name: 'same' }, { id }));
    await waitForState(id, 'done');
    expect(await effects('same')).toHaveLength(2);
  });

  it('may be delayed, and uses no process until then', async () => {
    const id = await transaction(db, (db) => engine.start(db, twoSteps, { name: 'delayed' }, { delaySeconds: 1 }));
    expect(await engine.find(db, id)).toEqual({ state: 'waiting', error: null });
    expect(await effects('delayed')).toEqual([]);
    await waitForState(id, 'done');
  });

  it('with perTenant = 1 runs one workflow of a tenant at a time, and those of other tenants beside it', async () => {
    const ids: string[] = [];
    for (const tenant of ['a', 'b', 'a', 'a', 'b'])
      ids.push(await transaction(db, (db) => engine.start(db, limited, { tenant }, { tenant })));
    for (const id of ids) await waitForState(id, 'done');
    expect(mostAtOnce).toBe(1);
  });
});

it('a workflow with a schedule is started once at each time', async () => {
  await expect.poll(async () => (await effects('tick')).length).toBeGreaterThanOrEqual(3);
  const ticks = await effects('tick');
  expect(new Set(ticks).size).toBe(ticks.length);
});

describe('a run', () => {
  it('receives a signal sent in a transaction, once per key', async () => {
    const id = await transaction(db, (db) => engine.start(db, waiting, { name: 'listener' }));
    await transaction(db, async (db) => {
      await engine.signal(db, id, 'word', 'never');
      throw new Error('undone');
    }).catch(() => {});
    for (let n = 0; n < 2; n += 1) await transaction(db, (db) => engine.signal(db, id, 'word', 'hello', 'key'));
    await waitForState(id, 'done');
    expect(await effects('listener')).toEqual(['listener received hello']);
  });

  it('is cancelled before its next step, also while it waits', async () => {
    const id = await transaction(db, (db) => engine.start(db, waiting, { name: 'cancelled' }));
    await waitForState(id, 'running');
    await engine.cancel(db, id);
    await waitForState(id, 'cancelled');
    await transaction(db, (db) => engine.signal(db, id, 'word', 'too late'));
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(await effects('cancelled')).toEqual([]);
  });

  it('fails with the error of its last attempt', async () => {
    const id = await transaction(db, (db) => engine.start(db, failing, {}));
    await waitForState(id, 'failed');
    expect((await engine.find(db, id))?.error).toContain('the service refused');
    const { workflows } = await queueMetrics(db, []);
    expect(workflows).toContainEqual({ name: 'failing', state: 'error', count: 1 });
  });

  it('that never ends is cancelled after its timeout', async () => {
    const id = await transaction(db, (db) => engine.start(db, endless, {}));
    await waitForState(id, 'cancelled');
  });
});

describe('a run whose worker crashed', () => {
  it('is resumed by another worker; a committed step is not repeated', async () => {
    const id = await transaction(db, (db) => engine.start(db, waiting, { name: 'orphan' }));
    await waitForState(id, 'running');
    // As if the worker in another slot had started it and crashed.
    await sql`update dbos.workflow_status set executor_id = 'slot-9' where workflow_uuid = ${id}`.execute(db);
    await engine.recover(db, 'slot-9', { crashId: '9.1' });
    await transaction(db, (db) => engine.signal(db, id, 'word', 'again'));
    await waitForState(id, 'done');
    expect(await effects('orphan')).toEqual(['orphan received again']);
  });

  it('stays cancelled when it was cancelled before', async () => {
    const id = await transaction(db, (db) => engine.start(db, twoSteps, { name: 'dropped' }, { delaySeconds: 3_600 }));
    await engine.cancel(db, id);
    await sql`update dbos.workflow_status set status = 'PENDING', executor_id = 'slot-8', queue_name = 'two steps'
      where workflow_uuid = ${id}`.execute(db);
    await engine.recover(db, 'slot-8', { crashId: '8.1' });
    expect((await engine.find(db, id))?.state).toBe('cancelled');
  });

  it('is dead-lettered with its error after 20 crashes without progress', async () => {
    const id = await transaction(db, (db) => engine.start(db, twoSteps, { name: 'crashing' }, { delaySeconds: 3_600 }));
    for (let n = 0; n < 20; n += 1) {
      await sql`update dbos.workflow_status set status = 'PENDING', executor_id = 'slot-7', queue_name = 'none'
        where workflow_uuid = ${id}`.execute(db);
      for (let again = 0; again < 2; again += 1) await engine.recover(db, 'slot-7', { crashId: `7.${n}` });
    }
    expect(await engine.find(db, id)).toEqual({
      state: 'failed',
      error: 'the worker crashed while running it, 20 times',
    });
    expect(await effects('crashing')).toEqual([]);
  });
});

it('crashes do not count against a run that only waits', async () => {
  const id = await transaction(db, (db) => engine.start(db, waiting, { name: 'patient' }));
  await waitForState(id, 'running');
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
  await waitForState(id, 'done');
  expect(await effects('patient')).toEqual(['patient received at last']);
});

it('a cancel and a signal are part of the transaction; a signal to an unknown run returns false', async () => {
  const id = await transaction(db, (db) => engine.start(db, waiting, { name: 'undisturbed' }));
  await transaction(db, async (db) => {
    await engine.cancel(db, id);
    throw new Error('undone');
  }).catch(() => {});
  const isSent = await transaction(db, async (db) => {
    expect(await engine.signal(db, newId(), 'word', 'nobody')).toBe(false);
    return engine.signal(db, id, 'word', 'go on');
  });
  expect(isSent).toBe(true);
  await waitForState(id, 'done');
  expect(await effects('undisturbed')).toEqual(['undisturbed received go on']);
});

it('an id can be used again after its run was removed', async () => {
  const id = newId();
  const startAgain = () => transaction(db, (db) => engine.start(db, waiting, { name: 'again' }, { id }));
  await startAgain();
  await waitForState(id, 'running');
  await engine.cancel(db, id);
  await waitForState(id, 'cancelled');
  await sql`insert into dbos.transaction_completion (workflow_id, function_num) values (${id}, 2)`.execute(db);
  await engine.removeFinished(db, new Date(Date.now() + 60_000));
  await startAgain();
  await transaction(db, (db) => engine.signal(db, id, 'word', 'hello'));
  await waitForState(id, 'done');
  expect(await effects('again')).toEqual(['again received hello']);
});

it('finished runs are removed after the given time', async () => {
  const id = await transaction(db, (db) => engine.start(db, twoSteps, { name: 'old' }));
  await waitForState(id, 'done');
  expect(await engine.removeFinished(db, new Date(Date.now() - 60_000))).toBe(0);
  expect(await engine.removeFinished(db, new Date(Date.now() + 60_000))).toBeGreaterThan(0);
  expect(await engine.find(db, id)).toBeUndefined();
});
