// The same runs on the workflow engine (DBOS) with a queue that has a partition per app, for comparison: a process that
// executes them, and starts them on command.

import { runWorkflows } from '../../server/src/kit/background/workflows/engine.ts';
import { openWorkflows, type Workflow } from '../../server/src/kit/background/workflows/workflows.ts';
import { openDatabase, transaction } from '../../server/src/kit/db/database.ts';
import { newId } from '../../server/src/kit/ids.ts';

export interface EngineOrder {
  /** The apps that get runs, how many each, and of how many steps. */
  readonly apps: readonly string[];
  readonly runsPerApp: number;
  readonly steps: number;
  /** Answer when they have ended, not when they are started. */
  readonly wait: boolean;
}

export interface EngineAnswer {
  /** From the first step of the first run to the end of the last. */
  readonly seconds: number;
  /** From the commit of the start of the last run to its first step. */
  readonly delayMs: number;
}

const [url = '', perTenant = '20'] = process.argv.slice(2);
const { db, pool } = openDatabase<never>({ url, poolSize: 16 });
const client = openWorkflows(pool, url);
const begun = new Map<string, number>();
const ended = new Map<string, PromiseWithResolvers<number>>();
const firstSteps = new Map<string, PromiseWithResolvers<number>>();

const workflow: Workflow<{ steps: number }> = {
  name: `bench-${perTenant}`,
  perProcess: 256,
  perTenant: Number(perTenant),
  pollMs: 100,
  timeoutMs: 600_000,
  async run(context, { steps }) {
    for (let n = 0; n < steps; n += 1)
      await context.step(`task${n}`, async () => {
        if (n === 0) {
          begun.set(context.id, Date.now());
          firstSteps.get(context.id)?.resolve(Date.now());
        }
        return { n, note: 'a value of a usual size, so that its bytes count' };
      });
    ended.get(context.id)?.resolve(Date.now());
  },
};
await runWorkflows([workflow as Workflow], {
  url,
  db,
  executor: `bench-${perTenant}`,
  sessionName: 'bench',
  onWarning: (message) => console.error(message),
});

async function start({ apps, runsPerApp, steps }: EngineOrder): Promise<string[]> {
  const ids = apps.flatMap((tenant) => Array.from({ length: runsPerApp }, () => ({ id: newId(), tenant })));
  for (const { id } of ids) {
    ended.set(id, Promise.withResolvers());
    firstSteps.set(id, Promise.withResolvers());
  }
  await transaction(db, async (db) => {
    for (const { id, tenant } of ids) await client.start(db, workflow, { steps }, { id, tenant });
  });
  return ids.map(({ id }) => id);
}

process.on('message', async (order: EngineOrder) => {
  const ids = await start(order);
  const committedAt = Date.now();
  const delayMs = order.wait ? ((await firstSteps.get(ids.at(-1) as string)?.promise) ?? 0) - committedAt : 0;
  const ends = order.wait ? await Promise.all(ids.map((id) => ended.get(id)?.promise ?? 0)) : [0];
  const first = Math.min(...ids.map((id) => begun.get(id) ?? Number.POSITIVE_INFINITY));
  const answer: EngineAnswer = { seconds: (Math.max(...ends) - first) / 1000, delayMs };
  process.send?.(answer);
});
process.on('disconnect', () => process.exit(0));
process.send?.('ready');
