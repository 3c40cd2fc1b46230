// A worker of the deploy drill, with the workflow's code as of one release: DRILL_CODE is 1 or 2.
import { sql } from 'kysely';
import { openWakeUps } from '../../server/src/kit/background/workers/wake.ts';
import type { Workflow } from '../../server/src/kit/background/workflows/workflows.ts';
import type { AnyDb } from '../../server/src/kit/db/database.ts';
import { runDrillWorker } from '../lib/worker.ts';

const { DRILL_URL: url = '', DRILL_CODE: code = '1' } = process.env;
const effect = async (db: AnyDb, what: string, step: string) =>
  void (await sql`insert into drill_effects (what, step) values (${what}, ${step})`.execute(db));

/** Waits for a signal, sleeps, or goes through steps; the second release adds a step after the wait. */
const rollout: Workflow<{ name: string; kind: 'waits' | 'sleeps' | 'runs' }> = {
  name: 'rollout',
  perProcess: 400,
  pollMs: 100,
  timeoutMs: 300_000,
  async run(flow, { name, kind }) {
    await flow.transaction('first', (db) => effect(db, name, 'first'));
    if (kind === 'waits') await flow.receive('go', 120);
    if (kind === 'sleeps') await flow.sleep(6_000);
    if (kind === 'runs') for (let n = 0; n < 20; n += 1) await flow.step(`work ${n}`, async () => pause(250));
    if (code === '2' && (await flow.changed('check before the second'))) {
      await flow.transaction('check', (db) => effect(db, name, 'check'));
    }
    await flow.transaction('second', (db) => effect(db, name, 'second'));
    if (kind === 'sleeps') await flow.sleep(2_000);
    await flow.transaction('third', (db) => effect(db, name, 'third'));
  },
};
const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

const wake = openWakeUps('redis://127.0.0.1:6379', 'deploy:');
await runDrillWorker({ url, slots: 3, wake, work: { workflows: [rollout as Workflow] } });
process.stdout.write(`working ${code}\n`);
