// Owns the running of workflows in a worker: DBOS, set up so that a deploy, a kill or a lost connection neither loses a
// run nor repeats a database step.
import { setTimeout as sleep } from 'node:timers/promises';
import { DBOS, type ScheduledWorkflowFn } from '@dbos-inc/dbos-sdk';
import {
  assertStillOwnsWorkflow,
  DBOSStepAlreadyRecordedError,
  migrateDataSourcePG,
  registerDataSource,
  runTransaction,
} from '@dbos-inc/dbos-sdk/datasource';
import { sql } from 'kysely';
import pg from 'pg';
import { type AnyDb, openDatabase, prepared, transaction } from '../../db/database.ts';
import { classifyFailure, isStatementTimeout } from '../../db/failures.ts';
import { markWaiting } from './run-state.ts';
import { schema, silentLogger, version, type Workflow, type WorkflowContext } from './workflows.ts';

// The engine's own count of recoveries also rises with every deploy, so it must never be what decides.
const endless = 1_000_000;
const dataSource = 'plinth';
const enginePoolSize = 10;

/** Makes or updates the engine's own tables. */
export async function migrateWorkflows(url: string): Promise<void> {
  await DBOS.migrate(url, { schemaName: schema });
  const client = new pg.Client(url);
  await client.connect();
  try {
    await client.query('begin');
    await migrateDataSourcePG(async (text) => (await client.query(text)).rows, schema);
    await client.query('commit');
  } finally {
    await client.end();
  }
}

export interface RunningWorkflows {
  isRunning(id: string): boolean;
  /** Makes the schedules those of this release again: in a deploy an older one may have come in between. */
  applySchedules(): Promise<void>;
  stop(withinMs: number): Promise<void>;
}

export interface EngineDeps {
  readonly url: string;
  readonly db: AnyDb;
  /** The slot: whoever claims it next finds what this one left. */
  readonly executor: string;
  /** What the engine's connections call themselves. */
  readonly sessionName: string;
  readonly onWarning: (message: string) => void;
}

export const toExecutorId = (slot: number): string => `slot-${slot}`;

/** Runs workflows in this process, as the executor it names. Once per process. */
export async function runWorkflows(workflows: readonly Workflow[], deps: EngineDeps): Promise<RunningWorkflows> {
  if (workflows.length === 0) return { isRunning: () => false, applySchedules: async () => {}, stop: async () => {} };
  registerDataSource(transactionsOn(deps.db));
  const running = new Map<string, number>();
  const registered = workflows.map((workflow) => ({ workflow, run: register(workflow, deps.db, running) }));
  // Its own connections: a transaction step asks the engine something while it holds one of `db`'s.
  const { pool } = openDatabase({ url: deps.url, poolSize: enginePoolSize, applicationName: deps.sessionName });
  // Its own queues only: a run that this release does not know waits for one that does.
  DBOS.setConfig({ ...engineConfig(deps, pool), listenQueues: workflows.map(({ name }) => name) });
  await DBOS.launch();
  for (const { workflow } of registered) await registerQueue(workflow);
  await applySchedules(registered);
  return {
    isRunning: (id) => running.has(id),
    applySchedules: () => applySchedules(registered),
    async stop(withinMs) {
      await DBOS.shutdown({ workflowCompletionTimeoutMS: withinMs });
      await pool.end();
    },
  };
}

type Registered = (input: never) => Promise<unknown>;

function register(workflow: Workflow, db: AnyDb, running: Map<string, number>): Registered {
  if (workflow.schedule !== undefined && workflow.perTenant !== undefined)
    throw new Error(`${workflow.name}: what the clock starts belongs to no tenant`);
  const run = async (input: unknown) => {
    const id = DBOS.workflowID as string;
    running.set(id, (running.get(id) ?? 0) + 1);
    try {
      // The scheduler gives the time itself.
      const given = input instanceof Date ? { scheduled_at: input.toISOString() } : input;
      return await workflow.run(flowOf(id, db), given as never);
    } finally {
      const left = (running.get(id) ?? 1) - 1;
      if (left > 0) running.set(id, left);
      else running.delete(id);
    }
  };
  return DBOS.registerWorkflow(run, { name: workflow.name, maxRecoveryAttempts: endless });
}

const registerQueue = ({ name, perProcess, perTenant, pollMs }: Workflow) =>
  DBOS.registerQueue(name, {
    workerConcurrency: perProcess,
    minPollingIntervalMs: pollMs ?? 500,
    onConflict: 'always_update',
    ...(perTenant === undefined ? {} : { partitionConcurrency: perTenant }),
  });

/** The schedules of this release, and no others: one that is no longer declared ends with the deploy. */
async function applySchedules(registered: readonly { workflow: Workflow; run: Registered }[]): Promise<void> {
  const wanted = registered.flatMap(({ workflow: { name, schedule }, run }) =>
    schedule === undefined
      ? []
      : [{ scheduleName: name, schedule, queueName: name, workflowFn: run as unknown as ScheduledWorkflowFn }],
  );
  const known = await DBOS.listSchedules();
  for (const { scheduleName } of known) {
    if (!wanted.some((schedule) => schedule.scheduleName === scheduleName)) await DBOS.deleteSchedule(scheduleName);
  }
  const changed = wanted.filter(({ scheduleName, schedule }) =>
    known.every((old) => old.scheduleName !== scheduleName || old.schedule !== schedule),
  );
  if (changed.length > 0) await DBOS.applySchedules(changed);
}

const engineConfig = ({ url, executor, onWarning }: EngineDeps, pool: pg.Pool) => ({
  name: version,
  systemDatabaseUrl: url,
  systemDatabasePool: pool,
  systemDatabaseSchemaName: schema,
  applicationVersion: version,
  enablePatching: true,
  executorID: executor,
  runMigrations: false,
  schedulerPollingIntervalMs: 5_000,
  notificationCoalesceMs: 1_000, // of the engine's own events and streams, which nothing here uses; it polls for them
  logger: {
    ...silentLogger,
    warn: (message: unknown) => onWarning(String(message)),
    error: (e: unknown) => onWarning(String(e)),
  },
});

const flowOf = (id: string, db: AnyDb): WorkflowContext => ({
  id,
  transaction: (name, work) => {
    const config: { db?: AnyDb } = {};
    return runTransaction(() => work(config.db as AnyDb), name, { dsName: dataSource, config });
  },
  step: (name, work, retry) =>
    DBOS.runStep(work, {
      name,
      ...(retry && { retriesAllowed: true, maxAttempts: retry.attempts, intervalSeconds: retry.firstMs / 1000 }),
    }),
  sleep: (ms) => waiting(db, id, ms, () => DBOS.sleep(ms)),
  receive: (topic, timeoutSeconds) =>
    waiting(db, id, timeoutSeconds * 1000, () => DBOS.recv(topic, { timeoutSeconds })),
  changed: (name) => DBOS.patch(name),
});

const shortWaitMs = 1_000;

/** A run that only waits is not what ended its process; so that it is said before. */
async function waiting<T>(db: AnyDb, id: string, ms: number, wait: () => Promise<T>): Promise<T> {
  if (ms <= shortWaitMs) return wait();
  await markWaiting(db, id, true);
  const result = await wait();
  await markWaiting(db, id, false);
  return result;
}

/** Exactly once: that a step ran is a row in the step's own transaction, and only a workflow's present owner commits. */
function transactionsOn(db: AnyDb): Parameters<typeof registerDataSource>[0] {
  return {
    name: dataSource,
    initialize: async () => {},
    destroy: async () => {},
    async invokeTransactionFunction(config, target, func, ...args) {
      const [workflowId, step] = [DBOS.workflowID as string, DBOS.stepID as number];
      const attempt = () =>
        transaction(db, async (db) => {
          const recorded = await findRecorded(db, workflowId, step);
          if (recorded !== undefined) return recorded.output as Awaited<ReturnType<typeof func>>;
          (config as { db?: AnyDb }).db = db;
          const text = JSON.stringify(await func.call(target, ...args));
          await record(db, workflowId, step, text);
          await assertStillOwnsWorkflow(workflowId);
          return outputOf(text);
        });
      return retryLostConnections(workflowId, attempt);
    },
    async deleteCheckpoints(workflowId, startStep, beforeCommit) {
      await transaction(db, async (db) => {
        await sql`delete from dbos.transaction_completion
          where workflow_id = ${workflowId} and function_num >= ${startStep}`.execute(db);
        await beforeCommit?.();
      });
    },
  };
}

async function findRecorded(db: AnyDb, workflowId: string, step: number): Promise<{ output: unknown } | undefined> {
  const [row] = await readRecorded(db, workflowId, step);
  return row && { output: outputOf(row.output ?? undefined) };
}

/** The same whether the step has just run or ran before. */
const outputOf = (text: string | undefined) => (text === undefined ? undefined : JSON.parse(text));

const readRecorded = prepared<{ output: string | null }, [string, number]>(
  'find recorded step',
  'select output from dbos.transaction_completion where workflow_id = $1 and function_num = $2',
);
const insertRecorded = prepared<object, [string, number, string | null]>(
  'record step',
  `insert into dbos.transaction_completion (workflow_id, function_num, output) values ($1, $2, $3)
   on conflict do nothing returning 1`,
);

async function record(db: AnyDb, workflowId: string, step: number, output: string | undefined): Promise<void> {
  const rows = await insertRecorded(db, workflowId, step, output ?? null);
  // A run of the same step by somebody else was first: this one undoes its own, and then finds the other's.
  if (rows.length === 0) throw new DBOSStepAlreadyRecordedError(workflowId, step);
}

const longestWaitMs = 5_000;

/** A step that lost its connection, or came second, is tried again: whether it had committed is found in its record. */
async function retryLostConnections<T>(workflowId: string, attempt: () => Promise<T>): Promise<T> {
  for (let waitMs = 50; ; waitMs = Math.min(waitMs * 2, longestWaitMs)) {
    try {
      return await attempt();
    } catch (error) {
      const passes = classifyFailure(error) !== undefined || error instanceof DBOSStepAlreadyRecordedError;
      if (!passes || isStatementTimeout(error)) throw error;
      await sleep(waitMs);
      await ownedOrUnknown(workflowId);
    }
  }
}

/** Ends the retries of a run that was cancelled or taken over; while the database is away nobody knows. */
async function ownedOrUnknown(workflowId: string): Promise<void> {
  try {
    await assertStillOwnsWorkflow(workflowId);
  } catch (error) {
    if (classifyFailure(error) === undefined) throw error;
  }
}
